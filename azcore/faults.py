"""Says where a game's own code is at fault: the lines its author needs, not the way that led there.

numba's messages name the place between pages of attempts; a traceback ends in azcore or numba.
"""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType

from azcore.errors import FaultyGameError

# What numba says of the usual mistakes, and what to do about each.
_HINTS = {
    "Untyped global name": "a helper that a rule calls needs @numba.extending.register_jitable",
    "float64": "/ gives float64, and so may uint64 mixed with int64; use //, and int64 throughout",
    "Cannot unify": "a variable must keep one type throughout a rule",
    "unsupported opcode": "numba compiles integers, loops, arrays and record fields; no imports",
}
_MOST_LINES = 8  # of numba's reason


def faulty(name: str, doing: str, error: BaseException, folder: Path | None) -> FaultyGameError:
    """The error to raise when a game's code failed.

    Args:
        name: of the game.
        doing: what was being done, such as `could not be loaded from a.b:C`.
        error: what was raised.
        folder: of the game's package, where its own lines are looked for.
    """
    return FaultyGameError(f"game {name} {doing}:\n{described(error, folder)}")


def described(error: BaseException, folder: Path | None) -> str:
    """The error and its place, in a few lines."""
    rule = _rule_being_compiled(error)
    if rule is not None:
        return _compilation(error, rule)
    if isinstance(error, SyntaxError):
        told = f"SyntaxError: {error.msg}"
        return f"{told}\n  {error.filename}, line {error.lineno}\n    {(error.text or '').strip()}"
    told = f"{type(error).__name__}: {error}"
    found = place(error, folder)
    return f"{told}\n{found}" if found else told


def place(error: BaseException, folder: Path | None) -> str:
    """The last line of code in `folder` that led to `error`, as two lines of text; else nothing."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if folder is not None and Path(frame.filename).is_relative_to(folder):
            return _lines(frame.filename, frame.lineno or 0)
    return ""


def folder_of(module: str) -> Path | None:
    """Where the top package of `module` lies, whether it can be imported or not."""
    loaded = sys.modules.get(module)
    if loaded is not None and loaded.__file__ is not None:
        return Path(loaded.__file__).parent
    try:
        spec = find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _rule_being_compiled(error: BaseException) -> CodeType | None:
    """The code of the function that azcore.compilation was at, if the error came from there."""
    here = error.__traceback__
    while here is not None:
        frame = here.tb_frame
        if frame.f_globals.get("__name__") == "azcore.compilation":
            function = frame.f_locals.get("function")
            if isinstance(function, FunctionType):
                return function.__code__
        here = here.tb_next
    return None


def _compilation(error: BaseException, rule: CodeType) -> str:
    """numba's reason for not compiling `rule`, with the line it is about."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    text = text.rpartition("raised a specific error:")[2]  # the innermost, where calls are nested
    where = re.search(r'File "([^"]+)", line (\d+)', text) or re.search(r"at (\S+) \((\d+)\)", text)
    reason: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith(("File ", "There are ")) or len(reason) == _MOST_LINES:
            break
        if line and not re.match("(TypingError: )?Failed in nopython|During: |raised from ", line):
            reason.append(f"  {line}")
    hints = [hint for words, hint in _HINTS.items() if words in "".join(reason)]
    file, line_number = rule.co_filename, rule.co_firstlineno
    if where is not None:
        line_number = int(where[2])
        if Path(where[1]).name != Path(file).name:  # numba gives the name alone
            file = str(Path(file).with_name(Path(where[1]).name))
    if isinstance(error, KeyError):  # all that numba says when a record lacks a field
        reason = [f"  the record has no field {error}"]
        used = re.compile(rf"\.{re.escape(str(error.args[0]))}\b")
        lines = enumerate(linecache.getlines(file), 1)
        line_number = next((n for n, line in lines if used.search(line)), line_number)
    return "\n".join(
        [
            f"numba cannot compile {rule.co_name} ({type(error).__name__}):",
            *reason,
            _lines(file, line_number),
            *(f"  hint: {hint}" for hint in hints),
        ]
    )


def _lines(file: str, number: int) -> str:
    return f"  {file}, line {number}\n    {linecache.getline(file, number).strip()}"
