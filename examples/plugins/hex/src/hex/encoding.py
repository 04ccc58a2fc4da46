"""What the network sees of Hex, and its one symmetry."""

from typing import Any

import numpy as np

from azcore import Symmetry

from .rules import may_swap


def observe(state: Any, planes: Any) -> None:
    """Plane 0 holds the own stones, 1 the opponent's, 2 ones if the player may swap.

    The player to move always connects top and bottom: rows and columns are exchanged for seat 1.
    """
    size = len(state.stones)
    for row in range(size):
        for column in range(size):
            stone = state.stones[row, column]
            r, c = (column, row) if state.player == 1 else (row, column)
            planes[0, r, c] = stone == 1 + state.player
            planes[1, r, c] = stone == 2 - state.player
            planes[2, r, c] = may_swap(state)


def symmetries(size: int) -> tuple[Symmetry, ...]:
    """Half a turn, after which a swap is still the last action."""
    cells = np.arange(size * size, dtype=np.int32)[::-1].copy()
    return (Symmetry(cells=cells, actions=np.append(cells, np.int32(size * size))),)
