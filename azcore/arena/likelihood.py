"""The model behind ratings, on arrays: no names, no Elo, only strengths in log-odds.

A game between i and j has the expected score of Elo's formula,

    E = 1 / (1 + exp(-u)),   u = theta_i - theta_j + s delta,

with s = +1 where i has seat 0, -1 where it has seat 1, 0 where the seat is unknown, and delta the
advantage of the first mover. Given E, wins, draws and losses are distributed as in Davidson's model
(1970):

    P(win) : P(draw) : P(loss) = x : nu : 1/x,

where x > 0 is chosen such that P(win) + P(draw)/2 = E, and nu >= 0 is one number for all games; a
share nu / (2 + nu) of games between equals is drawn. nu = 0 is the model of Bradley and Terry.

Davidson himself adds up 2 log x instead of u along a chain of players. The same rating difference
then means another score when draws are more or less frequent, so one drawish pair of players
stretches all ratings. With the mean fixed by Elo's formula, theta and nu are orthogonal (mean and
natural parameter of one exponential family: Barndorff-Nielsen 1978, ch. 9.8): a wrong nu leaves
ratings consistent, and draws correctly narrow the intervals. In the model of Rao and Kupper (1967)
a game is drawn if the strengths are within a threshold. There the points are not sufficient
statistics for the strengths, so a draw would not count as half a win.

Letters: P players, N rows of results, K pairings.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POINTS = np.array([0.0, 0.5, 1.0])  # of a loss, a draw and a win
PRIOR = 0.5  # wins, and as many losses, added to a pair; see `azcore.arena.elo.rating_list`
# In points squared: the information in a pairing at which the scatter of its own pairs of games
# counts as much as the model's; about eight pairs of even games. A lower value makes intervals of
# short or one-sided pairings too narrow; a higher one detects correlated pairs late.
SCATTER_PRIOR = 4.0
_FARTHEST = 300.0  # |u| beyond which nothing changes in doubles
_NU_RANGE = (-12.0, 12.0)  # of log nu


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Results by player, opponent and seat."""

    first: Ints  # [N], i
    second: Ints  # [N], j
    seat: Floats  # [N], s
    counts: Floats  # [N, 3], losses, draws and wins of i


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The parameters that best explain the results."""

    theta: Floats  # [P]
    delta: float
    nu: float
    covariance: Floats  # [P + 1, P + 1], of theta and, last, delta; zeros for fixed parameters


def probabilities(u: Floats, nu: float) -> tuple[Floats, Floats]:
    """P(loss, draw, win) [N, 3] at log-odds u [N], and the variance [N] of a game's points."""
    near = np.clip(np.abs(u), 0.0, _FARTHEST)  # view of the stronger side; swapped at the end
    expected, rest = 1.0 / (1.0 + np.exp(-near)), 1.0 / (1.0 + np.exp(near))
    lead = nu * 0.5 * np.tanh(0.5 * near)
    x = (lead + np.sqrt(lead * lead + 4.0 * expected * rest)) / (2.0 * rest)
    total = x + nu + 1.0 / x
    shares = np.stack([1.0 / (x * total), nu / total, x / total], axis=1)
    variance = (nu * (x + 1.0 / x) + 4.0) / (4.0 * total * total)
    return np.where(u[:, None] < 0, shares[:, ::-1], shares), variance


def maximum_likelihood(
    rows: Rows, joint: Floats, *, fixed: Floats, links: tuple[Ints, Ints]
) -> Fit:
    """Fisher scoring for theta, delta and nu together; halves a step that does not climb.

    Args:
        rows: all results. Its last 2 K rows are the pairings of `joint`: K rows with i in seat 0,
            then the same K with i in seat 1.
        joint: [K, 3, 3], number of pairs of games by the points (0, 1/2, 1) of i with seat 0 and
            with seat 1. They carry the correlation of the two games of a pair.
        fixed: [P], theta where it is given, NaN where it is to be estimated.
        links: pairs of players that get `PRIOR`.

    Returns:
        The maximum. delta is estimated if there are pairings, nu if there are draws; else 0.
    """
    size, pairings = len(fixed), len(joint)
    free = np.append(np.isnan(fixed), pairings > 0)
    data = _with_priors(rows, links, seats=pairings > 0)
    index = np.stack([data.first, data.second, np.full(len(data.seat), size)], axis=1)  # [N, 3]
    signs = np.stack([np.ones_like(data.seat), -np.ones_like(data.seat), data.seat], axis=1)
    games = data.counts.sum(axis=1)
    points = data.counts @ POINTS
    drawn = float(data.counts[:, 1].sum()) > 0

    def log_odds(at: Floats) -> Floats:
        # The prior of delta is a game of a player against itself: theta cancels.
        return np.asarray(at[data.first] - at[data.second] + data.seat * at[-1])

    def log_likelihood(at: Floats, log_nu: float) -> float:
        shares, _ = probabilities(log_odds(at), np.exp(log_nu) if drawn else 0.0)
        logs = np.log(np.maximum(shares, 1e-300))
        return float((data.counts * logs).sum())

    squares = signs[:, :, None] * signs[:, None, :]  # [N, 3, 3]

    def gathered(blocks: Floats, at: Ints) -> Floats:
        matrix = np.zeros((size + 1, size + 1))
        np.add.at(matrix, (at[:, :, None], at[:, None, :]), blocks)
        return matrix

    at, log_nu = np.append(np.where(free[:-1], 0.0, fixed), 0.0), 0.0
    best = log_likelihood(at, log_nu)
    for _ in range(300):  # about ten are enough; the limit is for absurd counts
        nu = float(np.exp(log_nu)) if drawn else 0.0
        shares, variance = probabilities(log_odds(at), nu)
        slope = _slope(log_odds(at))
        mean = shares @ POINTS
        score = np.zeros(size + 1)
        np.add.at(score, index, ((points - games * mean) * slope / variance)[:, None] * signs)
        weights = games * slope * slope / variance
        information = gathered(weights[:, None, None] * squares, index)
        step = np.zeros(size + 1)
        step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
        nu_step = _nu_step(data.counts, shares, variance) if drawn else 0.0
        nu_step = float(np.clip(log_nu + nu_step, *_NU_RANGE)) - log_nu
        moved = max(np.abs(step).max(), abs(nu_step))
        while (reached := log_likelihood(at + step, log_nu + nu_step)) < best and moved > 1e-9:
            step, nu_step, moved = 0.5 * step, 0.5 * nu_step, 0.5 * moved
        if moved <= 1e-9:  # far below a thousandth of an Elo point
            break
        at, log_nu, best = at + step, log_nu + nu_step, max(best, reached)

    # The scatter of scores: the model's, and for games in pairs that of the pairs.
    alone = len(weights) - 2 * pairings
    scatter = gathered(weights[:alone, None, None] * squares[:alone], index[:alone])
    if pairings:
        spread = _pair_spread(joint, mean[alone:], variance[alone:], int(free.sum()))
        lever = (slope / variance)[alone:, None] * signs[alone:]
        levers = np.stack([lever[:pairings], lever[pairings:]], axis=1)  # [K, 2, 3]
        scatter += gathered(levers.transpose(0, 2, 1) @ spread @ levers, index[alone:][:pairings])
    inverse = np.linalg.inv(information[np.ix_(free, free)])
    covariance = np.zeros((size + 1, size + 1))
    covariance[np.ix_(free, free)] = inverse @ scatter[np.ix_(free, free)] @ inverse
    return Fit(
        theta=at[:-1],
        delta=float(at[-1]),
        nu=float(np.exp(log_nu)) if drawn else 0.0,
        covariance=covariance,
    )


def _with_priors(rows: Rows, links: tuple[Ints, Ints], *, seats: bool) -> Rows:
    """The rows with the priors first, so that pairings stay the last rows."""
    added = len(links[0])
    first, second, seat = links[0], links[1], np.zeros(added)
    if seats:
        first, second = np.append(first, 0), np.append(second, 0)
        seat = np.append(seat, 1.0)
    prior = np.tile([PRIOR, 0.0, PRIOR], (len(first), 1))
    return Rows(
        first=np.concatenate([first, rows.first]).astype(np.int64),
        second=np.concatenate([second, rows.second]).astype(np.int64),
        seat=np.concatenate([seat, rows.seat]),
        counts=np.concatenate([prior, rows.counts]),
    )


def _slope(u: Floats) -> Floats:
    """dE/du = E (1 - E)."""
    far = np.exp(-np.clip(np.abs(u), 0.0, _FARTHEST))
    return np.asarray(far / (1.0 + far) ** 2)


def _nu_step(counts: Floats, shares: Floats, variance: Floats) -> float:
    """One step of Fisher scoring for log nu, at constant E."""
    games, draw = counts.sum(axis=1), shares[:, 1]
    mean = shares @ POINTS - 0.5
    lean = draw * mean / variance  # -d(2 log x) / d(log nu) at constant E
    excess = counts[:, 1] - games * draw
    score = excess + ((counts @ POINTS) - games * (mean + 0.5)) * lean
    information = games * (draw * (1 - draw) - draw * mean * lean)
    return float(score.sum() / max(information.sum(), 1e-12))


def _pair_spread(joint: Floats, mean: Floats, variance: Floats, parameters: int) -> Floats:
    """Covariance [K, 2, 2] of a pairing's points with seat 0 and with seat 1, over all its pairs.

    The sandwich estimator of Huber (1967) with pairs of games as clusters (Liang and Zeger 1986)
    would use the observed covariance alone, which is uninformative where few pairs were played or
    one side won them all. So it is mixed with the model's, in which the games of a pair are
    independent.

    Args:
        joint: as in `maximum_likelihood`.
        mean: [2 K], expected points of a game, first with seat 0, then with seat 1.
        variance: [2 K], of these points.
        parameters: number estimated by the fit, which reduces the scatter around it.
    """
    pairings = len(joint)
    pairs = joint.sum(axis=(1, 2))
    residuals = POINTS[None, None, :] - mean.reshape(2, pairings, 1)  # [2, K, 3]
    observed = np.empty((pairings, 2, 2))
    observed[:, 0, 0] = (joint.sum(axis=2) * residuals[0] ** 2).sum(axis=1)
    observed[:, 1, 1] = (joint.sum(axis=1) * residuals[1] ** 2).sum(axis=1)
    cross = np.einsum("kab,ka,kb->k", joint, residuals[0], residuals[1])
    observed[:, 0, 1] = observed[:, 1, 0] = cross
    observed *= pairs.sum() / max(pairs.sum() - parameters, 1.0)
    model = np.zeros((pairings, 2, 2))
    model[:, 0, 0], model[:, 1, 1] = pairs * variance.reshape(2, pairings)
    held = model.trace(axis1=1, axis2=2)
    trust = (held / (held + SCATTER_PRIOR))[:, None, None]
    return np.asarray(trust * observed + (1.0 - trust) * model)
