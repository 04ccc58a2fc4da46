"""The settings of `command=export`, the group `export`: a class for each `what`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, Checked, build, or_null, require


@dataclass(frozen=True, kw_only=True)
class Exported(Checked, group="export"):
    """The settings that every `what` has; the comments are in `conf/what`."""

    what: str


@dataclass(frozen=True, kw_only=True)
class ExportedGames(Exported):
    """Which games to write, and where."""

    games: str | None
    format: str | None
    out: str | None
    first: Annotated[int, NOT_NEGATIVE]
    count: Annotated[int | None, or_null(ONE_OR_MORE, "null for all")]


@dataclass(frozen=True, kw_only=True)
class ExportedPicture(Exported):
    """Which position to draw, and how."""

    games: str | None
    first: Annotated[int, NOT_NEGATIVE]
    ply: Annotated[int | None, or_null(NOT_NEGATIVE)]
    position: str | None
    flip: bool
    letters: bool
    theme: Annotated[str, (lambda theme: theme in ("light", "dark"), "light or dark")]
    width: Annotated[int, (lambda width: 16 <= width <= 8192, "16 to 8192 pixels")]


@dataclass(frozen=True, kw_only=True)
class ExportedCheckpoint(Exported):
    """Further contents of the card."""

    recipe: str | None
    results: tuple[str, ...]
    conditions: str | None
    machine: str | None
    licence: str


@dataclass(frozen=True, kw_only=True)
class ExportedStory(Exported):
    """Which run, and how many of its checkpoints."""

    run: str | None
    count: Annotated[int, (lambda count: count >= 2, "2 or more")]


@dataclass(frozen=True, kw_only=True)
class ExportedPage(Exported):
    """Further settings of a page, besides the game and its search."""

    runtime: str | None


KINDS: Mapping[str, type[Exported]] = {
    "games": ExportedGames,
    "picture": ExportedPicture,
    "onnx": Exported,
    "checkpoint": ExportedCheckpoint,
    "story": ExportedStory,
    "page": ExportedPage,
}


def export_settings(values: Mapping[str, Any]) -> Exported:
    """The group `export`, read by the class for its `what`."""
    what = values["what"]
    require(what in KINDS, "export.what", f"one of {', '.join(KINDS)}", what)
    texts = {  # a folder's name such as 7 is read as a number
        key: str(values[key])
        for key in ("games", "out", "position", "run")
        if values.get(key) is not None
    }
    return build(KINDS[what], {**values, **texts}, "export")


@dataclass(frozen=True, kw_only=True)
class GenerationExport(Checked, group="export"):
    """How many games per generation of a run are written; the group `export` of training."""

    format: str | None
    per_generation: Annotated[int, NOT_NEGATIVE]
