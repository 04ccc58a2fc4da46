"""The network's input for a Go position, and its symmetries. The rules are in `rules.py`.

The 17 planes of AlphaGo Zero (Silver et al. 2017, "Neural network architecture"), N × N each:

    0 .. 7   stones of the player to move: now, one ply ago, .. seven plies ago
    8 .. 15  stones of the opponent, likewise
    16       ones if Black is to move, else zeros

The paper lists the same planes with the two colours interleaved; the order makes no difference to a
convolution. Boards before the start of the game are empty. A pass is a ply: it repeats the board.
No plane shows komi: the last one lets the network learn the value of komi for each colour. A game
with several komi or board sizes has two more:

    17       twice the komi that the player to move gets (negative for Black), plus 50
    18       ones on the points of the board, zeros where a smaller board leaves the array empty
"""

from __future__ import annotations

from typing import Any

import numpy as np

from azcore.game import Symmetry

NUM_BOARDS = 8
NUM_PLANES = 2 * NUM_BOARDS + 1
NUM_PLANES_OF_SEVERAL = NUM_PLANES + 2
MOST_KOMI = 25  # with plane 17: Black's margin on 5×5, larger than on other boards
_AGES = ["", ", 1 ply ago", *(f", {plies} plies ago" for plies in range(2, NUM_BOARDS))]


def maximum_of_planes(several: bool) -> list[int]:
    """The largest value of each plane; `several`: whether there are several komi or sizes."""
    return [1] * NUM_PLANES + ([4 * MOST_KOMI, 1] if several else [])


def plane_names(several: bool) -> list[str]:
    """The meaning of each plane; `several`: whether there are several komi or sizes."""
    names = [f"{whose} stones{ago}" for whose in ("own", "opponent's") for ago in _AGES]
    return [*names, "Black to move", *(["own komi", "points of the board"] if several else [])]


def plane_ages(several: bool) -> list[int]:
    """How many plies ago each plane was the board; `several`: as in `plane_names`."""
    return [*range(NUM_BOARDS)] * 2 + [0] * (3 if several else 1)


def observe(state: Any, planes: Any) -> None:
    """Fill `planes`, uint8 [17 or 19, N, N] of zeros, from the view of the player to move."""
    size = state.history.shape[0]
    # Flat rows, since the compiler vectorises one long loop but not many short ones.
    history = state.history.reshape(size * size)
    cells = planes.reshape(planes.shape[0], size * size)
    # Bits 0 to 7 of `history` are Black's eight boards and bits 8 to 15 White's: the order of the
    # planes if Black is to move, and with the halves swapped if White is.
    first_bit = NUM_BOARDS * int(state.player)  # int: an int8 would overflow
    for plane in range(2 * NUM_BOARDS):
        bit = (plane + first_bit) % (2 * NUM_BOARDS)
        for cell in range(size * size):
            cells[plane, cell] = history[cell] >> bit & 1
    if state.player == 0:
        cells[2 * NUM_BOARDS] = 1
    if planes.shape[0] > NUM_PLANES:
        own_komi = state.komi if state.player == 1 else -state.komi
        cells[NUM_PLANES] = int(2 * own_komi) + 2 * MOST_KOMI
        planes[NUM_PLANES + 1, size - state.size_in_play :, : state.size_in_play] = 1


def symmetries(size: int) -> tuple[Symmetry, ...]:
    """The seven rotations and reflections other than the identity; a pass maps to itself."""
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    turned = [np.rot90(cells, quarters) for quarters in range(4)]
    mapped = [board.ravel() for board in turned[1:] + [np.fliplr(board) for board in turned]]
    action_pass = np.int32(size * size)
    return tuple(Symmetry(cells=one, actions=np.append(one, action_pass)) for one in mapped)
