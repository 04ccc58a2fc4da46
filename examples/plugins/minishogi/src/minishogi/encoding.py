"""What the network sees of minishogi, and its one symmetry.

There are 33 planes of 5 × 5, in the view of the player to move:

0 .. 9    own pieces: pawn silver gold bishop rook king, promoted pawn silver bishop rook
10 .. 19  the opponent's, likewise
20 .. 24  the number of own pawns, silvers, golds, bishops and rooks in hand, in every cell
25 .. 29  the opponent's, likewise
30, 31    ones if the position has occurred at least once, twice before
32        ones if White is to move, who wins by repetition
"""

from __future__ import annotations

from typing import Any

import numpy as np

from azcore import Symmetry

from . import rules
from .rules import NUM_CELLS, NUM_HAND_TYPES, NUM_TYPES, SIZE, SUPPLY

HANDS = 2 * NUM_TYPES
REPEATS = HANDS + 2 * NUM_HAND_TYPES
WHITE_TO_MOVE = REPEATS + 2
NUM_PLANES = WHITE_TO_MOVE + 1
MIRRORED = "kgsbr/p4/5/4P/RBSGK b - 1"  # the start with left and right exchanged
MAXIMUM = [1] * HANDS + [SUPPLY] * (REPEATS - HANDS) + [1, 1, 1]

_KINDS = ("pawns", "silvers", "golds", "bishops", "rooks")
_ALL = (*_KINDS, "king", "promoted pawns", "promoted silvers", "horses", "dragons")
PLANE_NAMES = [
    *(f"own {kind}" for kind in _ALL),
    *(f"opponent's {kind}" for kind in _ALL),
    *(f"own {kind} in hand" for kind in _KINDS),
    *(f"opponent's {kind} in hand" for kind in _KINDS),
    "occurred before",
    "occurred twice before",
    "White to move",
]


def observe(state: Any, planes: Any) -> None:
    """Fill `planes`, uint8 [33, 5, 5] of zeros."""
    for cell in range(NUM_CELLS):
        if state.board[cell] != 0:
            planes[state.board[cell] - 1, cell // SIZE, cell % SIZE] = 1
    for side in range(2):
        for piece in range(NUM_HAND_TYPES):
            count = state.hands[state.player ^ side, piece]
            planes[HANDS + NUM_HAND_TYPES * side + piece, :, :] = count
    for times in range(2):
        if state.repeats > times:
            planes[REPEATS + times, :, :] = 1
    if state.player == 1:
        planes[WHITE_TO_MOVE, :, :] = 1


def symmetries() -> tuple[Symmetry, ...]:
    """Left and right exchanged. The start's image never occurs, and is played alike."""
    cells = np.arange(NUM_CELLS, dtype=np.int32).reshape(SIZE, SIZE)
    actions = np.arange(rules.NUM_ACTIONS, dtype=np.int32).reshape(rules.NUM_PLANES, SIZE, SIZE)
    ways = np.arange(rules.NUM_MOVE_PLANES).reshape(8, rules.MOST_STEPS)
    moves = ways[[0, 7, 6, 5, 4, 3, 2, 1]].ravel()  # NE from NW, E from W, ..
    drops = np.arange(rules.DROP_PLANE, rules.NUM_PLANES)
    planes = np.concatenate([moves, rules.NUM_MOVE_PLANES + moves, drops])
    return (
        Symmetry(
            cells=cells[:, ::-1].ravel(), actions=actions[planes, :, ::-1].ravel(), start=MIRRORED
        ),
    )
