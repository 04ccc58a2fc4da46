"""`command=ladder`: recipes that anyone can rerun, each with the strength it reaches.

It trains each recipe of `conf/ladder` and measures the result, with the command lines that a person
would type. It skips finished work, so a long climb can be stopped and resumed. `ladder=lesson`
trains small games at once within minutes while a class watches.
"""

import math
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from azcore import interrupts
from azcore.arena.elo import score_interval
from azcore.assembly.parts import Config
from azcore.atomic import replacing
from azcore.commands.command_line import run_at_once, run_line
from azcore.commands.console import table_console
from azcore.commands.forecast import Forecast
from azcore.commands.puzzles import RESULTS
from azcore.commands.result import write_result
from azcore.errors import SettingError
from azcore.game.registry import installed_games
from azcore.learner.trainer_settings import max_time_of
from azcore.networks.probe import processor
from azcore.report import probes
from azcore.report.side_by_side import FEWEST, MOST, SIDE_BY_SIDE, write_side_by_side
from azcore.settings import build, convert, require, unknown_key
from azcore.storage import table as tables
from azcore.storage.card import commit
from azcore.storage.run_directory import RunDirectory

RUN = "RUN"  # in a line, the folder of the trained run; preparations have names in capitals, too
# Where a command writes, as key and suffix; a line without command= trains.
OUTPUTS = {
    "train": ("run_dir", ""),
    "arena": ("run_dir", ""),
    "puzzles": ("out", ".csv"),
    "import": ("out", ".azg"),
}
PREPARES = ("train", "arena", "import")
KEYS = ("goal", "prepare", "train", "measures")  # of a recipe
ALL = "all"
REFRESH_SECONDS = 30.0  # between two updates of the page with the runs side by side
LOOK_SECONDS = 1.0  # between two looks at the speed that new runs have measured
OVERHEAD = 20  # seconds to start and end a run
LEAST_SECONDS = 10  # of training, however short the time
ROWS = [
    *("recipe", "measure", "share", "low", "high", "of", "least", "reached"),
    *("hours", "seed", "machine", "commit", "train", "line"),
]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A command line whose result is a share, and the share to reach."""

    line: tuple[str, ...]
    least: float

    def __post_init__(self) -> None:
        fits = self.line[:1] in (("command=puzzles",), ("command=arena",))
        wanted = "a line that begins with command=puzzles or command=arena"
        require(fits, "ladder.recipes", wanted, list(self.line))
        require(0 <= self.least <= 1, "ladder.recipes", "`least` from 0 to 1", self.least)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train, and how to measure it."""

    goal: str
    # Command lines by name, run in this order before training. Each writes to its own place, which
    # later lines refer to by the name in capitals.
    prepare: Mapping[str, tuple[str, ...]]
    train: tuple[str, ...]
    measures: tuple[Measure, ...]


def ladder(config: Config) -> int:
    """Climb the requested recipes and print the measurements; 0, or 130."""
    group = config["ladder"]
    recipes = recipes_from(group)
    wanted, minutes = _wanted(_named(group), recipes), minutes_of(group)
    climb = Climb(Path(str(group["folder"])), config["seed"], list(wanted))
    results = tables.Table(climb.folder / "ladder.csv", ROWS)
    if wanted:
        print(f"watch and play with: {_web(climb.folder)}", flush=True)
    if wanted and minutes is not None:
        print(f"{', '.join(wanted)} at once, {minutes:g} minutes", flush=True)
        if not climb.train_at_once(wanted, minutes, least_steps_of(group)):
            return interrupts.STATUS
    for name, recipe in wanted.items():
        if not climb.recipe(name, recipe, results):
            return interrupts.STATUS
    if page := climb.write_page():
        print(f"side by side, for any browser, offline: {page}")
    _print(recipes, results, climb.folder)
    write_result(config, folder=climb.folder, measured=results.rows(ROWS))
    return 0


def _wanted(names: list[str], recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """The recipes to climb; `all` means those whose game is installed."""
    if names != [ALL]:
        for name in names:
            known = f"all, or of {', '.join(recipes)}, or with ladder.own an installed game"
            require(name in recipes, "ladder.climb", known, name)
        return {name: recipes[name] for name in names}
    installed, wanted = installed_games(), dict[str, Recipe]()
    for name, recipe in recipes.items():
        games = [word.partition("=")[2] for word in recipe.train if word.startswith("game=")]
        if games and games[-1] not in installed:
            print(f"{name} is left out: the game {games[-1]} is not installed")
        else:
            wanted[name] = recipe
    require(bool(wanted), "ladder.recipes", "for a game that is installed", list(recipes))
    return wanted


def minutes_of(group: Mapping[str, Any]) -> float | None:
    """`ladder.minutes`."""
    minutes = convert(float | None, group.get("minutes"), "ladder.minutes")
    fits = minutes is None or 0 < minutes <= 10_000
    require(fits, "ladder.minutes", "0 to 10,000, or null", minutes)
    return None if minutes is None else float(minutes)


def least_steps_of(group: Mapping[str, Any]) -> int | None:
    """`ladder.least_steps`."""
    steps: int | None = convert(int | None, group.get("least_steps"), "ladder.least_steps")
    require(steps is None or steps >= 1, "ladder.least_steps", "1 or more, or null", steps)
    return steps


def _web(folder: Path) -> str:
    return shlex.join(["python", "-m", "azcore", "web", f"web.runs={folder}"])


def recipes_from(group: Mapping[str, Any]) -> dict[str, Recipe]:
    """The recipes of the group `ladder`, by name, with those of games that `climb` names."""
    recipes = {name: _recipe(name, values) for name, values in (group["recipes"] or {}).items()}
    words = convert(tuple[str, ...] | None, group.get("own"), "ladder.own")
    if words is not None:
        for game in installed_games():
            if game in _named(group) and game not in recipes:
                recipes[game] = Recipe(
                    goal="", prepare={}, train=(f"game={game}", *words), measures=()
                )
    return recipes


def _named(group: Mapping[str, Any]) -> list[str]:
    """`ladder.climb` as a list."""
    given = group["climb"]
    return [str(given)] if isinstance(given, str | int) else list(given or ())


def _recipe(name: str, values: Any) -> Recipe:
    where = f"ladder.recipes.{name}"
    wanted = """goal, train and measures, such as '+ladder.recipes.own={train: ["game=NAME"]}'"""
    require(isinstance(values, Mapping), where, wanted, values)
    for key in values:
        if key not in KEYS:
            raise SettingError(unknown_key(f"{where}.{key}", [f"{where}.{name}" for name in KEYS]))
    measures = tuple(build(Measure, each, where) for each in values.get("measures", []))
    prepare = _preparations(values.get("prepare", {}), f"{where}.prepare")
    train = convert(tuple[str, ...], values.get("train", []), f"{where}.train")
    require(_command_of(train) == "train", f"{where}.train", "a line that trains", list(train))
    return Recipe(goal=str(values.get("goal", "")), prepare=prepare, train=train, measures=measures)


def _preparations(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    """The lines that run before training, by name."""
    require(isinstance(given, Mapping), where, "command lines by name", given)
    for name in given:
        fits = isinstance(name, str) and name.isidentifier() and name == name.lower()
        require(fits and name != RUN.lower(), where, "lower-case names other than run", name)
    lines = {
        name: convert(tuple[str, ...], each, f"{where}.{name}") for name, each in given.items()
    }
    for name, line in lines.items():
        wanted = "a line that trains, or starts with command=arena or command=import"
        require(_command_of(line) in PREPARES, f"{where}.{name}", wanted, list(line))
    return lines


@dataclass
class Climb:
    """A climb: its recipes, and the work already done."""

    folder: Path
    seed: int
    runs: list[str]  # the names of the runs on the page side by side
    places: dict[str, Path] = field(default_factory=dict)  # by name in capitals

    def train_at_once(
        self, recipes: Mapping[str, Recipe], minutes: float, least_steps: int | None
    ) -> bool:
        """Train all untrained ones within some minutes; False: interrupted.

        Raises:
            SettingError: there is no time for `least_steps` of each new one, or a run fails.
        """
        seconds = 60 * minutes
        most = max(LEAST_SECONDS, math.floor(seconds) - OVERHEAD)
        limit = f"trainer.max_time={max_time_of(most)}"
        lines = {}
        for name, recipe in recipes.items():
            if not self._prepared(name, recipe):
                return False
            if not self._is_done(name, recipe.train):
                lines[name] = [*self._words(name, recipe.train), limit]
        self.folder.mkdir(parents=True, exist_ok=True)
        new = [n for n in lines if not RunDirectory(self.folder / n).metrics.is_file()]
        forecast = Forecast(self.folder, new, minutes, OVERHEAD, least_steps)
        written = time.monotonic()

        def meanwhile() -> None:
            nonlocal written
            forecast.look()
            if time.monotonic() - written >= REFRESH_SECONDS:
                self._refresh()
                written = time.monotonic()

        done = run_at_once(
            lines, "ladder", seconds=seconds, every=LOOK_SECONDS, meanwhile=meanwhile
        )
        for name in lines if done else ():
            has_learned = RunDirectory(self.folder / name).metrics.is_file()
            wanted = f"more, since {name} has learned nothing yet"
            require(has_learned, "ladder.minutes", wanted, minutes)
            self._write_ended(name, recipes[name].train)
        return done

    def _prepared(self, name: str, recipe: Recipe) -> bool:
        """Run the lines of `prepare` that are not done; False: interrupted."""
        _require_puzzles(name, recipe)  # before hours of training
        self.places = {}
        for key, line in recipe.prepare.items():
            if not self._once(f"{name}-{key}", line):
                return False
            self.places[key.upper()] = _output(line, self.folder / f"{name}-{key}")
        return True

    def recipe(self, name: str, recipe: Recipe, results: tables.Table) -> bool:
        """Train and measure a recipe, unless that is done; False: interrupted."""
        if not (self._prepared(name, recipe) and self._once(name, recipe.train)):
            return False
        self.places[RUN] = self.folder / name
        done = [row["line"] for row in results.rows(ROWS) if row["recipe"] == name]
        for measure in recipe.measures:
            if " ".join(measure.line) in done:
                continue
            # Numbered by age, so that a later measure overwrites no earlier one.
            done.append(" ".join(measure.line))
            out = self.folder / f"{name}-{len(done)}"
            if not run_line(self._line(measure.line, out), "ladder"):
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
                    "hours": round(sum(map(_hours, self.places.values())), 3),
                    "seed": self.seed,
                    "machine": processor(),
                    "commit": commit(),
                    "train": _command_lines(recipe, self.seed),
                    "line": " ".join(measure.line),
                }
            )
        return True

    def write_page(self, seconds: float = probes.BRIEFLY) -> Path | None:
        """Write the side-by-side page, see `probes.update`; None: too few or too many runs."""
        runs = [(name, RunDirectory(self.folder / name)) for name in self.runs]
        begun = [(name, run) for name, run in runs if run.metrics.is_file()]
        if not FEWEST <= len(begun) <= MOST:
            return None
        page = self.folder / SIDE_BY_SIDE
        write_side_by_side(page, begun, seconds)
        return page

    def _refresh(self) -> None:
        with suppress(Exception):  # a failed page must not stop a run
            self.write_page(0.0)  # beside training

    def _once(self, name: str, line: Sequence[str]) -> bool:
        """Run a line and save its output, unless that is done; False: interrupted."""
        if not self._is_done(name, line):
            if not run_line(self._words(name, line), "ladder"):
                return False
            self._write_ended(name, line)
        return True

    def _is_done(self, name: str, line: Sequence[str]) -> bool:
        ended, done = self._ended(name, line), self._done(line)
        if not ended.exists():
            return False
        was = ended.read_text().strip()
        require(was == done, "ladder.folder", f"a folder where {done} produced {name}", was)
        return True

    def _done(self, line: Sequence[str]) -> str:
        return " ".join([*line, *_seed(line, self.seed)])

    def _ended(self, name: str, line: Sequence[str]) -> Path:
        """The file that marks a line as finished."""
        return self.folder / f"{name}.{'trained' if _command_of(line) == 'train' else 'made'}"

    def _write_ended(self, name: str, line: Sequence[str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._ended(name, line)) as file:
            file.write(self._done(line) + "\n")

    def _words(self, name: str, line: Sequence[str]) -> list[str]:
        out = self.folder / name
        again = ["resume=latest"] if (out / "config.yaml").exists() else []
        return [*self._line(line, out), *again]

    def _line(self, line: Sequence[str], out: Path) -> list[str]:
        """A line with its placeholders filled in; deletes the file of an interrupted line."""
        places = self.places
        words = [re.sub(r"\b[A-Z_]\w*\b", lambda m: str(places.get(m[0], m[0])), w) for w in line]
        key, _ = OUTPUTS[_command_of(line)]
        path = _output(line, out)
        if key == "out":
            path.unlink(missing_ok=True)
        return [*words, f"{key}={path}", *_seed(line, self.seed)]


def _seed(line: Sequence[str], seed: int) -> list[str]:
    """The seed argument of a line; importing games uses no randomness and thus no seed."""
    return [] if _command_of(line) == "import" else [f"seed={seed}"]


def _command_lines(recipe: Recipe, seed: int) -> str:
    """The lines that prepare and train a recipe, as one text for the table."""
    lines = [f"{name.upper()}: {' '.join(line)}" for name, line in recipe.prepare.items()]
    return "; ".join([*lines, " ".join([*recipe.train, f"seed={seed}"])])


def _command_of(line: Sequence[str]) -> str:
    """The command of a line, by default `train`."""
    named = [word.partition("=")[2] for word in line if word.startswith("command=")]
    return named[-1] if named else "train"


def _output(line: Sequence[str], out: Path) -> Path:
    """Where a line writes, inside the given folder."""
    return out.with_name(out.name + OUTPUTS[_command_of(line)][1])


def _require_puzzles(name: str, recipe: Recipe) -> None:
    """Refuse a recipe whose positions are missing."""
    for measure in recipe.measures:
        for word in measure.line:
            key, _, value = word.partition("=")
            if key != "puzzles.files":
                continue
            for file in value.strip("[]").split(","):
                path = Path(file.strip(" '\""))
                wanted = "existing files (azcore's are in its source, under examples)"
                require(path.is_file(), f"ladder.recipes.{name}: puzzles.files", wanted, str(path))


def _points(out: Path) -> tuple[tuple[int, int, int], int]:
    """Wins, draws and losses, or solved, 0 and unsolved; and the number of distinct games.

    Counts only the first player, the run: others may play each other, too.
    """
    of_match = out.is_dir()
    path = out / "matches.csv" if of_match else out
    rows = list(tables.rows_of(path))
    require(bool(rows), str(path), "a table with results", "none")
    own = [row for row in rows if row["player"] == rows[0]["player"]]

    def total(column: str) -> int:
        return sum(int(row[column]) for row in own)

    if of_match:
        return (total("wins"), total("draws"), total("losses")), total("distinct_games")
    _, solved, of = RESULTS[:3]
    return (total(solved), 0, total(of) - total(solved)), total(of)


def _hours(run: Path) -> float:
    """Hours of training of a run; 0 for anything else."""
    rows = tables.rows_of(run / "metrics.csv")
    return max((float(row["seconds"]) for row in rows), default=0.0) / 3600


def _print(recipes: Mapping[str, Recipe], results: tables.Table, folder: Path) -> None:
    console = table_console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("recipe", "measured", "95 % interval", "goal", "hours", ""):
        table.add_column(column, no_wrap=column != "")
    rows = results.rows(ROWS)
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
            trained = (folder / f"{name}.trained").exists()
            hours = f"{_hours(folder / name):.2f}" if trained else ""
            now = "trained" if trained else "not yet"
            table.add_row(escape(name), now, "", "", hours, escape(recipe.goal))
    console.print(table)
    console.print(f"ladder.climb=[{','.join(recipes) or '...'}] trains and measures", markup=False)
