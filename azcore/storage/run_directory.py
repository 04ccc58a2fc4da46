"""The run directory: where a run keeps everything it may need again.

A run may come from anyone, so it is data: `run_settings` says which settings it can bring along,
`untrusted` how its files are read.

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

import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TextIO

from azcore.errors import CheckpointError, SettingError
from azcore.storage.untrusted import (
    MAX_YAML,
    read_text,
    require_no_link,
    require_no_links,
    shortened,
)

RUNS = Path("runs")
MAX_SIZE = 10**6  # games or threads of self-play
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
                    f"{shortened(sizes)}"
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


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def unused(path: Path) -> Path:
    """`path`, or with a number behind it if that is taken."""
    candidate, number = path, 2
    while candidate.exists():
        candidate = path.with_name(f"{path.name}-{number}")
        number += 1
    return candidate
