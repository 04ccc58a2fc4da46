"""`command=ladder`: recipes that anyone can rerun, each with the strength that it reaches.

A recipe of `conf/ladder` is trained, and what comes out is measured, by the same command lines that
a person would type. What was done already is not done again, so a long climb can be stopped and
gone on with.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from azcore.arena.elo import score_interval
from azcore.assembly.parts import Config
from azcore.commands.console import table_console
from azcore.commands.puzzles import RESULTS
from azcore.errors import SettingError
from azcore.networks.probe import processor
from azcore.settings import build, require
from azcore.storage import table as tables
from azcore.storage.card import commit

RUN = "RUN"
ALL = "all"
ROWS = [
    *("recipe", "measure", "share", "low", "high", "of", "least", "reached"),
    *("hours", "seed", "machine", "commit", "train", "line"),
]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A command line whose result is a share, and the share that is the goal."""

    line: tuple[str, ...]
    least: float

    def __post_init__(self) -> None:
        fits = self.line[:1] in (("command=puzzles",), ("command=arena",))
        wanted = "a line that begins with command=puzzles or command=arena"
        require(fits, "ladder.recipes", wanted, list(self.line))
        require(0 <= self.least <= 1, "ladder.recipes", "least from 0 to 1", self.least)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train, and how to measure it."""

    goal: str
    train: tuple[str, ...]
    measures: tuple[Measure, ...]


def ladder(config: Config) -> int:
    """Climb the recipes that are asked for and print what was measured; 0, or 130.

    Raises:
        SettingError: a recipe cannot be used, or a command that it names fails.
    """
    group = config["ladder"]
    recipes = recipes_from(group)
    folder = Path(group["folder"])
    climb = list(recipes) if list(group["climb"]) == [ALL] else list(group["climb"])
    for name in climb:
        known = f"all, or of {', '.join(recipes)}"
        require(name in recipes, "ladder.climb", known, name)
    results = tables.Table(folder / "ladder.csv", ROWS)
    for name in climb:
        if not _climb(name, recipes[name], folder, results, config["seed"]):
            return 130
    _print(recipes, results)
    return 0


def recipes_from(group: Mapping[str, Any]) -> dict[str, Recipe]:
    """The recipes of the group `ladder`, by name.

    Raises:
        SettingError: one of them cannot be used.
    """
    return {name: _recipe(name, values) for name, values in (group["recipes"] or {}).items()}


def _recipe(name: str, values: Any) -> Recipe:
    where = f"ladder.recipes.{name}"
    require(isinstance(values, Mapping), where, "goal, train and measures", values)
    measures = tuple(build(Measure, each, where) for each in values.get("measures", []))
    plain = {key: value for key, value in values.items() if key != "measures"}
    require(bool(measures), where, "measures", values)
    return Recipe(
        goal=str(plain.get("goal", "")),
        train=tuple(str(word) for word in plain.get("train", [])),
        measures=measures,
    )


def _climb(name: str, recipe: Recipe, folder: Path, results: tables.Table, seed: int) -> bool:
    """Train and measure a recipe, as far as that was not done already; False: interrupted."""
    _require_puzzles(name, recipe)  # before the hours that it trains
    run, ended = folder / name, folder / f"{name}.trained"
    train = [*recipe.train, f"seed={seed}"]
    if not ended.exists():
        again = ["resume=latest"] if (run / "config.yaml").exists() else []
        if not _command([*train, f"run_dir={run}", *again]):
            return False
        ended.write_text(" ".join(train) + "\n")
    require(
        ended.read_text().split() == train,
        "ladder.folder",
        f"one in which {name} was trained by {' '.join(train)}",
        ended.read_text().strip(),
    )
    done = {(row["recipe"], row["line"]) for row in results.rows()}
    for number, measure in enumerate(recipe.measures, 1):
        line = [word.replace(RUN, str(run)) for word in measure.line]
        if (name, " ".join(measure.line)) in done:
            continue
        out = folder / f"{name}-{number}"
        where = f"arena_dir={out}"
        if measure.line[0] == "command=puzzles":
            where = f"out={out}.csv"
        _forget(out)
        if not _command([*line, where, f"seed={seed}"]):
            return False
        points, of = _points(out)
        low, high = score_interval(*points)
        results.append(
            {
                "recipe": name,
                "measure": number,
                "share": round((points[0] + points[1] / 2) / of, 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "of": of,
                "least": measure.least,
                "reached": (points[0] + points[1] / 2) / of >= measure.least,
                "hours": round(_hours(run), 3),
                "seed": seed,
                "machine": processor(),
                "commit": commit(),
                "train": " ".join(train),
                "line": " ".join(measure.line),
            }
        )
    return True


def _require_puzzles(name: str, recipe: Recipe) -> None:
    """Refuse a recipe whose positions are not there.

    Raises:
        SettingError: naming the file.
    """
    for measure in recipe.measures:
        for word in measure.line:
            key, _, value = word.partition("=")
            if key != "puzzles.files":
                continue
            for file in value.strip("[]").split(","):
                path = Path(file.strip(" '\""))
                wanted = "files that are there (those of azcore are in its source, under examples)"
                require(path.is_file(), f"ladder.recipes.{name}: puzzles.files", wanted, str(path))


def _forget(out: Path) -> None:
    """Remove what a measure has written that was then interrupted."""
    out.with_name(out.name + ".csv").unlink(missing_ok=True)
    if (out / "matches.csv").exists():
        shutil.rmtree(out)


def _command(words: Sequence[str]) -> bool:
    """Run a command line of azcore as a person would; False: it was interrupted.

    Raises:
        SettingError: it fails; it has said why.
    """
    print(f"> python -m azcore {' '.join(words)}", flush=True)
    status = subprocess.call([sys.executable, "-m", "azcore", *words])
    if status not in (0, 130):
        raise SettingError(f"ladder: status {status} of python -m azcore {' '.join(words)}")
    return status == 0


def _points(out: Path) -> tuple[tuple[int, int, int], int]:
    """Wins, draws and losses, or solved, none and unsolved; and their number."""
    total = [0, 0, 0]
    if out.is_dir():
        with (out / "matches.csv").open() as file:
            for row in csv.DictReader(file):
                for i, key in enumerate(("wins", "draws", "losses")):
                    total[i] += int(row[key])
    else:
        with out.with_name(out.name + ".csv").open() as file:
            for row in csv.DictReader(file):
                total[0] += int(row[RESULTS[1]])
                total[2] += int(row[RESULTS[2]]) - int(row[RESULTS[1]])
    return (total[0], total[1], total[2]), sum(total)


def _hours(run: Path) -> float:
    """How long a run has trained."""
    with (run / "metrics.csv").open() as file:
        return max(float(row["seconds"]) for row in csv.DictReader(file)) / 3600


def _print(recipes: Mapping[str, Recipe], results: tables.Table) -> None:
    console = table_console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("recipe", "measured", "95 % interval", "goal", "hours", ""):
        table.add_column(column, no_wrap=column != "")
    rows = results.rows()
    for name, recipe in recipes.items():
        measured = [row for row in rows if row["recipe"] == name]
        for row in measured:
            low, high = float(row["low"]), float(row["high"])
            reached = "reached" if row["reached"] == "True" else "not reached"
            table.add_row(
                escape(name),
                f"{float(row['share']):.1%} of {row['of']}",
                f"{low:.1%} to {high:.1%}",
                f"{float(row['least']):.0%} {reached}",
                f"{float(row['hours']):.2f}",
                escape(recipe.goal),
            )
        if not measured:
            table.add_row(escape(name), "not yet", "", "", "", escape(recipe.goal))
    console.print(table)
    console.print(f"ladder.climb=[{','.join(recipes) or '...'}] trains and measures", markup=False)
