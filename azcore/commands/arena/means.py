"""Means over several seeds, their differences, and the intervals of the ratings of one pool."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from azcore.arena.elo import Z_95, MatchScore, PairScore, Rating, probability_above_0, rating_list
from azcore.arena.likelihood import Floats
from azcore.commands.arena.runs import Kept, Run
from azcore.learner.imported_games import Prediction

# 97.5 % points of Student's t (1908) with 1 to 10 degrees of freedom.
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
ANGLES = np.pi * ((np.arange(999) + 0.5) / 999 - 0.5)  # from -pi/2 to pi/2, to integrate over t


@dataclass(frozen=True, kw_only=True)
class Rated:
    """A checkpoint and its measurements."""

    run: Run
    kept: Kept
    rating: float  # Elo above random play
    half: float  # half its 95 % interval among all checkpoints rated
    prediction: Prediction | None = None  # of games by others, if there are any

    @property
    def values(self) -> dict[str, float]:
        """The `rating`, and for games by others `predicted` and `value_error`, by name.

        These are the share of moves that the network ranks first, and (z - v)^2.
        """
        found = {"rating": self.rating}
        if self.prediction is not None:
            found["predicted"] = self.prediction.accuracy
            found["value_error"] = self.prediction.value_loss
        return found


@dataclass(frozen=True, kw_only=True)
class MeanPoint:
    """A variant at one moment: its cost, and means of `Rated.values` over its seeds."""

    of: tuple[Rated, ...]  # one checkpoint per seed
    x: float
    means: Mapping[str, Rating]

    @property
    def rating(self) -> Rating:
        """The rating in Elo above random play."""
        return self.means["rating"]


def student_t_95(freedom: int) -> float:
    """Half the 95 % interval of the mean of `freedom` + 1 values, in standard errors.

    Args:
        freedom: degrees of freedom, 1 or more. Above 10 the result comes from the expansion around
            the normal distribution (Abramowitz and Stegun 26.7.5), correct to the third decimal.
    """
    if freedom <= len(T_95):
        return T_95[freedom - 1]
    z, n = Z_95, freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def mean_over_seeds(ratings: Sequence[float], own: float) -> Rating:
    """The mean of a variant's ratings with the 95 % interval of that mean.

    Half its width is the square root of t^2 s^2 / n + own^2. The first term is Student's interval
    for n seeds whose ratings have the standard deviation s. A few seeds determine s poorly, so t is
    large for them (4.3 for three seeds, 12.7 for two). The second term is the effect of chance in
    the matches on this mean. Part of it is in s already, so the interval is too wide rather than
    too narrow. With one seed only the second term is left, and the interval does not cover other
    seeds.

    Args:
        ratings: the ratings of the same moment in n runs that differ in the seed alone.
        own: half the 95 % interval of their mean from the matches alone, see `Pool.half_width`; 0
            if all are measured on the same positions.
    """
    mean = statistics.fmean(ratings)
    n = len(ratings)
    seeds = student_t_95(n - 1) * statistics.stdev(ratings) / math.sqrt(n) if n > 1 else 0.0
    half = math.hypot(seeds, own)
    return Rating(mean, mean - half, mean + half)


class Pool:
    """Ratings from matches of many players, and the errors of their sums and differences.

    The interval of a rating relative to its anchor hides the correlation of the errors: far from
    the anchor all intervals are wide, although neighbours are well known relative to each other.
    The covariance C of the fit has both: a sum with weights c that add up to 0 has the variance
    c C c, whichever player is the anchor.

    Args:
        results: matches that connect all players.
        anchor: the player rated 0.

    Raises:
        SettingError: a result is impossible.
    """

    def __init__(self, results: Iterable[MatchScore | PairScore], anchor: str) -> None:
        fitted = rating_list(results, {anchor: 0.0})
        self._anchor, self._covariance = anchor, fitted.covariance
        self.values = {name: rating.value for name, rating in fitted.ratings.items()}
        self._index = {name: i for i, name in enumerate(fitted.ratings)}

    def half_width(self, weights: Mapping[str, float]) -> float:
        """Half the 95 % interval of a sum of ratings with these weights, which add up to 0."""
        c = np.zeros(len(self._index))
        for name, weight in weights.items():
            c[self._index[name]] += weight
        return Z_95 * math.sqrt(max(0.0, float(c @ self._covariance @ c)))

    def half_width_among(self, names: Sequence[str], group: Sequence[str]) -> float:
        """Half the 95 % interval of the mean of `names` relative to the mean of a group.

        If the group is one player and `names` is the same, it is relative to the anchor.
        """
        if len(group) == 1 and list(names) == list(group):
            group = [self._anchor]
        weights = dict.fromkeys(group, -1 / len(group))
        for name in names:
            weights[name] = weights.get(name, 0.0) + 1 / len(names)
        return self.half_width(weights)

    def apart(self, names: Sequence[str]) -> Floats:
        """Half the 95 % interval of the difference of each two of `names`, [i, j]."""
        c = self._covariance_of(names)
        variances = np.diag(c)[:, None] + np.diag(c)[None, :] - 2.0 * c
        return Z_95 * np.sqrt(np.maximum(variances, 0.0))

    def draws(self, names: Sequence[str], count: int) -> Floats:
        """Ratings as other games between equally strong players might give them, [count, names]."""
        values = [self.values[name] for name in names]
        covariance = self._covariance_of(names)
        rng = np.random.default_rng(0)
        return rng.multivariate_normal(values, covariance, count, check_valid="ignore")

    def _covariance_of(self, names: Sequence[str]) -> Floats:
        chosen = [self._index[name] for name in names]
        return self._covariance[np.ix_(chosen, chosen)]


def mean_curves(rated: Sequence[Rated], pool: Pool, x: str) -> dict[str, list[MeanPoint]]:
    """By variant, the mean over its runs at each level that all of them have.

    The checkpoints of a level have about the same x; the point has their mean.
    """
    everyone = [entry.kept.name for entry in rated]
    by_variant: dict[str, dict[int, list[Rated]]] = {}
    for entry in rated:
        levels = by_variant.setdefault(entry.run.variant, {})
        levels.setdefault(entry.kept.level, []).append(entry)
    curves: dict[str, list[MeanPoint]] = {}
    for variant, levels in by_variant.items():
        seeds = max(len(entries) for entries in levels.values())
        curves[variant] = []
        for _, entries in sorted(levels.items()):
            if len(entries) < seeds:  # a mean of fewer seeds would jump where one ends
                continue
            own = pool.half_width_among([entry.kept.name for entry in entries], everyone)
            means = {
                name: mean_over_seeds(
                    [entry.values[name] for entry in entries], own if name == "rating" else 0.0
                )
                for name in entries[0].values
            }
            at = [entry.kept.cost(x) or 0.0 for entry in entries]
            point = MeanPoint(of=tuple(entries), x=statistics.fmean(at), means=means)
            curves[variant].append(point)
    return curves


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How far one mean rating is above another."""

    elo: Rating  # with its 95 % interval
    stronger: float  # probability that the difference is above 0


def difference(first: MeanPoint, second: MeanPoint, pool: Pool) -> Difference:
    """The difference between two means of ratings.

    As in `mean_over_seeds`, half the interval is the square root of t^2 s^2 + own^2. Here s is the
    standard error between seeds with one standard deviation for both variants, and t has as many
    degrees of freedom as both have seeds, less 2. Between two single runs only the second term is
    left.
    """
    ratings = [[entry.rating for entry in point.of] for point in (first, second)]
    value = statistics.fmean(ratings[0]) - statistics.fmean(ratings[1])
    weights = {
        entry.kept.name: sign / len(point.of)
        for sign, point in ((1, first), (-1, second))
        for entry in point.of
    }
    own = half = pool.half_width(weights)
    seeds = 0.0
    freedom = len(ratings[0]) + len(ratings[1]) - 2
    if freedom:
        squares = sum((r - statistics.fmean(of)) ** 2 for of in ratings for r in of)
        seeds = math.sqrt(squares / freedom * sum(1 / len(of) for of in ratings))
        half = math.hypot(student_t_95(freedom) * seeds, own)
    stronger = _above_0(value, own / Z_95, seeds, freedom)
    return Difference(elo=Rating(value, value - half, value + half), stronger=stronger)


def _above_0(value: float, own: float, seeds: float, freedom: int) -> float:
    """Probability that the true value is above 0, given `value`, a normal and a Student error.

    With t = sqrt(n) tan(a), Student's density with n degrees of freedom is cos(a)^(n - 1) in a.
    """
    if not seeds:
        return probability_above_0(value, own)
    errors = seeds * math.sqrt(freedom) * np.tan(ANGLES)
    shares = [probability_above_0(value + float(error), own) for error in errors]
    return float(np.average(shares, weights=np.cos(ANGLES) ** (freedom - 1)))
