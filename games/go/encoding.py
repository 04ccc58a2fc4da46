"""How a Go position looks to the network, and how its symmetries act. For rules see `rules.py`.

The 17 planes of AlphaGo Zero (Silver et al. 2017, "Neural network architecture"), N × N each:

    0 .. 7   stones of the player to move: now, one ply ago, .. seven plies ago
    8 .. 15  stones of the opponent, likewise
    16       ones if Black is to move, else zeros

The paper lists the same planes with the two colours interleaved; the order is of no consequence to
a convolution. Boards before the start of the game are empty. A pass is a ply: it repeats the board.
Komi is in no plane: the last one lets the network learn its worth for each colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from azcore.game import Symmetry

NUM_BOARDS = 8
NUM_PLANES = 2 * NUM_BOARDS + 1


def observe(state: Any, planes: Any) -> None:
    """Write float32 [17, N, N], which hold zeros, from the view of the player to move."""
    size = state.history.shape[0]
    # `history` has Black's eight boards in bits 0 to 7 and White's in bits 8 to 15.
    own_bit = 8 * state.player
    for age in range(NUM_BOARDS):
        for row in range(size):
            for column in range(size):
                boards = state.history[row, column]
                planes[age, row, column] = boards >> (own_bit + age) & 1
                planes[NUM_BOARDS + age, row, column] = boards >> (8 - own_bit + age) & 1
    if state.player == 0:
        planes[2 * NUM_BOARDS] = 1.0


def symmetries(size: int) -> tuple[Symmetry, ...]:
    """The seven rotations and reflections of the square other than the identity; passes stay."""
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    turned = [np.rot90(cells, quarters) for quarters in range(4)]
    mapped = [board.ravel() for board in turned[1:] + [np.fliplr(board) for board in turned]]
    action_pass = np.int32(size * size)
    return tuple(Symmetry(cells=one, actions=np.append(one, action_pass)) for one in mapped)
