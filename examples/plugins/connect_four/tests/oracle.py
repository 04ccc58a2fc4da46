"""Connect four a second time: slow, and independent of the compiled rules.

The state is the string of columns played, such as `"4435"`. The board is rebuilt from it each time,
and every line of four cells is tested for a win.
"""

from typing import Any

import numpy as np

from azcore import Facts, Game
from azcore.errors import IllegalActionError
from azcore.game import BoolArray, FloatArray

CELLS = {(column, row) for column in range(7) for row in range(6)}
LINES = [
    line
    for column, row in sorted(CELLS)
    for right, up in ((1, 0), (0, 1), (1, 1), (1, -1))
    if CELLS.issuperset(line := [(column + i * right, row + i * up) for i in range(4)])
]


def board_of(moves: str) -> dict[tuple[int, int], int]:
    """(column, row from the bottom) of each stone, with its seat."""
    board: dict[tuple[int, int], int] = {}
    for ply, move in enumerate(moves):
        column = int(move) - 1
        board[column, sum(c == column for c, _ in board)] = ply % 2
    return board


def winner_of(moves: str) -> int | None:
    board = board_of(moves)
    for line in LINES:
        owners = {board.get(cell) for cell in line}
        if owners in ({0}, {1}):
            return owners.pop()
    return None


class ConnectFourOracle(Game):
    """Only the rules; the comparison needs no position texts."""

    def __init__(self) -> None:
        super().__init__(
            Facts(
                name="connect_four",
                version=1,
                settings={},
                num_actions=7,
                observation_shape=(2, 6, 7),
                max_game_length=42,
                dirichlet_alpha=1.0,
            ),
        )

    def initial_state(self) -> str:
        return ""

    def current_player(self, state: str) -> int:
        return len(state) % 2

    def legal_action_mask(self, state: str) -> BoolArray:
        over = self.is_terminal(state)
        return np.array([not over and state.count(column) < 6 for column in "1234567"])

    def step(self, state: str, action: int) -> str:
        if action not in range(7) or not self.legal_action_mask(state)[action]:
            raise IllegalActionError(f"{action} is not legal after {state}")
        return state + "1234567"[action]

    def is_terminal(self, state: str) -> bool:
        return winner_of(state) is not None or len(state) == 42

    def outcome(self, state: str) -> int:
        return {0: 1, 1: -1, None: 0}[winner_of(state)]

    def termination(self, state: str) -> str:
        return "full board" if winner_of(state) is None else "four in a line"

    def observation(self, state: str) -> FloatArray:
        planes = np.zeros((2, 6, 7), np.float32)
        for (column, row), seat in board_of(state).items():
            planes[(seat + len(state)) % 2, 5 - row, column] = 1
        return planes

    def action_to_text(self, state: str, action: int) -> str:
        return str(action + 1)

    def text_to_action(self, state: str, text: str) -> int:
        return int(text) - 1

    def state_to_text(self, state: str) -> str:
        return state

    def state_from_text(self, text: str) -> Any:
        raise NotImplementedError

    def render(self, state: str) -> str:
        return state
