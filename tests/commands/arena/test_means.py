"""Intervals of a comparison: numbers worked out by hand, and tables of Student's t."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from azcore.arena.elo import MatchScore, fit_ratings, rating_list
from azcore.commands.arena.means import (
    MeanPoint,
    Pool,
    Rated,
    difference,
    mean_curves,
    mean_over_seeds,
    student_t_95,
)
from azcore.commands.arena.runs import Kept, Run, labels


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.706), (2, 4.303), (10, 2.228), (11, 2.201), (15, 2.131), (30, 2.042), (120, 1.980)],
)
def test_student_t_is_the_printed_table(freedom: int, value: float) -> None:
    assert student_t_95(freedom) == pytest.approx(value, abs=6e-4)


def test_mean_over_three_seeds_by_hand() -> None:
    # Mean 200, s = 100, t = 4.303: 4.303 x 100 / sqrt(3) = 248.4; with 60 beside it 255.6.
    mean = mean_over_seeds([100.0, 200.0, 300.0], own=60.0)
    assert mean.value == 200.0
    assert mean.high - mean.value == pytest.approx(255.6, abs=0.1)
    assert mean.value - mean.low == pytest.approx(255.6, abs=0.1)


def test_two_seeds_that_agree_keep_the_error_of_their_matches() -> None:
    mean = mean_over_seeds([150.0, 150.0], own=40.0)
    assert (mean.low, mean.value, mean.high) == (110.0, 150.0, 190.0)


def test_one_seed_has_the_error_of_its_matches_alone() -> None:
    mean = mean_over_seeds([150.0], own=40.0)
    assert (mean.low, mean.value, mean.high) == (110.0, 150.0, 190.0)


def score(player: str, opponent: str, wins: int, losses: int) -> MatchScore:
    return MatchScore(player=player, opponent=opponent, wins=wins, draws=0, losses=losses)


def half(results: list[MatchScore], name: str, anchor: str) -> float:
    rating = fit_ratings(results, anchor=anchor)[name]
    return (rating.high - rating.low) / 2


def test_errors_of_separate_matches_add_as_squares() -> None:
    """Two players who have met only a third: their ratings have nothing in common."""
    results = [score("a", "random", 60, 40), score("b", "random", 15, 5)]
    a, b = half(results[:1], "a", "random"), half(results[1:], "b", "random")
    pool = Pool(results, anchor="random")
    assert pool.half_width({"a": 1, "random": -1}) == pytest.approx(a, rel=1e-6)
    assert pool.half_width({"a": 1, "b": -1}) == pytest.approx(math.hypot(a, b), rel=1e-6)
    among = pool.half_width_among(["a", "b"], ["random"])
    assert among == pytest.approx(math.hypot(a, b) / 2, rel=1e-6)
    assert pool.half_width_among(["a", "b"], ["a", "b"]) == 0.0
    assert pool.half_width_among(["a"], ["a", "b"]) == pytest.approx(math.hypot(a, b) / 2)


def test_a_weak_link_to_the_anchor_is_no_error_between_those_beyond_it() -> None:
    results = [score("a", "random", 20, 0), score("b", "a", 55, 45)]
    beside = half(results[1:], "b", "a")
    pool = Pool(results, anchor="random")
    assert pool.half_width({"b": 1, "a": -1}) == pytest.approx(beside, rel=1e-6)
    assert half(results, "b", "random") > 4 * beside
    # Each is half that distance from the mean of both.
    assert pool.half_width_among(["b"], ["a", "b"]) == pytest.approx(beside / 2, rel=1e-6)


def rated(variant: str, seed: int, level: int, rating: float, evaluations: float) -> Rated:
    run: Any = Run(
        name=f"{variant},seed={seed}",
        variant=variant,
        seed=seed,
        path=Path(),
        config={},
        settings=None,  # type: ignore[arg-type]
        kept=(),
    )
    kept = Kept(
        name=f"{variant}{seed}{level}",
        path=Path(),
        digest="",
        step=100 * (level + 1),
        level=level,
        evaluations=evaluations,
        seconds=None,
    )
    return Rated(run=run, kept=kept, rating=rating, half=0.0)


def test_mean_curve_goes_through_the_means_of_its_seeds() -> None:
    entries = [
        rated("x", 1, 0, 100.0, 1000.0),
        rated("x", 2, 0, 300.0, 1400.0),
        rated("x", 1, 1, 500.0, 2000.0),  # seed 2 has not come so far
        rated("y", 1, 0, 50.0, 900.0),
    ]
    names = [entry.kept.name for entry in entries]
    pool = Pool([score(a, "random", 10, 10) for a in names], anchor="random")
    curves = mean_curves(entries, pool, "evaluations")
    assert [(point.x, point.rating.value) for point in curves["x"]] == [(1200.0, 200.0)]
    assert [(point.x, point.rating.value) for point in curves["y"]] == [(900.0, 50.0)]
    # Four players of equal, separate errors e: a mean of two beside the mean of all has e / 2.
    each = half([score("a", "random", 10, 10)], "a", "random")
    seeds = 12.706 * math.sqrt(2) * 100 / math.sqrt(2)
    assert curves["x"][0].rating.high - 200 == pytest.approx(math.hypot(seeds, each / 2), rel=1e-4)
    assert mean_curves(entries, pool, "steps")["x"][0].x == 100


def test_one_that_is_alone_is_beside_the_anchor() -> None:
    pool = Pool([score("a", "random", 30, 10), score("b", "random", 30, 10)], anchor="random")
    alone = pool.half_width_among(["a"], ["a"])
    assert alone == pytest.approx(pool.half_width({"a": 1.0, "random": -1.0}))
    assert alone > 10


def test_variants_are_called_by_what_sets_them_apart() -> None:
    one, other = "c_init=1,value_range=[-1,1]", "c_init=1,value_range=[0,1]"
    assert labels([one, other]) == {one: "value_range=[-1,1]", other: "value_range=[0,1]"}
    assert labels([one]) == {one: one}
    assert labels(["first", "second"]) == {"first": "first", "second": "second"}
    assert labels([one, "c_init=1"]) == {one: "value_range=[-1,1]", "c_init=1": "c_init=1"}


def point(variant: str, *ratings: float) -> MeanPoint:
    entries = [rated(variant, i, 0, rating, 0.0) for i, rating in enumerate(ratings)]
    return MeanPoint(of=tuple(entries), x=0.0, means={})


def test_a_difference_of_single_runs_is_that_of_the_fit() -> None:
    results = [score("x00", "random", 60, 40), score("y00", "x00", 24, 16)]
    pool, fit = Pool(results, anchor="random"), rating_list(results, {"random": 0.0})
    one, other = (point(name, pool.values[f"{name}00"]) for name in ("y", "x"))
    found = difference(one, other, pool)
    assert found.elo.value == pytest.approx(pool.values["y00"] - pool.values["x00"])
    assert found.elo.high - found.elo.value == pytest.approx(half(results[1:], "y00", "x00"))
    assert found.stronger == pytest.approx(fit.superiority("y00", "x00"))
    assert difference(other, one, pool).stronger == pytest.approx(1 - found.stronger)


def test_a_difference_over_seeds_by_hand() -> None:
    """Both have s = 100 around means of 200 and 0: 100 x sqrt(2/3) = 81.6, and t = 2.776."""
    names = [f"{variant}{i}0" for variant in "xy" for i in range(3)]
    pool = Pool([score(name, "random", 10**9, 10**9) for name in names], anchor="random")
    found = difference(point("x", 100.0, 200.0, 300.0), point("y", -100.0, 0.0, 100.0), pool)
    assert found.elo.value == 200.0
    assert found.elo.high - 200 == pytest.approx(2.776 * 81.65, abs=0.1)
    # Student's t with 4 degrees of freedom is below 200 / 81.65 = 2.449 at 96.47 %.
    assert found.stronger == pytest.approx(0.9647, abs=2e-4)
    # One run against two: the two say how seeds scatter, with 1 degree of freedom.
    found = difference(point("x", 100.0, 200.0), point("y", 50.0), pool)
    assert found.elo.high - 100 == pytest.approx(12.706 * 70.71 * math.sqrt(1.5), rel=1e-3)
    assert found.stronger == pytest.approx(0.5 + math.atan(100 / 86.6) / math.pi, abs=1e-3)
