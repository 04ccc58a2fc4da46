"""Strength as a power of compute and parameters: known exponents, from made-up matches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from azcore.arena.elo import MatchScore, expected_score
from azcore.assembly.parts import LearningSettings, settings_from
from azcore.commands.arena import scaling
from azcore.commands.arena.means import Pool, Rated, mean_curves
from azcore.commands.arena.runs import Kept, Run
from azcore.commands.arena.settings import comparison_settings
from conftest import TINY, compose

SIZES = (1, 4, 16, 64)  # parameters
LEVELS = 4  # checkpoints of a run, each with twice the steps of the one before
ALPHA, ALPHA_OF_SIZE = 0.6, 0.75


def elo(size: int, compute: float) -> float:
    """The frontier's law, up to the most that a network of this size learns."""
    most = 400 * ALPHA_OF_SIZE * math.log10(size)
    most += 400 * (ALPHA * math.log10(8 * 64) - ALPHA_OF_SIZE * math.log10(64))
    return min(400 * ALPHA * math.log10(compute), most)


def world(
    games: int,
    chance: np.random.Generator | None = None,
    strength: Callable[[int, float], float] = elo,
    slopes: Sequence[float] = (1.0,),
    settings: Any = None,
) -> tuple[list[Rated], Pool]:
    """Checkpoints of each size and seed, and a pool of matches between them.

    Args:
        games: of each match.
        chance: decides them; None: each has its expected score.
        strength: by size and compute.
        slopes: by what each seed multiplies it.
        settings: of the runs.
    """
    rated, true, met = [], {"random": -300.0}, set()
    for seed, slope in enumerate(slopes, 1):
        for size in SIZES:
            name = f"network.channels={size},seed={seed}"
            run = Run(
                name=name,
                variant=f"network.channels={size}",
                seed=seed,
                path=Path(),
                config={},
                settings=settings,
                kept=(),
                parameters=size,
            )
            for level in range(LEVELS):
                compute = float(size * 2**level)
                kept = Kept(
                    name=f"{name}/{level}",
                    path=Path(),
                    digest="",
                    step=2**level,
                    level=level,
                    evaluations=1.0,
                    seconds=None,
                    compute=compute,
                )
                true[kept.name] = slope * strength(size, compute)
                rated.append(Rated(run=run, kept=kept, rating=0.0, half=50.0))
    by_strength = sorted(true, key=lambda name: true[name])
    for distance in (1, 2, 3, 5):
        met |= set(zip(by_strength[distance:], by_strength, strict=False))
    results = []
    for first, second in sorted(met):
        share = expected_score(true[first] - true[second])
        wins = round(games * share) if chance is None else int(chance.binomial(games, share))
        results.append(
            MatchScore(player=first, opponent=second, wins=wins, draws=0, losses=games - wins)
        )
    pool = Pool(results, anchor="random")
    return [
        Rated(run=entry.run, kept=entry.kept, rating=pool.values[entry.kept.name], half=50.0)
        for entry in rated
    ], pool


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "DRAWS", 60)


def printed(found: dict[str, scaling.Law | None]) -> str:
    console = Console(width=200, markup=False, soft_wrap=True)
    with console.capture() as captured:
        for each in scaling.report(found):
            console.print(each)
    return captured.get()


def test_known_exponents_are_found() -> None:
    found = scaling.laws(*world(games=1000))
    compute, parameters = found["compute"], found["parameters"]
    assert compute is not None
    assert parameters is not None
    assert compute.exponent.value == pytest.approx(ALPHA, abs=0.02)
    assert parameters.exponent.value == pytest.approx(ALPHA_OF_SIZE, abs=0.02)
    assert len(parameters.through) == len(SIZES)
    assert compute.ceiling == parameters.ceiling == ()
    assert compute.off_line < 15
    row, of_size = scaling.rows_of(found)
    assert list(row) == scaling.SCALING
    assert (row["law"], of_size["law"]) == scaling.QUANTITIES
    assert row["elo_tenfold"] == pytest.approx(240, abs=8)
    said = printed(found)
    assert f"[{compute.exponent.low:.2f}, {compute.exponent.high:.2f}]" in said
    # 2^0.6 / (1 + 2^0.6)
    assert "twice the compute scores 60% against the half" in said
    assert "ceiling" not in said


def test_intervals_cover_the_known_exponents() -> None:
    covered: dict[str, list[bool]] = {name: [] for name in scaling.QUANTITIES}
    halves = []
    for seed in range(10):
        found = scaling.laws(*world(games=60, chance=np.random.default_rng(seed)))
        for name, alpha in zip(scaling.QUANTITIES, (ALPHA, ALPHA_OF_SIZE), strict=True):
            law = found[name]
            if law is not None:
                covered[name].append(law.exponent.low <= alpha <= law.exponent.high)
                halves.append(law.exponent.high - law.exponent.value)
    for name, each in covered.items():
        assert len(each) >= 8, name
        assert sum(each) >= len(each) - 2, name
    assert 0.02 < float(np.mean(halves)) < 0.3


def test_more_games_make_narrower_intervals() -> None:
    few, many = (scaling.laws(*world(games))["compute"] for games in (50, 5000))
    assert few is not None
    assert many is not None
    wide, narrow = (law.exponent.high - law.exponent.low for law in (few, many))
    assert narrow < wide / 5


def test_no_line_goes_through_a_ceiling_or_a_floor() -> None:
    """Of perfect play, and of networks that have learned nothing yet."""
    top, bottom = 400 * ALPHA * math.log10(60), 400 * ALPHA * math.log10(4)
    rated, pool = world(
        1000, strength=lambda size, compute: min(max(elo(size, compute), bottom), top)
    )
    found = scaling.laws(rated, pool)
    compute = found["compute"]
    assert compute is not None
    assert compute.exponent.value == pytest.approx(ALPHA, abs=0.06)
    assert compute.ceiling
    assert all(entry.kept.compute >= 60 for entry in compute.ceiling)
    assert all(4 < entry.kept.compute < 64 for entry in compute.through)
    assert "the ceiling is at" in printed(found)
    # A line through all of the frontier is what it prevents.
    line = np.polyfit(
        [math.log10(e.kept.compute or 0) for e in rated], [e.rating for e in rated], 1
    )
    assert line[0] / 400 < ALPHA - 0.1
    # Two sizes are left, which are too few for a law.
    assert found["parameters"] is None
    assert "not fitted over parameters: a line takes 3 checkpoints of one seed" in printed(found)
    assert [row["law"] for row in scaling.rows_of(found)] == ["compute"]


def test_seeds_that_differ_widen_the_interval() -> None:
    found = scaling.laws(*world(1000, slopes=(0.8, 1.0, 1.2)))["compute"]
    assert found is not None
    assert found.seeds == 3
    assert found.exponent.value == pytest.approx(ALPHA, abs=0.03)
    # Student's t of three seeds: 4.303 x 0.12 / sqrt(3) = 0.298.
    assert found.exponent.high - found.exponent.value == pytest.approx(0.298, abs=0.05)


def test_the_figure_shows_both_laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    from azcore.commands.arena import figure

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # letters as letters
    settings = settings_from(compose(*TINY), LearningSettings)
    rated, pool = world(200, settings=settings)
    config = compose("command=arena", "arena=comparison", "arena.x=compute")
    options = comparison_settings({**config["arena"], "runs": ["x"]})
    curves = mean_curves(rated, pool, "compute")
    drawn: list[tuple[Any, ...]] = []
    plot = figure.Axes.plot
    monkeypatch.setattr(
        figure.Axes, "plot", lambda self, *a, **k: (drawn.append((a, k)), plot(self, *a, **k))[1]
    )
    found = scaling.laws(rated, pool)
    paths = figure.draw(tmp_path, rated, curves, 0.0, options, found)
    lines = [a for a, k in drawn if k.get("linewidth") == 3]
    assert len(lines) == 2
    for (x, y), alpha in zip(reversed(lines), (ALPHA, ALPHA_OF_SIZE), strict=True):
        slope = (y[1] - y[0]) / math.log10(x[1] / x[0]) / 400
        assert slope == pytest.approx(alpha, abs=0.05)
    text = paths[1].read_text()
    assert "floating-point operations of self-play and learning" in text
    assert "parameters of the network" in text
