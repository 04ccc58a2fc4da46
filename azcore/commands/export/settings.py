"""The settings of `command=export`, the group `export`: a class for each `what`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.settings import build, require, require_each

NUMBERS = {
    "first": (lambda value: value >= 0, "0 or more"),
    "count": (lambda value: value >= 1, "1 or more, or null for all"),
    "ply": (lambda value: value >= 0, "0 or more, or null"),
    "theme": (lambda value: value in ("light", "dark"), "light or dark"),
    "width": (lambda value: 16 <= value <= 8192, "16 to 8192 pixels"),
    "per_generation": (lambda value: value >= 0, "0 or more"),
}


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The settings that every `what` has; the comments are in `conf/what`."""

    what: str

    def __post_init__(self) -> None:
        own = {name: test for name, test in NUMBERS.items() if hasattr(self, name)}
        require_each(self, "export", own)


@dataclass(frozen=True, kw_only=True)
class ExportedGames(Exported):
    """Which games are written, and where."""

    games: str | None
    format: str | None
    out: str | None
    first: int
    count: int | None


@dataclass(frozen=True, kw_only=True)
class ExportedPicture(Exported):
    """Which position is drawn, and how."""

    games: str | None
    first: int
    ply: int | None
    position: str | None
    flip: bool
    letters: bool
    theme: str
    width: int


@dataclass(frozen=True, kw_only=True)
class ExportedCheckpoint(Exported):
    """What else the card states."""

    recipe: str | None
    results: tuple[str, ...]
    conditions: str | None
    machine: str | None
    licence: str


KINDS: Mapping[str, type[Exported]] = {
    "games": ExportedGames,
    "picture": ExportedPicture,
    "onnx": Exported,
    "checkpoint": ExportedCheckpoint,
}


def export_settings(values: Mapping[str, Any]) -> Exported:
    """The settings of the group `export`, of the class for its `what`.

    Raises:
        SettingError: one of them cannot be used.
    """
    what = values["what"]
    require(what in KINDS, "export.what", f"one of {', '.join(KINDS)}", what)
    texts = {  # a folder's name such as 7 is read as a number
        key: str(values[key]) for key in ("games", "out", "position") if values.get(key) is not None
    }
    return build(KINDS[what], {**values, **texts}, "export")


@dataclass(frozen=True, kw_only=True)
class GenerationExport:
    """How many games per generation of a run are written; the group `export` of training."""

    format: str | None
    per_generation: int

    def __post_init__(self) -> None:
        require_each(self, "export", {"per_generation": NUMBERS["per_generation"]})
