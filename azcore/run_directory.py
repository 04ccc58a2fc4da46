"""The run directory: where a run keeps everything it may need again.

A run may come from anyone, so it is data: `RUN` says which settings it can bring along, and neither
who plays, nor which programs run, nor where files go is among them. Its files are read as plain
values, with a bound on their size, and links are not followed when something is written.

config.yaml              the settings that make the run what it is
sizes.json               games and threads of self-play, which settings may leave to the machine
checkpoints/last.ckpt    written whole at the end of every generation
checkpoints/step-*.ckpt  rated weights; some of them whole, to go back to
checkpoints/best.ckpt    weights that passed the gate last
games/records.azg        every finished game
metrics.csv              a row a generation
matches.csv              a row a rating match
gate.csv                 a row a match of a candidate against the best player
logs/                    TensorBoard
report.html              written when the run stops
aside/                   what the run did before it was sent back to an earlier checkpoint
lock                     held by the process at work here
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import yaml

from azcore.errors import CheckpointError, SettingError

RUNS = Path("runs")
MAX_YAML = 1 << 18  # bytes, which take two seconds to parse; the settings of a run are some 4,000
MAX_TABLE = 1 << 26  # a row a generation is some 300
MAX_SIZE = 10**6  # games or threads of self-play
MAX_COUNT = 2**53  # what a float still counts exactly
COUNTED = frozenset(("generation", "step", "trial"))  # columns of whole numbers, in any table

# What a run is, by group or key: all that config.yaml keeps and all that is believed of one. The
# rest of the settings is of whoever goes on with the run: their command line, or the defaults.
RUN: Mapping[str, type] = {
    "game": dict,
    "network": dict,
    "search": dict,
    "selfplay": dict,
    "replay": dict,
    "learner": dict,
    "gate": dict,
    "supervised": dict,
    "arena": dict,
    "sprt": dict,
    "trainer": dict,
    "export": dict,
    "seed": int,
    "device": str,
    "algorithm": str,
    "scale": str,
}
OF_EXPORT = ("format", "per_generation")  # what training obeys of that group
OPTIONAL = ("export", "device", "algorithm", "scale")  # settings are whole without these
OWN = (  # what names of ours begin with, those of files being written included
    *("config.yaml", "sizes.json", "checkpoints", "games", "metrics.csv", "matches.csv"),
    *("gate.csv", "logs", "report.html", "aside", "lock"),
)


class RunDirectory:
    """Paths of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.sizes = path / "sizes.json"
        self.checkpoints = path / "checkpoints"
        self.last_checkpoint = self.checkpoints / "last.ckpt"
        self.best_checkpoint = self.checkpoints / "best.ckpt"
        self.records = path / "games" / "records.azg"
        self.metrics = path / "metrics.csv"
        self.matches = path / "matches.csv"
        self.gate = path / "gate.csv"
        self.logs = path / "logs"
        self._lock: TextIO | None = None
        self.report = path / "report.html"

    def step_checkpoint(self, step: int) -> Path:
        """Where weights that were rated after so many optimizer steps are kept."""
        return self.checkpoints / f"step-{step}.ckpt"

    def step_checkpoints(self) -> dict[int, Path]:
        """Those that are there by their steps, ascending."""
        found = {
            int(match[1]): path
            for path in self.checkpoints.glob("step-*.ckpt")
            if (match := re.fullmatch(r"step-([0-9]{1,18})", path.stem))
        }
        return dict(sorted(found.items()))

    def open(self) -> None:
        """Make the folders and keep other processes out for as long as this one lives.

        Raises:
            SettingError: the place cannot be written to, or another process is at work here.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for path in self.path.iterdir():
                if path.name.startswith(OWN):  # what else lies there is nobody's affair
                    require_no_link(path)
                    require_no_links(path)
            self._lock = _lock(self.path)
            self.checkpoints.mkdir(exist_ok=True)
            self.records.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise SettingError(
                f"run_dir {self.path} cannot be written to: {error.strerror}"
            ) from error

    def open_new(self) -> None:
        """The same for a run that is to begin here.

        Raises:
            SettingError: as `open`, or another process has begun a run here meanwhile.
        """
        self.open()
        if self.config.exists():
            self.close()
            raise SettingError(_holds_a_run(self.path))

    def close(self) -> None:
        """Let others in again."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def save_config(self, config: Mapping[str, Any]) -> None:
        """Keep the settings that are the run's own, whole or as they were.

        Raises:
            SettingError: they are too long to be read again.
        """
        text = yaml.dump(_own(config), Dumper=_Dumper, sort_keys=False)
        if len(text.encode()) > MAX_YAML:
            raise SettingError(f"{self.config} must have at most {MAX_YAML:,} bytes of settings")
        new = self.config.with_suffix(".yaml.tmp")
        new.write_text(text)
        new.replace(self.config)

    def save_sizes(self, sizes: Mapping[str, int]) -> None:
        """Keep the sizes of self-play, by the names of their settings; whole or as they were."""
        new = self.sizes.with_suffix(".json.tmp")
        new.write_text(json.dumps(dict(sizes)) + "\n")
        new.replace(self.sizes)

    def read_sizes(self) -> dict[str, int]:
        """The sizes of self-play that the run was begun with; none before that.

        Raises:
            CheckpointError: the file does not hold them.
        """
        if not self.sizes.exists():
            return {}
        try:
            sizes = json.loads(read_text(self.sizes, MAX_YAML))
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.sizes} must hold JSON: {error}") from error
        for name, size in sizes.items() if isinstance(sizes, dict) else [("", sizes)]:
            if name not in ("num_games", "workers") or not _is_count(size, MAX_SIZE) or size == 0:
                raise CheckpointError(
                    f"{self.sizes} must hold num_games and workers, 1 to {MAX_SIZE:,}, got "
                    f"{_short(sizes)}"
                )
        return dict(sizes)


def _lock(folder: Path) -> TextIO:
    """A file that says, for as long as it is open, that a process is at work in the folder.

    Raises:
        SettingError: another one is.
    """
    file = (folder / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise SettingError(
            f"run_dir {folder} is in use: another azcore process must stop first"
        ) from error
    return file


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder meanwhile.

    Raises:
        SettingError: one is at work there already.
    """
    with _lock(folder):
        yield


def new_run(run_dir: str | None, game: str) -> RunDirectory:
    """Where a new run will be; nothing is written yet.

    Args:
        run_dir: where; None: a new folder `runs/<game>/<date and time>`.
        game: the game's name.

    Raises:
        SettingError: a run is there already.
    """
    if run_dir is None:
        path = unused(RUNS / game / datetime.now().strftime("%Y-%m-%d-%H%M%S"))
    else:
        path = Path(run_dir)
    run = RunDirectory(path.absolute())
    if run.config.exists():
        raise SettingError(_holds_a_run(path))
    return run


def _holds_a_run(path: Path) -> str:
    return f"run_dir {path} already holds a run: go on with it by resume={path}, or name another"


def find_run(resume: str, game: str) -> RunDirectory:
    """The run that `resume` means.

    Args:
        resume: `latest`, the run of this game that was begun or resumed last; a run directory; or
            one of its checkpoints.
        game: the game's name, for `latest`.

    Raises:
        CheckpointError: there is none.
    """
    if resume == "latest":
        runs = sorted((RUNS / game).glob("*/config.yaml"), key=lambda path: path.stat().st_mtime)
        if not runs:
            raise CheckpointError(
                f"resume=latest finds no run of {game} in {(RUNS / game).absolute()}"
            )
        path = runs[-1].parent
    else:
        path = Path(resume)
        if path.suffix == ".ckpt":
            if not re.fullmatch(r"last|step-[0-9]+", path.stem):
                raise CheckpointError(
                    f"resume={resume}: a run goes on from its own checkpoints/last.ckpt or a "
                    "step-N.ckpt beside it"
                )
            path = path.absolute().parent.parent
    run = RunDirectory(path.absolute())
    if not run.config.is_file():
        raise CheckpointError(f"resume={resume}: {path} is no run directory, it has no config.yaml")
    return run


def own_settings(run: RunDirectory) -> dict[str, Any]:
    """What its file holds of the settings that make a run what it is, of whatever type.

    Raises:
        SettingError: the file cannot be read.
    """
    return _own(read_yaml(run.config))


def read_config(run: RunDirectory) -> dict[str, Any]:
    """The settings that make a run what it is; whatever else its file holds is passed over.

    Raises:
        SettingError: the file cannot be read, a setting is missing or is not of its type.
    """
    config = own_settings(run)
    for key, kind in RUN.items():
        if key in config:
            value = config[key]
            if not isinstance(value, kind) or isinstance(value, bool):
                named = {dict: "settings by name", int: "a whole number", str: "text"}[kind]
                raise SettingError(f"{run.config}: {key} must be {named}, got {_short(value)}")
        elif key not in OPTIONAL:
            raise SettingError(f"{run.config} must hold the settings of a run, {key} is missing")
    name = config["game"].get("name")
    if not isinstance(name, str):
        raise SettingError(f"{run.config}: game.name must be text, got {_short(name)}")
    return config


def _own(config: Mapping[str, Any]) -> dict[str, Any]:
    """Of composed or saved settings those that are a run's own, in the order of `RUN`."""
    own = {key: config[key] for key in RUN if config.get(key) is not None}
    if isinstance(own.get("export"), Mapping):
        own["export"] = {key: value for key, value in own["export"].items() if key in OF_EXPORT}
    return own


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes a value that is there twice twice, for aliases are not read."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads no aliases, by which a short file comes to any length."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it must hold no alias")
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> dict[str, Any]:
    """A file of settings by name, of anyone: plain values, nothing in them is looked up.

    Raises:
        SettingError: it is too large, cannot be read, or holds something else.
    """
    text = read_text(path, MAX_YAML)
    try:
        values = yaml.load(text, _Loader)
        plain = _is_plain(values)
    except Exception as error:  # PyYAML lets through whatever a crafted scalar raises
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise SettingError(f"{path} cannot be read: {why}") from error
    if not isinstance(values, dict):
        raise SettingError(f"{path} must hold settings, got {type(values).__name__}")
    if not plain:
        raise SettingError(f"{path} must hold finite numbers, texts and lists of them, by name")
    return values


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(_is_plain(each) for each in value)
    if isinstance(value, int):
        return abs(value) < 2**64
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str)


def read_text(path: Path, limit: int) -> str:
    """A text file of anyone.

    Raises:
        SettingError: it has more than `limit` bytes, is no UTF-8, or cannot be read.
    """
    try:
        if not path.is_file():  # a pipe would be waited for
            raise SettingError(f"{path} cannot be read: it is no file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise SettingError(f"{path} must have at most {limit:,} bytes")
        return data.decode()
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingError(
            f"{path} cannot be read: it must be text in UTF-8, {error.reason} at byte {error.start}"
        ) from error


def require_no_links(folder: Path) -> None:
    """Refuse a folder with a link in it, by which writing there would write elsewhere.

    Raises:
        SettingError: naming the link, or whatever is neither file nor folder.
    """
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            require_no_link(Path(place, name))


def require_no_link(path: Path) -> None:
    """Refuse what writing to `path` would be led elsewhere by.

    Raises:
        SettingError: it is neither a file nor a folder, if it is there.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SettingError(
            f"{path} must be a file or a folder, for a run is written in its own folder alone; got "
            f"{'a link' if stat.S_ISLNK(mode) else 'neither'}"
        )


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _short(value: object) -> str:
    """A value of anyone's for a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(key, value in first, value in second) of the settings that make two runs different ones.

    A setting that only one of them has is None in the other.
    """
    one, other = (
        flat({key: value for key, value in _own(each).items() if key != "device"})
        for each in (first, second)
    )
    return [
        (key, one.get(key), other.get(key))
        for key in {**one, **other}
        if one.get(key) != other.get(key)
    ]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{a: {b: 1}}` as `{"a.b": 1}`."""
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            values.update(flat(value, f"{prefix}{key}."))
        else:
            values[f"{prefix}{key}"] = value
    return values


class Table:
    """A CSV file that rows are appended to; `keep_before` undoes what a killed run had written on.

    Args:
        path: the file.
        columns: its header; the first is the generation.
    """

    def __init__(self, path: Path, columns: list[str]) -> None:
        self.path, self.columns = path, columns

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; cells not given stay empty.

        Raises:
            SettingError: the disk refuses.
        """
        try:
            is_new = not self.path.exists()
            with self.path.open("a", newline="") as file:
                writer = csv.DictWriter(file, self.columns)
                if is_new:
                    writer.writeheader()
                writer.writerow(row)
        except OSError as error:
            raise SettingError(f"{self.path} cannot be written to: {error.strerror}") from error

    def rows(self) -> list[dict[str, str]]:
        """Every whole row; the last one may be cut, its writer was stopped.

        Raises:
            SettingError: this is no such table.
        """
        if not self.path.exists():
            return []
        lines = io.StringIO(read_text(self.path, MAX_TABLE), newline="")
        try:
            rows = list(csv.DictReader(lines))
        except csv.Error as error:
            raise SettingError(f"{self.path} must be a table in CSV: {error}") from error
        for number, row in enumerate(rows, 1):
            is_cut = None in row.values() and number == len(rows)
            if not is_cut and (None in row or None in row.values()):
                raise SettingError(
                    f"{self.path} must have a value for each column, got more or fewer in row "
                    f"{number}"
                )
        return rows[:-1] if rows and None in rows[-1].values() else rows

    def text(self, row: Mapping[str, str], column: str) -> str:
        """What a row has in a column.

        Raises:
            SettingError: there is no such column.
        """
        if column not in row:
            raise SettingError(f"{self.path} must have a column {column}")
        return row[column]

    def number(self, row: Mapping[str, str], column: str) -> float:
        """The same as a number.

        Raises:
            SettingError: it is none, or is not finite.
        """
        text = self.text(row, column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise SettingError(f"{self.path}: {column} must be a number, got {_short(text)}")
        return value

    def whole(self, row: Mapping[str, str], column: str) -> int:
        """The same as a count.

        Raises:
            SettingError: it is no whole number of 0 or more.
        """
        text = self.text(row, column)
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= MAX_COUNT):
            raise SettingError(
                f"{self.path}: {column} must be a whole number, 0 or more, got {_short(text)}"
            )
        return int(text)

    def keep_before(self, generation: int) -> None:
        """Drop rows of `generation` and later: the resumed run writes them again.

        Raises:
            SettingError: a generation in the file is no whole number.
        """
        if not self.path.exists():
            return
        rows = self.rows()
        for row in rows:
            for column in COUNTED.intersection(self.columns):
                self.whole(row, column)
        kept = [row for row in rows if self.whole(row, self.columns[0]) < generation]
        for column in kept[0] if kept else ():
            if column not in self.columns:
                raise SettingError(f"{self.path} has a column {_short(column)} that azcore has not")
        new = Table(self.path.with_suffix(".csv.tmp"), self.columns)
        new.path.unlink(missing_ok=True)
        for row in kept:
            new.append(row)
        if kept:
            new.path.replace(self.path)
        else:
            self.path.unlink()


def unused(path: Path) -> Path:
    """`path`, or with a number behind it if that is taken."""
    candidate, number = path, 2
    while candidate.exists():
        candidate = path.with_name(f"{path.name}-{number}")
        number += 1
    return candidate
