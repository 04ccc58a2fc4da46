"""The network's input for a shogi position, and its one symmetry. The rules are in `rules.py`.

AlphaZero's 362 planes (Silver et al. 2018, table S1), 9 × 9 each. A step of history has 45:

    0 .. 13   own pieces: P L N S G B R K +P +L +N +S +B +R
    14 .. 27  the opponent's, likewise
    28 .. 30  ones if the position had then occurred at least 1, 2, 3 times before
    31 .. 37  own prisoners: the number of P L N S G B R in hand, in every cell
    38 .. 44  the opponent's, likewise

Planes 0 to 359 are eight such steps: now, one ply ago, .. seven plies ago; steps before the first
known position are zeros. Plane 360 is ones if Black is to move; plane 361 counts moves (two plies)
up to 255. All steps are in the view of the player to move now, who plays up the board.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from azcore.game import Symmetry

from . import rules
from .rules import BLACK, NUM_CELLS, NUM_HAND_TYPES, NUM_STEPS, NUM_TYPES, SUPPLY, WHITE

STEP_PLANES = 45
REPEATS = 2 * NUM_TYPES
PRISONERS = REPEATS + 3
COLOUR = NUM_STEPS * STEP_PLANES
MOVE_COUNT = COLOUR + 1
NUM_PLANES = MOVE_COUNT + 1
MOST_MOVES = 255
MIRRORED = "lnsgkgsnl/1b5r1/ppppppppp/9/9/9/PPPPPPPPP/1R5B1/LNSGKGSNL b - 1"  # the start, as SFEN

# The largest value of each plane.
MAXIMUM = ([1] * PRISONERS + [*SUPPLY, *SUPPLY]) * NUM_STEPS + [1, MOST_MOVES]


_IN_HAND = ("pawns", "lances", "knights", "silvers", "golds", "bishops", "rooks")
_KINDS = (
    *_IN_HAND,
    "king",
    *(f"promoted {kind}" for kind in ("pawns", "lances", "knights", "silvers")),
    *("horses", "dragons"),
)
_OF_A_POSITION = [
    *(f"own {kind}" for kind in _KINDS),
    *(f"opponent's {kind}" for kind in _KINDS),
    *("occurred before", "occurred twice before", "occurred three times before"),
    *(f"own {kind} in hand" for kind in _IN_HAND),
    *(f"opponent's {kind} in hand" for kind in _IN_HAND),
]
_AGES = ["", ", 1 ply ago", *(f", {plies} plies ago" for plies in range(2, NUM_STEPS))]
PLANE_NAMES = [f"{name}{ago}" for ago in _AGES for name in _OF_A_POSITION] + [
    "Black to move",
    "moves played",
]
PLANE_AGES = [age for age in range(NUM_STEPS) for _ in range(STEP_PLANES)] + [0, 0]

# [seat to move, code on the board]: the plane of a piece within its step, times 81. Empty squares
# (code 0) write to a repetition plane, which is overwritten later: faster than testing each square.
_black = [REPEATS, *range(2 * NUM_TYPES)]
_white = [REPEATS, *range(NUM_TYPES, 2 * NUM_TYPES), *range(NUM_TYPES)]
FIRST_CELL = np.array([_black, _white], np.uint64) * np.uint64(NUM_CELLS)


@register_jitable
def fill(plane: Any, value: int) -> None:
    """Set every cell of a plane to `value`."""
    for cell in range(NUM_CELLS):
        plane[cell] = value


def observe(state: Any, planes: Any) -> None:
    """Fill `planes`, uint8 [362, 9, 9] of zeros, from the view of the player to move."""
    cells = planes.reshape(NUM_PLANES, NUM_CELLS)
    flat = planes.reshape(NUM_PLANES * NUM_CELLS)
    player = int(state.player)
    latest = int(state.latest)
    for steps_ago in range(min(NUM_STEPS, latest + 1)):
        slot = (latest - steps_ago) & 7
        first = steps_ago * STEP_PLANES
        board = state.boards[slot]
        step = flat[first * NUM_CELLS : (first + STEP_PLANES) * NUM_CELLS]
        # Unsigned indices, which cannot count from the end, make this loop twice as fast.
        if player == BLACK:
            for square in range(NUM_CELLS):
                step[FIRST_CELL[BLACK, np.uint8(board[square])] + np.uint64(square)] = 1
        else:
            for square in range(NUM_CELLS):
                step[FIRST_CELL[WHITE, np.uint8(board[square])] + np.uint64(80 - square)] = 1
        repeats = state.repeats[slot]
        fill(cells[first + REPEATS], 1 if repeats > 0 else 0)
        if repeats > 1:
            fill(cells[first + REPEATS + 1], 1)
        if repeats > 2:
            fill(cells[first + REPEATS + 2], 1)
        for side in range(2):
            hand = state.hands[slot, player ^ side]
            for piece in range(NUM_HAND_TYPES):
                if hand[piece] > 0:
                    plane = first + PRISONERS + NUM_HAND_TYPES * side + piece
                    fill(cells[plane], hand[piece])
    if player == BLACK:
        fill(cells[COLOUR], 1)
    moves = min(int(state.ply) >> 1, MOST_MOVES)
    if moves > 0:
        fill(cells[MOVE_COUNT], moves)


def symmetries() -> tuple[Symmetry, ...]:
    """Left and right swapped: every piece moves symmetrically.

    The start has the bishop on one side and the rook on the other, so its image never occurs.
    """
    cells = np.arange(NUM_CELLS, dtype=np.int32).reshape(9, 9)
    actions = np.arange(rules.NUM_ACTIONS, dtype=np.int32).reshape(rules.NUM_PLANES, 9, 9)
    ways = np.arange(rules.KNIGHT_PLANE).reshape(8, 8)[[0, 7, 6, 5, 4, 3, 2, 1]]  # NE from NW, ..
    moves = np.array([*ways.ravel(), rules.KNIGHT_PLANE + 1, rules.KNIGHT_PLANE])
    drops = np.arange(rules.DROP_PLANE, rules.NUM_PLANES)
    planes = np.concatenate([moves, rules.NUM_MOVE_PLANES + moves, drops])
    return (
        Symmetry(
            cells=cells[:, ::-1].ravel(), actions=actions[planes, :, ::-1].ravel(), start=MIRRORED
        ),
    )
