"""The sequential test: ratios by hand and by search, error rates by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from arena_kit import Floats, davidson, share_of_points
from azcore.arena.sprt import (
    PAIR_SCORES,
    SprtSettings,
    Verdict,
    log_likelihood_ratio,
    most_likely,
)
from azcore.errors import SettingError
from azcore.settings import build

SETTINGS: dict[str, Any] = {
    "elo0": 0.0,
    "elo1": 35.0,
    "alpha": 0.05,
    "beta": 0.05,
    "look_games": 40,
}


def settings(**changed: Any) -> SprtSettings:
    return build(SprtSettings, {**SETTINGS, **changed}, "sprt")


def test_bounds_by_hand() -> None:
    assert settings().bounds == pytest.approx((-2.9444, 2.9444), abs=1e-4)  # log 19
    low, high = settings(alpha=0.01, beta=0.2).bounds
    assert (low, high) == pytest.approx((math.log(0.2 / 0.99), math.log(0.8 / 0.01)))


def test_two_outcomes_have_the_binomial_ratio() -> None:
    """Pairs of 0 or 2 points only: a hypothesis leaves nothing to choose."""
    s0, s1 = 0.5, 1 / (1 + 10 ** (-35 / 400))
    by_hand = 30 * math.log(s1 / s0) + 20 * math.log((1 - s1) / (1 - s0))
    assert float(log_likelihood_ratio([20, 0, 0, 0, 30], 0, 35)) == pytest.approx(by_hand, abs=0.01)


def test_three_outcomes_against_a_search() -> None:
    """Losses, even pairs and wins: with the mean given, one share is left to try."""
    counts = np.array([10.0, 25.0, 15.0])

    def best(mean: float) -> float:
        even = np.linspace(1e-6, 1 - 1e-6, 400_001)
        won = mean - even / 2
        shares = np.stack([1 - even - won, even, won])
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = (counts[:, None] * np.log(shares)).sum(axis=0)
        return float(np.nanmax(logs))

    by_search = best(float(share_of_points(100))) - best(float(share_of_points(-20)))
    ratio = float(log_likelihood_ratio([10, 0, 25, 0, 15], -20, 100))
    assert ratio == pytest.approx(by_search, abs=0.01)


def test_most_likely_has_the_mean_and_nothing_likelier_does() -> None:
    rng = np.random.default_rng(1)
    shares = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    found = most_likely(shares, 0.45)
    assert found.sum() == pytest.approx(1)
    assert found @ PAIR_SCORES == pytest.approx(0.45)
    # Directions that change neither the sum nor the mean.
    flat = np.linalg.svd(np.stack([np.ones(5), PAIR_SCORES]))[2][2:]
    for _ in range(100):
        other = found + 0.02 * rng.normal(size=3) @ flat
        assert (shares * np.log(other)).sum() < (shares * np.log(found)).sum()


def test_draws_and_balanced_pairs_make_the_same_score_say_more() -> None:
    """55 % of the points: decisive pairs, the same with drawn games, and one game each."""
    decisive = float(log_likelihood_ratio([45, 0, 0, 0, 55], 0, 35))
    drawn = float(log_likelihood_ratio([0, 15, 55, 25, 5], 0, 35))
    balanced = float(log_likelihood_ratio([0, 0, 90, 0, 10], 0, 35))
    assert 0 < decisive < drawn < balanced


def test_verdicts() -> None:
    assert settings().verdict([0, 0, 0, 0, 0]) is Verdict.OPEN
    assert settings().verdict([0, 0, 0, 0, 40]) is Verdict.BETTER
    assert settings().verdict([40, 0, 0, 0, 0]) is Verdict.NOT_BETTER
    assert settings().verdict([0, 0, 10, 0, 0]) is Verdict.OPEN
    assert settings().verdict([0, 0, 40, 0, 0]) is Verdict.NOT_BETTER  # as even as can be


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"elo1": 0.0}, r"sprt.elo0 and sprt.elo1 must be .*got \(0.0, 0.0\)"),
        ({"alpha": 0.0}, "sprt.alpha must be a share between 0 and 0.5, got 0.0"),
        ({"beta": 0.5}, "sprt.beta must be a share between 0 and 0.5, got 0.5"),
        ({"look_games": 3}, "sprt.look_games must be an even number above 0.*got 3"),
    ],
)
def test_settings_out_of_range_are_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        settings(**changed)


def pair_results(elo: float, nu: float, seat_luck: float) -> Floats:
    """Shares of pairs with 0 to 2 points whose mean is exactly that of `elo`."""

    def shares(shift: float) -> Floats:
        total = np.zeros(5)
        for luck in (seat_luck, -seat_luck):
            seats = [davidson(share_of_points(shift + sign * luck), nu) for sign in (1, -1)]
            total += 0.5 * np.convolve(*seats)
        return total

    low, high = -2000.0, 2000.0
    for _ in range(60):
        middle = (low + high) / 2
        if shares(middle) @ PAIR_SCORES < share_of_points(elo):
            low = middle
        else:
            high = middle
    return shares(low)


def share_of_better(elo: float, nu: float, seat_luck: float, look_pairs: int, trials: int) -> float:
    """How often the test takes a player of this strength for the better one."""
    rng = np.random.default_rng(5)
    shares = pair_results(elo, nu, seat_luck)
    low, high = settings().bounds
    counts = np.zeros((trials, 5))
    better = 0
    while len(counts):
        counts += rng.multinomial(look_pairs, shares, len(counts))
        ratios = log_likelihood_ratio(counts, 0.0, 35.0)
        better += int((ratios >= high).sum())
        counts = counts[(low < ratios) & (ratios < high)]
    return better / trials


MORE = pytest.mark.long(short="tests/arena/test_sprt.py::test_errors_are_as_rare_as_promised")


@pytest.mark.parametrize(
    ("nu", "seat_luck", "look_pairs"),
    [
        (0.0, 0.0, 20),
        (1.0, 300.0, 20),
        pytest.param(2.0, 0.0, 20, marks=MORE),
        pytest.param(8.0, 0.0, 20, marks=MORE),
        pytest.param(1.0, 300.0, 1, marks=MORE),
    ],
)
def test_errors_are_as_rare_as_promised(nu: float, seat_luck: float, look_pairs: int) -> None:
    """3,000 tests of each hypothesis: alpha = beta = 0.05 and three standard deviations, 0.012.

    A test that hardly ever erred would be one that plays too long.
    """
    trials = 3000
    false_alarm = share_of_better(0.0, nu, seat_luck, look_pairs, trials)
    missed = 1 - share_of_better(35.0, nu, seat_luck, look_pairs, trials)
    assert 0.01 < false_alarm < 0.062
    assert 0.01 < missed < 0.062
