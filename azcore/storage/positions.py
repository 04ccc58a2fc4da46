"""Text files with a position on each line, as in the EPD standard.

    4k3/8/8/8/8/8/8/4K2R w - - bm O-O; id "castle";
    position startpos moves e2e4 e7e5
    XX./OO./... x bm c3;

`Game.state_from_text` reads the position; the reader skips UCI's and USI's words before it and
quotes around it. Operations may follow, each with its operands and a semicolon. Empty lines and
lines that begin with # are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azcore.errors import (
    AmbiguousTextError,
    AzcoreError,
    GameFileError,
    IllegalActionError,
    InvalidTextError,
)
from azcore.game import Game

LONGEST = 1 << 28  # bytes of a file: some millions of positions
LONGEST_LINE = 4_000  # characters of a position with operations: ten times what is usual
INITIAL = "startpos"  # UCI's and USI's word for the initial position
UNREADABLE = (InvalidTextError, IllegalActionError, AmbiguousTextError)
# Operations up to the end of a line; the last one's semicolon may be missing if it names moves.
_OPERATIONS = re.compile(r"[A-Za-z]\w*(\s.*)?;|[ab]m\s.*")
_END = re.compile(r"\s[ab]m\s|;|\Z")  # of most positions
_OPERATION = re.compile(r'([A-Za-z]\w*)\s*((?:"[^"]*"|[^;"])*)(?:;|$)')
_BEFORE = re.compile(r"(?:position\s+)?(?:s?fen\s+)?")


def position_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file that are not empty or comments, each with its place for errors.

    Raises:
        GameFileError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise GameFileError(f"{path}: cannot read positions: {error.strerror}") from error
    if len(data) > LONGEST:
        raise GameFileError(f"{path}: positions must take at most {LONGEST:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip("\0 \t")  # some lines end in a zero
        if bare and not bare.startswith("#"):
            yield f"{path}, line {number}", bare


def without_words(line: str) -> str:
    """A line without UCI's and USI's words before its position, and without surrounding quotes."""
    line = line.strip()
    if len(line) > 1 and line[0] == line[-1] == '"':
        line = line[1:-1].strip()
    return _BEFORE.sub("", line, count=1)


def read_position(game: Game, line: str) -> tuple[str, Any, dict[str, str]]:
    """The position of a line as text and as a state, and the operands of each operation after it.

    Raises:
        InvalidTextError, IllegalActionError, AmbiguousTextError: it does not begin with a position.
    """
    if len(line) > LONGEST_LINE:
        raise InvalidTextError(
            f"{game.name}: a position with its operations must have at most {LONGEST_LINE:,} "
            f"characters, got {len(line):,}"
        )
    words = [word.start() for word in reversed([*re.finditer(r"\S+", line)][1:])]
    first: AzcoreError | None = None
    usual = len(_END.split(line, maxsplit=1)[0])
    for at in (usual, *(word for word in words if _OPERATIONS.fullmatch(line, word))):
        text = line[:at].strip(' "')
        try:
            if text == INITIAL:
                text = game.state_to_text(game.initial_state())
            state = game.state_from_text(text)
        except UNREADABLE as error:
            first = first or error
            continue
        operations: dict[str, str] = {}
        for found in _OPERATION.finditer(line, at):
            operations.setdefault(found[1], found[2])
        return text, state, operations
    assert first is not None
    raise first
