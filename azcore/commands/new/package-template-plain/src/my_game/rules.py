"""The rules of My game as ordinary Python: the state, and functions on it. Replace them with yours.

The rules here make the package work from the start: two players alternately put stones on an N × N
board, and the first with `in_a_row` of them in a line wins. Cells and actions have the same
numbers, row by row from the top left.

Nothing is compiled. A state may be any object, such as a position of an existing library;
it holds everything that affects the rest of the game, and `step` leaves the old one as it was. That
costs speed: `python -m azcore command=new kind=compiled` writes rules that azcore compiles.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(kw_only=True, eq=False)
class State:
    """A position."""

    board: npt.NDArray[np.int8]  # [N, N], 0 empty, 1 seat 0, 2 seat 1
    in_a_row: int  # the setting
    player: int = 0  # seat to move, 0 or 1
    winner: int = 0  # 0 nobody yet, 1 seat 0, 2 seat 1


def in_line(state: State, row: int, column: int) -> bool:
    """Whether the stone at (row, column) stands in a line long enough to win."""
    board = state.board
    size = len(board)
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


def legal_cells(state: State) -> Any:
    """bool [N * N], where a stone may go; all False once the game is over."""
    empty = state.board.ravel() == 0
    return np.zeros_like(empty) if is_terminal(state) else empty


def after(state: State, action: int) -> State:
    """The state after a legal action; `state` does not change."""
    row, column = divmod(action, len(state.board))
    board = state.board.copy()
    board[row, column] = state.player + 1
    following = State(board=board, in_a_row=state.in_a_row, player=1 - state.player)
    if in_line(following, row, column):
        following.winner = state.player + 1
    return following


def is_terminal(state: State) -> bool:
    """Whether the game is over; until then there must be a legal action."""
    return state.winner != 0 or bool(np.all(state.board != 0))


def outcome(state: State) -> int:
    """+1 if seat 0 has won, 0 for a draw, -1 if seat 1 has won: always the view of seat 0."""
    return {0: 0, 1: 1, 2: -1}[state.winner]
