"""The rules of My game: the fields of a state, and plain functions on it. Replace them with yours.

The rules here make the package work from the start: two players alternately put stones on an N × N
board, and the first with `in_a_row` of them in a line wins. Cells and actions have the same
numbers, row by row from the top left.

azcore compiles these functions with numba. Pitfalls:

* a helper that a rule calls needs `@register_jitable` and must be in this package;
* numbers in the state keep their width: an int8 beyond 127 wraps, and NumPy warns of it when the
  rules run uncompiled. Convert it with `int(...)` first;
* uint64 mixed with int64 becomes float64, which has no bit operations; int64 holds bits 0 to 62;
* compiled code does not notice access beyond the end of an array; the kit checks for it;
* NUMBA_DISABLE_JIT=1 runs all of this as ordinary Python, for print, breakpoints and tracebacks.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable


def state_fields(board_size: int) -> list[Any]:
    """The fields of a state, which must hold everything that affects the rest of the game.

    Settings that the rules use are fields too, because the rules see nothing else. Sizes of nested
    arrays are known when the rules are compiled, so they cost nothing to read.
    """
    return [
        ("board", np.int8, (board_size, board_size)),  # 0 empty, 1 seat 0, 2 seat 1
        ("in_a_row", np.int8),  # the setting
        ("player", np.int8),  # seat to move, 0 or 1
        ("winner", np.int8),  # 0 nobody yet, 1 seat 0, 2 seat 1
    ]


def set_up(state: Any, in_a_row: int) -> None:
    """Fill a state of zeros with the initial position; seat 0 is to move."""
    state.in_a_row = in_a_row


@register_jitable
def in_line(state: Any, row: int, column: int) -> bool:
    """Whether the stone at (row, column) stands in a line long enough to win."""
    board = state.board
    size = board.shape[0]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (-1, 1):
            r, c = row + sign * down, column + sign * right
            while 0 <= r < size and 0 <= c < size and board[r, c] == board[row, column]:
                length += 1
                r, c = r + sign * down, c + sign * right
        if length >= state.in_a_row:
            return True
    return False


def current_player(state: Any) -> int:
    """The seat to move, 0 or 1. The same seat may move twice in a row, if your rules say so."""
    return int(state.player)


def legal_actions(state: Any, actions: Any) -> int:
    """Write the legal actions into `actions`, int32 [A], in ascending order; returns their number.

    azcore does not call it once the game is over.
    """
    size = state.board.shape[0]
    count = 0
    for action in range(size * size):
        if state.board[action // size, action % size] == 0:
            actions[count] = action
            count += 1
    return count


def step(state: Any, action: int) -> None:
    """Play a legal action by changing the state itself."""
    size = state.board.shape[0]
    row, column = action // size, action % size
    state.board[row, column] = state.player + 1
    if in_line(state, row, column):
        state.winner = state.player + 1
    state.player = 1 - state.player


def is_terminal(state: Any) -> bool:
    """Whether the game is over; until then there must be a legal action."""
    return state.winner != 0 or bool(np.all(state.board != 0))


def outcome(state: Any) -> int:
    """+1 if seat 0 has won, 0 for a draw, -1 if seat 1 has won: always the view of seat 0."""
    if state.winner == 0:
        return 0
    return 1 if state.winner == 1 else -1
