"""A run is fitted to its machine once, and resumes as it began."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from azcore.algorithms import self_play
from azcore.assembly import parts
from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.networks import openvino_evaluator
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.probe import Probe, Way
from azcore.selfplay.actor import Actor

Tiny = Callable[..., dict[str, Any]]
Compose = Callable[..., dict[str, Any]]
LEFT_OPEN = ("evaluator.backend=auto", "evaluator.precision=auto", "run_dir=fitted")
SLOW, FAST = Way("torch", "float32", 1), Way("torch", "bfloat16", 1)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[torch.dtype]:
    """The precision of every evaluator of self-play."""
    found: list[torch.dtype] = []
    set_evaluator = Actor.set_evaluator

    def on_weights(actor: Actor, evaluator: NetworkEvaluator, *rest: Any) -> None:
        found.append(evaluator.dtype)
        set_evaluator(actor, evaluator, *rest)

    monkeypatch.setattr(Actor, "set_evaluator", on_weights)
    return found


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[Way, float]:
    """What a probe measures from now on."""
    rates = {SLOW: 1000.0, FAST: 2000.0}

    def fastest(evaluation: Any, *_: Any, **__: Any) -> Probe:
        possible = [way for way in rates if evaluation.precision in ("auto", way.precision)]
        way = max(possible, key=lambda way: rates[way])
        return Probe(way, rates if len(possible) > 1 else {})

    monkeypatch.setattr(parts, "fastest", fastest)
    monkeypatch.setattr(openvino_evaluator, "is_installed", lambda: True)
    return rates


def evaluator_of_run() -> list[Any]:
    sizes = json.loads(Path("fitted/sizes.json").read_text())
    assert (sizes["num_games"], sizes["workers"]) == (4, 1)
    return [sizes[name] for name in ("backend", "precision", "threads")]


@pytest.mark.parametrize(
    ("installed", "backend", "told"),
    [(False, "auto", True), (True, "auto", False), (False, "torch", False)],
)
def test_who_lacks_openvino_is_told(
    tiny: Tiny,
    measured: dict[Way, float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    installed: bool,
    backend: str,
    told: bool,
) -> None:
    """Unless the settings say what is to run the network, which then is no question of speed."""
    monkeypatch.setattr(openvino_evaluator, "is_installed", lambda: installed)
    train(tiny(*LEFT_OPEN, "trainer.max_steps=4", f"evaluator.backend={backend}"))
    assert ("pip install openvino" in capsys.readouterr().out) == told


def test_a_run_goes_on_with_the_evaluator_it_began_with(
    tiny: Tiny,
    used: list[torch.dtype],
    measured: dict[Way, float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tiny(*LEFT_OPEN, "selfplay.workers=1", "trainer.max_steps=4")
    train(config)
    assert (
        "evaluator torch bfloat16 on 1 thread; evaluations/s: torch float32 on 1 thread 1,000; "
        "torch bfloat16 on 1 thread 2,000\n"
    ) in capsys.readouterr().out
    assert evaluator_of_run() == ["torch", "bfloat16", 1]
    assert set(used) == {torch.bfloat16}

    def resumed(*overrides: str, steps: int) -> list[torch.dtype]:
        used.clear()
        more = (*LEFT_OPEN, "selfplay.workers=1", f"trainer.max_steps={steps}", *overrides)
        train(tiny(*more) | {"resume": "fitted"})
        return list(dict.fromkeys(used))

    measured[FAST] = 100.0  # today the machine would choose otherwise
    assert resumed(steps=8) == [torch.bfloat16]
    assert evaluator_of_run() == ["torch", "bfloat16", 1]
    assert resumed("evaluator.precision=float32", steps=12) == [torch.float32]
    assert evaluator_of_run() == ["torch", "float32", 1]


def test_a_run_from_a_machine_with_another_backend_is_fitted_anew(
    tiny: Tiny,
    used: list[torch.dtype],
    measured: dict[Way, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tiny(*LEFT_OPEN, "selfplay.workers=1", "trainer.max_steps=4")
    train(config)
    measured[FAST] = 100.0

    def refuse(name: str, device: torch.device) -> None:
        raise SettingError(f"{name} is not on this machine")

    monkeypatch.setattr(self_play, "require_runnable", refuse)
    used.clear()
    train(config | {"resume": "fitted", "trainer": {**config["trainer"], "max_steps": 8}})
    assert set(used) == {torch.float32}
    assert evaluator_of_run() == ["torch", "float32", 1]


@pytest.mark.parametrize(
    ("rate", "words", "steps"),
    [
        # 32 positions of 16 simulations, of which each is drawn twice, take 256 evaluations a step
        (600.0, (), 50),  # 18,000 in half a minute
        (200.0, (), 20),
        (200.0, ("trainer.max_time=00:00:01:00",), 5),  # a sixth of a minute
        (200.0, ("replay.least_samples_per_position=1.0",), 10),  # at first
        (200.0, ("method=[playout_cap]", "selfplay.full_search_share=0.5"), 10),
        (1.0, (), 5),
        (math.inf, (), 50),  # not measured
        (1.0, ("replay.samples_per_position=null", "replay.games_per_generation=4"), 50),
    ],
)
def test_a_generation_left_open_takes_half_a_minute(
    compose: Compose, rate: float, words: tuple[str, ...], steps: int
) -> None:
    sizes = ("learner.batch_size=32", "search.num_simulations=16", "selfplay.cheap_simulations=16")
    samples = ("replay.samples_per_position=2", "replay.least_samples_per_position=null")
    config = compose("game=tic_tac_toe", *sizes, *samples, *words)
    assert config["learner"]["steps_per_generation"] is None
    assert self_play.steps_in_time(settings_from(config, RunSettings), rate) == steps


def test_a_run_keeps_the_length_of_its_generations(tiny: Tiny, measured: dict[Way, float]) -> None:
    measured.update({SLOW: 2.0, FAST: 1.0})
    left_open = (*LEFT_OPEN, "learner.steps_per_generation=null", "arena.every_generations=null")
    train(tiny(*left_open, "trainer.max_steps=5"))
    assert json.loads(Path("fitted/sizes.json").read_text())["steps_per_generation"] == 5
    measured[SLOW] = 1e9
    train(tiny(*left_open, "trainer.max_steps=15") | {"resume": "fitted"})
    with Path("fitted/metrics.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["5", "10", "15"]


def test_a_run_beside_others_is_like_the_first_with_its_network_and_board(
    tiny: Tiny,
    used: list[torch.dtype],
    measured: dict[Way, float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def begun(name: str, *overrides: str) -> dict[str, Any]:
        used.clear()
        more = ("trainer.max_steps=4", "arena.every_generations=null", f"run_dir=sweep/{name}")
        train(tiny(*LEFT_OPEN, *more, *overrides) | {"beside": "sweep"})
        sizes: dict[str, Any] = json.loads(Path(f"sweep/{name}/sizes.json").read_text())
        return sizes

    Path("sweep/empty").mkdir(parents=True)
    Path("sweep/empty/sizes.json").write_text("nonsense")
    left_open = "learner.steps_per_generation=null"
    measured.update({SLOW: 1.0, FAST: 2.0})
    first = begun("first", "selfplay.workers=2", left_open)
    assert set(used) == {torch.bfloat16}
    assert first["steps_per_generation"] == 5
    measured.update({SLOW: 2000.0, FAST: 1000.0})  # measured now, the other would be faster
    capsys.readouterr()
    assert begun("second", "puct.c_init=2.5", left_open) == first
    assert set(used) == {torch.bfloat16}
    assert "open sizes as in first, so that both train alike\n" in capsys.readouterr().out
    # What the settings say, they say.
    assert begun("third", "evaluator.precision=float32", "selfplay.num_games=6") == {
        **first,
        **{"precision": "float32", "num_games": 6, "steps_per_generation": 4},
    }
    assert begun("fourth", "network.channels=5")["precision"] == "float32"
    assert "as in" not in capsys.readouterr().out.rpartition("tic_tac_toe: ")[2]
