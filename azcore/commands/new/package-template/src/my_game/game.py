"""My game for azcore: static facts, settings and their checks; the rest is in the other files.

The contract is in azcore/game/contract.py, the meaning of each fact in azcore/game/facts.py.
"""

from typing import Any

from azcore import CompiledGame, Facts, Rules
from azcore.errors import GameError
from azcore.game import Board, require_legal

from . import board, encoding, notation, rules

MIN_SIZE, MAX_SIZE = 2, 12


class MyGame(CompiledGame):
    """Stones on an N × N board; a line of them wins.

    Args:
        board_size: N, 2 to 12.
        in_a_row: number of stones in a line that win, 2 to N.

    Raises:
        GameError: a setting is of another type or out of range.
    """

    def __init__(self, *, board_size: int = 4, in_a_row: int = 3) -> None:
        # The defaults are for direct use; runs take conf/game/my_game.yaml.
        if type(board_size) is not int or not MIN_SIZE <= board_size <= MAX_SIZE:
            raise GameError(
                f"my_game: board_size must be a whole number from {MIN_SIZE} to {MAX_SIZE}, "
                f"got {board_size!r}"
            )
        if type(in_a_row) is not int or not 2 <= in_a_row <= board_size:
            raise GameError(
                f"my_game: in_a_row must be a whole number from 2 to {board_size}, got {in_a_row!r}"
            )
        self.board_size = board_size
        self.in_a_row = in_a_row
        num_cells = board_size * board_size
        super().__init__(
            Facts(
                name="my_game",
                summary="Take turns to place a stone; enough of them in a row win.",  # optional
                version=1,  # raise it whenever rules or planes change: old weights are then refused
                settings={"board_size": board_size, "in_a_row": in_a_row},
                num_actions=num_cells,
                observation_shape=(encoding.NUM_PLANES, board_size, board_size),
                plane_names=("own stones", "opponent's stones"),  # optional, for people
                max_game_length=num_cells,  # no game is longer, in plies
                dirichlet_alpha=10 / num_cells,  # papers: about 10 / usual number of legal actions
                symmetries=encoding.symmetries(board_size),
            ),
            state_dtype=rules.state_fields(board_size),
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
        state = self.blank_state()
        rules.set_up(state, self.in_a_row)
        return state

    def termination(self, state: Any) -> str:
        return f"{self.in_a_row} in a row" if state.winner else "full board"

    def action_to_text(self, state: Any, action: int) -> str:
        return notation.action_to_text(self.board_size, action)

    def text_to_action(self, state: Any, text: str) -> int:
        action = notation.text_to_action(self.board_size, text)
        return require_legal(self, state, action)

    def state_to_text(self, state: Any) -> str:
        return notation.state_to_text(state)

    def state_from_text(self, text: str) -> Any:
        return notation.state_from_text(self.initial_state(), text)

    def render(self, state: Any) -> str:
        return notation.render(state)

    def board(self, state: Any) -> Board:
        return board.board_of(self, state)
