"""`command=lesson`: trains small games in turn while a class looks on, and ends with what to play.

Each game gets its share of the minutes. The page with all of them side by side is written again as
they go on, so a browser that shows it needs only to load it again.
"""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import dataclass
from pathlib import Path

from azcore import interrupts
from azcore.assembly.parts import Config
from azcore.commands.command_line import run_line
from azcore.commands.compare.compare import SIDE_BY_SIDE
from azcore.errors import SettingError
from azcore.game.registry import installed_games
from azcore.report.side_by_side import FEWEST, MOST, render_side_by_side
from azcore.settings import build, require
from azcore.storage.run_directory import RUNS, RunDirectory, dated
from azcore.storage.untrusted import require_no_link

LEAST_SECONDS = 10  # that a run trains, however long its start has taken
OVERHEAD = 20.0  # seconds that a run takes to start and to end, until the first one has told


@dataclass(frozen=True, kw_only=True)
class LessonGame:
    """One game of a lesson.

    Args:
        game: its name, as in `game=`; one that is not installed is left out.
        share: of the minutes, beside the shares of the others.
        train: settings of its run.
    """

    game: str
    share: float
    train: tuple[str, ...]

    def __post_init__(self) -> None:
        require(self.share > 0, "lesson.games: share", "above 0", self.share)


@dataclass(frozen=True, kw_only=True)
class LessonSettings:
    """The group `lesson`; the numbers are in `conf/lesson`."""

    minutes: float
    refresh_seconds: float
    games: dict[str, LessonGame]

    def __post_init__(self) -> None:
        require(0 < self.minutes <= 10_000, "lesson.minutes", "0 to 10,000", self.minutes)
        require(self.refresh_seconds > 0, "lesson.refresh_seconds", "above 0", self.refresh_seconds)
        number = len(self.games)
        require(1 <= number <= MOST, "lesson.games", f"1 to {MOST} games", number)


def lesson(config: Config) -> int:
    """Train the games in turn, write the page, and say what to play; 0, or 130 if interrupted.

    Raises:
        SettingError: a setting cannot be used, or a run fails, which has said why.
    """
    settings = build(LessonSettings, config["lesson"], "lesson")
    installed = installed_games()
    games = {name: one for name, one in settings.games.items() if one.game in installed}
    for name in settings.games.keys() - games.keys():
        print(f"{name} is left out: there is no game {settings.games[name].game} here")
    if not games:
        raise SettingError("lesson.games must hold a game that is installed")
    run_dir = config["run_dir"]
    folder = dated(RUNS / "lesson") if run_dir is None else Path(run_dir)
    if folder.exists() and any(folder.iterdir()):
        raise SettingError(f"run_dir must be a new folder, got {folder}, which has files")
    print(f"{' and '.join(games)}, {settings.minutes:g} minutes: {folder / SIDE_BY_SIDE}")
    print(f"to watch meanwhile: {_web(folder)}", flush=True)
    began, overhead = time.monotonic(), OVERHEAD
    whole = sum(one.share for one in games.values())
    ends, share = {}, 0.0
    for name, one in games.items():
        share += one.share
        ends[name] = began + 60 * settings.minutes * share / whole
    for name, one in games.items():
        since = time.monotonic()
        seconds = max(LEAST_SECONDS, math.floor(ends[name] - since - overhead))
        words = [f"game={one.game}", *one.train, f"seed={config['seed']}"]
        words += [f"run_dir={folder / name}", f"trainer.max_time={_written(seconds)}"]
        if not run_line(
            words,
            "lesson",
            every=settings.refresh_seconds,
            meanwhile=lambda: _write(folder, list(games)),
        ):
            return interrupts.STATUS
        overhead = max(0.0, time.monotonic() - since - seconds)  # a run may end before its time
    minutes = (time.monotonic() - began) / 60
    path = _write(folder, list(games))
    print(f"\nThe lesson took {minutes:.1f} minutes.")
    if path is not None:
        print(f"side by side, in any browser and offline: {path}")
    print(f"to play against each of them, as it was at any minute: {_web(folder)}")
    return 0


def _web(folder: Path) -> str:
    return shlex.join(["python", "-m", "azcore", "command=web", f"web.runs={folder}"])


def _written(seconds: int) -> str:
    """Seconds as `trainer.max_time` has them."""
    days, rest = divmod(seconds, 86_400)
    return f"{days:02}:{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _write(folder: Path, names: list[str]) -> Path | None:
    """The page of the runs that there are so far; None: they are too few."""
    runs = {name: RunDirectory(folder / name) for name in names}
    begun = [(name, run) for name, run in runs.items() if run.metrics.is_file()]
    if len(begun) < FEWEST:
        return None
    path = folder / SIDE_BY_SIDE
    part = path.with_suffix(".part")
    require_no_link(part)
    part.write_text(render_side_by_side(begun), encoding="utf-8")
    part.replace(path)
    return path
