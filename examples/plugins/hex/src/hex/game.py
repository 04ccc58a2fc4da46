"""Hex for azcore: its facts; the other files of this folder have the rest."""

from typing import Any

from azcore import CompiledGame, Facts, Rules
from azcore.errors import GameError
from azcore.game import Board, require_legal

from . import board, encoding, notation, rules


class Hex(CompiledGame):
    """Hex on a board of N × N hexagons.

    Args:
        size: N, 3 to 19.
        swap: whether the second player may take over the first stone in place of a first move.
    """

    def __init__(self, *, size: int = 7, swap: bool = False) -> None:
        if type(size) is not int or not 3 <= size <= 19:
            raise GameError(f"hex: size must be a whole number from 3 to 19, got {size!r}")
        if type(swap) is not bool:
            raise GameError(f"hex: swap must be true or false, got {swap!r}")
        self._swap = swap
        super().__init__(
            Facts(
                name="hex",
                summary="Connect your two sides of the board with a chain of stones.",
                version=1,
                settings={"size": size, "swap": swap},
                num_actions=size * size + 1,
                action_planes=1,
                observation_shape=(3, size, size),
                plane_names=("own stones", "opponent's stones", "swap is possible"),
                max_game_length=size * size + 1,
                dirichlet_alpha=10 / (size * size),  # the papers': about 10 / legal actions
                symmetries=encoding.symmetries(size),
            ),
            state_dtype=rules.state_fields(size),
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
        state = self.blank_state()  # zeros: an empty board, seat 0 to move
        state.swap = self._swap
        return state

    def termination(self, state: Any) -> str:
        return "sides connected"

    def action_to_text(self, state: Any, action: int) -> str:
        return notation.action_to_text(state, action)

    def text_to_action(self, state: Any, text: str) -> int:
        return require_legal(self, state, notation.text_to_action(state, text))

    def state_to_text(self, state: Any) -> str:
        return notation.state_to_text(state)

    def state_from_text(self, text: str) -> Any:
        return notation.state_from_text(self.initial_state(), text)

    def render(self, state: Any) -> str:
        rows = notation.rows_of(state)
        lines = [f"{' ' * i}{i + 1:2} {' '.join(row)}" for i, row in enumerate(rows)]
        return "\n".join([f"   {' '.join(notation.LETTERS[: len(rows)])}", *lines])

    def board(self, state: Any) -> Board:
        return board.board_of(self, state)
