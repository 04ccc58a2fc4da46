"""The run directory: where a run keeps everything it may need again.

config.yaml              the composed settings
sizes.json               games and threads of self-play, which settings may leave to the machine
checkpoints/last.ckpt    written whole at the end of every generation
checkpoints/step-*.ckpt  earlier ones, kept for ratings
checkpoints/best.ckpt    weights that passed the gate last
games/records.azg        every finished game
metrics.csv              a row a generation
matches.csv              a row a rating match
gate.csv                 a row a match of a candidate against the best player
logs/                    TensorBoard
report.html              written when the run stops
lock                     held by the process at work here
"""

from __future__ import annotations

import csv
import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import yaml

from azcore.errors import CheckpointError, SettingError

RUNS = Path("runs")


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

    def open(self) -> None:
        """Make the folders and keep other processes out for as long as this one lives.

        Raises:
            SettingError: the place cannot be written to, or another process is at work here.
        """
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.records.parent.mkdir(exist_ok=True)
            self._lock = _lock(self.path)
        except OSError as error:
            raise SettingError(
                f"run_dir {self.path} cannot be written to: {error.strerror}"
            ) from error

    def close(self) -> None:
        """Let others in again."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def save_config(self, config: Mapping[str, Any]) -> None:
        """Keep the settings, whole or as they were."""
        new = self.config.with_suffix(".yaml.tmp")
        new.write_text(yaml.safe_dump(dict(config), sort_keys=False))
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
            sizes = json.loads(self.sizes.read_text())
        except ValueError as error:
            raise CheckpointError(f"{self.sizes} must hold JSON: {error}") from error
        for name, size in sizes.items() if isinstance(sizes, dict) else [("", sizes)]:
            if name not in ("num_games", "workers") or not isinstance(size, int) or size < 1:
                raise CheckpointError(
                    f"{self.sizes} must hold num_games and workers, 1 or more, got {sizes!r}"
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
        path = _unused(RUNS / game / datetime.now().strftime("%Y-%m-%d-%H%M%S"))
    else:
        path = Path(run_dir)
    run = RunDirectory(path.absolute())
    if run.config.exists():
        raise SettingError(
            f"run_dir {path} already holds a run: go on with it by resume={path}, or name another"
        )
    return run


def find_run(resume: str, game: str) -> RunDirectory:
    """The run that `resume` means.

    Args:
        resume: `latest`, the run of this game that was begun or resumed last; a run directory; or
            its last checkpoint.
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
            if path.name != "last.ckpt":
                raise CheckpointError(
                    f"resume={resume}: a run goes on from its own checkpoints/last.ckpt"
                )
            path = path.parent.parent
    run = RunDirectory(path.absolute())
    if not run.config.is_file():
        raise CheckpointError(f"resume={resume}: {path} is no run directory, it has no config.yaml")
    return run


def read_config(run: RunDirectory) -> dict[str, Any]:
    """The settings a run was started with.

    Raises:
        SettingError: the file is not a mapping in YAML.
    """
    try:
        config = yaml.safe_load(run.config.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingError(f"{run.config} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise SettingError(f"{run.config} must hold settings, got {type(config).__name__}")
    return config


# Groups and keys that say where, for what or how to look: a run is the same whatever they are.
BESIDE = (
    "run_dir",
    "resume",
    "checkpoint",
    "command",
    "name",
    "new",
    "device",
    "bench",
    "peers",
    "check",
    "compare",
)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(key, value in first, value in second) of the settings that make two runs different ones.

    A setting that only one of them has is None in the other.
    """
    one, other = _flat(first), _flat(second)
    return [
        (key, one.get(key), other.get(key))
        for key in {**one, **other}
        if key.partition(".")[0] not in BESIDE and one.get(key) != other.get(key)
    ]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{a: {b: 1}}` as `{"a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


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
        """Every whole row."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return [row for row in csv.DictReader(file) if None not in row.values()]

    def keep_before(self, generation: int) -> None:
        """Drop rows of `generation` and later: the resumed run writes them again.

        Raises:
            SettingError: a generation in the file is no whole number.
        """
        if not self.path.exists():
            return
        rows = self.rows()
        try:
            kept = [row for row in rows if int(row[self.columns[0]]) < generation]
        except (ValueError, KeyError, TypeError) as error:
            raise SettingError(
                f"{self.path}: the column {self.columns[0]} must hold whole numbers: {error}"
            ) from error
        new = Table(self.path.with_suffix(".csv.tmp"), self.columns)
        new.path.unlink(missing_ok=True)
        for row in kept:
            new.append(row)
        if kept:
            new.path.replace(self.path)
        else:
            self.path.unlink()


def _unused(path: Path) -> Path:
    """`path`, or with a number behind it if that is taken."""
    candidate, number = path, 2
    while candidate.exists():
        candidate = path.with_name(f"{path.name}-{number}")
        number += 1
    return candidate
