"""The runs of a folder for the page to watch: finished, active, or a stranger's.

It reads the run directory alone, and only when its tables have changed, so that watching costs a
run nothing.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from azcore.arena.elo import fit_ratings
from azcore.assembly.pretrained import STORY, named_stories
from azcore.errors import AzcoreError
from azcore.pictures import shared
from azcore.report import probes
from azcore.report.doctor import HISTORY, findings, numbers_of
from azcore.report.figures import CHARTS, SECTIONS, chart_data
from azcore.report.films import Films
from azcore.report.report import Report
from azcore.report.side_by_side import render_side_by_side
from azcore.report.tables import (
    ANCHOR,
    cell,
    columns_of,
    last_of_each,
    measured_by,
    rating_curve,
    read_rows,
    scores,
    slowest_first,
    thinned,
)
from azcore.storage.changes import describe_changes
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import NOTES, notes_in, own_settings
from azcore.web.players import MOST_RUNS, player_of, title_of_game
from azcore.web.requests import RefusedError
from azcore.web.view import Plain

AXES = ("seconds", "step", "games", "evaluations")
MOST_POINTS = 300  # points of a curve on the page
MOST_MEMBERS = 20  # of self-play, on the page
MOST_KEPT = 64  # runs, or reports, in memory
MOST_FILMED = 8  # runs whose games are in memory
SHARE = 0.01  # of a core's time, to show an active run
LONGEST_REST = 30.0  # seconds before the next read, such as after compiling its rules


class Runs:
    """Reads the runs of a folder, at any depth; for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._curves, self._reports = Kept(_curves), Kept(_report)
        self._films: dict[Path, Films] = {}  # by run
        self._filming = threading.Lock()  # apart: rules may have to be compiled
        self._games = Kept(self._filmed, MOST_FILMED)

    def listed(self) -> list[Plain]:
        """A summary of each run, newest first."""
        return [self._listed(name) for name in self._names()]

    def curves(self, name: str) -> Plain:
        """A run's numbers: its axes, curves, ratings and warnings.

        Raises:
            RefusedError: there is no such run.
        """
        run = self._run(name)
        return {**self._curves.of(run), "age": _age(run)}

    def report(self, name: str) -> str:
        """The page about a run, as `command=report` writes it.

        Raises:
            RefusedError: there is no such run.
        """
        run = self._run(name)
        page: str = self._reports.of(run)
        return page

    def games(self, name: str) -> Plain:
        """The first game of a run and the latest, to step through together.

        Raises:
            RefusedError: there is no such run.
        """
        found: Plain = self._games.of(self._run(name))
        return found

    def _filmed(self, run: RunDirectory) -> Plain:
        with self._filming:
            films = self._films.pop(run.path, None) or Films(run)
            self._films[run.path] = films
            while len(self._films) > MOST_FILMED:
                self._films.pop(next(iter(self._films)))
            shown = films.shown()
        drawn = [game.film for game in shown if game.film is not None]
        return {
            "definitions": shared(drawn) if drawn else "",
            "games": [
                {**game.data, "svg": "" if game.film is None else game.film.svg} for game in shown
            ],
        }

    def side_by_side(self, names: Sequence[str]) -> str:
        """One page with two to four runs in columns, as `command=report` writes it.

        Raises:
            RefusedError: a run does not exist, or there are too few or too many.
        """
        runs = [(name, self._run(name)) for name in dict.fromkeys(names)]
        with self._filming:
            try:
                return render_side_by_side(runs, _patience(run for _, run in runs))
            except (AzcoreError, OSError) as error:
                raise RefusedError(str(error)) from error

    def _names(self) -> list[str]:
        """Runs with a table or that have just begun, newest first, then shipped stories."""
        found = {}
        for table in ("config.yaml", "metrics.csv"):
            for path in self._folder.glob(f"**/{table}"):
                run = path.parent
                if not path.is_file() or path.is_symlink() or run.is_symlink():
                    continue
                if table == "config.yaml" and not RunDirectory(run).is_in_use:
                    continue
                with contextlib.suppress(OSError):  # just removed
                    found[str(run.relative_to(self._folder))] = path.stat().st_mtime
        own = sorted(found, key=lambda name: -found[name])[:MOST_RUNS]
        return [*own, *named_stories()]

    def _run(self, name: str) -> RunDirectory:
        if name not in self._names():
            raise RefusedError(f"there is no run named {name[:80]!r} here")
        return self._at(name)

    def _at(self, name: str) -> RunDirectory:
        shipped = named_stories() if name.endswith(STORY) else {}
        return RunDirectory(shipped.get(name, self._folder / name))

    def _listed(self, name: str) -> Plain:
        run = self._at(name)
        is_active = run.is_in_use
        progress = run.read_progress() if is_active else None
        there = {"name": name, "age": _age(run), "isActive": is_active, "progress": progress}
        try:
            curves = self._curves.of(run)
        except RefusedError as error:
            nothing = dict.fromkeys((*AXES, "rating", "player", "note"))
            return {**there, **nothing, "title": str(error)}
        last = {axis: next(reversed(curves["x"][axis]), None) for axis in AXES}
        rating = curves["rating"]
        return {
            **there,
            "title": curves["title"],
            "note": curves["note"],
            **last,
            "rating": rating["value"][-1] if rating["value"] else None,
            "player": player_of(name) if run.last_checkpoint.is_file() else None,
        }


class Kept:
    """Caches a function's result for at most `most` runs, each until the run's tables change.

    It caches a failure to read, too. One thread at a time calls `make`, the function.

    It takes at most `SHARE` of a core's time for each run, however short the run's generations are.
    """

    def __init__(self, make: Callable[[RunDirectory], Any], most: int = MOST_KEPT) -> None:
        self._make, self._most = make, most
        self._made: dict[Path, _Made] = {}  # by run
        self._lock = threading.Lock()

    def of(self, run: RunDirectory) -> Any:
        """The function's result for a run.

        Raises:
            RefusedError: the run cannot be read.
        """
        stamp = tuple(
            _stamp(path) for path in (run.metrics, run.matches, run.gate, run.members, run.probes)
        )
        with self._lock:
            made = self._made.get(run.path)
            if made is None or (made.stamp != stamp and time.monotonic() >= made.until):
                began = time.thread_time()
                try:
                    what = self._make(run)
                except (AzcoreError, OSError) as error:
                    what = RefusedError(f"cannot be read: {error}")
                rest = min(LONGEST_REST, (time.thread_time() - began) / SHARE)
                made = _Made(what, stamp, time.monotonic() + rest)
                self._made.pop(run.path, None)
                self._made[run.path] = made
                while len(self._made) > self._most:
                    self._made.pop(next(iter(self._made)))
            if isinstance(made.what, RefusedError):
                raise RefusedError(str(made.what))
            return made.what


class _Made(NamedTuple):
    what: Any
    stamp: object  # of the tables that it was made of
    until: float  # on the monotonic clock: no update before it


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _age(run: RunDirectory) -> float | None:
    """Seconds since the run's table of generations was written, or the run began."""
    for path in (run.metrics, run.config):
        with contextlib.suppress(OSError):
            return round(max(0.0, time.time() - path.stat().st_mtime))
    return None


def _settings(run: RunDirectory) -> Plain:
    try:
        return own_settings(run)
    except AzcoreError:
        return {}


def _title(own: Plain) -> str:
    game = own.get("game", {})
    settings = dict(game) if isinstance(game, dict) else {"name": game}
    title = title_of_game(str(settings.pop("name", "unknown game")), settings)
    written = notes_in(own.get(NOTES))
    tags = ", ".join(written.get("tags", []))
    return ", ".join(filter(None, (title, written.get("name"), tags and f"[{tags}]")))


def _curves(run: RunDirectory) -> Plain:
    own = _settings(run)
    metrics = last_of_each(read_rows(run.metrics), ("generation",))
    matches = last_of_each(read_rows(run.matches), ("generation", "player", "opponent"))
    ratings = fit_ratings(scores(matches), ANCHOR)
    drawn = [metrics[i] for i in thinned(len(metrics), MOST_POINTS)]
    shown = [chart for chart in CHARTS if _has_numbers(chart.series, drawn)]
    return {
        "title": _title(own),
        "note": notes_in(own.get(NOTES)).get("note"),
        "changed": describe_changes(own),
        "x": {axis: [cell(row, axis) for row in drawn] for axis in AXES},
        "columns": columns_of(drawn, shown),
        "charts": [
            {
                **chart_data(chart, {}),
                "section": SECTIONS[chart.section],
                "explanation": chart.explanation,
            }
            for chart in shown
        ],
        "rating": rating_curve(matches, metrics, ratings),
        "measured": measured_by(matches) if matches else "No matches yet.",
        "members": _members(run),
        "findings": list(findings([numbers_of(row) for row in metrics[-HISTORY:]]).values()),
    }


def _members(run: RunDirectory) -> list[Plain]:
    """The processes or actors of self-play in the latest generation, slowest first."""
    numbers = ("games_per_s", "evaluations_per_s", "version_lag", "restarts")
    return [
        {"member": row.get("member", "")[:80], **{name: cell(row, name) for name in numbers}}
        for row in slowest_first(read_rows(run.members))[:MOST_MEMBERS]
    ]


def _has_numbers(series: Any, rows: list[dict[str, str]]) -> bool:
    return any(cell(row, line.column) is not None for line in series for row in rows)


def _report(run: RunDirectory) -> str:
    with contextlib.suppress(AzcoreError):
        probes.update(run, seconds=_patience([run]))
    return Report(run.path).render()


def _patience(runs: Iterable[RunDirectory]) -> float:
    """Seconds to measure what each run knows; beside training, one checkpoint."""
    return 0.0 if any(run.is_in_use for run in runs) else probes.BRIEFLY
