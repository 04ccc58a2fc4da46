"""Puzzles: positions with the moves that solve them, one per line, as in the EPD standard.

    4k3/8/8/8/8/8/8/4K2R w - - bm O-O; id "castle";
    XX./OO./... x bm c3;
    ..X/.O./... o am a1 b1;        # any move but these

A line is one of `azcore.storage.positions`, and `Game.text_to_action` reads each of the moves.
The reader ignores operations other than these and `id`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azcore.errors import GameFileError, InvalidTextError
from azcore.game import Game
from azcore.storage.positions import UNREADABLE, position_lines, read_position


@dataclass(frozen=True, kw_only=True)
class Puzzle:
    """A position that is not over, and its solutions."""

    name: str  # its id, or else file and line
    text: str  # of the position
    state: Any
    solutions: frozenset[int]  # actions; includes some legal ones, but not all


def read_puzzles(path: Path, game: Game) -> Iterator[Puzzle | GameFileError]:
    """The puzzles of a file, and an error in place of each line that is not one of this game.

    Raises:
        GameFileError: the file cannot be read.
    """
    for where, line in position_lines(path):
        try:
            yield _puzzle(line, where, game)
        except UNREADABLE as error:
            yield GameFileError(f"{where}: {error}")


def _puzzle(line: str, where: str, game: Game) -> Puzzle:
    given = read_position(game, line)
    state, operations = given.state, given.operations
    best, worst = (_moves(game, state, operations, name) for name in ("bm", "am"))
    if best is None and worst is None:
        raise InvalidTextError(
            f"a puzzle must be a position and `bm MOVES;` or `am MOVES;`, got {line[:200]!r}"
        )
    legal = set(game.legal_action_mask(state).nonzero()[0].tolist())
    solutions = (legal if best is None else best) - (worst or set())
    if not solutions or solutions == legal:
        raise InvalidTextError(
            "some legal moves must solve a puzzle and others not, got "
            f"{len(solutions)} of {len(legal)} in {line[:200]!r}"
        )
    name = operations.get("id", "").strip().strip('"')
    text = game.state_to_text(state) if given.text is None or given.actions else given.text
    return Puzzle(name=name or where, text=text, state=state, solutions=frozenset(solutions))


def _moves(game: Game, state: Any, operations: Mapping[str, str], name: str) -> set[int] | None:
    """The moves that an operation names; None: it is missing."""
    if name not in operations:
        return None
    words = re.findall(r"[^\s,!?]*\w[^\s,!?]*", operations[name])  # not a sign alone
    moves = set[int]()
    try:
        moves = {game.text_to_action(state, word) for word in words}
    except InvalidTextError:
        if re.search(r"[^\W\d_]", operations[name]):
            raise
    if not moves:  # `bm #2`, a number of moves up to mate
        raise InvalidTextError(f"{name} must name moves, got {operations[name][:40]!r}")
    return moves
