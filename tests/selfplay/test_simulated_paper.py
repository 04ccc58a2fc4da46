"""The simulation of AlphaZero's size agrees with arithmetic where that suffices; its parts run."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "simulate_paper.py"


@pytest.fixture(scope="module")
def paper() -> Iterator[ModuleType]:
    """The example, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("simulate_paper", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate_paper"] = module  # as dataclasses want it
    spec.loader.exec_module(module)
    yield module
    del sys.modules["simulate_paper"]


def free(paper: ModuleType, **costs: Any) -> Any:
    """A driver whose parts take nothing, except for these."""
    return paper.Measured(**{**dict.fromkeys((f.name for f in fields(paper.Measured)), 0), **costs})


def test_one_actor_is_as_fast_as_its_network(paper: ModuleType) -> None:
    stated = paper.Paper(actors=1, games=400, steps=1, delay=0.0)
    made = paper.Simulation(stated, free(paper)).run(4).made
    lost = stated.games_at_once / stated.plies * 7 / 8  # games, as all searches begin again
    assert made == pytest.approx(stated.rate * stated.games / (stated.games + lost), rel=0.02)


@pytest.mark.parametrize("part", ["round", "ray"])
def test_a_full_driver_takes_rounds_one_after_another(paper: ModuleType, part: str) -> None:
    stated = paper.Paper(actors=500, games=2000, steps=1)
    parts = free(paper, **{part: 0.002})
    outcome = paper.Simulation(stated, parts).run(2)
    lost = stated.actors * stated.games_at_once / stated.plies * 7 / 8
    wanted = paper.most_taken(stated, parts) * stated.games / (stated.games + lost)
    assert outcome.rounds / outcome.seconds == pytest.approx(500, rel=0.03)
    assert outcome.made == pytest.approx(wanted, rel=0.1)
    assert outcome.fullest == {"round": paper.CORE, "ray": "Ray's threads"}[part]


def test_a_full_learner_gets_no_more_games_than_it_wants(paper: ModuleType) -> None:
    stated = paper.Paper(actors=50, games=20, steps=1000, step_seconds=0.04, games_at_once=64)
    outcome = paper.Simulation(stated, free(paper)).run(3)
    assert outcome.made == pytest.approx(20 / 40, rel=0.05)
    assert outcome.fullest == "learner"
    slower = paper.Simulation(stated, free(paper, batch=0.08)).run(3)
    assert slower.made == pytest.approx(outcome.made / 2, rel=0.02)
    assert slower.fullest == "batches"


def test_newer_weights_stop_all(paper: ModuleType) -> None:
    """A star sends them to each machine, a tree as often as they double."""
    stated = paper.Paper(actors=64, games=60, steps=10, gigabits=8.0, games_at_once=64)
    parts = free(paper, weight_bytes=10**9)
    tree = paper.Simulation(stated, parts).run(2)
    star = paper.Simulation(replace(stated, broadcast="star"), parts).run(2)
    assert star.busy["link out"] == pytest.approx(2 * 8)
    assert tree.busy["link out"] == pytest.approx(2 * 4)
    assert star.still - tree.still == pytest.approx(2 * 4, abs=1)


def test_its_parts_run(paper: ModuleType) -> None:
    parts = paper.measured(
        paper.Paper(plies=5, batch_size=16),
        game="tic_tac_toe",
        games=8,
        window_games=20,
        members=3,
        seconds=0.5,
        round_seconds=0.02,
        ray=False,
        network=(1, 8),
    )
    nothing = {f.name for f in fields(parts) if not getattr(parts, f.name)}
    assert nothing == {"ray"}
    text = paper.table([(paper.Paper(), paper.Outcome(seconds=1.0))], parts)
    assert "driver's Python" in text
