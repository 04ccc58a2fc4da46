"""Ratings against hand numbers, closed forms and simulated players of known strength."""

import math
from dataclasses import astuple

import numpy as np
import pytest

from arena_kit import davidson, played, share_of_points
from azcore.arena.elo import (
    MatchScore,
    PairScore,
    RatingList,
    expected_score,
    fit_ratings,
    rating_list,
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
    assert score_interval(80, 0, 20, distinct=10) == pytest.approx((low, high))
    assert score_interval(0, 0, 0) == (0.0, 1.0)
    low, high = score_interval(10, 0, 0)
    assert high == pytest.approx(1)
    assert 0.6 < low < 0.8


def test_two_players_have_the_closed_form() -> None:
    ratings = fit_ratings([score("net", "random", 30, 4, 6)], "random")
    share = (30 + 2 + 0.5) / 41
    assert ratings["net"].value == pytest.approx(400 * math.log10(share / (1 - share)))
    assert ratings["random"].value == ratings["random"].low == ratings["random"].high == 0
    # Variance of the log-odds: that of a game's points over n (p (1 - p))^2. Draws make it less
    # than 1 / (n p (1 - p)).
    variance = (30.5 + 4 / 4) / 41 - share**2
    half = 1.959964 * 400 / math.log(10) * math.sqrt(variance / 41) / (share * (1 - share))
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


# -- pairs of games, draws, the first mover -----------------------------------------------------

# Rows: points with seat 0 (0, 1/2, 1); columns: with seat 1.
SAMPLE = PairScore(player="b", opponent="a", joint=((1, 2, 3), (4, 5, 6), (7, 8, 9)))


def test_pairs_are_counted_by_hand() -> None:
    assert SAMPLE.pairs == 45
    assert SAMPLE.pentanomial == (1, 2 + 4, 3 + 5 + 7, 6 + 8, 9)
    total = SAMPLE.total
    assert (total.losses, total.draws, total.wins) == (6 + 12, 15 + 15, 24 + 18)
    turned = SAMPLE.turned()
    assert (turned.player, turned.opponent) == ("a", "b")
    assert turned.pentanomial == SAMPLE.pentanomial[::-1]
    # 8 pairs: b won with seat 0 and drew with seat 1, so a drew with seat 0 and lost with seat 1.
    assert turned.joint[1][0] == 8
    assert turned.turned() == SAMPLE


def test_either_side_of_pairs_may_be_given() -> None:
    other = PairScore(player="b", opponent="c", joint=((2, 1, 3), (0, 4, 2), (5, 3, 6)))
    ratings = rating_list([SAMPLE, other], {"a": 0.0})
    again = rating_list([other.turned(), SAMPLE.turned()], {"a": 0.0})
    for name in "abc":
        assert astuple(ratings.ratings[name]) == pytest.approx(astuple(again.ratings[name]))
    assert ratings.first_move is not None
    assert again.first_move is not None
    assert astuple(ratings.first_move) == pytest.approx(astuple(again.first_move))


def test_no_parameters_are_likelier() -> None:
    """The likelihood of Davidson's shares with Elo's mean, written again, is highest at the fit."""
    rng = np.random.default_rng(3)
    # a - b and b - c are even enough to tell more than a - c, so the prior belongs to them.
    matches = [
        played(rng, "a", "b", elo=60, pairs=40, nu=1.0, first_move=50),
        played(rng, "b", "c", elo=80, pairs=40, nu=1.0, first_move=50),
        played(rng, "a", "c", elo=600, pairs=10, nu=1.0, first_move=50),
    ]
    fit = rating_list(matches, {"c": 0.0})
    assert fit.first_move is not None
    assert fit.draws is not None
    found = np.array(
        [
            fit.ratings["a"].value,
            fit.ratings["b"].value,
            fit.first_move.value,
            173.7178 * math.log(2 * fit.draws / (1 - fit.draws)),
        ]
    )

    def log_likelihood(at: np.ndarray) -> float:
        elo = {"a": at[0], "b": at[1], "c": 0.0}
        nu = math.exp(at[3] / 173.7178)
        rows = [(elo["a"] - elo["b"], [0.5, 0, 0.5]), (elo["b"] - elo["c"], [0.5, 0, 0.5])]
        rows.append((at[2], [0.5, 0, 0.5]))
        for match in matches:
            joint, difference = np.array(match.joint), elo[match.player] - elo[match.opponent]
            rows.append((difference + at[2], joint.sum(axis=1)))
            rows.append((difference - at[2], joint.sum(axis=0)))
        means = share_of_points(np.array([difference for difference, _ in rows]))
        return float((np.array([c for _, c in rows]).T * np.log(davidson(means, nu))).sum())

    best = log_likelihood(found)
    for i in range(4):
        step = np.eye(4)[i]
        slope = (log_likelihood(found + step) - log_likelihood(found - step)) / 2
        assert abs(slope) < 1e-4  # a tenth of an Elo point away it is ten times that
    for _ in range(200):
        away = rng.normal(size=4) * rng.choice([1, 10, 100])
        assert log_likelihood(found + away) < best


def test_draws_narrow_the_interval_and_leave_the_rating() -> None:
    decided = fit_ratings([score("a", "b", 30, 0, 20)], "b")["a"]
    drawn = fit_ratings([score("a", "b", 10, 40, 0)], "b")["a"]
    assert drawn.value == pytest.approx(decided.value)
    assert drawn.high - drawn.low < 0.5 * (decided.high - decided.low)


def test_only_draws_are_even() -> None:
    rating = fit_ratings([score("a", "b", 0, 40, 0)], "b")["a"]
    assert rating.value == pytest.approx(0)
    assert 10 < rating.high < 60
    paired = rating_list(
        [PairScore(player="a", opponent="b", joint=((0, 0, 0), (0, 20, 0), (0, 0, 0)))], {"b": 0.0}
    )
    assert paired.ratings["a"].value == pytest.approx(0)
    assert paired.draws is not None
    assert paired.draws > 0.9


def test_a_first_mover_who_always_wins_is_finite_and_tells_nothing_of_strength() -> None:
    result = PairScore(player="a", opponent="b", joint=((0, 0, 0), (0, 0, 0), (20, 0, 0)))
    fit = rating_list([result], {"b": 0.0})
    assert fit.first_move is not None
    assert 200 < fit.first_move.low < fit.first_move.value < 1500
    assert fit.ratings["a"].value == pytest.approx(0)
    assert fit.ratings["a"].high > 100


def test_anchors_stay_where_they_are_and_pull_nobody_together() -> None:
    results = [score("a", "old", 30, 0, 10), score("a", "new", 20, 0, 20)]
    one = fit_ratings(results, "old")
    both = rating_list(results, {"old": 100.0, "new": 300.0}).ratings
    assert astuple(both["old"]) == (100, 100, 100)
    assert astuple(both["new"]) == pytest.approx((300, 300, 300))
    # Alone, `old` puts a at 100 + 186 and `new` at 300; together they agree on something between.
    assert 100 + one["a"].value < both["a"].value < 300
    shifted = rating_list(results, {"old": 100.0}).ratings
    assert shifted["a"].value == pytest.approx(100 + one["a"].value)
    assert both["a"].high - both["a"].low < shifted["a"].high - shifted["a"].low


def test_superiority_by_hand() -> None:
    fit = rating_list([score("a", "b", 12, 0, 8), score("c", "d", 5, 0, 5)], {"b": 0.0, "d": 0.0})
    rating = fit.ratings["a"]
    z = rating.value / ((rating.high - rating.value) / 1.959964)
    assert fit.superiority("a", "b") == pytest.approx(0.5 * (1 + math.erf(z / math.sqrt(2))))
    assert fit.superiority("a", "b") + fit.superiority("b", "a") == pytest.approx(1)
    assert fit.superiority("c", "d") == pytest.approx(0.5)
    assert fit.superiority("b", "d") == 0.5  # both given, both 0


def test_superiority_knows_what_two_players_share() -> None:
    """Two who met each other often are told apart, however little the anchor says of either."""
    fit = rating_list(
        [score("a", "b", 130, 0, 70), score("a", "r", 4, 0, 0), score("b", "r", 4, 0, 0)],
        {"r": 0.0},
    )
    assert fit.ratings["a"].low < fit.ratings["b"].high
    assert fit.superiority("a", "b") > 0.99


def coverage(
    known: dict[str, float], trials: int, seed: int, **games: float
) -> tuple[dict[str, float], float, float]:
    """How often known ratings and the first mover's advantage lie within their intervals.

    Returns:
        Shares by name, that of the first mover's advantage, and the mean half of an interval.
    """
    rng = np.random.default_rng(seed)
    others = list(known)[1:]
    inside = dict.fromkeys(others, 0)
    seat, halves = 0, []
    for _ in range(trials):
        fit = round_robin(rng, known, games)
        for name in others:
            rating = fit.ratings[name]
            inside[name] += rating.low <= known[name] <= rating.high
            halves.append((rating.high - rating.low) / 2)
        assert fit.first_move is not None
        seat += fit.first_move.low <= games.get("first_move", 0.0) <= fit.first_move.high
    shares = {name: number / trials for name, number in inside.items()}
    return shares, seat / trials, float(np.mean(halves))


def round_robin(
    rng: np.random.Generator, known: dict[str, float], games: dict[str, float]
) -> RatingList:
    names = list(known)
    results = [
        played(rng, a, b, elo=known[a] - known[b], **games)  # type: ignore[arg-type]
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    ]
    return rating_list(results, {names[0]: 0.0})


LADDER = {"anchor": 0.0, "a": 150.0, "b": 320.0, "c": 400.0}
# 95 % of 150 trials lie within 89.5 and 99.5 in 996 of 1,000 suites.
TRIALS, LEAST, MOST = 150, 0.895, 0.995


@pytest.mark.parametrize("nu", [0.0, 1.0, 6.0])
def test_intervals_cover_with_and_without_draws(nu: float) -> None:
    shares, seat, _ = coverage(LADDER, TRIALS, seed=int(nu), pairs=30, nu=nu, first_move=40.0)
    for share in (*shares.values(), seat):
        assert LEAST <= share <= MOST


@pytest.mark.parametrize("luck", [{"seat_luck": 300.0}, {"player_luck": 150.0}])
def test_intervals_cover_when_the_games_of_a_pair_depend_on_each_other(
    luck: dict[str, float],
) -> None:
    """Equal players, so that the luck of openings does not move the mean."""
    equal = dict.fromkeys(("anchor", "a", "b"), 0.0)
    shares, _, half = coverage(equal, TRIALS, seed=1, pairs=200, nu=1.0, **luck)
    # Mixed with the model's, the scatter of pairs of which one luck evens out is a little wide.
    assert LEAST <= min(shares.values()) <= max(shares.values()) <= MOST
    _, _, independent = coverage(equal, 20, seed=2, pairs=200, nu=1.0)
    # Luck of seats evens out within a pair, luck of players does not.
    assert half < 0.9 * independent if "seat_luck" in luck else half > 1.1 * independent


def test_few_or_one_sided_pairs_do_not_look_certain() -> None:
    """All pairs alike: the scatter of pairs alone would be nothing."""
    balanced = PairScore(player="a", opponent="b", joint=((0, 0, 5), (0, 0, 0), (5, 0, 0)))
    rating = rating_list([balanced], {"b": 0.0}).ratings["a"]
    assert rating.value == pytest.approx(0)
    assert 60 < rating.high < 155  # independent games would have 152
    swept = PairScore(player="a", opponent="b", joint=((0, 0, 0), (0, 0, 0), (0, 0, 20)))
    rating = rating_list([swept], {"b": 0.0}).ratings["a"]
    assert rating.value == pytest.approx(400 * math.log10(40.5 / 0.5), abs=2)
    assert rating.high - rating.value > 250
