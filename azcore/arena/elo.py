"""Ratings: the strength of players estimated from results, with its uncertainty.

A rating difference is a statement about the expected score, where a win counts 1 and a draw 1/2: 0
means even, +200 means 76 %, +400 means 91 %. Only differences have a meaning, so one player, the
anchor, is set to 0.

`expected_score` and `updated_rating` are the textbook formulas, as clubs use them. azcore reports
the result of `rating_list`, which fits all matches at once, in any order, with draws, the first
mover's advantage and intervals. `docs/ratings.md` explains the numbers.

Letters: P players, K pairings, theta a rating on the natural scale, 400 / ln 10 = 173.7 Elo to one
unit.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from azcore.arena.likelihood import POINTS, PRIOR, Floats, Rows, maximum_likelihood
from azcore.settings import require

ELO_PER_UNIT = 400.0 / math.log(10.0)  # a rating of theta is theta * 173.7 Elo
Z_95 = 1.959964  # standard deviations within which 95 % of a normal distribution lies
MOST_PAIRS = 10**9  # of a match in a table
Joint = tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True, kw_only=True)
class MatchScore:
    """The results of games between two players, view of `player`."""

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
        """Share of the points in [0, 1], where a draw is half a point; 1/2 before any game."""
        return (self.wins + 0.5 * self.draws) / self.games if self.games else 0.5


@dataclass(frozen=True, kw_only=True)
class PairScore:
    """The results of pairs of games with seats swapped from one opening, view of `player`.

    `joint[a][b]` counts the pairs in which it made a/2 points with seat 0 and b/2 with seat 1.
    """

    player: str
    opponent: str
    joint: Joint

    @property
    def pairs(self) -> int:
        return sum(map(sum, self.joint))

    @property
    def pentanomial(self) -> tuple[int, int, int, int, int]:
        """Number of pairs with 0, 1/2, 1, 3/2 and 2 points."""
        counts = [0] * 5
        for a, row in enumerate(self.joint):
            for b, number in enumerate(row):
                counts[a + b] += number
        return counts[0], counts[1], counts[2], counts[3], counts[4]

    @property
    def total(self) -> MatchScore:
        """The games, counted individually."""
        seats = (
            [sum(row) for row in self.joint],
            [sum(row) for row in zip(*self.joint, strict=True)],
        )
        losses, draws, wins = (a + b for a, b in zip(*seats, strict=True))
        return MatchScore(
            player=self.player, opponent=self.opponent, wins=wins, draws=draws, losses=losses
        )

    def to_text(self) -> str:
        """The nine counts of `joint`, row by row, as stored in tables."""
        return " ".join(str(count) for row in self.joint for count in row)

    @classmethod
    def from_text(cls, player: str, opponent: str, text: str) -> "PairScore":
        """Parse the text that `to_text` writes.

        Raises:
            SettingError: it is not such a text.
        """
        words = [word for word in text.split() if word.isascii() and len(word) < 20]
        counts = [int(word) for word in words if word.isdecimal()]
        require(
            len(counts) == len(text.split()) == 9 and max(counts) < MOST_PAIRS,
            "pairs of games",
            "nine counts, such as 1 0 0 0 2 0 0 0 7",
            text[:80],
        )
        rows = [(counts[i], counts[i + 1], counts[i + 2]) for i in (0, 3, 6)]
        return cls(player=player, opponent=opponent, joint=(rows[0], rows[1], rows[2]))

    def turned(self) -> "PairScore":
        """These results in the opponent's view."""
        j = self.joint
        rows = [(j[2][2 - b], j[1][2 - b], j[0][2 - b]) for b in range(3)]
        return PairScore(
            player=self.opponent, opponent=self.player, joint=(rows[0], rows[1], rows[2])
        )


@dataclass(frozen=True)
class Rating:
    """A rating in Elo with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class RatingList:
    """The ratings from one fit, and its other results."""

    ratings: dict[str, Rating]  # by name, in Elo
    first_move: Rating | None  # advantage of the first mover in Elo; None: seats are unknown
    draws: float | None  # share of games between equals that are drawn; None: no draws
    covariance: Floats  # [P, P] of the ratings in their order, Elo squared

    def superiority(self, player: str, opponent: str) -> float:
        """Probability that `player` is the stronger of the two, given the results (LOS).

        It assumes normal distributions around both ratings, like the intervals; 1/2 without
        information.
        """
        names = list(self.ratings)
        i, j = names.index(player), names.index(opponent)
        c = self.covariance
        difference = self.ratings[player].value - self.ratings[opponent].value
        deviation = math.sqrt(max(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0))
        return probability_above_0(difference, deviation)


def probability_above_0(mean: float, deviation: float) -> float:
    """Probability that a normal variable is above 0; without deviation 0, 1/2 or 1."""
    if deviation == 0.0:
        return 0.5 * (1.0 + (mean > 0) - (mean < 0))
    return 0.5 * (1.0 + math.erf(mean / deviation / math.sqrt(2.0)))


def expected_score(rating_difference: float) -> float:
    """E_A = 1 / (1 + 10^((R_B - R_A) / 400)), the expected score of A (Elo 1978).

    Args:
        rating_difference: R_A - R_B, in Elo.
    """
    # Written with tanh, the formula cannot overflow.
    return 0.5 * (1.0 + math.tanh(0.5 * rating_difference / ELO_PER_UNIT))


def updated_rating(rating: float, k: float, score: float, expected: float) -> float:
    """R' = R + K (S - E): a rating after one or more games, as clubs compute it.

    It follows a player who changes, depends on the order of the games and does not report its
    uncertainty; `fit_ratings` does the opposite.

    Args:
        rating: R, before.
        k: K, the most a game can change; clubs take 10 to 40.
        score: S, points made.
        expected: E, the sum of `expected_score` over the same games.
    """
    return rating + k * (score - expected)


def score_interval(
    wins: int, draws: int, losses: int, distinct: int | None = None
) -> tuple[float, float]:
    """95 % interval of a match score (Wilson 1927, eq. for a share of n trials).

    A draw counts as half a win and half a loss. It varies less than those, so with draws the
    interval is somewhat wider than necessary, never narrower.

    Args:
        distinct: number of distinct games; only these are independent. None: all.

    Returns:
        (low, high) within [0, 1]; (0, 1) without games.
    """
    n = wins + draws + losses
    if n == 0:
        return 0.0, 1.0
    p = (wins + 0.5 * draws) / n
    n = distinct or n
    z = Z_95
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def rating_list(
    results: Iterable[MatchScore | PairScore], anchors: Mapping[str, float]
) -> RatingList:
    """The ratings of all players that best explain all results.

    Expected scores follow Elo's formula, and draws are modelled as in Davidson (1970): see
    `azcore.arena.likelihood`. Where games come in pairs, the first mover's advantage is estimated
    too, and a rating difference then excludes it.

    A score of 100 % alone would mean an infinite rating. So half a win and half a loss are added to
    a pair: Jeffreys' prior Beta(1/2, 1/2) of its score, whose mode in log-odds is (wins + 1/2) /
    (games + 1), +763 Elo after 40 of 40. They are added to as few pairs as make every rating
    finite: the most informative ones that connect all players (see `_joined`). Added to all pairs,
    they would distort long runs: every checkpoint beats random play 40 to 0, and a dozen such half
    losses pulled a known rating of 1,430 down to 1,065.

    Intervals come from the curvature at the maximum, relative to the anchors: they state how far
    chance in these games may have moved a rating. The two games of a pair are not independent; the
    scatter of the pairs measures by how much (`likelihood._pair_spread`). Intervals do not account
    for games that repeat each other: pass distinct ones (`MatchResult.distinct`).

    Args:
        results: the results in any order. It adds up several results of the same two players,
            whichever is `player`.
        anchors: players with given ratings, in Elo; they have no interval.

    Returns:
        The list, without players that no chain of matches connects to an anchor.

    Raises:
        SettingError: no anchor, a count is below 0, or a player played itself.
    """
    require(bool(anchors), "anchors", "at least one player with a rating", dict(anchors))
    singles, pairings = _by_two(results)
    points: dict[tuple[str, str], float] = {}
    for (name, opponent), counts in singles.items():
        _add_points(points, name, opponent, counts)
    for (name, opponent), joint in pairings.items():
        _add_points(points, name, opponent, joint.sum(axis=0) + joint.sum(axis=1))
    names, links = _joined(points, list(anchors))
    index = {name: i for i, name in enumerate(names)}

    alone = [(pair, counts) for pair, counts in singles.items() if pair[0] in index]
    paired = [(pair, joint) for pair, joint in pairings.items() if pair[0] in index]
    met = [pair for pair, _ in alone] + 2 * [pair for pair, _ in paired]
    rows = Rows(
        first=np.array([index[name] for name, _ in met], np.int64),
        second=np.array([index[opponent] for _, opponent in met], np.int64),
        seat=np.repeat([0.0, 1.0, -1.0], [len(alone), len(paired), len(paired)]),
        counts=np.array(
            [counts for _, counts in alone]
            + [joint.sum(axis=1) for _, joint in paired]
            + [joint.sum(axis=0) for _, joint in paired]
        ).reshape(-1, 3),
    )
    fit = maximum_likelihood(
        rows,
        np.array([joint for _, joint in paired]).reshape(-1, 3, 3),
        fixed=np.array([anchors.get(name, math.nan) for name in names]) / ELO_PER_UNIT,
        links=(
            np.array([index[name] for name, _ in links], np.int64),
            np.array([index[opponent] for _, opponent in links], np.int64),
        ),
    )
    covariance = fit.covariance * ELO_PER_UNIT**2
    deviations = Z_95 * np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def rating(value: float, deviation: float) -> Rating:
        return Rating(value, value - deviation, value + deviation)

    values = [anchors.get(name, ELO_PER_UNIT * fit.theta[i]) for i, name in enumerate(names)]
    return RatingList(
        ratings={
            name: rating(float(values[i]), float(deviations[i])) for i, name in enumerate(names)
        },
        first_move=rating(ELO_PER_UNIT * fit.delta, float(deviations[-1])) if paired else None,
        draws=fit.nu / (2.0 + fit.nu) if fit.nu else None,
        covariance=covariance[:-1, :-1],
    )


def fit_ratings(results: Iterable[MatchScore | PairScore], anchor: str) -> dict[str, Rating]:
    """Ratings by name with one player at 0: see `rating_list`."""
    return rating_list(results, {anchor: 0.0}).ratings


def _by_two(
    results: Iterable[MatchScore | PairScore],
) -> tuple[dict[tuple[str, str], Floats], dict[tuple[str, str], Floats]]:
    """Sums for each two players, view of the one whose name sorts first.

    Returns:
        For single games: losses, draws, wins [3]. For pairs of games: their joint counts [3, 3].
    """
    singles: dict[tuple[str, str], Floats] = {}
    pairings: dict[tuple[str, str], Floats] = {}
    for result in results:
        require(result.player != result.opponent, "a match", "between two players", result.player)
        pair = min(result.player, result.opponent), max(result.player, result.opponent)
        if isinstance(result, PairScore):
            seen = result if result.player == pair[0] else result.turned()
            into, counts = pairings, np.array(seen.joint, float)
        else:
            won, lost = result.wins, result.losses
            if result.player != pair[0]:
                won, lost = lost, won
            into, counts = singles, np.array([lost, result.draws, won], float)
        for count in counts.flat:
            require(count >= 0, "wins, draws and losses", "0 or more", int(count))
        if counts.any():
            into[pair] = into.get(pair, 0.0) + counts
    return singles, pairings


def _add_points(
    points: dict[tuple[str, str], float], name: str, opponent: str, counts: Floats
) -> None:
    """Add the points of two players against each other."""
    for pair, made in (
        ((name, opponent), float(counts @ POINTS)),
        ((opponent, name), float(counts @ POINTS[::-1])),
    ):
        points[pair] = points.get(pair, 0.0) + made


def _joined(
    points: dict[tuple[str, str], float], anchors: list[str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The players that matches connect to an anchor, and the most informative pairs that do so.

    The pairs form the spanning forest with the most information (Prim 1957). n games with score p
    carry n p (1 - p) of information on a rating difference: nothing if one side always wins.

    Returns:
        Names, the anchors first; pairs, one for each other player.
    """
    neighbours: dict[str, list[tuple[float, str, str]]] = {}
    for (name, opponent), value in points.items():
        games = value + points[opponent, name]
        score = (value + PRIOR) / (games + 2 * PRIOR)
        information = games * score * (1 - score)
        neighbours.setdefault(name, []).append((-information, name, opponent))
    names: list[str] = list(anchors)
    links: list[tuple[str, str]] = []
    joined = set(anchors)
    best = [link for anchor in anchors for link in neighbours.get(anchor, [])]
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
