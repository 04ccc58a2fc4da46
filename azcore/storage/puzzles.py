"""Puzzles: positions with the moves that solve them, one a line, as in files of the EPD standard.

    4k3/8/8/8/8/8/8/4K2R w - - bm O-O; id "castle";
    XX./OO./... x bm c3;
    ..X/.O./... o am a1 b1;        # any move but these

`Game.state_from_text` reads the position and `Game.text_to_action` each of the moves. Operations
other than these and `id` are ignored. Empty lines and lines that begin with # are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azcore.errors import GameFileError
from azcore.game import Game
from azcore.storage.starts import UNREADABLE

LONGEST = 1 << 26  # bytes of a file: half a million positions
_PUZZLE = re.compile(r"(?P<position>.+?)\s(?P<kind>bm|am)\s+(?P<moves>[^;]+);?(?P<rest>.*)")
_NAME = re.compile(r'\bid\s+"([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class Puzzle:
    """A position that is not over, and what solves it."""

    name: str  # its id, or else file and line
    text: str  # of the position
    state: Any
    solutions: frozenset[int]  # actions; one of them at least is legal, and not all legal ones are


def read_puzzles(path: Path, game: Game) -> Iterator[Puzzle]:
    """The puzzles of a file.

    Raises:
        GameFileError: the file cannot be read, or a line is no puzzle of this game.
    """
    try:
        if path.stat().st_size > LONGEST:
            raise GameFileError(f"{path}: a file of puzzles must have at most {LONGEST:,} bytes")
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise GameFileError(f"{path}: puzzles must be text in UTF-8: {error.reason}") from error
    except OSError as error:
        raise GameFileError(f"{path}: cannot read puzzles: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if (text := line.strip()) and not text.startswith("#"):
            yield _puzzle(text, f"{path}, line {number}", game)


def _puzzle(line: str, where: str, game: Game) -> Puzzle:
    found = _PUZZLE.fullmatch(line)
    if found is None:
        raise GameFileError(
            f"{where}: a puzzle must be a position and `bm MOVES;` or `am MOVES;`, got "
            f"{line[:200]!r}"
        )
    try:
        state = game.state_from_text(found["position"])
        named = {game.text_to_action(state, word) for word in found["moves"].split()}
    except UNREADABLE as error:
        raise GameFileError(f"{where}: {error}") from error
    legal = set(game.legal_action_mask(state).nonzero()[0].tolist())
    solutions = named if found["kind"] == "bm" else legal - named
    if not solutions or solutions == legal:
        raise GameFileError(
            f"{where}: some legal moves must solve a puzzle and others not, got "
            f"{len(solutions)} of {len(legal)} in {line[:200]!r}"
        )
    name = _NAME.search(found["rest"])
    return Puzzle(
        name=name[1] if name else where,
        text=found["position"],
        state=state,
        solutions=frozenset(solutions),
    )
