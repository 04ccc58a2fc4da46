"""My game for azcore: static facts, settings and their checks; the rest is in the other files.

The contract is in azcore/game/contract.py, the meaning of each fact in azcore/game/facts.py.
"""

import numpy as np

from azcore import Facts, Game
from azcore.errors import GameError
from azcore.game import Board, BoolArray, FloatArray, require_legal

from . import board, encoding, notation, rules
from .rules import State

MIN_SIZE, MAX_SIZE = 2, 12


class MyGame(Game):
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
                version=1,  # raise it whenever rules or planes change: old weights are then refused
                settings={"board_size": board_size, "in_a_row": in_a_row},
                num_actions=num_cells,
                observation_shape=(encoding.NUM_PLANES, board_size, board_size),
                max_game_length=num_cells,  # no game is longer, in plies
                dirichlet_alpha=10 / num_cells,  # papers: about 10 / usual number of legal actions
                symmetries=encoding.symmetries(board_size),
            ),
        )

    def initial_state(self) -> State:
        board = np.zeros((self.board_size, self.board_size), np.int8)
        return State(board=board, in_a_row=self.in_a_row)

    def current_player(self, state: State) -> int:
        """The same seat may move twice in a row, if your rules say so."""
        return state.player

    def legal_action_mask(self, state: State) -> BoolArray:
        mask: BoolArray = rules.legal_cells(state)
        return mask

    def step(self, state: State, action: int) -> State:
        return rules.after(state, require_legal(self, state, action))

    def is_terminal(self, state: State) -> bool:
        return rules.is_terminal(state)

    def outcome(self, state: State) -> int:
        return rules.outcome(state)

    def observation(self, state: State) -> FloatArray:
        planes = np.zeros(self.observation_shape, np.float32)
        encoding.observe(state, planes)
        return planes

    def termination(self, state: State) -> str:
        return f"{self.in_a_row} in a row" if state.winner else "full board"

    def action_to_text(self, state: State, action: int) -> str:
        return notation.action_to_text(self.board_size, action)

    def text_to_action(self, state: State, text: str) -> int:
        action = notation.text_to_action(self.board_size, text)
        return require_legal(self, state, action)

    def state_to_text(self, state: State) -> str:
        return notation.state_to_text(state)

    def state_from_text(self, text: str) -> State:
        state: State = notation.state_from_text(self.initial_state(), text)
        return state

    def render(self, state: State) -> str:
        return notation.render(state)

    def board(self, state: State) -> Board:
        return board.board_of(self, state)
