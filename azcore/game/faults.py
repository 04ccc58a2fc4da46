"""Locates faults in a game's own code: reports the lines its author needs, not the call path.

numba's messages hide the place in pages of attempts; a traceback ends in azcore or numba.
`game_faults` turns everything that a game raises during play, even SystemExit, into a
`FaultyGameError`. azcore's own errors pass unchanged.
"""

import linecache
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from azcore import errors
from azcore.errors import AzcoreError, FaultyGameError

# Parts of numba's messages for the usual mistakes, and the remedy for each.
_HINTS = {
    "Untyped global name": "a helper that a rule calls needs @numba.extending.register_jitable",
    "float64": "/ gives float64, and so may uint64 mixed with int64; use //, and int64 throughout",
    "Cannot unify": "a variable must keep one type throughout a rule",
    "unsupported opcode": "numba compiles integers, loops, arrays and record fields; no imports",
}
_MOST_LINES = 8  # lines of numba's reason
_AZCORE = Path(errors.__file__).parent
_folders: dict[Path, str] = {}  # folder of each created game -> its name


def faulty(name: str, doing: str, error: BaseException, folder: Path | None) -> FaultyGameError:
    """The error to raise when a game's code failed.

    Args:
        doing: what failed, such as `could not be loaded from a.b:C`.
        error: what was raised.
        folder: the folder of the game's package, in which to look for its own lines.
    """
    return FaultyGameError(f"game {name} {doing}:\n{described(error, folder)}")


def register(name: str, module: str) -> None:
    """Record the folder of a game's code, for `blamed`."""
    folder = folder_of(module)
    if folder is not None:
        _folders[folder] = name


def game_of(file: str | Path) -> str | None:
    """The name of the game whose folder holds a file; None: no game created here."""
    return next(
        (name for folder, name in tuple(_folders.items()) if Path(file).is_relative_to(folder)),
        None,
    )


def is_azcores(file: str | Path) -> bool:
    """Whether a file is azcore's own; azcore's games lie there, too."""
    return Path(file).is_relative_to(_AZCORE)


@contextmanager
def game_faults() -> Iterator[None]:
    """Turn everything that a game's code raises into a `FaultyGameError`; other exceptions pass."""
    try:
        yield
    except BaseException as error:
        fault = blamed(error)
        if fault is None:
            raise
        raise fault from error


def blamed(error: BaseException) -> FaultyGameError | None:
    """The error as a game's fault, if a game's code or something it called raised it."""
    if isinstance(error, AzcoreError):
        return None
    is_ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # May be raised at any point in Python code.
    if isinstance(error, KeyboardInterrupt) and is_ctrl_c:
        return None
    rule = None
    for frame in traceback.extract_tb(error.__traceback__):
        name = game_of(frame.filename)
        if name is not None:
            rule = rule or (name, frame)
        elif is_azcores(frame.filename):
            rule = None
    if rule is None:
        return None
    name, frame = rule
    folder = next(f for f in tuple(_folders) if Path(frame.filename).is_relative_to(f))
    return at_fault(name, frame.name, described(error, folder))


def at_fault(name: str, rule: str, what: str) -> FaultyGameError:
    """The error for a rule that raised or returned an invalid value during play."""
    return FaultyGameError(
        f"game {name} is at fault in {rule}:\n{what}\n"
        f"  hint: python -m azcore command=check game={name} looks for the position"
    )


def broken_promise(
    name: str, function: Callable[..., Any], got: object, want: str
) -> FaultyGameError:
    """The error for a rule that returned `got`."""
    code = function.__code__
    place = _lines(code.co_filename, code.co_firstlineno)
    return at_fault(name, function.__name__, f"it gave {got}, want {want}\n{place}")


def raised(
    name: str, function: Callable[..., Any], error: Exception, again: Callable[[], Any]
) -> FaultyGameError:
    """The error for a compiled rule that raised.

    Args:
        function: the rule as its author wrote it.
        error: what it raised, often without a place.
        again: calls the rule again as plain Python, which reveals the place.
    """
    folder = Path(function.__code__.co_filename).parent
    found = place(error, folder)
    if not found:
        try:
            with np.errstate(all="ignore", divide="raise"):
                again()
        except Exception as same:
            if isinstance(same, (type(error), FloatingPointError)):
                found = place(same, folder)
    if not found:
        found = _lines(function.__code__.co_filename, function.__code__.co_firstlineno)
    return at_fault(name, function.__name__, f"{type(error).__name__}: {error}\n{found}")


def described(error: BaseException, folder: Path | None) -> str:
    """The error and its place, in a few lines."""
    rule = _rule_being_compiled(error)
    if rule is not None:
        return _compilation(error, rule)
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()
        return f"SyntaxError: {error.msg}\n  {error.filename}, line {error.lineno}\n    {line}"
    sentence = f"{type(error).__name__}: {error}"
    found = place(error, folder)
    return f"{sentence}\n{found}" if found else sentence


def place(error: BaseException, folder: Path | None) -> str:
    """The last line of code in `folder` that led to `error`, as two lines of text; else empty."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if folder is not None and Path(frame.filename).is_relative_to(folder):
            return _lines(frame.filename, frame.lineno or 0)
    return ""


def folder_of(module: str) -> Path | None:
    """The folder of a game's code, given the `module` of its class, imported or not.

    This is the top-level package, or the file itself if there is none; for azcore's own games, the
    folder of each.
    """
    top = module.partition(".")[0]
    if top == "azcore" and module in sys.modules:
        return Path(sys.modules[module].__file__ or "").parent
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # of a notebook, or of a script not imported by name
        loaded = getattr(sys.modules.get(module), "__file__", None)
        return None if loaded is None else Path(loaded)
    if spec is None:
        return None
    places = spec.submodule_search_locations
    return Path(next(iter(places))) if places else Path(spec.origin or "")


def _rule_being_compiled(error: BaseException) -> CodeType | None:
    """The code of the function that `compilation` was compiling, if the error came from there."""
    here = error.__traceback__
    while here is not None:
        frame = here.tb_frame
        if frame.f_globals.get("__name__") == "azcore.game.compilation":
            function = frame.f_locals.get("function")
            if isinstance(function, FunctionType):
                return function.__code__
        here = here.tb_next
    return None


def _compilation(error: BaseException, rule: CodeType) -> str:
    """numba's reason for not compiling `rule`, with the line concerned."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    text = text.rpartition("raised a specific error:")[2]  # the innermost of nested calls
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
        if Path(where[1]).name != Path(file).name:  # numba gives only the file's name
            file = str(Path(file).with_name(Path(where[1]).name))
    if isinstance(error, KeyError):  # all that numba raises when a record lacks a field
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
