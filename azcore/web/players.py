"""The players: shipped networks, checkpoints of runs, and search without a network."""

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from azcore.assembly.pretrained import WORD, in_place_of_story, named_stories, shipped
from azcore.engine.server import Loaded
from azcore.errors import AzcoreError, SettingError
from azcore.game import Game
from azcore.game.contract import PLAIN_FORM
from azcore.game.faults import game_faults
from azcore.game.registry import installed_games, unprepared
from azcore.pictures import draw, title_of
from azcore.report.tables import cell, count, last_of_each, read_rows
from azcore.search.evaluators import Evaluator
from azcore.storage.checkpoint import KEY, read_checkpoint
from azcore.storage.run_directory import RunDirectory
from azcore.web.levels import claims
from azcore.web.pace import Pace
from azcore.web.shared import SharedEvaluator

NO_NETWORK = "search/"  # before a game's name: search without a network
OF_RUN = "runs/"  # before the name of a run in the folder of runs, whatever the folder's name
MOST_RUNS = 40  # the newest
MOST_LOADED = 8  # networks in memory


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One player."""

    name: str  # in the page
    game: str  # its name
    title: str  # the game's, with its settings
    player: str  # its title
    group: str  # `shipped`, `runs` or `search`
    run: str = ""  # the checkpoint's; empty: none
    step: int | None = None  # optimizer steps of the checkpoint; None: not from a run
    seconds: float | None = None  # duration of the run until then; None: not in its table
    settings: Mapping[str, Any] = field(default_factory=dict)  # that differ from the defaults
    summary: str = ""  # of the rules
    claims: Mapping[str, str] = field(default_factory=dict)  # the scores of its levels, by level

    @property
    def plain(self) -> dict[str, Any]:
        return dict(vars(self))


class Players:
    """Lists players and loads them; for several threads.

    Args of the constructor:
        load: loads a checkpoint, named as in `checkpoint=`, or None and a game without a network.
        runs: the folder of runs.
        pace: the pace of all evaluations together; None: unlimited.
    """

    def __init__(
        self, load: Callable[[str | None, str], Loaded], runs: Path, pace: Pace | None = None
    ) -> None:
        self._load, self._runs, self.pace = load, runs, pace
        self._loaded: OrderedDict[tuple[str, float], Loaded] = OrderedDict()
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._read: dict[Path, tuple[float, Entry]] = {}  # last checkpoints, by when written
        self._warm: weakref.WeakSet[Evaluator] = weakref.WeakSet()  # those that have been used
        self._warming: dict[Evaluator, list[Callable[[], None]]] = {}  # who waits until one is
        self._warmth = threading.Lock()  # of both

    def entries(self) -> list[Entry]:
        """All players; skips what it cannot read."""
        found = [*self._shipped(), *self._of_runs(), *self._without_network()]
        self._entries = {entry.name: entry for entry in found}
        return found

    def entry(self, name: str) -> Entry:
        """The player with this name.

        Raises:
            SettingError: there is none.
        """
        found = self._entries.get(name)
        if found is None:
            self.entries()
            found = self._entries.get(name)
        if found is None:
            raise SettingError(f"there is no player named {name[:80]!r}; it may have been removed")
        return found

    def load(self, name: str) -> Loaded:
        """A player ready to search; all visitors share its network.

        Raises:
            AzcoreError: there is none of this name, or it cannot be loaded.
        """
        entry = self.entry(name)
        with self._lock:
            checkpoint = None if entry.group == "search" else name
            if entry.group == "runs":
                checkpoint = self._path_of(name)
            key = name, self._age(entry)
            if key not in self._loaded:
                game, evaluator, predictor = self._load(checkpoint, entry.game)
                self._loaded[key] = Loaded(game, SharedEvaluator(evaluator, self.pace), predictor)
                while len(self._loaded) > MOST_LOADED:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(key)
            return self._loaded[key]

    def is_warm(self, loaded: Loaded) -> bool:
        """Whether a search of this player has ended, so that everything is compiled."""
        return loaded.evaluator in self._warm

    def warm(self, loaded: Loaded, search: Callable[[], None], then: Callable[[], None]) -> None:
        """Search once on a separate thread for all who ask, then call each of their functions."""
        evaluator = loaded.evaluator
        with self._warmth:
            waiting = self._warming.setdefault(evaluator, [])
            waiting.append(then)
            if len(waiting) > 1:
                return

        def work() -> None:
            with contextlib.suppress(Exception):  # the next search will report the error
                search()
            with self._warmth:
                self._warm.add(evaluator)
                waiters = self._warming.pop(evaluator)
            for notify in waiters:
                notify()

        threading.Thread(target=work, daemon=True).start()

    def picture(self, name: str) -> str:
        """The initial position of a player's game as SVG.

        Raises:
            AzcoreError: there is no such player, or no picture of its game.
        """
        entry = self.entry(name)
        if entry.group == "runs":  # a stranger's settings
            raise SettingError(f"{name[:80]!r} is a run, and runs have no pictures")
        game = unprepared(entry.game, **entry.settings)
        with game_faults():
            return draw(game, game.initial_state()).svg

    def _age(self, entry: Entry) -> float:
        """When its file was written: a run rewrites its last checkpoint."""
        if entry.group != "runs":
            return 0.0
        run, _, stem = self._path_of(entry.name).rpartition("@")
        try:
            return (RunDirectory(Path(run)).checkpoints / f"{stem}.ckpt").stat().st_mtime
        except OSError as error:
            raise SettingError(f"{entry.name} no longer exists") from error

    def _path_of(self, name: str) -> str:
        """The checkpoint of a run, as `checkpoint=` takes it, by its player's name."""
        text = name.removeprefix(OF_RUN)
        story = in_place_of_story(text)
        return str(self._runs / text) if story == text else story

    def _shipped(self) -> list[Entry]:
        found = []
        for name, path in shipped().items():
            entry = _entry(f"{WORD}/{name}", path, "pretrained network", "shipped")
            try:
                game = unprepared(entry.game, **entry.settings)
            except AzcoreError:
                continue
            found.append(replace(entry, summary=game.summary, claims=claims(path)))
        return found

    def _of_runs(self) -> list[Entry]:
        """The last checkpoint and the rated ones of each run, newest run first; stories."""
        written = {path: _written(path) for path in self._runs.glob("**/checkpoints/last.ckpt")}
        there = {path: when for path, when in written.items() if when is not None}
        read = {}
        found = []
        newest_first = sorted(there, key=lambda p: -there[p])[:MOST_RUNS]
        names = {
            path: path.parent.parent.relative_to(self._runs).as_posix() for path in newest_first
        }
        for name, folder in named_stories().items():
            path = RunDirectory(folder).last_checkpoint
            if (when := _written(path)) is not None:
                names[path], there[path] = name, when
        for path, name in names.items():
            run = RunDirectory(path.parent.parent)
            if path.parent.parent.is_symlink() or path.parent.is_symlink():
                continue
            known = self._read.get(path)
            try:
                if known is None or known[0] != there[path]:
                    known = there[path], _entry(player_of(name), path, name, "runs")
            except AzcoreError:
                continue
            read[path] = known
            newest = known[1]
            seconds = _seconds(run)
            end = newest.step or 0
            stems = {step: f"step-{step}" for step in run.step_checkpoints() if step < end}
            for step, stem in {**stems, end: "last"}.items():
                when = seconds.get(step, 0.0 if step == 0 else None)
                found.append(
                    replace(
                        newest,
                        name=player_of(name, stem),
                        player=f"{name}, {_moment(step, when)}",
                        run=name,
                        step=step,
                        seconds=when,
                    )
                )
        self._read = read
        return found

    def _without_network(self) -> list[Entry]:
        found = []
        games = installed_games()
        for name in games:
            if name.endswith(PLAIN_FORM) and name.removesuffix(PLAIN_FORM) in games:
                continue
            try:
                game = unprepared(name)
            except AzcoreError:
                continue
            found.append(
                Entry(
                    name=NO_NETWORK + name,
                    game=name,
                    title=title_of_game(game.name, game.settings),
                    player="search without a network",
                    group="search",
                    summary=game.summary,
                )
            )
        return found


def player_of(run: str, stem: str = "last") -> str:
    """The name of the player for a run's checkpoint."""
    return f"{OF_RUN}{run}@{stem}"


def _written(path: Path) -> float | None:
    """When a file was written; None: it does not exist, or no longer."""
    try:
        return path.stat().st_mtime if path.is_file() else None
    except OSError:
        return None


def _entry(name: str, path: Path, player: str, group: str) -> Entry:
    checkpoint = read_checkpoint(path)
    identity = checkpoint[KEY]["game"]
    title = title_of_game(identity["name"], identity["settings"])
    step = checkpoint["global_step"] if group == "runs" else None
    return Entry(
        name=name,
        game=identity["name"],
        settings=identity["settings"],
        title=title,
        player=player,
        group=group,
        step=step,
    )


def _seconds(run: RunDirectory) -> dict[int, float]:
    """A run's duration at the end of each generation, in seconds, by optimizer steps; ascending."""
    try:
        rows = last_of_each(read_rows(run.metrics), ("generation",))
    except AzcoreError:  # its checkpoints are playable anyway
        return {}
    found = {count(row, "step"): cell(row, "seconds") for row in rows}
    return dict(sorted((step, seconds) for step, seconds in found.items() if seconds is not None))


def _moment(step: int, seconds: float | None) -> str:
    """The age of a checkpoint, as `after 5 min, step 400`."""
    if seconds is None:
        return f"step {step:,}"
    if seconds < 60:
        return f"after {seconds:.0f} s, step {step:,}"
    return f"after {seconds / 60:.0f} min, step {step:,}"


def title_of_game(name: str, settings: Any) -> str:
    """A game with the settings that distinguish it, as `Go 9×9`: its size, and texts."""
    size = settings.get("board_size")
    words = [f"{size}×{size}"] if size else []
    return " ".join([title_of(name), *words, *(v for v in settings.values() if isinstance(v, str))])


def describe_game(game: Game) -> str:
    """Settings that the title omits: those that are on, fractions, and changed numbers."""
    try:
        usual = unprepared(game.name).settings
    except AzcoreError:
        usual = {}
    words = []
    for key, value in game.settings.items():
        name = key.replace("_", " ")
        if value is True:
            words.append(name)
        elif isinstance(value, float) and (value or value != usual.get(key)):
            words.append(f"{name} {value:g}")
        elif value and type(value) is int and key != "board_size" and value != usual.get(key):
            words.append(f"{name} {value}")
    return ", ".join(words)
