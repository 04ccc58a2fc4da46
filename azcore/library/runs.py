"""`azcore.train`, and training runs as objects."""

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from azcore.algorithms.objects import Objects
from azcore.arena.elo import fit_ratings
from azcore.assembly.pretrained import in_place_of_story
from azcore.cli.composition import beside_defaults
from azcore.commands.train import train_run
from azcore.errors import CheckpointError, SettingError
from azcore.game import Game, Setting, hangs
from azcore.game.faults import game_faults
from azcore.game.registry import received
from azcore.learner.module import LearnerModule
from azcore.learner.trainer_settings import max_time_of
from azcore.library import lessons
from azcore.library.columns import Columns
from azcore.library.html import facts_of, tag
from azcore.library.lessons import Batches
from azcore.library.player import Player, load
from azcore.library.progress import display_for
from azcore.library.settings import Settings, arguments, compose, settings_of
from azcore.report import probes
from azcore.report.report import write_report
from azcore.report.tables import ANCHOR, cell, count, last_of_each, read_rows, scores
from azcore.settings import require
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import own_settings
from azcore.storage.untrusted import printable

COUNTS = ("generation", "step", "games", "positions", "evaluations")
HEIGHT = 640  # pixels of a report in a notebook


class Report:
    """A run's report: a file for any browser, embedded in a notebook.

    Attributes:
        path: the file's path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"report {self.path}"

    def _repr_html_(self) -> str:
        page = escape(self.path.read_text(encoding="utf-8"))
        style = f'style="width:100%;height:{HEIGHT}px;border:0"'
        return f'<iframe sandbox="allow-scripts" {style} srcdoc="{page}"></iframe>'


class Run:
    """A run directory: the results of training so far, finished or not.

    Args:
        path: the directory.

    Raises:
        SettingError: it does not hold a run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._run = RunDirectory(Path(in_place_of_story(os.fspath(path))).absolute())
        if not self._run.config.is_file():
            raise SettingError(f"{path} is not a run directory (no config.yaml)")

    @property
    def path(self) -> Path:
        """The directory."""
        return self._run.path

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def settings(self) -> Settings:
        """The settings that define the run."""
        return Settings(own_settings(self._run))

    @property
    def game(self) -> Game:
        """The game, ready to play.

        Raises:
            GameError: it is neither installed nor defined in this process.
            CheckpointError: the run's settings do not name a game.
        """
        own = self._own_game()
        if not isinstance(own.get("name"), str):
            raise CheckpointError(
                f"{self._run.config} must name a game, got {self.settings.get('game')!r:.100}"
            )
        return received(own.pop("name"), own)

    def _own_game(self) -> dict[str, Any]:
        """The settings of the game; empty if a damaged file has none."""
        own = self.settings.get("game")
        return dict(own) if isinstance(own, Mapping) else {}

    @property
    def metrics(self) -> Columns:
        """A row for each generation: losses, counts, speeds, and `elo` where it was rated.

        `pandas.DataFrame(run.metrics)` accepts it; quantities that a run does not measure have no
        column.
        """
        rows = last_of_each(read_rows(self._run.metrics), ("generation",))
        names = {name: None for row in rows for name, text in row.items() if text}
        ratings = self._ratings()
        found = []
        for row in rows:
            numbers: dict[str, Any] = {
                name: count(row, name) if name in COUNTS else value
                for name in row
                if (value := cell(row, name)) is not None
            }
            found.append(numbers | ratings.get(int(numbers.get("step", -1)), {}))
        rated = ["elo", "elo_low", "elo_high"] if ratings and found else []
        return Columns.of_rows([*names, *rated], found)

    def _ratings(self) -> dict[int, dict[str, float]]:
        """The ratings by step, in Elo above random moves."""
        matches = last_of_each(read_rows(self._run.matches), ("generation", "player", "opponent"))
        steps = {row["player"]: row for row in matches}
        fitted = fit_ratings(scores(matches), ANCHOR)
        return {
            count(steps[name], "step"): {
                "elo": rating.value,
                "elo_low": rating.low,
                "elo_high": rating.high,
            }
            for name, rating in fitted.items()
            if name in steps and cell(steps[name], "step") is not None
        }

    def player(self, step: int | None = None) -> Player:
        """The player that the run has trained.

        Args:
            step: the step of some rated weights; None: the last ones.

        Raises:
            SettingError: the run has no such weights, or no weights yet.
        """
        if step is None and not self._run.last_checkpoint.exists():
            raise SettingError(
                f"{self.path} has no weights yet: it stopped before its first checkpoint"
            )
        return load(f"{self.path}@{'last' if step is None else f'step-{step}'}", game=self.game)

    def report(self) -> Report:
        """Write `report.html` again: curves, ratings, and four games to step through.

        First it measures what the checkpoints know that have not been measured yet.
        """
        probes.update(self._run)
        return Report(write_report(self.path))

    def records(self) -> Iterator[GameRecord]:
        """The games on disk, oldest first: actions, visits, values and outcome as arrays."""
        return GameFile(self._run.records).read()

    def learner(self, steps: int, *, fresh: bool = False) -> LearnerModule:
        """The network as a Lightning module with the papers' loss, for a custom trainer.

        `learner.loss(batch)` is only the loss, for a loop in plain torch; `learner.save_weights`
        writes a checkpoint that `azcore.load` accepts.

        Args:
            steps: the length of training, to which the learning rates refer.
            fresh: begin with random weights instead of the run's last ones.
        """
        return lessons.learner(self._run, steps, fresh)

    def batches(self, steps: int, size: int | None = None) -> Batches:
        """Batches of positions from the run's games, as training draws them.

        Args:
            steps: the number of batches.
            size: positions in each; None: as in the settings.

        Raises:
            SettingError: the run has no games yet.
            GameFileError: a game is damaged or breaks the rules.
        """
        return lessons.batches(self._run, steps, size)

    def resume(
        self,
        *,
        minutes: float | None = None,
        steps: int | None = None,
        quiet: bool = False,
        learner: type[LearnerModule] | None = None,
        callbacks: Sequence[Any] | None = None,
    ) -> "Run":
        """Resume where the run stopped, byte for byte as if it had not.

        Args:
            minutes: the minutes of training in total; None: the run's own limit.
            steps: the optimizer steps in total; None: the run's own limit.
            quiet: print nothing.
            learner: as for `train`; required again if the run had one. callbacks: likewise.
                `learner=azcore.LearnerModule` and `callbacks=[]` resume without.
        """
        changes = [f"resume={_quoted(self.path)}", *limits(minutes, steps)]
        game = self.game
        settings = settings_of(game, *changes)
        return _trained(settings, quiet, Objects(learner=learner, callbacks=callbacks))

    def _facts(self) -> dict[str, str]:
        """The main facts about a run, by title."""
        game, metrics = self._own_game(), self.metrics
        words = ", ".join(f"{key} {value}" for key, value in game.items() if key != "name")
        facts = {"game": f"{game.get('name')} {words}".strip()}
        if not metrics.height:
            return facts | {"state": "no generation yet"}
        *_, last = metrics.rows()
        # A table may be damaged or untrusted.
        if {"generation", "step", "games", "seconds"} <= last.keys():
            facts["trained"] = (
                f"{last['generation'] + 1:,} generations, {last['step']:,} steps, "
                f"{last['games']:,} games, {last['seconds'] / 60:.1f} minutes"
            )
        if {"policy_loss", "value_loss"} <= last.keys():
            facts["loss"] = f"{last['policy_loss']:.3f} policy, {last['value_loss']:.3f} value"
        rated = [row for row in metrics.rows() if not math.isnan(row.get("elo", math.nan))]
        if rated:
            best = rated[-1]
            facts["strength"] = (
                f"{best['elo']:+.0f} Elo ({best['elo_low']:+.0f} to {best['elo_high']:+.0f}) "
                f"above random moves, at step {best.get('step', 0):,}"
            )
        return facts

    def __repr__(self) -> str:
        facts = "\n".join(
            f"  {title:<9} {printable(text)}" for title, text in self._facts().items()
        )
        return f"Run {self.path}\n{facts}"

    def _repr_html_(self) -> str:
        return facts_of(f"Run {self.path}", list(self._facts().items())) + tag("p", " ")


def train(
    game: str | Game | Mapping[str, Any],
    *changes: str,
    minutes: float | None = None,
    steps: int | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    quiet: bool = False,
    learner: type[LearnerModule] | None = None,
    callbacks: Sequence[Any] | None = None,
    **settings: Setting,
) -> Run:
    """Train a network by self-play; equivalent to the command line.

    Ctrl-C, or the stop button of a notebook, ends training early and returns the run, which
    `resume` continues. Everything is on disk at any time.

    Args:
        game: a name, a game (also one defined in this process), or composed settings.
        changes: `KEY=VALUE` each, as on the command line, such as `search.num_simulations=32`.
        minutes: the minutes of training; None: as in the settings.
        steps: the optimizer steps; None: as in the settings.
        run_dir: where to write; None: `runs/<game>/<date and time>`.
        seed: None: as in the settings. The same seed gives the same run.
        quiet: print nothing.
        learner: a subclass of `LearnerModule`, such as one with another loss; None: as in the
            settings.
        callbacks: Lightning callbacks; their `state_dict` must hold plain values and tensors.
        settings: the game's own, as for `make`.

    Returns:
        The run, finished or interrupted.

    Raises:
        AzcoreError: a setting cannot be used, or the game breaks the contract.
        KeyboardInterrupt: before the run wrote anything.
    """
    objects = Objects(learner=learner, callbacks=callbacks)
    words = [*changes, *limits(minutes, steps)]
    words += arguments({"seed": seed} if seed is not None else {})
    words += [f"run_dir={_quoted(run_dir)}"] if run_dir is not None else []
    if isinstance(game, Mapping):
        if changes or settings:
            raise SettingError(
                f"composed settings are complete, but got also {', '.join([*changes, *settings])}: "
                "pass them to compose"
            )
        return _trained({**game, **_limited(game, compose(*words), words)}, quiet, objects)
    if isinstance(game, Game):
        if settings:
            raise SettingError(f"{game} already has its settings, got also {', '.join(settings)}")
        return _trained(settings_of(game, *words), quiet, objects)
    own = arguments({f"game.{key}": value for key, value in settings.items()})
    return _trained(compose(f"game={game}", *own, *words), quiet, objects)


def limits(minutes: float | None, steps: int | None) -> list[str]:
    """The limits of training, as on a command line."""
    words = []
    if minutes is not None:
        require(minutes > 0, "minutes", "above 0", minutes)
        seconds = max(1, round(60 * minutes))
        words.append(f'trainer.max_time="{max_time_of(seconds)}"')
    if steps is not None:
        words.append(f"trainer.max_steps={steps}")
    return words


def _limited(
    game: Mapping[str, Any], composed: Mapping[str, Any], words: list[str]
) -> dict[str, Any]:
    """Composed settings with the arguments of `train` applied."""
    changed: dict[str, Any] = {"trainer": dict(game["trainer"])}
    for each in words:
        group, _, name = each.partition("=")[0].partition(".")
        if name:
            changed[group][name] = composed[group][name]
        else:
            changed[group] = composed[group]
    return changed


def _trained(settings: Mapping[str, Any], quiet: bool, objects: Objects) -> Run:
    hangs.watch()
    with warnings.catch_warnings(), game_faults():  # silences some of Lightning's
        run, _ = train_run(beside_defaults(settings), display_for(quiet), objects)
    if not run.config.is_file():
        raise KeyboardInterrupt
    return Run(run.path)


def _quoted(path: str | os.PathLike[str]) -> str:
    escaped = os.fspath(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
