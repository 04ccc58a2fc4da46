"""The loop runs in the order in which the head of `training.py` shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from azcore.algorithms import training
from azcore.algorithms.alphagozero import AlphaGoZero
from azcore.algorithms.checkpoints import Checkpoints, DivergenceGuard
from azcore.algorithms.metrics import GenerationMetrics
from azcore.algorithms.ratings import ArenaRating
from azcore.algorithms.reports import GenerationReports
from azcore.commands.train import train
from azcore.learner.module import LearnerModule
from azcore.learner.sources import SelfPlay

STEPS = {
    "self-play": (SelfPlay, "new_games"),
    "learn": (LearnerModule, "training_step"),
    "guard": (DivergenceGuard, "on_train_epoch_end"),
    "publish": (AlphaGoZero, "on_train_epoch_end"),
    "rate": (ArenaRating, "on_train_epoch_end"),
    "report": (GenerationMetrics, "on_train_epoch_end"),
    "save": (Checkpoints, "on_train_epoch_end"),
    "show": (GenerationReports, "on_train_epoch_end"),
}


def test_generations_are_made_in_the_order_that_is_written_down(
    tiny: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert training.__doc__ is not None
    shown = re.findall(r"^    ([a-z-]+)  +\S", training.__doc__, re.MULTILINE)
    assert shown == list(STEPS)
    met: list[str] = []

    def noted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            if met[-1:] != [name]:  # learning takes several steps
                met.append(name)
            return work(*arguments)

        return step

    for name, (kind, method) in STEPS.items():
        monkeypatch.setattr(kind, method, noted(name, getattr(kind, method)))
    assert train(tiny("gate.enabled=true", "gate.every_generations=1", "trainer.max_steps=12")) == 0
    assert met == 3 * shown
