"""Stops a match as soon as its result is clear: the sequential probability ratio test (SPRT).

Wald (1945): for two hypotheses, compute log L1 / L0 again and again. Accept the first at or below
log(beta / (1 - alpha)) and the second at or above log((1 - beta) / alpha). If the first hypothesis
is true, the test then accepts the second in at most about a share alpha of matches, and vice versa
in a share beta.

Here a hypothesis is an Elo difference d over both seats, a mean score of 1 / (1 + 10^(-d / 400)):
Elo is logistic. It does not specify how often games are drawn or how the two games of a pair
depend on each other, so each hypothesis takes the most likely distribution of pair results among
those with its mean (the generalised test). The unit is the pair of games from one opening with
seats swapped and its 0, 1/2, 1, 3/2 or 2 points: openings that favour one seat make the games of a
pair dependent, and counted one by one they would look more uncertain than they are. M. Van den
Bergh, "A practical introduction to the GSPRT" and "Maximum likelihood estimation of a multinomial
distribution with a given expectation" (Proposition 1.1), notes for Fishtest, describes the theory.

Testing only after every few games, as here, makes errors rarer, never more frequent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np
import numpy.typing as npt

from azcore.arena.elo import expected_score
from azcore.arena.likelihood import Floats
from azcore.settings import Checked, Test, require

PAIR_SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # share of a pair's two points
# Number of pairs assumed for a result that has not occurred. Both hypotheses then have a
# distribution whatever the counts, and nothing else changes.
UNSEEN = 1e-3


class Verdict(StrEnum):
    """The result of a test of the first player."""

    BETTER = "better"  # elo1 accepted
    NOT_BETTER = "not better"  # elo0 accepted
    OPEN = "open"  # neither yet


ERROR_RATE: Test = (lambda share: 0 < share < 0.5, "a share between 0 and 0.5")
PAIRS: Test = (
    lambda games: games >= 2 and games % 2 == 0,
    "an even number above 0, since games come in pairs with colours swapped",
)


@dataclass(frozen=True, kw_only=True)
class SprtSettings(Checked, group="sprt"):
    """The two hypotheses and their error rates; the numbers are in `conf/sprt`."""

    elo0: float
    elo1: float
    alpha: Annotated[float, ERROR_RATE]
    beta: Annotated[float, ERROR_RATE]
    look_games: Annotated[int, PAIRS]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            -1000 <= self.elo0 < self.elo1 <= 1000,
            "sprt.elo0 and sprt.elo1",
            "two Elo differences from -1000 to 1000, the first one lower",
            (self.elo0, self.elo1),
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """Log-likelihood ratios that end the test, for elo0 and for elo1 (Wald 1945)."""
        return (math.log(self.beta / (1.0 - self.alpha)), math.log((1.0 - self.beta) / self.alpha))

    def verdict(self, pentanomial: Sequence[int]) -> Verdict:
        """The verdict on the numbers of pairs with 0, 1/2, 1, 3/2 and 2 points."""
        low, high = self.bounds
        ratio = float(log_likelihood_ratio(pentanomial, self.elo0, self.elo1))
        if ratio >= high:
            return Verdict.BETTER
        return Verdict.NOT_BETTER if ratio <= low else Verdict.OPEN


def log_likelihood_ratio(
    pentanomial: npt.ArrayLike, elo0: float, elo1: float
) -> npt.NDArray[np.float64]:
    """log L(elo1) / L(elo0) of pair results [..., 5], each at its most likely distribution."""
    counts = np.asarray(pentanomial, np.float64)
    counts = np.where(counts == 0, UNSEEN, counts)
    shares = counts / counts.sum(axis=-1, keepdims=True)
    under0, under1 = (most_likely(shares, expected_score(elo)) for elo in (elo0, elo1))
    return np.asarray((counts * np.log(under1 / under0)).sum(axis=-1))


def most_likely(shares: Floats, mean: float) -> Floats:
    """The distributions over `PAIR_SCORES` with this mean that best explain observed shares.

    p_i = shares_i / (1 + t (a_i - mean)), with t such that p has the mean (Proposition 1.1): the
    sum of shares_i (a_i - mean) / (1 + t (a_i - mean)) falls in t, so bisection finds its zero.

    Args:
        shares: [..., 5], all above 0, adding up to 1.
        mean: within (0, 1).
    """
    distance = PAIR_SCORES - mean
    low = np.full((*shares.shape[:-1], 1), -1.0 / distance[-1])  # where some p_i would become
    high = np.full((*shares.shape[:-1], 1), -1.0 / distance[0])  # infinite
    for _ in range(60):  # to the last bit
        middle = 0.5 * (low + high)
        rising = (shares * distance / (1.0 + middle * distance)).sum(-1, keepdims=True) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    likely = shares / (1.0 + 0.5 * (low + high) * distance)
    return np.asarray(likely / likely.sum(axis=-1, keepdims=True))
