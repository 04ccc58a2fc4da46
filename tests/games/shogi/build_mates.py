"""Writes the mate problems of test_mates.py; the same seed gives the same files.

    python tests/games/shogi/build_mates.py

Games are played by cshogi with moves drawn at random, some of them from captures, promotions and
checks alone, so that material and kings get about. One problem is taken from a game, the first of:

* mate in one, among 10 to 150 legal moves: some move leaves the opponent without a legal move, in
  check
* mate in two, among 10 to 40: no move mates at once, and after some move every reply allows mate;
  all such first moves, found by trying everything, follow the position

The limits are for a search of 800 simulations that knows nothing: it must try every move for a mate
in one, and about moves × replies × moves for a mate in two.

Those in two are also puzzles for players: examples/puzzles/shogi_mates.epd.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cshogi
import numpy as np

DATA = Path(__file__).parents[2] / "data"
PUZZLES = Path(__file__).parents[3] / "examples" / "puzzles" / "shogi_mates.epd"
SEED = 20171205
IN_ONE, IN_TWO = 64, 40
FEWEST = 10  # legal moves
MOST = (150, 40)  # for mates in one, in two


def is_mate(board: Any) -> bool:
    return bool(board.is_check()) and len(board.legal_moves) == 0


def mating_moves(board: Any) -> list[int]:
    found = []
    for move in board.legal_moves:
        board.push(move)
        if is_mate(board):
            found.append(move)
        board.pop()
    return found


def every_reply_allows_mate(board: Any) -> bool:
    replies = list(board.legal_moves)
    for reply in replies:
        board.push(reply)
        allowed = bool(mating_moves(board))
        board.pop()
        if not allowed:
            return False
    return bool(replies)


def mating_in_two(board: Any) -> list[int]:
    found = []
    for move in board.legal_moves:
        board.push(move)
        if every_reply_allows_mate(board):
            found.append(move)
        board.pop()
    return found


def lively(board: Any) -> list[int]:
    """Captures, promotions and checks."""
    found = []
    for move in board.legal_moves:
        taken = not cshogi.move_is_drop(move) and board.piece(cshogi.move_to(move)) != 0
        board.push(move)
        if taken or cshogi.move_is_promotion(move) or board.is_check():
            found.append(move)
        board.pop()
    return found


def game(seed: int, want_two: bool) -> str | None:
    """One problem from one game, if it has one."""
    rng = np.random.default_rng([SEED, seed])
    board = cshogi.Board()
    liveliness = rng.random() * 0.7
    for ply in range(250):
        moves = list(board.legal_moves)
        if not moves:
            return None
        if ply >= 30 and FEWEST <= len(moves) <= MOST[want_two]:
            mates = mating_moves(board)
            if mates and not want_two:
                return str(board.sfen())
            firsts = [] if mates or not want_two else mating_in_two(board)
            if firsts:
                return f"{board.sfen()}; {' '.join(map(cshogi.move_to_usi, firsts))}"
        some = lively(board) if rng.random() < liveliness else []
        board.push(int(rng.choice(some or moves)))
    return None


def problems(count: int, want_two: bool) -> list[str]:
    found: list[str] = []
    seed = 10**6 * want_two
    while len(found) < count:
        problem = game(seed, want_two)
        seed += 1
        if problem is not None:
            found.append(problem)
    return found


def puzzle(line: str) -> str:
    """A line of EPD with all moves that force mate in two."""
    position, _, moves = line.partition("; ")
    return f"{position} bm {moves};"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    target.mkdir(exist_ok=True)
    for name, count, want_two in (("one", IN_ONE, False), ("two", IN_TWO, True)):
        lines = problems(count, want_two)
        (target / f"shogi_mates_in_{name}.txt").write_text("\n".join(lines) + "\n")
        if want_two:
            told = (
                "# Mates in two, from random play; every move that forces mate (tests/games/shogi)."
            )
            PUZZLES.write_text("\n".join([told, *map(puzzle, lines)]) + "\n")
