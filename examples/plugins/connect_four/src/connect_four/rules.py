"""The rules of connect four, over two bitboards. Seat 0 is X and begins.

A column has seven bits, its six cells from the bottom and one that stays empty, so that shifting a
board by one cell in any direction never carries from one column into the next:

     5 12 19 26 33 40 47
     4 11 18 25 32 39 46
     3 10 17 24 31 38 45
     2  9 16 23 30 37 44
     1  8 15 22 29 36 43
     0  7 14 21 28 35 42

49 bits fit an int64, which numba mixes with other integers as Python does, unlike a uint64.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

COLUMNS, ROWS = 7, 6
STEP = ROWS + 1  # bits from one column to the next
BOTTOM = sum(1 << STEP * column for column in range(COLUMNS))  # the lowest cell of each column
FULL = sum(((1 << ROWS) - 1) << STEP * column for column in range(COLUMNS))  # all 42 cells
# To the cell above, to the right, and to the right and down or up.
DIRECTIONS = (1, STEP, STEP - 1, STEP + 1)
STATE = [
    ("stones", np.int64, (2,)),  # bitboard of each seat
    ("player", np.int64),  # seat to move
]


@register_jitable
def has_four(stones: int) -> bool:
    """Whether a bitboard holds four in a line."""
    for shift in DIRECTIONS:
        pairs = stones & (stones >> shift)
        if pairs & (pairs >> 2 * shift):
            return True
    return False


def current_player(state: Any) -> int:
    return int(state.player)


def legal_actions(state: Any, actions: Any) -> int:
    occupied = state.stones[0] | state.stones[1]
    count = 0
    for column in range(COLUMNS):
        if not occupied >> (STEP * column + ROWS - 1) & 1:  # the top cell is empty
            actions[count] = column
            count += 1
    return count


def step(state: Any, action: int) -> None:
    occupied = state.stones[0] | state.stones[1]
    # Adding one at the bottom carries up through the stones of the column into its first gap.
    state.stones[state.player] |= occupied + (1 << STEP * action) & ~occupied
    state.player = 1 - state.player


def is_terminal(state: Any) -> bool:
    # Only the seat that has just moved can have completed a line.
    return has_four(state.stones[1 - state.player]) or state.stones[0] | state.stones[1] == FULL


def outcome(state: Any) -> int:
    won = has_four(state.stones[1 - state.player])
    return (1 if state.player == 1 else -1) if won else 0  # with seat 1 to move, seat 0 has won
