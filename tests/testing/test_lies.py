"""Mistakes that few positions show, or that look like others: each is named as what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError
from azcore.game import Facts, TranscriptFormat
from azcore.storage.moves_format import moves_format
from azcore.testing import ContractError, Identity, Report, check_game

PLAIN = type(azcore.make("tic_tac_toe_plain"))


def checked(num_positions: int, **methods: Callable[..., Any]) -> Report:
    game = type("Mistaken", (PLAIN,), methods)()
    return check_game(game, num_positions=num_positions)


def broken(num_positions: int, **methods: Callable[..., Any]) -> tuple[Identity, str]:
    with pytest.raises(ContractError) as caught:
        checked(num_positions, **methods)
    return caught.value.identity, str(caught.value)


def test_transcripts_are_written_and_read_back() -> None:
    def whole(game: azcore.Game) -> Mapping[str, TranscriptFormat]:
        return {"own": moves_format(game)}

    def cut(game: azcore.Game) -> Mapping[str, TranscriptFormat]:
        form = moves_format(game)

        def read(text: str) -> Any:
            game = form.read(text)
            return replace(game, actions=game.actions[:8], comments=game.comments[:8])

        return {"own": replace(form, read=read)}

    def mute(game: azcore.Game) -> Mapping[str, TranscriptFormat]:
        def write(_: Any) -> str:
            raise LookupError("no word for this end")

        return {"own": replace(moves_format(game), write=write)}

    assert checked(40, transcript_formats=whole).checks[Identity.TRANSCRIPT] > 20
    identity, told = broken(100, transcript_formats=cut)
    assert identity is Identity.TRANSCRIPT
    assert "own: actions read back as [" in told
    identity, told = broken(100, transcript_formats=mute)
    assert identity is Identity.TRANSCRIPT
    assert "writing as own raised LookupError: no word for this end" in told


def test_an_outcome_that_is_wrong_at_few_ends_is_met() -> None:
    def outcome(self: Any, state: str) -> int:
        return 0 if state == "XXXOO...." else PLAIN.outcome(self, state)

    identity, _ = broken(200, outcome=outcome)
    assert identity is Identity.SYMMETRY
    words = checked(20).describe_ends
    assert words.endswith("% of random games may remain unseen")


def test_a_key_that_leaves_out_what_random_games_seldom_confuse_is_met() -> None:
    def key(self: Any, state: str) -> int | None:
        early = state.count(".") == 7
        return PLAIN.position_key(self, ".." + state[2:] if early else state)

    identity, told = broken(30, position_key=key)
    assert identity is Identity.KEY
    assert "with another legal_action_mask\nafter " in told


@pytest.mark.parametrize("every", [23, 47])
def test_what_is_left_to_chance_is_not_blamed_on_what_follows(every: int) -> None:
    calls = 0

    def step(self: Any, state: str, action: int) -> str:
        nonlocal calls
        following = str(PLAIN.step(self, state, action))
        calls += following.count(".") == 3
        return following[::-1] if calls % every == 0 and following.count(".") == 3 else following

    identity, told = broken(100, step=step)
    assert identity is Identity.STEADY
    assert "played again, these moves lead to another position: " in told


def owner(sign: int) -> Callable[..., Any]:
    def ownership(self: Any, state: str) -> Any:
        return np.full((3, 3), sign * PLAIN.outcome(self, state), np.int8)

    return ownership


def test_a_sign_that_contradicts_the_outcome_is_doubted() -> None:
    assert checked(20, ownership=owner(1)).warnings == ()
    (doubt,) = checked(20, ownership=owner(-1)).warnings
    assert doubt.startswith("ownership was on the loser's side in ")
    (doubt,) = checked(200, material=lambda self, state: -0.5 * PLAIN.outcome(self, state)).warnings
    assert doubt.startswith("material was on the loser's side in ")


def test_minus_one_in_an_unsigned_byte_is_named() -> None:
    def outcome(self: Any, state: str) -> Any:
        return np.array(PLAIN.outcome(self, state)).astype(np.uint8)[()]

    def observation(self: Any, state: str) -> Any:
        planes = PLAIN.observation(self, state)
        return np.array(-planes[1:]).astype(np.int8).view(np.uint8).repeat(2, 0).astype(np.float32)

    for name, rule in (("outcome", outcome), ("observation", observation)):
        _, told = broken(200, **{name: rule})
        assert "(255 is -1 in an unsigned number: use np.int8)" in told


def test_many_draws_are_doubted() -> None:
    def outcome(self: Any, state: str) -> int:
        return PLAIN.outcome(self, state) if state.count(".") > 3 else 0

    (doubt,) = checked(200, outcome=outcome).warnings
    assert "random games were drawn, so few wins were checked" in doubt


@pytest.mark.parametrize(
    ("fact", "value", "says"),
    [
        ("version", "1", "version must be a number above 0, got '1'"),
        ("observation_maximum", 12, "observation_maximum must be 2 whole numbers .*, got 12"),
        ("summary", "two\nlines", "summary must be one line of at most 160 characters, got 'two"),
    ],
)
def test_facts_of_another_type_are_named(fact: str, value: Any, says: str) -> None:
    facts: dict[str, Any] = {
        "name": "game",
        "version": 1,
        "settings": {},
        "num_actions": 9,
        "observation_shape": (2, 3, 3),
        "max_game_length": 9,
        "dirichlet_alpha": 1.0,
    }
    with pytest.raises(GameError, match=says):
        Facts(**{**facts, fact: value})
