"""`command=runs`: the runs of a folder, sorted and filtered."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from rich.markup import escape
from rich.table import Table

from azcore.commands.console import table_console
from azcore.commands.result import write_result
from azcore.report.summary import Summary, summary_of
from azcore.settings import Checked, build, one_of
from azcore.storage.run_directory import runs_inside
from azcore.storage.untrusted import printable

SORTS: dict[str, Callable[[Summary], float]] = {  # the highest comes first
    "newest": lambda run: run.changed or 0.0,
    "rating": lambda run: float("-inf") if run.rating is None else run.rating,
    "step": lambda run: run.step or 0,
    "time": lambda run: run.seconds or 0.0,
    "games": lambda run: run.games or 0,
}


@dataclass(frozen=True, kw_only=True)
class ListSettings(Checked, group="runs"):
    """Which runs to list, and in which order; see `conf/runs.yaml`."""

    folder: str
    game: str | None
    tag: str | None
    text: str | None
    min_step: int | None
    min_rating: float | None
    min_minutes: float | None
    sort: Annotated[str, one_of(SORTS)]

    def wants(self, run: Summary) -> bool:
        """Whether a run passes the filters."""
        texts = " ".join(filter(None, (run.run, run.name, run.note, *run.tags))).lower()
        return (
            self.game in (None, run.game)
            and (self.tag is None or self.tag in run.tags)
            and (self.text is None or self.text.lower() in texts)
            and _reaches(run.step, self.min_step)
            and _reaches(run.rating, self.min_rating)
            and _reaches(run.seconds, None if self.min_minutes is None else 60 * self.min_minutes)
        )


def runs(config: Mapping[str, Any]) -> int:
    """Print the runs of a folder; 0."""
    options = build(ListSettings, config["runs"], "runs")
    every = [summary_of(path) for _, path, _ in runs_inside([options.folder], "runs.folder")]
    found = sorted(filter(options.wants, every), key=SORTS[options.sort], reverse=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("run", "game", "step", "games", "time", "rating", "notes"):
        is_number = title in ("step", "games", "time", "rating")
        table.add_column(title, justify="right" if is_number else "left", overflow="fold")
    for run in found:
        table.add_row(*(escape(printable(cell)) for cell in _cells(run)))
    table_console().print(table)
    if len(found) < len(every):
        print(f"{len(found)} of {len(every)} runs")
    write_result(config, runs=[asdict(run) for run in found])
    return 0


def _reaches(value: float | None, least: float | None) -> bool:
    return least is None or (value is not None and value >= least)


def _cells(run: Summary) -> list[str]:
    rating = "–"
    if run.rating is not None and run.rating_high is not None:
        rating = f"{run.rating:+.0f} ± {run.rating_high - run.rating:.0f}"
    time = "–" if run.seconds is None else _hours(run.seconds)
    words = [run.name, ", ".join(run.tags) and f"[{', '.join(run.tags)}]", run.note, run.fault]
    return [
        run.run,
        run.game,
        _number(run.step),
        _number(run.games),
        time,
        rating,
        " ".join(filter(None, words)),
    ]


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _hours(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
