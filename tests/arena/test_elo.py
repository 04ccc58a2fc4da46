"""Ratings against hand numbers, closed forms and simulated players of known strength."""

import math
from dataclasses import astuple

import numpy as np
import pytest

from azcore.arena.elo import (
    MatchScore,
    expected_score,
    fit_ratings,
    score_interval,
    updated_rating,
)
from azcore.errors import SettingError


def score(player: str, opponent: str, wins: int, draws: int, losses: int) -> MatchScore:
    return MatchScore(player=player, opponent=opponent, wins=wins, draws=draws, losses=losses)


def test_expected_score_by_hand() -> None:
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert expected_score(200) == pytest.approx(1 / (1 + 10**-0.5))
    assert expected_score(-120) == pytest.approx(1 - expected_score(120))
    assert (expected_score(1e6), expected_score(-1e6)) == (1.0, 0.0)


def test_updated_rating_by_hand() -> None:
    assert updated_rating(1500, 32, 1, 0.5) == 1516
    # A favourite by 200 who draws loses K (0.76 - 0.5).
    assert updated_rating(1700, 20, 0.5, expected_score(200)) == pytest.approx(1694.805, abs=0.001)


def test_score_interval_by_hand() -> None:
    # Wilson's interval for 8 of 10, as in textbooks.
    low, high = score_interval(8, 0, 2)
    assert (low, high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert score_interval(7, 2, 1) == pytest.approx((low, high))
    assert score_interval(0, 0, 0) == (0.0, 1.0)
    low, high = score_interval(10, 0, 0)
    assert high == pytest.approx(1)
    assert 0.6 < low < 0.8


def test_two_players_have_the_closed_form() -> None:
    ratings = fit_ratings([score("net", "random", 30, 4, 6)], "random")
    share = (30 + 2 + 0.5) / 41
    assert ratings["net"].value == pytest.approx(400 * math.log10(share / (1 - share)))
    assert ratings["random"].value == ratings["random"].low == ratings["random"].high == 0
    # Variance of the log-odds: 1 / (n p (1 - p)).
    half = 1.959964 * 400 / math.log(10) / math.sqrt(41 * share * (1 - share))
    assert ratings["net"].high - ratings["net"].value == pytest.approx(half)


def test_a_perfect_score_stays_finite_and_grows_with_games() -> None:
    short = fit_ratings([score("net", "random", 10, 0, 0)], "random")["net"]
    long = fit_ratings([score("net", "random", 400, 0, 0)], "random")["net"]
    assert 500 < short.value < long.value < 1500
    assert short.value == pytest.approx(400 * math.log10(10.5 / 0.5))


def test_side_order_and_splitting_do_not_matter() -> None:
    whole = [score("a", "random", 7, 2, 1), score("b", "a", 6, 0, 4)]
    parts = [score("a", "b", 1, 0, 2), score("random", "a", 1, 2, 7), score("b", "a", 4, 0, 3)]
    ratings, again = fit_ratings(whole, "random"), fit_ratings(parts, "random")
    assert sorted(ratings) == sorted(again) == ["a", "b", "random"]
    for name, rating in ratings.items():
        assert astuple(rating) == pytest.approx(astuple(again[name]))


def test_players_not_joined_to_the_anchor_are_left_out() -> None:
    ratings = fit_ratings(
        [score("a", "random", 3, 0, 1), score("b", "c", 1, 0, 1), score("d", "a", 0, 0, 0)],
        "random",
    )
    assert sorted(ratings) == ["a", "random"]
    assert sorted(fit_ratings([], "random")) == ["random"]


def test_a_long_chain_of_perfect_scores_converges() -> None:
    chain = [score(f"step-{i + 1}", f"step-{i}", 100, 0, 0) for i in range(60)]
    ratings = fit_ratings(chain, "step-0")
    values = [ratings[f"step-{i}"].value for i in range(61)]
    assert np.diff(values) == pytest.approx(400 * math.log10(100.5 / 0.5))


def test_impossible_results_are_refused() -> None:
    with pytest.raises(SettingError, match="two players, got 'a'"):
        fit_ratings([score("a", "a", 1, 0, 0)], "a")
    with pytest.raises(SettingError, match="0 or more, got -1"):
        fit_ratings([score("a", "b", -1, 0, 3)], "a")


def test_known_ratings_are_recovered() -> None:
    known = {"random": 0.0, "search": 150.0, "step-1": 320.0, "step-2": 400.0}
    covered = dict.fromkeys(known, 0)
    errors: list[float] = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        results = []
        for player, rating in known.items():
            for opponent, other in known.items():
                if player < opponent:
                    wins = int(rng.binomial(60, expected_score(rating - other)))
                    results.append(score(player, opponent, wins, 0, 60 - wins))
        for name, fitted in fit_ratings(results, "random").items():
            covered[name] += fitted.low <= known[name] <= fitted.high
            errors.append(fitted.value - known[name])
    assert min(covered.values()) >= 90
    assert abs(np.mean(errors)) < 10


def test_a_run_is_rated_right_though_it_always_beats_the_anchors() -> None:
    """Checkpoints meet random play, plain search and the one before, as in training."""
    generations = 12
    known = {"random": 0.0, "search": 350.0}
    known |= {f"step-{g}": 1400 * (1 - 0.75**g) for g in range(1, generations + 1)}
    covered, errors = 0, []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        results = []
        for g in range(1, generations + 1):
            player = f"step-{g}"
            for opponent in ("random", "search", f"step-{g - 1}"):
                if opponent in known:
                    chance = expected_score(known[player] - known[opponent])
                    wins = int(rng.binomial(40, chance))
                    results.append(score(player, opponent, wins, 0, 40 - wins))
        last = fit_ratings(results, "random")[f"step-{generations}"]
        covered += last.low <= known[f"step-{generations}"] <= last.high
        errors.append(last.value - known[f"step-{generations}"])
    assert covered >= 90
    assert abs(np.mean(errors)) < 60  # Elo, of 1,356; the interval is about 300 to either side
