"""The gate of AlphaGo Zero: the score with which a candidate becomes the best player."""

from __future__ import annotations

from dataclasses import dataclass

from azcore.arena.match import MatchResult, require_pairs
from azcore.arena.sprt import SprtSettings, Verdict
from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """Whether and how a candidate is tested; the numbers and their sources are in `conf/gate`."""

    enabled: bool
    every_generations: int
    games: int
    sprt: bool
    threshold: float
    num_simulations: int | None  # None: as in self-play
    opening_plies: int

    def __post_init__(self) -> None:
        require_pairs(self.games, "gate.games")
        require(
            self.every_generations >= 1,
            "gate.every_generations",
            "1 or more",
            self.every_generations,
        )
        require(0 <= self.threshold < 1, "gate.threshold", "a share of 0 to 1", self.threshold)
        require(
            self.num_simulations is None or self.num_simulations >= 1,
            "gate.num_simulations",
            "1 or more, or null for as many as in self-play",
            self.num_simulations,
        )
        require(self.opening_plies >= 0, "gate.opening_plies", "0 or more", self.opening_plies)


def decide(
    result: MatchResult, threshold: float, sprt: SprtSettings | None
) -> tuple[bool, Verdict | None]:
    """Whether the candidate, the match's first player, becomes the best, and the test's verdict.

    If the test is still open when the match is over, the threshold decides.

    Args:
        result: of the match.
        threshold: see `passes`.
        sprt: the test that could stop the match; None: all games were played.
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
