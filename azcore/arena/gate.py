"""The gate of AlphaGo Zero: the score with which a candidate becomes the best player."""

from dataclasses import dataclass
from typing import Annotated

from azcore.arena.match import MatchResult
from azcore.arena.sprt import PAIRS, SprtSettings, Verdict
from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, Checked, or_null


@dataclass(frozen=True, kw_only=True)
class GateSettings(Checked, group="gate"):
    """Whether and how to test a candidate; the numbers and their sources are in `conf/gate`."""

    enabled: bool
    every_generations: Annotated[int, ONE_OR_MORE]
    games: Annotated[int, PAIRS]
    sprt: bool
    threshold: Annotated[float, (lambda share: 0 <= share < 1, "a share of 0 to 1")]
    num_simulations: Annotated[int | None, or_null(ONE_OR_MORE, "null for as many as in self-play")]
    opening_plies: Annotated[int, NOT_NEGATIVE]


def decide(
    result: MatchResult, threshold: float, sprt: SprtSettings | None
) -> tuple[bool, Verdict | None]:
    """Whether the candidate, the match's first player, becomes the best, and the test's verdict.

    If the test is undecided at the end of the match, or there is none, the threshold decides, see
    `passes`.
    """
    verdict = sprt.verdict(result.distinct.pentanomial) if sprt else None
    if verdict in (Verdict.BETTER, Verdict.NOT_BETTER):
        return verdict is Verdict.BETTER, verdict
    return passes(result.score, threshold), verdict


def passes(score: float, threshold: float) -> bool:
    """Whether a candidate becomes the best: its share of the points exceeds the threshold.

    Silver 2017: "wins by a margin of > 55 %" of games without draws. With draws as half a point,
    wins and half the draws together must exceed it, so no candidate passes by drawing every game.
    """
    return score > threshold
