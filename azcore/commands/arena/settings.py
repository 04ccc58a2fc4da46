"""The settings of a comparison of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.arena.match import require_pairs
from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, build, require, require_each

X = ("evaluations", "steps", "seconds")  # choices for the figure's horizontal axis


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings:
    """What to compare and how closely; the numbers are in `conf/compare`."""

    runs: tuple[str, ...]
    checkpoints: int
    games: int
    opening_plies: int
    num_simulations: int
    rivals: int
    x: str

    def __post_init__(self) -> None:
        tests = {
            "checkpoints": ONE_OR_MORE,
            "opening_plies": NOT_NEGATIVE,
            "num_simulations": ONE_OR_MORE,
            "rivals": NOT_NEGATIVE,
            "x": (lambda value: value in X, f"one of {', '.join(X)}"),
        }
        runs = list(self.runs)
        require(bool(runs), "arena.runs", "run directories, or a folder of them", runs)
        require_each(self, "arena", tests)
        require_pairs(self.games, "arena.games")


def comparison_settings(values: Mapping[str, Any]) -> ComparisonSettings:
    """The group `arena` of a comparison, or the part of it that a sweep has.

    Raises:
        SettingError: a setting cannot be used.
    """
    own = {key: value for key, value in values.items() if key != "after_sweep"}
    runs = [own["runs"]] if isinstance(own["runs"], str | int) else own["runs"]
    if isinstance(runs, list):  # a folder may be 7
        own["runs"] = [str(run) if isinstance(run, int) else run for run in runs]
    return build(ComparisonSettings, own, "arena")
