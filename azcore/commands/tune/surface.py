"""A Gaussian process that models the score of all constants from some matches.

The score is a smooth function f of the constants, observed with noise (Rasmussen and Williams 2006,
chapter 2): y = f(x) + e. The best trial is mostly the luckiest one. The highest point of the mean
of f given all trials is not, because there each trial also counts for its neighbours.

Its size is not a guess: pairs of games within a match show how much chance moves the score.

Letters: n trials, d constants, each mapped to [0, 1].
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The prior of f: (median, spread of the logarithm). f varies over about half the range of a
# constant, and by some tenths over all of it.
LENGTH_SCALE = (0.5, 0.7)
AMPLITUDE = (0.15, 0.7)
LEAST_NOISE = 1e-4  # of a score: for matches in which all pairs of games ended alike
STARTS = 20  # starting points of the search for the highest point
SCATTERED = 2000  # random points, of which the best are starting points


@dataclass(frozen=True)
class Height:
    """f at one point, with its 95 % interval."""

    value: float
    low: float
    high: float


class Surface:
    """f given the trials.

    Args:
        points: float64 [n, d] in [0, 1].
        scores: float64 [n], shares of the points scored.
        deviations: float64 [n], the standard deviation of each score by chance.
    """

    def __init__(self, points: Floats, scores: Floats, deviations: Floats) -> None:
        self._points, self._scores = points, scores
        self._noise = np.maximum(deviations, LEAST_NOISE) ** 2
        self._log_parameters = self._fitted()
        self._factor, self._mean, self._weights = self._conditioned(self._log_parameters)

    def at(self, point: Floats) -> Height:
        """f at a point, float64 [d]."""
        from scipy.linalg import solve_triangular

        beside = self._covariance(self._log_parameters, point[None, :], self._points)[0]
        value = self._mean + beside @ self._weights
        known = solve_triangular(self._factor, beside, lower=True)
        variance = np.exp(2 * self._log_parameters[-1]) - known @ known
        half = 1.96 * np.sqrt(max(variance, 0.0))
        return Height(float(value), float(value - half), float(value + half))

    def highest(self) -> Floats:
        """Where the mean of f is highest within [0, 1]^d, float64 [d]."""
        from scipy.optimize import minimize

        dimensions = self._points.shape[1]
        scattered = np.random.default_rng(0).random((SCATTERED, dimensions))
        candidates = np.concatenate([self._points, scattered])
        best = candidates[np.argsort(self._negative_mean(candidates), kind="stable")[:STARTS]]
        climbed = [
            minimize(
                lambda x: float(self._negative_mean(x[None, :])[0]),
                start,
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * dimensions,
            )
            for start in best
        ]
        return np.asarray(min(climbed, key=lambda result: float(result.fun)).x, np.float64)

    def _negative_mean(self, points: Floats) -> Floats:
        beside = self._covariance(self._log_parameters, points, self._points)
        return np.asarray(-(self._mean + beside @ self._weights))

    def _covariance(self, log_parameters: Floats, first: Floats, second: Floats) -> Floats:
        """Matern's with nu = 5/2 (Rasmussen and Williams 2006, equation 4.17), [.., ..]."""
        lengths, amplitude = np.exp(log_parameters[:-1]), np.exp(log_parameters[-1])
        difference = (first[:, None, :] - second[None, :, :]) / lengths
        r = np.sqrt(5.0) * np.sqrt((difference**2).sum(axis=2))
        return np.asarray(amplitude**2 * (1 + r + r * r / 3) * np.exp(-r))

    def _conditioned(self, log_parameters: Floats) -> tuple[Floats, float, Floats]:
        """Cholesky factor L of the covariance of y; the mean of f; (L L^T)^-1 (y - mean)."""
        from scipy.linalg import cho_solve, cholesky

        covariance = self._covariance(log_parameters, self._points, self._points)
        factor = cholesky(covariance + np.diag(self._noise), lower=True)
        # The mean is the one that explains the scores best (section 2.7 there).
        ones = cho_solve((factor, True), np.ones(len(self._scores)))
        mean = float(ones @ self._scores / ones.sum())
        return factor, mean, cho_solve((factor, True), self._scores - mean)

    def _fitted(self) -> Floats:
        """Logarithms of length scales [d] and amplitude that explain the scores best."""
        from scipy.optimize import minimize

        dimensions = self._points.shape[1]
        medians = np.log([*[LENGTH_SCALE[0]] * dimensions, AMPLITUDE[0]])
        spreads = np.array([*[LENGTH_SCALE[1]] * dimensions, AMPLITUDE[1]])

        def loss(log_parameters: Floats) -> float:
            """Minus the log of likelihood (equation 2.30 there) times prior."""
            factor, mean, weights = self._conditioned(log_parameters)
            likelihood = -0.5 * (self._scores - mean) @ weights - np.log(np.diag(factor)).sum()
            prior = -0.5 * (((log_parameters - medians) / spreads) ** 2).sum()
            return -float(likelihood + prior)

        bounds = list(zip(medians - 4 * spreads, medians + 4 * spreads, strict=True))
        starts = [medians + shift * spreads for shift in (-1.0, 0.0, 1.0)]
        found = [minimize(loss, start, method="L-BFGS-B", bounds=bounds) for start in starts]
        return np.asarray(min(found, key=lambda result: float(result.fun)).x, np.float64)
