"""Builds tests/data/chess_mates_in_one.txt and chess_mates_in_two.txt, the same for the same seed.

Those in two are also puzzles for players: examples/puzzles/chess_mates.epd.

    python tests/games/chess/build_mates.py

Positions of random play, the rules and the proof by python-chess: every move and every reply is
tried. A position is taken if the player to move can mate in so many moves and not in fewer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np

DATA = Path(__file__).parents[2] / "data"
PUZZLES = Path(__file__).parents[3] / "examples" / "puzzles" / "chess_mates.epd"
SEED = 2018
NUM_IN_ONE, NUM_IN_TWO = 64, 40


def mates_in_one(board: chess.Board) -> list[chess.Move]:
    """All moves that mate."""
    found = []
    for move in list(board.legal_moves):
        if board.gives_check(move):
            board.push(move)
            if board.is_checkmate():
                found.append(move)
            board.pop()
    return found


def mates_in_two(board: chess.Board) -> list[chess.Move]:
    """All moves after which the opponent is mated at the next move at the latest."""
    return [move for move in list(board.legal_moves) if forces_mate_in_two(board, move)]


def forces_mate_in_two(board: chess.Board, move: chess.Move) -> bool:
    """Whether `move` mates, or every reply to it allows a mate in one."""
    board = board.copy(stack=False)
    board.push(move)
    replies = list(board.legal_moves)
    if not replies:
        return board.is_check()
    for reply in replies:
        board.push(reply)
        if not mates_in_one(board):
            return False
        board.pop()
    return True


def random_positions(rng: np.random.Generator) -> Iterator[tuple[int, chess.Board]]:
    """Positions with the number of their game, in which captures are preferred now and then."""
    game = 0
    while True:
        game += 1
        board = chess.Board()
        greed = rng.random() / 2
        while not board.is_game_over() and board.ply() < 160 and not board.can_claim_draw():
            yield game, board
            moves = sorted(board.legal_moves, key=chess.Move.uci)
            captures = [move for move in moves if board.is_capture(move)]
            if captures and rng.random() < greed:
                moves = captures
            board.push(moves[rng.integers(len(moves))])


def puzzle(text: str) -> str:
    """A line of EPD with all moves that force mate in two."""
    moves = mates_in_two(chess.Board(text))
    return f"{text} bm {' '.join(sorted(map(chess.Move.uci, moves)))};"


def main() -> None:
    rng = np.random.default_rng(SEED)
    in_one: dict[int, str] = {}  # by game, so that positions are not alike
    in_two: dict[int, str] = {}
    for game, board in random_positions(rng):
        if board.ply() < 8 or board.fullmove_number % 4:
            continue
        if mates_in_one(board):
            if len(in_one) < NUM_IN_ONE:
                in_one.setdefault(game, board.fen())
        elif len(in_two) < NUM_IN_TWO and game not in in_two and mates_in_two(board):
            in_two[game] = board.fen()
            print(len(in_one), len(in_two), board.fen(), file=sys.stderr)
        if len(in_one) == NUM_IN_ONE and len(in_two) == NUM_IN_TWO:
            break
    DATA.mkdir(exist_ok=True)
    for name, found in (("one", in_one), ("two", in_two)):
        lines = sorted(found.values())
        (DATA / f"chess_mates_in_{name}.txt").write_text("".join(f"{fen}\n" for fen in lines))
    told = "# Mates in two, from random play; every move that forces mate (tests/games/chess)."
    PUZZLES.write_text("\n".join([told, *map(puzzle, sorted(in_two.values()))]) + "\n")


if __name__ == "__main__":
    main()
