"""Ratings: what results say about strength, and how sure they are of it.

A rating difference is a statement about the expected score, wins counted 1 and draws 1/2: 0 means
even, +200 means 76 %, +400 means 91 %. Only differences mean anything, so one player, the anchor,
is put at 0.

`expected_score` and `updated_rating` are the formulas as they are taught and as clubs use them.
`fit_ratings` is what azcore reports: all matches at once, in any order, with intervals.

Letters: P players, theta a rating on the natural scale, 400 / ln 10 = 173.7 Elo to one unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from azcore.settings import require

ELO_PER_UNIT = 400.0 / math.log(10.0)  # a rating of theta is theta * 173.7 Elo
Z_95 = 1.959964  # 95 % of a normal distribution lies within so many standard deviations
PRIOR = 0.5  # wins, and as many losses, added to a pair; see `fit_ratings`


@dataclass(frozen=True, kw_only=True)
class MatchScore:
    """What came of the games between two players, as the first of them sees it."""

    player: str
    opponent: str
    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points in [0, 1], a draw being half a point; 1/2 before any game."""
        return (self.wins + 0.5 * self.draws) / self.games if self.games else 0.5


@dataclass(frozen=True)
class Rating:
    """A rating in Elo with its 95 % interval."""

    value: float
    low: float
    high: float


def expected_score(rating_difference: float) -> float:
    """E_A = 1 / (1 + 10^((R_B - R_A) / 400)), the score A may expect (Elo 1978).

    Args:
        rating_difference: R_A - R_B, in Elo.
    """
    # In tanh the same formula cannot overflow.
    return 0.5 * (1.0 + math.tanh(0.5 * rating_difference / ELO_PER_UNIT))


def updated_rating(rating: float, k: float, score: float, expected: float) -> float:
    """R' = R + K (S - E): a rating after one game or a few, as clubs keep them.

    It follows a player who changes, depends on the order of the games and says nothing of how sure
    it is; `fit_ratings` does the reverse.

    Args:
        rating: R, before.
        k: K, the most a game can change; clubs take 10 to 40.
        score: S, points made.
        expected: E, the sum of `expected_score` over the same games.
    """
    return rating + k * (score - expected)


def score_interval(wins: int, draws: int, losses: int) -> tuple[float, float]:
    """95 % interval of a match score (Wilson 1927, eq. for a share of n trials).

    A draw counts as half a win and half a loss. It varies less than those, so with draws the
    interval is somewhat wider than it need be, never narrower.

    Returns:
        (low, high) within [0, 1]; (0, 1) where there was no game.
    """
    n = wins + draws + losses
    if n == 0:
        return 0.0, 1.0
    p = (wins + 0.5 * draws) / n
    z = Z_95
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def fit_ratings(results: Iterable[MatchScore], anchor: str) -> dict[str, Rating]:
    """Ratings of all players that explain all results best.

    The model of Bradley and Terry (1952): theta_i - theta_j are the log-odds of a win, a draw being
    half a win and half a loss. Its likelihood is concave and Newton's method climbs it.

    A score of 100 % alone would mean infinity. So half a win and half a loss are added to a pair:
    Jeffreys' prior Beta(1/2, 1/2) of its score, whose best point in log-odds is (wins + 1/2) /
    (games + 1), +763 Elo after 40 of 40. They are added to as few pairs as make every rating
    finite, the most informative ones that join all players (see `_joined`). Added to all pairs,
    they would bend long runs: every checkpoint beats random play 40 to 0, and a dozen such half
    losses pulled a known rating of 1,430 down to 1,065.

    Intervals come from the curvature at the best point, relative to the anchor: they say how far
    chance in these games may have moved a rating. They do not know of games that repeat each other
    (count `distinct_games`).

    Args:
        results: in any order; several of the same pair are added up, seen from either side.
        anchor: the player whose rating is 0, with no interval of its own.

    Returns:
        Rating by name, in Elo; players whom no chain of matches joins to the anchor are left out.

    Raises:
        SettingError: a count is below 0, or a player met itself.
    """
    points = _points_by_pair(results)
    names, links = _joined(points, anchor)
    index = {name: i for i, name in enumerate(names)}
    won = np.zeros((len(names), len(names)))  # [P, P], points of row against column, prior included
    for (name, opponent), value in points.items():
        if name in index:
            won[index[name], index[opponent]] = value
    for name, opponent in links:
        won[index[name], index[opponent]] += PRIOR
        won[index[opponent], index[name]] += PRIOR
    theta, covariance = _newton(won)
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0)) * Z_95 * ELO_PER_UNIT
    values = theta * ELO_PER_UNIT
    return {
        name: Rating(float(value), float(value - deviation), float(value + deviation))
        for name, value, deviation in zip(names, values, deviations, strict=True)
    }


def _points_by_pair(results: Iterable[MatchScore]) -> dict[tuple[str, str], float]:
    """Points of the first against the second, for each ordered pair that met."""
    points: dict[tuple[str, str], float] = {}
    for result in results:
        require(result.player != result.opponent, "a match", "between two players", result.player)
        for count in (result.wins, result.draws, result.losses):
            require(count >= 0, "wins, draws and losses", "0 or more", count)
        if result.games == 0:
            continue
        for pair, wins in (
            ((result.player, result.opponent), result.wins),
            ((result.opponent, result.player), result.losses),
        ):
            points[pair] = points.get(pair, 0.0) + wins + 0.5 * result.draws
    return points


def _joined(
    points: dict[tuple[str, str], float], anchor: str
) -> tuple[list[str], list[tuple[str, str]]]:
    """The players whom matches join to the anchor, and the pairs that join them best.

    The pairs are the spanning tree of most information (Prim 1957). What n games of score p say
    about a difference of ratings is n p (1 - p): nothing where one side always wins.

    Returns:
        Names, the anchor first; pairs, one fewer.
    """
    neighbours: dict[str, list[tuple[float, str, str]]] = {}
    for (name, opponent), value in points.items():
        games = value + points[opponent, name]
        score = (value + PRIOR) / (games + 2 * PRIOR)
        information = games * score * (1 - score)
        neighbours.setdefault(name, []).append((-information, name, opponent))
    names, links, joined = [anchor], [], {anchor}
    best = list(neighbours.get(anchor, []))
    heapify(best)
    while best:
        _, name, opponent = heappop(best)
        if opponent not in joined:
            joined.add(opponent)
            names.append(opponent)
            links.append((name, opponent))
            for link in neighbours[opponent]:
                heappush(best, link)
    return names, links


def _newton(
    won: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The theta [P] of highest likelihood with theta[0] = 0, and its covariance [P, P].

    log L = sum_ij won_ij log p_ij with p_ij = 1 / (1 + exp(theta_j - theta_i)); with n_ij games,
    d log L / d theta_i = sum_j (won_ij - n_ij p_ij), and minus the second derivative is the graph
    Laplacian of the weights n_ij p_ij p_ji. The covariance is its inverse without the anchor's row
    and column.
    """
    size = len(won)
    games = won + won.T
    theta, covariance = np.zeros(size), np.zeros((size, size))
    if size == 1:
        return theta, covariance

    def log_likelihood(at: npt.NDArray[np.float64]) -> float:
        return -float((won * np.logaddexp(0.0, at[None, :] - at[:, None])).sum())

    best = log_likelihood(theta)
    for _ in range(100):  # some ten are enough; the limit is for counts beyond all reason
        p = np.exp(-np.logaddexp(0.0, theta[None, :] - theta[:, None]))
        weights = games * p * p.T
        curvature = np.diag(weights.sum(axis=1)) - weights
        gradient = (won - games * p).sum(axis=1)
        step = np.zeros(size)
        step[1:] = np.linalg.solve(curvature[1:, 1:], gradient[1:])
        # Far from the top a full step can overshoot; half of it, or half again, climbs.
        while (reached := log_likelihood(theta + step)) < best and np.abs(step).max() > 1e-9:
            step *= 0.5
        if np.abs(step).max() <= 1e-9:  # units of theta: far below a thousandth of an Elo point
            break
        theta, best = theta + step, max(best, reached)
    covariance[1:, 1:] = np.linalg.inv(curvature[1:, 1:])
    return theta, covariance
