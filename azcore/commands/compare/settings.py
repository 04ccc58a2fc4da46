"""The settings of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from azcore.arena.match import require_pairs
from azcore.settings import require

X = ("evaluations", "steps", "seconds")  # choices for the figure's horizontal axis


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """What to compare and how closely; the numbers are in `conf/compare`."""

    runs: tuple[str, ...]
    checkpoints: int
    games: int
    opening_plies: int
    num_simulations: int
    rivals: int
    x: str
    side_by_side: bool
    after_sweep: bool

    def __post_init__(self) -> None:
        require(
            bool(self.runs), "compare.runs", "run directories, or a folder of them", list(self.runs)
        )
        require(self.checkpoints >= 1, "compare.checkpoints", "1 or more", self.checkpoints)
        require_pairs(self.games, "compare.games")
        require(self.opening_plies >= 0, "compare.opening_plies", "0 or more", self.opening_plies)
        require(
            self.num_simulations >= 1, "compare.num_simulations", "1 or more", self.num_simulations
        )
        require(self.rivals >= 0, "compare.rivals", "0 or more", self.rivals)
        require(self.x in X, "compare.x", f"one of {', '.join(X)}", self.x)
