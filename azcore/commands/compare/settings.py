"""The settings of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.arena.match import require_pairs
from azcore.settings import build_group, require

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


def compare_settings(config: Mapping[str, Any]) -> CompareSettings:
    """The group `compare`; the simulations are those of `search`, unless it has a number itself.

    Raises:
        SettingError: a setting cannot be used.
    """
    values = dict(config["compare"])
    if isinstance(values["runs"], str | int):
        values["runs"] = [values["runs"]]
    if isinstance(values["runs"], list):
        values["runs"] = [str(run) if isinstance(run, int) else run for run in values["runs"]]
    own = {**config, "compare": values}
    return build_group(CompareSettings, own, "compare", {"after_sweep": False}, ["num_simulations"])
