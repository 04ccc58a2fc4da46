"""`command=ladder`: recipes that anyone can rerun, each with the strength that it reaches.

A recipe of `conf/ladder` is trained, and what comes out is measured, by the same command lines that
a person would type. What was done already is not done again, so a long climb can be stopped and
gone on with.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from azcore import interrupts
from azcore.arena.elo import score_interval
from azcore.assembly.parts import Config
from azcore.commands.command_line import run_line
from azcore.commands.console import table_console
from azcore.commands.puzzles import RESULTS
from azcore.networks.probe import processor
from azcore.settings import build, convert, require
from azcore.storage import table as tables
from azcore.storage.card import commit

RUN = "RUN"  # the folder of the trained run in a line; a preparation is named in capitals too
# Where a line of each command writes, as key and end of the path; one without command= trains.
OUTPUTS = {
    "train": ("run_dir", ""),
    "arena": ("arena_dir", ""),
    "puzzles": ("out", ".csv"),
    "import": ("out", ".azg"),
}
PREPARES = ("train", "arena", "import")
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
    """What to train, and how to measure it.

    Args:
        goal: in words.
        prepare: command lines by name, run in this order before training. Each writes to a place of
            its own, which later lines name by the name in capitals.
        train: the command line that trains it.
        measures: of the run.
    """

    goal: str
    prepare: Mapping[str, tuple[str, ...]]
    train: tuple[str, ...]
    measures: tuple[Measure, ...]


def ladder(config: Config) -> int:
    """Climb the recipes that are asked for and print what was measured; 0, or 130.

    Raises:
        SettingError: a recipe cannot be used, or a command that it names fails.
    """
    group = config["ladder"]
    recipes = recipes_from(group)
    folder, climb = Path(str(group["folder"])), group["climb"]
    climb = [str(climb)] if isinstance(climb, str | int) else list(climb or ())
    climb = list(recipes) if climb == [ALL] else climb
    for name in climb:
        known = f"all, or of {', '.join(recipes)}"
        require(name in recipes, "ladder.climb", known, name)
    results = tables.Table(folder / "ladder.csv", ROWS)
    for name in climb:
        if not _climb(name, recipes[name], folder, results, config["seed"]):
            return interrupts.STATUS
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
    require(bool(measures), where, "measures", values)
    prepare = _preparations(values.get("prepare", {}), f"{where}.prepare")
    train = convert(tuple[str, ...], values.get("train", []), f"{where}.train")
    require(_command_of(train) == "train", f"{where}.train", "a line that trains", list(train))
    return Recipe(
        goal=str(values.get("goal", "")),
        prepare=prepare,
        train=train,
        measures=measures,
    )


def _preparations(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    """The lines before training by name.

    Raises:
        SettingError: one of them cannot be used.
    """
    require(isinstance(given, Mapping), where, "command lines by name", given)
    for name in given:
        fits = isinstance(name, str) and name.isidentifier() and name == name.lower()
        require(fits and name != RUN.lower(), where, "names in small letters, not run", name)
    lines = {
        name: convert(tuple[str, ...], each, f"{where}.{name}") for name, each in given.items()
    }
    for name, line in lines.items():
        wanted = "a line that trains, or begins with command=arena or command=import"
        require(_command_of(line) in PREPARES, f"{where}.{name}", wanted, list(line))
    return lines


def _climb(name: str, recipe: Recipe, folder: Path, results: tables.Table, seed: int) -> bool:
    """Train and measure a recipe, as far as that was not done already; False: interrupted."""
    _require_puzzles(name, recipe)  # before the hours that it trains
    places: dict[str, Path] = {}
    for key, line in recipe.prepare.items():
        if not _once(f"{name}-{key}", line, folder, places, seed):
            return False
        places[key.upper()] = _output(line, folder / f"{name}-{key}")
    run = folder / name
    if not _once(name, recipe.train, folder, places, seed):
        return False
    places[RUN] = run
    done = [row["line"] for row in results.rows() if row["recipe"] == name]
    for measure in recipe.measures:
        if " ".join(measure.line) in done:
            continue
        # Numbered as they are measured, so a measure that a recipe gets later overwrites none.
        done.append(" ".join(measure.line))
        out = folder / f"{name}-{len(done)}"
        if not run_line(_line(measure.line, out, places, seed), "ladder"):
            return False
        points, distinct = _points(_output(measure.line, out))
        of = sum(points)
        low, high = score_interval(*points, distinct)
        results.append(
            {
                "recipe": name,
                "measure": len(done),
                "share": round((points[0] + points[1] / 2) / of, 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "of": of,
                "least": measure.least,
                "reached": (points[0] + points[1] / 2) / of >= measure.least,
                "hours": round(sum(map(_hours, places.values())), 3),
                "seed": seed,
                "machine": processor(),
                "commit": commit(),
                "train": _told(recipe, seed),
                "line": " ".join(measure.line),
            }
        )
    return True


def _once(
    name: str, line: Sequence[str], folder: Path, places: Mapping[str, Path], seed: int
) -> bool:
    """Run a line whose output is kept, unless that was done; False: it was interrupted.

    Raises:
        SettingError: it was done by another line.
    """
    out, done = folder / name, " ".join([*line, *_seed(line, seed)])
    ended = folder / f"{name}.{'trained' if _command_of(line) == 'train' else 'made'}"
    if not ended.exists():
        again = ["resume=latest"] if (out / "config.yaml").exists() else []
        if not run_line([*_line(line, out, places, seed), *again], "ladder"):
            return False
        ended.write_text(done + "\n")
    wanted = f"one in which {name} was made by {done}"
    require(ended.read_text().strip() == done, "ladder.folder", wanted, ended.read_text().strip())
    return True


def _line(line: Sequence[str], out: Path, places: Mapping[str, Path], seed: int) -> list[str]:
    """A line with its places filled in; what it wrote when it was interrupted is removed."""
    words = [re.sub(r"\b[A-Z_]\w*\b", lambda m: str(places.get(m[0], m[0])), w) for w in line]
    key, _ = OUTPUTS[_command_of(line)]
    path = _output(line, out)
    if key == "out":
        path.unlink(missing_ok=True)
    elif (out / "matches.csv").exists() and not (out / "config.yaml").exists():
        shutil.rmtree(out)
    return [*words, f"{key}={path}", *_seed(line, seed)]


def _seed(line: Sequence[str], seed: int) -> list[str]:
    """The seed's word of a line; reading games has no chance in it, and so no seed."""
    return [] if _command_of(line) == "import" else [f"seed={seed}"]


def _told(recipe: Recipe, seed: int) -> str:
    """All lines up to the trained run, as the table has them."""
    lines = [f"{name.upper()}: {' '.join(line)}" for name, line in recipe.prepare.items()]
    return "; ".join([*lines, " ".join([*recipe.train, f"seed={seed}"])])


def _command_of(line: Sequence[str]) -> str:
    """The command of a line, which is `train` where none is named."""
    named = [word.partition("=")[2] for word in line if word.startswith("command=")]
    return named[-1] if named else "train"


def _output(line: Sequence[str], out: Path) -> Path:
    """Where a line writes, in the place that is given to it."""
    return out.with_name(out.name + OUTPUTS[_command_of(line)][1])


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


def _points(out: Path) -> tuple[tuple[int, int, int], int]:
    """Wins, draws and losses, or solved, none and unsolved; and how many of them differ.

    They are those of the first player, which is the run: others may meet each other too.
    """
    of_match = out.is_dir()
    with (out / "matches.csv" if of_match else out).open() as file:
        rows = list(csv.DictReader(file))
    own = [row for row in rows if row["player"] == rows[0]["player"]]

    def total(column: str) -> int:
        return sum(int(row[column]) for row in own)

    if of_match:
        return (total("wins"), total("draws"), total("losses")), total("distinct_games")
    _, solved, of = RESULTS[:3]
    return (total(solved), 0, total(of) - total(solved)), total(of)


def _hours(run: Path) -> float:
    """How long a run has trained; 0 for what is no run."""
    if not (run / "metrics.csv").exists():
        return 0.0
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
