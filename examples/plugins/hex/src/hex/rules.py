"""The rules of Hex on N × N hexagons. Seat 0 connects top and bottom, seat 1 left and right.

Each row lies half a cell to the right of the row above, so that a cell has six neighbours:

     . . .        the cells next to (row, column) are to the left and the right,
      . . .       above (row - 1, column) and (row - 1, column + 1),
       . . .      and below (row + 1, column - 1) and (row + 1, column).

This is the same with rows and columns exchanged, and so is the goal of the other seat. So an action
is a cell in the view of the player to move, for whom the own sides are always top and bottom.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
BOTH = 3  # sides


def state_fields(size: int) -> list[Any]:
    return [
        ("stones", np.int8, (size, size)),  # 0 empty, 1 seat 0, 2 seat 1
        (
            "sides",
            np.int8,
            (size, size),
        ),  # a stone's chain touches: 1 the first own side, 2 the other
        ("count", np.int16),  # stones on the board
        ("last", np.int16),  # 1 + the cell of the last stone, row by row; 0 before the first
        ("swap", np.int8),  # the setting: whether seat 1 may take over the first stone
        ("player", np.int8),  # seat to move
        ("winner", np.int8),  # 0 nobody yet, 1 seat 0, 2 seat 1
    ]


def current_player(state: Any) -> int:
    return int(state.player)


@register_jitable
def may_swap(state: Any) -> bool:
    return bool(state.swap == 1 and state.player == 1 and state.count == 1)


def legal_actions(state: Any, actions: Any) -> int:
    size = len(state.stones)
    count = 0
    for action in range(size * size):
        row, column = action // size, action % size
        if state.player == 1:
            row, column = column, row
        if state.stones[row, column] == 0:
            actions[count] = action
            count += 1
    if may_swap(state):
        actions[count] = size * size
        count += 1
    return count


def step(state: Any, action: int) -> None:
    size = len(state.stones)
    if action == size * size:
        swap(state)
    else:
        row, column = action // size, action % size
        if state.player == 1:
            row, column = column, row
        put(state, row, column)
    state.player = 1 - state.player


@register_jitable
def swap(state: Any) -> None:
    """Exchange seat 0's first stone for one of seat 1's in the mirrored cell."""
    size = len(state.stones)
    for row in range(size):
        for column in range(size):
            if state.stones[row, column] == 1:
                state.stones[row, column] = 0
                state.sides[row, column] = 0
                state.count = 0
                put(state, column, row)
                return


@register_jitable
def put(state: Any, row: int, column: int) -> None:
    """Put a stone of the player to move on an empty cell."""
    last = len(state.stones) - 1
    along = row if state.player == 0 else column
    state.stones[row, column] = 1 + state.player
    state.sides[row, column] = (along == 0) + 2 * (along == last)
    state.count += 1
    state.last = 1 + row * len(state.stones) + column
    spread(state)
    if state.sides[row, column] == BOTH:
        state.winner = 1 + state.player


@register_jitable
def spread(state: Any) -> None:
    """Spread the sides that a chain touches to all its stones, for the player to move."""
    size = len(state.stones)
    changed = True
    while changed:
        changed = False
        for row in range(size):
            for column in range(size):
                if state.stones[row, column] != 1 + state.player:
                    continue
                for down, right in NEIGHBOURS:
                    r, c = row + down, column + right
                    if r < 0 or r >= size or c < 0 or c >= size:
                        continue
                    if state.stones[r, c] == 1 + state.player:
                        sides = state.sides[row, column] | state.sides[r, c]
                        if sides != state.sides[row, column]:
                            state.sides[row, column] = sides
                            changed = True


def is_terminal(state: Any) -> bool:
    return bool(state.winner != 0)  # a full board always has a winner


def outcome(state: Any) -> int:
    return (0, 1, -1)[state.winner]
