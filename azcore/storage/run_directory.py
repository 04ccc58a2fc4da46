"""The run directory: the files of a run.

A run may come from anyone, so azcore treats it as data: `run_settings` defines which settings it
may contain, and `untrusted` reads its files.

config.yaml              the settings that define the run, and the defaults of changed ones
sizes.json               what settings may leave to a probe, such as games and evaluator
checkpoints/last.ckpt    saved whole at the end of every generation
checkpoints/step-*.ckpt  rated weights; some are whole, so that the run can return to them
checkpoints/best.ckpt    the weights that passed the gate last
checkpoints/init.ckpt    the initial weights, if from another run
games/records.azg        every finished game, or the latest, with closed parts before them:
games/records-*.azg      named after the place where they end
metrics.csv              one row per generation
matches.csv              one row per rating match
gate.csv                 one row per match of a candidate against the best player
members.csv              one row per process or actor of self-play, of the latest generation
probes.csv               what checkpoints knew without search, as pages measured it
progress.json            progress of the current generation's self-play
logs/                    TensorBoard
report.html              updated during the run
aside/                   files set aside when the run returned to an earlier checkpoint
lock                     held by the process that uses the directory
"""

import fcntl
import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TextIO

import yaml

from azcore.atomic import replacing
from azcore.errors import AzcoreError, CheckpointError, SettingError, os_errors_as
from azcore.settings import build, require
from azcore.storage.untrusted import (
    MAX_YAML,
    read_text,
    require_no_link,
    require_no_links,
    shortened,
)

RUNS = Path("runs")
LOCK = "lock"  # the name of the file that is locked while a run is in use
_TRIES, _MOMENT = 5, 0.02  # seconds: a process that checks the lock holds it for less
MOST_GAMES = 10**7  # of self-play at once; ten thousand workers times 256 would be 2.6 million
OWN = (  # prefixes of azcore's own names, including those of files being written
    *("config.yaml", "sizes.json", "checkpoints", "games", "metrics.csv", "matches.csv"),
    *("gate.csv", "members.csv", "logs", "report.html", "result.json", "aside", "lock"),
    *("probes.csv", "progress.json"),
)


@dataclass(frozen=True)
class Sizes:
    """Sizes that suit a machine where settings leave them open; None where nothing is saved.

    A resumed run keeps them, so that it continues exactly.
    """

    num_games: int | None = None  # of self-play
    workers: int | None = None  # of self-play
    backend: str | None = None  # of the evaluator, as the three below
    precision: str | None = None
    threads: int | None = None
    steps_per_generation: int | None = None  # of the learner
    evaluations_per_s: float | None = None  # of self-play with these, when the run began

    def __post_init__(self) -> None:
        for name in ("num_games", "workers", "threads", "steps_per_generation"):
            size = getattr(self, name)
            require(size is None or 0 < size <= MOST_GAMES, name, f"1 to {MOST_GAMES:,}", size)
        rate = self.evaluations_per_s
        fits = rate is None or 0 < rate < math.inf
        require(fits, "evaluations_per_s", "a number above 0", rate)

    def known(self) -> dict[str, int | float | str]:
        """The values that are not None; sizes by the names of the settings."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class RunDirectory:
    """Paths of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.sizes = path / "sizes.json"
        self.checkpoints = path / "checkpoints"
        self.last_checkpoint = self.checkpoints / "last.ckpt"
        self.best_checkpoint = self.checkpoints / "best.ckpt"
        self.first_checkpoint = self.checkpoints / "init.ckpt"
        self.records = path / "games" / "records.azg"
        self.metrics = path / "metrics.csv"
        self.matches = path / "matches.csv"
        self.gate = path / "gate.csv"
        self.members = path / "members.csv"
        self.probes = path / "probes.csv"
        self.progress = path / "progress.json"
        self.logs = path / "logs"
        self._lock: TextIO | None = None
        self._progress_time = -1.0  # when progress was last written
        self.report = path / "report.html"
        self.result = path / "result.json"

    def step_checkpoint(self, step: int) -> Path:
        """The file of the weights rated after `step` optimizer steps."""
        return self.checkpoints / f"step-{step}.ckpt"

    def step_checkpoints(self) -> dict[int, Path]:
        """The existing files of rated weights by step, ascending."""
        found = {
            int(match[1]): path
            for path in self.checkpoints.glob("step-*.ckpt")
            if (match := re.fullmatch(r"step-([0-9]{1,18})", path.stem))
        }
        return dict(sorted(found.items()))

    def open(self) -> None:
        """Make the folders and lock out other processes, until `close` or the process ends.

        Raises:
            SettingError: the directory is not writable, or another process is using it.
        """
        with os_errors_as(SettingError, f"run_dir {self.path} cannot be written to"):
            self.path.mkdir(parents=True, exist_ok=True)
            self.require_no_links()
            self._lock = _lock(self.path)
            self.checkpoints.mkdir(exist_ok=True)
            self.records.parent.mkdir(exist_ok=True)

    def require_no_links(self) -> None:
        """Refuse a run that contains a link.

        Raises:
            SettingError: the message names the link.
        """
        for path in self.path.iterdir():
            if path.name.startswith(OWN):  # other files there are ignored
                require_no_link(path)
                require_no_links(path)

    def open_new(self) -> None:
        """Open the directory of a new run.

        Raises:
            SettingError: as `open`, or another process has started a run here meanwhile.
        """
        self.open()
        if self.config.exists():
            self.close()
            raise SettingError(_holds_a_run(self.path))

    @property
    def is_open(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    def require_in_place(self) -> None:
        """Refuse to write after the directory of this process has disappeared.

        Raises:
            SettingError: it has been moved, removed or replaced since `open`.
        """
        if self._lock is None:
            return
        try:
            here = os.path.samestat(os.fstat(self._lock.fileno()), (self.path / LOCK).stat())
        except OSError:
            here = False
        if not here:
            raise SettingError(
                f"run_dir {self.path} has been moved, removed or replaced while this run used it, "
                "so the run ends; resume=FOLDER resumes it in its new place"
            )

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def save_sizes(self, sizes: Sizes) -> None:
        """Save the sizes in one atomic write."""
        with replacing(self.sizes) as file:
            file.write(json.dumps(sizes.known()) + "\n")

    def save_progress(self, made: float, wanted: float, unit: str) -> None:
        """Write the progress of a generation's self-play, for the page; at most once a second.

        The file may be lost in a power cut: syncing it would hold up self-play.
        """
        now = time.monotonic()
        if now - self._progress_time < 1 or not self.is_open:
            return
        self._progress_time = now
        progress = {"made": round(made), "wanted": round(wanted), "unit": unit}
        new = self.progress.with_suffix(".json.tmp")
        with suppress(OSError):  # the disk may be full; essential files report that
            new.write_text(json.dumps(progress) + "\n")
            new.replace(self.progress)

    def read_progress(self) -> tuple[int, int, str] | None:
        """How many games or positions have been played, and how many are wanted; None: unknown."""
        try:
            progress = json.loads(read_text(self.progress, MAX_YAML))
            made, wanted, unit = (progress[key] for key in ("made", "wanted", "unit"))
        except (AzcoreError, OSError, ValueError, RecursionError, KeyError, TypeError):
            return None
        known = type(made) is int and type(wanted) is int and unit in ("games", "positions")
        return (made, wanted, unit) if known else None

    @property
    def is_in_use(self) -> bool:
        """Whether a process uses it; the check takes a shared lock for a moment."""
        return _is_held(self.path / LOCK)

    def read_sizes(self) -> Sizes:
        """The sizes that the run began with; all None before they are saved.

        Raises:
            CheckpointError: the file does not contain them.
        """
        if not self.sizes.exists():
            return Sizes()
        try:
            sizes = json.loads(read_text(self.sizes, MAX_YAML))
            missing = {field.name: None for field in fields(Sizes)}
            return build(Sizes, {**missing, **sizes}, str(self.sizes))
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.sizes} must hold JSON: {error}") from error
        except (SettingError, TypeError) as error:
            raise CheckpointError(
                f"{self.sizes} must hold {', '.join(missing)}, got {shortened(sizes)}"
            ) from error


def _lock(folder: Path) -> TextIO:
    """Lock a folder against other processes for as long as the returned file is open."""
    file = (folder / LOCK).open("w")
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if left:
                time.sleep(_MOMENT)
                continue
            file.close()
            raise SettingError(
                f"run_dir {folder} is in use: another azcore process must stop first"
            ) from error
    return file


def holds_a_run_in_use(folder: Path) -> bool:
    """Whether some process uses a run at any depth of a folder; skips what it cannot read.

    It takes each lock for a moment, shared with others who check.
    """
    try:
        locks = list(folder.glob(f"**/{LOCK}"))
    except OSError:  # a folder disappeared during the walk
        return False
    return any(_is_held(path) for path in locks)


def _is_held(lock: Path) -> bool:
    try:
        if lock.is_symlink() or not lock.is_file():
            return False
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes during the `with` block.

    Raises:
        SettingError: another process holds the lock.
    """
    with _lock(folder):
        yield


def new_run(run_dir: str | None, game: str) -> RunDirectory:
    """The directory of a new run; nothing is written yet.

    Args:
        run_dir: its path; None: a new folder `runs/<game>/<date and time>`.

    Raises:
        SettingError: the directory already holds a run.
    """
    path = dated(RUNS / game) if run_dir is None else Path(run_dir)
    run = RunDirectory(path.absolute())
    if run.config.exists():
        raise SettingError(_holds_a_run(path))
    return run


def _holds_a_run(path: Path) -> str:
    return (
        f"run_dir {path} already holds a run: resume it with resume={path}, or set another folder"
    )


def runs_inside(folders: Iterable[str], key: str) -> Iterator[tuple[str, Path, Path]]:
    """The runs in some folders, at any depth: each with its name there, its directory, the folder.

    Args:
        folders: run directories, or folders that hold some.

    Raises:
        SettingError: a folder has no run.
    """
    for folder in folders:
        root = Path(folder)
        inside = sorted(path.parent for path in root.rglob("config.yaml"))
        if not inside:
            raise SettingError(f"{key}: there is no run in {folder}")
        for path in inside:
            yield path.name if path == root else path.relative_to(root).as_posix(), path, root


def find_run(resume: str, game: str | None, key: str = "resume") -> RunDirectory:
    """The run that `resume` refers to.

    Args:
        resume: `latest`, the run in `runs` started or resumed last; a run directory; or one
            of its checkpoints.
        game: the game's name, for `latest`; None: any.

    Raises:
        CheckpointError: there is no such run.
    """
    if resume == "latest":
        found = [*RUNS.glob("*/config.yaml"), *RUNS.glob("*/*/config.yaml")]
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        latest = next((path for path in found if game is None or _plays(path, game)), None)
        if latest is None:
            of_game = f" of {game}" if game else ""
            raise CheckpointError(
                f"{key}=latest: no run{of_game} in {RUNS.absolute()}; {key}=DIR names one elsewhere"
            )
        path = latest.parent
    else:
        path = Path(resume)
        if path.suffix == ".ckpt":
            if not re.fullmatch(r"last|step-[0-9]+", path.stem):
                raise CheckpointError(
                    f"{key}={resume}: a run resumes from its own checkpoints/last.ckpt or a "
                    "step-N.ckpt next to it"
                )
            path = path.absolute().parent.parent
    run = RunDirectory(path.absolute())
    if not run.config.is_file():
        raise CheckpointError(f"{key}={resume}: {path} is not a run directory (no config.yaml)")
    return run


def _plays(config: Path, game: str) -> bool:
    """Whether the settings of a run name a game; False if they are unreadable."""
    try:
        return bool(yaml.safe_load(read_text(config, MAX_YAML))["game"]["name"] == game)
    except (SettingError, yaml.YAMLError, TypeError, ValueError, LookupError, RecursionError):
        return False


def dated(parent: Path) -> Path:
    """A folder of `parent` named by the current second, which does not exist yet."""
    return unused(parent / datetime.now().strftime("%Y-%m-%d-%H%M%S"))


def unused(path: Path) -> Path:
    """`path`, or `path` with a number appended if it exists."""
    candidate, number = path, 2
    while candidate.exists():
        candidate = path.with_name(f"{path.name}-{number}")
        number += 1
    return candidate
