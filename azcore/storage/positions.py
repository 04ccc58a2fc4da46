"""Text files with a position on each line, as in the EPD standard.

    4k3/8/8/8/8/8/8/4K2R w - - bm O-O; id "castle";
    position startpos moves e2e4 e7e5
    XX./OO./... x bm c3;

`Game.state_from_text` reads the position; the reader skips UCI's and USI's words before it and
quotes around it. Moves may follow, then operations, each with its operands and a semicolon. Empty
lines and lines that begin with # are comments.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azcore.errors import (
    AmbiguousTextError,
    AzcoreError,
    GameFileError,
    IllegalActionError,
    InvalidTextError,
    os_errors_as,
)
from azcore.game import Game

LONGEST = 1 << 28  # bytes of a file: some millions of positions
LONGEST_LINE = 4_000  # characters of a position with operations: ten times what is usual
INITIAL = "startpos"  # UCI's and USI's word for the initial position
UNREADABLE = (InvalidTextError, IllegalActionError, AmbiguousTextError)
# Operations up to the end of a line; the last one's semicolon may be missing if it names moves.
_OPERATIONS = re.compile(r"[A-Za-z]\w*+([\s;].*)?;|[ab]m\s.*")
_END = re.compile(r"\s[ab]m\s|;|\Z")  # of most positions
# After moves or numbers, the semicolon may also be missing before one of the usual operations.
_USUAL = r"(?:[ab]m|[dp]m|pv|ce|ac[dn])"
_OPERATION = re.compile(
    rf"(?<!\w)(?:({_USUAL})\s++([^;]*?)(?:;|$|(?=\s(?:{_USUAL}|id)\s))"
    r'|([A-Za-z]\w*+)\s*+((?:"[^"]*+"|[^;"])*+)(?:;|$))'
)
_MOVE = re.compile(r'[^\s;"]+')
_BEFORE = re.compile(r"(?:position\s+)?(?:s?fen\s+)?")


def position_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file that are not empty or comments, each with its place for errors.

    Raises:
        GameFileError: the file cannot be read.
    """
    with os_errors_as(GameFileError, f"{path}: cannot read positions"), path.open("rb") as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise GameFileError(f"{path}: positions must take at most {LONGEST:,} bytes")
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_utf_16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip("\0 \t")  # some lines end in a zero
        if bare and not bare.startswith("#"):
            yield f"{path}, line {number}", bare


class Given(NamedTuple):
    """The content of a line."""

    text: str | None  # of the position; None: the initial one
    before: Any  # its state
    actions: list[int]  # moves from there
    state: Any  # after them
    operations: Mapping[str, str]  # the operands of each, by name


def read_position(game: Game, line: str) -> Given:
    """The position of a line, with the moves and the operations after it.

    Raises:
        InvalidTextError, IllegalActionError, AmbiguousTextError: it does not begin with a position,
            or a move cannot be played.
    """
    line = line.strip()
    if len(line) > 1 and line[0] == line[-1] == '"':
        line = line[1:-1].strip()
    line = _BEFORE.sub("", line, count=1)
    position, has_moves, _ = line.partition(" moves ")
    _require_short(game, position)
    given, at = (_with_moves if has_moves else _without_moves)(game, line)
    _require_short(game, line[at:])
    operations: dict[str, str] = {}
    for found in _OPERATION.finditer(line, at):
        name, operands = (found[1], found[2]) if found[1] else (found[3], found[4])
        operations.setdefault(name.lower(), operands)
    return given._replace(operations=operations)


def _require_short(game: Game, text: str) -> None:
    if len(text) > LONGEST_LINE:
        raise InvalidTextError(
            f"{game.name}: a position with its operations must have at most {LONGEST_LINE:,} "
            f"characters, got {len(text):,}"
        )


def _without_moves(game: Game, line: str) -> tuple[Given, int]:
    """The longest position that a line begins with, and where its operations begin."""
    usual = len(_END.split(line, maxsplit=1)[0])
    words = [word.start() for word in reversed([*re.finditer(r"\S+", line)][1:])]
    first: AzcoreError | None = None
    for at in (usual, *(word for word in words if _OPERATIONS.fullmatch(line, word))):
        try:
            return _position(game, line[:at]), at
        except UNREADABLE as error:
            first = first or error
    assert first is not None
    raise first


def _with_moves(game: Game, line: str) -> tuple[Given, int]:
    """A position with moves, which end at a semicolon or at an operation, and where that is."""
    position, between, _ = line.partition(" moves ")
    given = _position(game, position)
    state, actions, end = given.state, list[int](), len(_END.split(line, maxsplit=1)[0])
    for word in _MOVE.finditer(line, len(position + between)):
        place = word.start()
        if place >= end:
            break
        try:
            action = game.text_to_action(state, word[0])
            following = game.step(state, action)
        except UNREADABLE:
            if not _OPERATIONS.fullmatch(line, place):
                raise
            end = place
            break
        actions.append(action)
        state = following
    return given._replace(actions=actions, state=state), end


def _position(game: Game, text: str) -> Given:
    text = text.strip(' "').removesuffix(" moves")
    state = game.initial_state() if text == INITIAL else game.state_from_text(text)
    return Given(None if text == INITIAL else text, state, [], state, {})
