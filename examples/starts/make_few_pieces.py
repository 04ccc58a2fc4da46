"""Writes 3,000 positions of chess with few pieces, from which self-play may begin.

    python examples/starts/make_few_pieces.py > examples/starts/chess_few_pieces.epd

A player that knows nothing draws nearly all its games of chess, so it has nothing to learn from.
With a few pieces, and often more on one side, games end soon and many are won.
"""

import chess
import numpy as np

POSITIONS, SEED = 3000, 1
PIECES = "QRRBBNNPPPPP"  # each side has up to five of these


def position(rng: np.random.Generator) -> chess.Board | None:
    """Random pieces on random cells; None if the rules forbid them, or the game is over."""
    board = chess.Board(None)
    cells = iter(rng.permutation(64).tolist())
    for white in (True, False):
        board.set_piece_at(next(cells), chess.Piece(chess.KING, white))
        for symbol in rng.choice(list(PIECES), int(rng.integers(6)), replace=False):
            kind = chess.PIECE_SYMBOLS.index(symbol.lower())
            cell = next(cells)
            if kind == chess.PAWN and chess.square_rank(cell) in (0, 7):
                return None
            board.set_piece_at(cell, chess.Piece(kind, white))
    board.turn = bool(rng.integers(2))
    return board if board.is_valid() and not board.is_game_over() else None


def main() -> None:
    rng = np.random.default_rng(SEED)
    made: set[str] = set()
    while len(made) < POSITIONS:
        board = position(rng)
        if board is not None and board.fen() not in made:
            made.add(board.fen())
            print(board.fen())


if __name__ == "__main__":
    main()
