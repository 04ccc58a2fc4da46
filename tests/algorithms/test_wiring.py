"""From settings to what a run really does: each test fails when the wire between them is cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.callbacks import Timer

from azcore.algorithms.training import train
from azcore.run_directory import RunDirectory, Table
from run_kit import train_until

Tiny = Callable[..., dict[str, Any]]


def column(run: str, name: str) -> list[float]:
    table = Table(RunDirectory(Path(run)).metrics, ["generation", name])
    return [table.number(row, name) for row in table.rows()]


RATES = ("learner.learning_rates=[0.1,0.02,0.003]", "learner.milestones=[0.25,0.75]")


def test_the_learning_rate_falls_by_the_clock_where_time_is_limited(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 4, 8, 12 and 16 of 1,000 when 10 %, 30 %, 70 % and 80 % of the time have passed."""
    shares = {0: 0.1, 4: 0.3, 8: 0.7, 12: 0.8}  # after so many steps
    config = tiny(
        "run_dir=timed",
        "trainer.max_steps=1000",
        "trainer.max_time=00:01:00:00",
        "learner.learning_rate_batch=16",
        *RATES,
    )
    steps: list[Any] = []
    monkeypatch.setattr(
        Timer, "on_train_start", lambda self, trainer, module: steps.append(trainer)
    )
    monkeypatch.setattr(Timer, "_check_time_remaining", lambda self, trainer: None)

    def elapsed(self: Timer, stage: str = "train") -> float:
        done = steps[-1].global_step if steps else 0
        return 3600 * next(share for step, share in reversed(shares.items()) if done >= step)

    monkeypatch.setattr(Timer, "time_elapsed", elapsed)
    train_until(config, 8)
    assert column("timed", "learning_rate") == [0.02, 0.02]  # as set for the step that follows
    seen: list[tuple[int, float]] = []
    monkeypatch.setattr(
        "azcore.learner.module.LearnerModule.on_train_batch_start",
        lambda self, batch, index: seen.append(
            (self.trainer.global_step, self.trainer.optimizers[0].param_groups[0]["lr"])
        ),
    )
    shares[8] = 0.9  # the clock has gone on before the run does
    train_until({**config, "resume": "timed"}, 12)
    assert seen == [(8, 0.003), (9, 0.003), (10, 0.003), (11, 0.003)]


def test_self_play_makes_no_more_than_learning_asks_for(tiny: Tiny) -> None:
    """Some 60 positions a burst against 64 / 4 = 16 a generation."""
    train(tiny("run_dir=even", "trainer.max_steps=200", "replay.samples_per_position=4"))
    ratio = column("even", "samples_per_position")
    assert max(ratio) <= 4
    assert ratio[-1] > 3.5
