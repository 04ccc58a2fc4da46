"""The summary of a run in a list: its progress, strength, and notes."""

from dataclasses import dataclass
from pathlib import Path

from azcore.arena.elo import fit_ratings
from azcore.errors import AzcoreError
from azcore.report.tables import ANCHOR, cell, last_of_each, rating_curve, read_rows, scores
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import NOTES, notes_in, own_settings


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in a line; None: not available yet."""

    run: str  # its directory
    game: str
    name: str | None  # these three as people entered them
    tags: tuple[str, ...]
    note: str | None
    step: int | None
    games: int | None
    evaluations: int | None
    seconds: float | None  # of training
    rating: float | None  # Elo of the latest rated weights, and its 95 % interval
    rating_low: float | None
    rating_high: float | None
    rated_step: int | None
    weights: str | None  # the file of the latest
    changed: float | None  # seconds since 1970, of its table
    fault: str | None  # why its tables cannot be read


def summary_of(path: Path) -> Summary:
    """The summary of a run directory from its tables, whatever else it holds."""
    run = RunDirectory(path)
    try:
        own = own_settings(run)
    except AzcoreError:  # unreadable runs appear in the list, too
        own = {}
    game = own.get("game")
    named = game.get("name") if isinstance(game, dict) else game
    notes = notes_in(own.get(NOTES))
    fault = None
    try:
        metrics = last_of_each(read_rows(run.metrics), ("generation",))
        matches = last_of_each(read_rows(run.matches), ("generation", "player", "opponent"))
    except AzcoreError as error:
        metrics, matches, fault = [], [], str(error)
    curve = rating_curve(matches, metrics, fit_ratings(scores(matches), ANCHOR))
    last = metrics[-1] if metrics else {}
    is_rated = bool(curve["value"])
    return Summary(
        run=str(path),
        game=str(named or "unknown game")[:80],
        name=notes.get("name"),
        tags=tuple(notes.get("tags", ())),
        note=notes.get("note"),
        step=_whole(cell(last, "step")),
        games=_whole(cell(last, "games")),
        evaluations=_whole(cell(last, "evaluations")),
        seconds=cell(last, "seconds"),
        rating=curve["value"][-1] if is_rated else None,
        rating_low=curve["low"][-1] if is_rated else None,
        rating_high=curve["high"][-1] if is_rated else None,
        rated_step=_whole(curve["x"]["step"][-1]) if is_rated else None,
        weights=str(run.last_checkpoint) if run.last_checkpoint.is_file() else None,
        changed=run.metrics.stat().st_mtime if run.metrics.is_file() else None,
        fault=fault,
    )


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
