"""What the network sees of connect four, and its one symmetry."""

from typing import Any

import numpy as np

from azcore import Symmetry

from .rules import COLUMNS, ROWS, STEP


def observe(state: Any, planes: Any) -> None:
    """Plane 0 holds the stones of the player to move, plane 1 the opponent's; row 0 is the top."""
    for plane in range(2):
        stones = state.stones[state.player ^ plane]
        for column in range(COLUMNS):
            for row in range(ROWS):
                planes[plane, ROWS - 1 - row, column] = stones >> (STEP * column + row) & 1


def symmetries() -> tuple[Symmetry, ...]:
    """Left and right exchanged."""
    cells = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    return (Symmetry(cells=np.fliplr(cells).ravel(), actions=np.flip(cells[0])),)
