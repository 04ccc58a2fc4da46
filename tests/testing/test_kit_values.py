"""The kit sees what compiling rounds away: fractions in planes and outcomes, bytes that wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from numba import config

from azcore.errors import IllegalActionError, InvalidTextError
from azcore.game import CompiledGame, Facts, Rules
from azcore.testing import ContractError, Identity, check_game

pytestmark = [
    pytest.mark.rules,
    pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled, so nothing rounded"),
]

STATE = [("ply", "i8")]


def legal_actions(state: Any, actions: Any) -> int:
    actions[0] = 0
    actions[1] = 1
    return 2


def step(state: Any, action: int) -> None:
    state.ply += 1


def observe(state: Any, planes: Any) -> None:
    planes[0, 0, 0] = state.ply


def observe_halves(state: Any, planes: Any) -> None:
    planes[0, 0, 0] = state.ply / 2


def observe_too_much(state: Any, planes: Any) -> None:
    planes[0] = 256 + state.ply


def lost(state: Any) -> int:
    return -1


def half_lost(state: Any) -> Any:
    return -0.5


class Counting(CompiledGame):
    """Four plies, whatever they are."""

    def __init__(
        self, observe: Callable[[Any, Any], None], outcome: Callable[[Any], Any] = lost
    ) -> None:
        super().__init__(
            Facts(
                name="counting",
                version=1,
                settings={},
                num_actions=2,
                observation_shape=(1, 1, 1),
                observation_maximum=[255],
                max_game_length=4,
                dirichlet_alpha=1.0,
            ),
            state_dtype=STATE,
            rules=Rules(
                current_player=lambda state: state.ply % 2,
                legal_actions=legal_actions,
                step=step,
                is_terminal=lambda state: state.ply == 4,
                outcome=outcome,
                observe=observe,
            ),
        )

    def initial_state(self) -> Any:
        return self.blank_state()

    def action_to_text(self, state: Any, action: int) -> str:
        return "ab"[action]

    def text_to_action(self, state: Any, text: str) -> int:
        if text not in ("a", "b"):
            raise InvalidTextError(f"want a or b, got {text!r}")
        if state.ply == 4:
            raise IllegalActionError("the game is over")
        return "ab".index(text)

    def state_to_text(self, state: Any) -> str:
        return str(state.ply)

    def state_from_text(self, text: str) -> Any:
        if text not in ("0", "1", "2", "3", "4"):
            raise InvalidTextError(f"want a digit from 0 to 4, got {text!r}")
        state = self.blank_state()
        state.ply = int(text)
        return state

    def render(self, state: Any) -> str:
        return str(state.ply)


@pytest.mark.parametrize(
    ("game", "identity", "words"),
    [
        (
            Counting(observe_halves),
            Identity.OBSERVATION,
            ".5, want whole numbers from 0 to 255",  # 0.5 or 1.5, as the games go
        ),
        (Counting(observe_too_much), Identity.OBSERVATION, "observe writes 256, want whole"),
        (Counting(observe, half_lost), Identity.OUTCOME, "rules.outcome returns -0.5, want"),
    ],
    ids=["halves", "too much", "outcome"],
)
def test_what_compiling_rounds_is_told(game: Counting, identity: Identity, words: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_game(game)
    assert caught.value.identity is identity
    assert words in str(caught.value)


def test_whole_numbers_pass() -> None:
    assert check_game(Counting(observe), num_positions=50).games >= 10
