"""Connect four for azcore: its facts; the other files of this folder have the rest."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore import CompiledGame, Facts, Rules
from azcore.errors import InvalidTextError
from azcore.game import Board, require_legal

from . import board, encoding, notation, rules


class ConnectFour(CompiledGame):
    """Connect four on 7 × 6; it has no settings. Actions are the columns from the left."""

    def __init__(self) -> None:
        super().__init__(
            Facts(
                name="connect_four",
                summary="Drop stones into columns; four in a row, column or diagonal win.",
                version=1,
                settings={},
                num_actions=rules.COLUMNS,
                observation_shape=(2, rules.ROWS, rules.COLUMNS),
                plane_names=("own stones", "opponent's stones"),
                max_game_length=rules.ROWS * rules.COLUMNS,
                dirichlet_alpha=10 / rules.COLUMNS,  # the papers': about 10 / legal actions
                proof_plies=2,
                symmetries=encoding.symmetries(),
                seat_names=("red", "yellow"),
            ),
            state_dtype=rules.STATE,
            rules=Rules(
                current_player=rules.current_player,
                legal_actions=rules.legal_actions,
                step=rules.step,
                is_terminal=rules.is_terminal,
                outcome=rules.outcome,
                observe=encoding.observe,
            ),
        )

    def initial_state(self) -> Any:
        return self.blank_state()  # zeros: an empty board, seat 0 to move

    def ownership(self, state: Any) -> npt.NDArray[np.int8]:
        """Whose stone is on each cell, which a network may learn to predict from earlier on."""
        owners = [[".XO".index(cell) for cell in row] for row in notation.rows_of(state)]
        return np.array([0, 1, -1], np.int8)[owners]

    def termination(self, state: Any) -> str:
        return "four in a line" if self.outcome(state) else "full board"

    def action_to_text(self, state: Any, action: int) -> str:
        return str(action + 1)

    def text_to_action(self, state: Any, text: str) -> int:
        if not re.fullmatch("[1-7]", text):
            raise InvalidTextError(f"an action is a column, 1 to 7, got {text[:40]!r}")
        action = int(text) - 1
        return require_legal(self, state, action)

    def state_to_text(self, state: Any) -> str:
        return notation.state_to_text(state)

    def state_from_text(self, text: str) -> Any:
        return notation.state_from_text(self.initial_state(), text)

    def render(self, state: Any) -> str:
        return "\n".join([*map(" ".join, notation.rows_of(state)), "1 2 3 4 5 6 7"])

    def board(self, state: Any) -> Board:
        return board.board_of(self, state)
