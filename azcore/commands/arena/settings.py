"""The settings of a comparison of runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from azcore.arena.sprt import PAIRS
from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, Checked, build, one_of, require

X = ("evaluations", "steps", "seconds", "compute")  # choices for the figure's horizontal axis


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings(Checked, group="arena"):
    """What to compare and how closely; the numbers are in `conf/compare`."""

    runs: tuple[str, ...]
    checkpoints: Annotated[int, ONE_OR_MORE]
    games: Annotated[int, PAIRS]
    opening_plies: Annotated[int, NOT_NEGATIVE]
    num_simulations: Annotated[int, ONE_OR_MORE]
    rivals: Annotated[int, NOT_NEGATIVE]
    x: Annotated[str, one_of(X)]

    def __post_init__(self) -> None:
        runs = list(self.runs)
        require(bool(runs), "arena.runs", "run directories, or a folder of them", runs)
        super().__post_init__()


def comparison_settings(values: Mapping[str, Any]) -> ComparisonSettings:
    """The group `arena` of a comparison, or the part of it that a sweep has."""
    own = {key: value for key, value in values.items() if key != "after_sweep"}
    runs = [own["runs"]] if isinstance(own["runs"], str | int) else own["runs"]
    if isinstance(runs, list):  # a folder may be 7
        own["runs"] = [str(run) if isinstance(run, int) else run for run in runs]
    return build(ComparisonSettings, own, "arena")
