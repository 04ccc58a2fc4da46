"""`Loop.generation` does all the work of a generation in order, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from azcore.algorithms.alphagozero import AlphaGoZero
from azcore.algorithms.checkpoints import Checkpoints, DivergenceGuard
from azcore.algorithms.loop import Loop
from azcore.algorithms.metrics import GenerationMetrics
from azcore.algorithms.ratings import ArenaRating
from azcore.algorithms.reports import GenerationReports
from azcore.commands.train import train
from azcore.learner.module import LearnerModule
from azcore.learner.sources import SelfPlay

STEPS: list[tuple[type, str]] = [
    (Loop, "generation"),
    (SelfPlay, "new_games"),
    (LearnerModule, "training_step"),
    (DivergenceGuard, "check"),
    (AlphaGoZero, "publish"),
    (ArenaRating, "rate"),
    (GenerationMetrics, "report"),
    (Checkpoints, "save"),
    (GenerationReports, "show"),
]


@pytest.fixture
def met(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is called, in order; steps in a row count once."""
    met: list[str] = []

    def noted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            if met[-1:] != [name]:
                met.append(name)
            return work(*arguments)

        return step

    for kind, method in STEPS:
        monkeypatch.setattr(kind, method, noted(method, getattr(kind, method)))
    return met


def test_generations_are_made_in_order(tiny: Callable[..., dict[str, Any]], met: list[str]) -> None:
    assert train(tiny("gate.enabled=true", "gate.every_generations=1", "trainer.max_steps=12")) == 0
    assert met == (3 * [method for _, method in STEPS])[:-1]  # the last report follows the run


def test_a_run_that_resumes_within_a_generation_ends_it(
    tiny: Callable[..., dict[str, Any]], met: list[str]
) -> None:
    """Of four steps each; the games of the second are there already."""
    assert train(tiny("gate.enabled=true", "run_dir=run", "trainer.max_steps=6")) == 0
    met.clear()
    assert train(tiny("gate.enabled=true", "resume=run", "trainer.max_steps=12")) == 0
    whole = [method for _, method in STEPS]
    assert met == [step for step in whole if step != "new_games"] + whole[:-1]
