"""Minishogi for azcore: its facts; the other files of this folder have the rest."""

from __future__ import annotations

from typing import Any

from azcore import CompiledGame, Facts, Rules
from azcore.game import Board, lead, require_legal

from . import board, encoding, notation, rules


class Minishogi(CompiledGame):
    """Shogi on 5 × 5; it has no settings. Seat 0 is Black (sente)."""

    def __init__(self) -> None:
        super().__init__(
            Facts(
                name="minishogi",
                summary="Shogi on 5 × 5: checkmate the king; captured pieces can be dropped back.",
                version=1,
                settings={},
                num_actions=rules.NUM_ACTIONS,
                action_planes=rules.NUM_PLANES,
                observation_shape=(encoding.NUM_PLANES, rules.SIZE, rules.SIZE),
                observation_maximum=encoding.MAXIMUM,
                plane_names=encoding.PLANE_NAMES,
                max_game_length=rules.MOST_PLIES,
                dirichlet_alpha=0.3,  # 10 / 33, the usual number of legal actions
                proof_plies=2,
                symmetries=encoding.symmetries(),
                protocol="usi",
            ),
            state_dtype=rules.STATE,
            rules=Rules(
                current_player=rules.current_player,
                legal_actions=rules.legal_actions,
                step=rules.step,
                is_terminal=rules.is_terminal,
                outcome=rules.outcome,
                observe=encoding.observe,
                position_key=rules.position_key,
            ),
        )

    def initial_state(self) -> Any:
        return self.state_from_text(notation.START)

    def material(self, state: Any) -> float:
        worth = [0, 0]
        for code in notation.board_of_black(state).tolist():
            if code:
                seat, piece = divmod(code - 1, rules.NUM_TYPES)
                worth[seat] += rules.WORTH[piece]
        for seat, hand in enumerate(state.hands.tolist()):
            worth[seat] += sum(n * each for n, each in zip(hand, rules.WORTH, strict=False))
        return lead(*worth)

    def is_check(self, state: Any) -> bool:
        return bool(state.in_check)

    def termination(self, state: Any) -> str:
        return notation.termination(state)

    def action_to_text(self, state: Any, action: int) -> str:
        return notation.action_to_text(int(state.player), action)

    def text_to_action(self, state: Any, text: str) -> int:
        return require_legal(self, state, notation.text_to_action(int(state.player), text))

    def state_to_text(self, state: Any) -> str:
        return notation.state_to_text(state)

    def state_from_text(self, text: str) -> Any:
        return notation.state_from_text(self.blank_state(), text)

    def render(self, state: Any) -> str:
        return notation.render(state)

    def board(self, state: Any) -> Board:
        return board.board_of(self, state)
