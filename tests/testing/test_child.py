"""A rule that ends its process or does not return: the check names it and the moves."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import re
import signal
from pathlib import Path
from typing import Any

import numba
import pytest

import azcore
from azcore.errors import FailedProgramError, FaultyGameError
from azcore.game import faults, hangs
from azcore.game.compiled import rule_signatures
from azcore.search.evaluators import UniformEvaluator
from azcore.selfplay.actor import Actor
from azcore.testing import ContractError, Identity, check_game
from azcore.testing.child import Note, in_child
from search_kit import search_settings
from selfplay_kit import selfplay_settings

PLAIN = type(azcore.make("tic_tac_toe_plain"))
COMPILED = type(azcore.make("tic_tac_toe"))
HERE = re.escape(__file__)


class Dies(PLAIN):
    def step(self, state: str, action: int) -> str:
        if state.count(".") == 4:
            os.kill(os.getpid(), signal.SIGSEGV)
        return str(super().step(state, action))


class Wrong(PLAIN):
    def outcome(self, state: str) -> int:
        return 2


class Hangs(PLAIN):
    def outcome(self, state: str) -> int:
        while True:
            pass


class HoldsTheGil(PLAIN):
    def outcome(self, state: str) -> int:
        return int(ctypes.PyDLL(None).sleep(100))


def never_outcome(state: Any) -> int:
    while state.player >= 0:
        state.player = 1 - state.player
    return 0


def checked(game: azcore.Game) -> Any:
    return in_child(game, lambda note: check_game(game, num_positions=100, note=note))


@pytest.fixture(autouse=True)
def of_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """These rules lie in no package; their file stands for one."""
    monkeypatch.setattr(faults, "_folders", {Path(__file__): "tic_tac_toe_plain"})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hangs, "SECONDS", 0.1)


def test_what_works_is_returned_and_what_is_raised_is_raised(impatient: None) -> None:
    assert checked(PLAIN()).positions >= 100  # in many short calls, which are no hang
    with pytest.raises(ContractError) as caught:
        checked(Wrong())
    assert caught.value.identity is Identity.OUTCOME
    with pytest.raises(RuntimeError, match=r"TypeError: .*Note.* cannot be interpreted"):
        in_child(PLAIN(), range)  # as a bug in azcore


def test_a_rule_that_ends_its_process_is_named_with_the_moves() -> None:
    rule = f"step(?: \\({HERE}, line [0-9]+\\)| of [0-9])"  # without, where handlers have no stack
    moves = "\nafter( [abc][123]){5}$"
    with pytest.raises(FaultyGameError, match=f"{rule}: it ended its process by SIGSEGV{moves}"):
        checked(Dies())


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Hangs, "has not returned for 0.6 s\n  from .../.../... x:"),
        (HoldsTheGil, "does not return, after"),
    ],
)
def test_a_rule_that_does_not_return_is_named_with_the_moves(
    impatient: None, kind: type[azcore.Game], says: str
) -> None:
    rule = f"(?:outcome \\({HERE}, line [0-9]+\\)|step with .*)"
    with pytest.raises(FailedProgramError, match=f"{rule} {says}( [abc][123]){{5,}}$"):
        checked(kind())


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="of compiled rules")
def test_self_play_names_a_compiled_rule_that_does_not_return(impatient: None) -> None:
    game = COMPILED()
    signature = rule_signatures(game.state_type)["outcome"]
    hanging = numba.njit(signature, nogil=True)(never_outcome)
    game.rules = dataclasses.replace(game.rules, outcome=hanging)

    def play(note: Note) -> None:
        actor = Actor(
            game=game,
            search=search_settings(num_simulations=8),
            settings=selfplay_settings(workers=1),
            seed=3,
            evaluator=UniformEvaluator(game),
        )
        actor.play(200)

    says = (
        "outcome, a compiled rule of game tic_tac_toe has not returned for 0.6 s\n  from .* [xo]:"
    )
    with pytest.raises(FailedProgramError, match=f"{says}( [abc][123])+$"):
        in_child(game, play)
