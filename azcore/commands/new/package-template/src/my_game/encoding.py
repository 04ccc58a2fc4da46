"""The network's input planes for My game, and the symmetries of its board."""

from typing import Any

import numpy as np

from azcore import Symmetry

NUM_PLANES = 2


def observe(state: Any, planes: Any) -> None:
    """Fill `planes`, uint8 [C, H, W] of zeros, in the view of the player to move.

    The stones of the player to move always come first, so that one network plays both seats. A game
    that looks different from the two sides also rotates its board. Values are whole numbers: 0 and
    1, or up to 255 in a plane whose largest value `game.py` states as `observation_maximum`.
    """
    size = state.board.shape[0]
    for row in range(size):
        for column in range(size):
            stone = state.board[row, column]
            if stone != 0:
                planes[0 if stone == state.player + 1 else 1, row, column] = 1


def symmetries(board_size: int) -> tuple[Symmetry, ...]:
    """Rotations and reflections of the square, without the identity; () if your game has none.

    Entry i of a permutation is the cell, or the action, that moves to i.
    """
    grid = np.arange(board_size * board_size, dtype=np.int32).reshape(board_size, board_size)
    turned = [np.rot90(grid, quarters) for quarters in range(4)]
    mapped = turned[1:] + [np.fliplr(board) for board in turned]
    return tuple(Symmetry(cells=cells.ravel(), actions=cells.ravel()) for cells in mapped)
