"""The loop that both papers share, as one `Trainer.fit` of Lightning.

    repeat for each generation:
        the actor plays until there are enough new positions
        the learner takes `steps_per_generation` steps on positions drawn from the window
        every so often the arena rates the weights
        everything is saved

What they differ in, which weights play, is in `alphazero.py` and `alphagozero.py`: read them first.

An epoch is a generation, so callbacks, loggers, precision and checkpoints work as Lightning's users
know them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Timer
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.plugins.io import TorchCheckpointIO
from rich.console import Console

from azcore import interrupts
from azcore.algorithms.algorithm import Algorithm, WhoPlays
from azcore.algorithms.alphagozero import AlphaGoZero
from azcore.algorithms.alphazero import AlphaZero
from azcore.algorithms.callbacks import (
    METRICS,
    GenerationMetrics,
    Hyperparameters,
    LearnerProgress,
    Terminal,
)
from azcore.algorithms.checkpoints import Checkpoints, DivergenceGuard, require_way_back, rewind
from azcore.algorithms.ratings import ArenaRating
from azcore.algorithms.supervised import Supervised
from azcore.assembly import Config, Settings, settings_from
from azcore.check.report import check_before_training
from azcore.checkpoint import (
    FAULTS,
    describe_run,
    like,
    read_checkpoint,
    require_resumable,
    require_same_run,
    require_sizes,
    told_in_short,
    write_checkpoint,
)
from azcore.errors import AzcoreError, CheckpointError, FaultyGameError, SettingError
from azcore.evaluators import CachedEvaluator, Evaluator
from azcore.export import export_settings, write_games_of_generation
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.learner.settings import TrainerSettings, trainer_settings
from azcore.learner.sources import GameSource, SelfPlay
from azcore.networks import build_network, network_cost
from azcore.record_files import format_named
from azcore.records import GameRecord, RecordFile
from azcore.replay import ReplayBuffer
from azcore.report.report import write_report
from azcore.run_directory import RunDirectory, Table, differences, find_run, new_run, read_config
from azcore.selfplay.actor import Actor
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.sizes import with_games, with_workers
from azcore.settings import require


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: leave the loop wherever it is; the last checkpoint stands."""


def train(config: Config) -> int:
    """Train by the composed configuration; 0 when the run reached its end, 130 when interrupted.

    Raises:
        AzcoreError: something given cannot be used; nothing saved is lost.
    """
    _quiet_lightning()
    resume = config["resume"]
    trainer = _trainer_settings(config)  # with those of settings_from, before anything is compiled
    settings = settings_from(config)
    check_before_training(config, settings.game)
    name = settings.game.name
    run = find_run(resume, name) if resume else new_run(config["run_dir"], name)
    console = Console(soft_wrap=True)
    max_steps = trainer.max_steps
    terminal = Terminal(console=console, max_steps=max_steps, max_seconds=trainer.max_seconds)
    step = None
    interrupts.say_at_the_end(lambda: f"azcore: {_kept(run, name)}")
    with _interruptible():
        with (
            contextlib.suppress(Interrupted),
            contextlib.closing(run),
            _saying_what_is_kept(run, terminal, name),
        ):
            checkpoint = None
            if resume:
                run.open()
                # Before anything is built: what settings ask for is then no more than it holds.
                checkpoint = _checkpoint_to_go_on_from(run, resume, settings, terminal)
            loop = TrainingLoop(config, settings, trainer, run, terminal)
            if not resume:  # only now, so that settings that are refused change nothing on disk
                run.open_new()
            run.save_config(config)
            run.save_sizes(loop.sizes)
            terminal.say(f"run directory {run.path}")
            with terminal:
                step = loop.fit(checkpoint)
        _ignore_interrupts()  # what is left to do takes a moment
        return _conclude(run, terminal, name, step, max_steps)


def _checkpoint_to_go_on_from(
    run: RunDirectory, resume: str, settings: Settings, terminal: Terminal
) -> str | None:
    """The last one or the one that is named; None if the run was stopped before its first.

    Raises:
        CheckpointError: it is cut or altered, or of another game, network or number of games; or no
            run can go back to it.
    """
    path = run.last_checkpoint
    goes_back = Path(resume).match("step-*.ckpt")
    if goes_back:
        path = Path(resume)
    elif not path.exists():
        generations = len(Table(run.metrics, list(METRICS)).rows())
        if generations > 1:  # one may be written before its checkpoint is
            raise CheckpointError(
                f"{path} must be there to go on: the run has made {generations} generations"
            )
        terminal.say("no checkpoint yet: the run begins again, with the same seed")
        return None
    checkpoint = read_checkpoint(path)
    if goes_back:
        require_way_back(run, path, checkpoint)
    require_same_run(checkpoint, describe_run(settings.game, settings.network), path)
    require_resumable(checkpoint, settings.game, path)
    if not settings.supervised.enabled:
        sizes = asdict(settings.selfplay) | run.read_sizes()
        require_sizes(checkpoint, sizes["num_games"], sizes["workers"], path)
    _seconds_trained(checkpoint, path)
    terminal.say(f"going on from step {checkpoint['global_step']:,}")
    return str(path)


def is_finished(run: RunDirectory) -> bool:
    """Whether a run has come to the end that its own settings name, in steps or in time.

    Raises:
        AzcoreError: its settings or its checkpoint cannot be read.
    """
    if not run.last_checkpoint.exists():
        return False
    config, checkpoint = read_config(run), read_checkpoint(run.last_checkpoint)
    settings = trainer_settings(config["trainer"])
    if checkpoint["global_step"] >= settings.max_steps:
        return True
    limit = settings.max_seconds
    if limit is None:
        return False
    return _seconds_trained(checkpoint, run.last_checkpoint) >= limit


def _seconds_trained(checkpoint: dict[str, Any], path: Path) -> float:
    """What Lightning's timer has counted.

    Raises:
        CheckpointError: it is no number.
    """
    empty = {"Timer": {"time_elapsed": {"train": 0.0}}}
    timer = like(checkpoint.get("callbacks"), empty, f"{path}: callbacks").get("Timer", {})
    return float(timer.get("time_elapsed", {}).get("train", 0.0))


def _conclude(
    run: RunDirectory, terminal: Terminal, name: str, step: int | None, max_steps: int
) -> int:
    """Write the report and say how to go on; the exit status. `step` None: interrupted."""
    if not run.config.exists():
        terminal.say("interrupted before anything was written")
        return interrupts.STATUS
    terminal.say(f"report {write_report(run.path)}")
    if words := _resignation_in_words(run):
        terminal.say(words)
    if step is not None:
        terminal.say(f"weights {run.last_checkpoint}")
        if step < max_steps:
            longer = "trainer.max_time=DAYS:HOURS:MINUTES:SECONDS"
            stopped = f"stopped at step {step:,} of {max_steps:,}; {_how_to_go_on(run, name)}"
            terminal.say(f"{stopped} {longer}", as_command=True)
        return 0
    terminal.say(f"interrupted, {_kept(run, name)}", as_command=True)
    return interrupts.STATUS


def _kept(run: RunDirectory, name: str) -> str:
    """What a run that was broken off has kept, and how to go on."""
    kept = f"saved up to {run.last_checkpoint}" if run.last_checkpoint.exists() else "nothing saved"
    return f"{kept}; {_how_to_go_on(run, name)}"


def _how_to_go_on(run: RunDirectory, name: str) -> str:
    resume = f"resume={run.path}"
    if re.search(r"[^\w./+-]", str(run.path)):  # read as keys and lists, unless in quotes
        quoted = str(run.path).replace("\\", "\\\\").replace('"', '\\"')
        resume = f'resume="{quoted}"'
    return f"go on with: python -m azcore game={name} {shlex.quote(resume)}"


@contextlib.contextmanager
def _saying_what_is_kept(run: RunDirectory, terminal: Terminal, name: str) -> Iterator[None]:
    """Where a game's own code fails, tell its author that the run can go on once it is mended."""
    try:
        yield
    except FaultyGameError:
        if run.config.exists():
            terminal.say(f"stopped, {_kept(run, name)}", as_command=True)
        raise


def _resignation_in_words(run: RunDirectory) -> str:
    """How many resignations would have been wrong, as games played to their end tell of late."""
    table = Table(run.metrics, list(METRICS))
    last = next((row for row in reversed(table.rows()) if row.get("resign_false_positives")), None)
    if last is None:
        return ""
    share = table.number(last, "resign_false_positives")
    games = table.whole(last, "resign_measured")
    return f"resignation: {share:.1%} false positives of {games:,} games played out"


def _quiet_lightning() -> None:
    """Keep Lightning's notes on hardware and its products off the terminal."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    # Lightning 2.6 asks torch's tree functions in a way that torch 2.13 is about to drop.
    warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated")
    # One process makes the games; workers would each need a copy of the window.
    warnings.filterwarnings("ignore", message=".*does not have many workers")
    # Such as the timer of a run that goes on without trainer.max_time.
    warnings.filterwarnings(
        "ignore", message=".*callbacks used to create the checkpoint need to be"
    )


class TrainingLoop:
    """The parts of one run, and Lightning to drive them."""

    def __init__(
        self,
        config: Config,
        settings: Settings,
        trainer: TrainerSettings,
        run: RunDirectory,
        terminal: Terminal,
    ) -> None:
        self._settings, self._run, self._terminal = settings, run, terminal
        self._max_seconds = trainer.max_seconds
        self._timer: Timer | None = None
        if trainer.max_time is not None:
            self._timer = Timer(duration=trainer.max_time, interval="epoch", verbose=False)
        self.sizes: dict[str, int] = {}  # of self-play, see `RunDirectory.save_sizes`
        game, seed = settings.game, settings.seed
        terminal.say(
            f"{game.name}{_words(game.settings)}: {game.num_actions} actions, observation "
            f"{'x'.join(map(str, game.observation_shape))}; compiling for this machine, "
            "once per game and version of azcore"
        )
        network = build_network(game, settings.network, seed)
        terminal.say(
            f"network {settings.network.name} {settings.network.blocks}x"
            f"{settings.network.channels}, {network_cost(network, game)}, on {settings.device}"
        )
        self._description = describe_run(game, settings.network)
        self._module = LearnerModule(
            network=network,
            settings=settings.learner,
            max_steps=trainer.max_steps,
            description=self._description,
            time_share=self._time_share,
        )
        self._window = ReplayBuffer(
            game=game,
            window_games=settings.replay.window_games,
            augment=settings.replay.augment,
        )
        self._algorithm = self._make_algorithm()
        source = self._algorithm.source(self._self_play)
        self._data = SelfPlayData(
            source=source,
            buffer=self._window,
            records=RecordFile(run.records),
            settings=settings.replay,
            batch_size=settings.learner.batch_size,
            steps_per_generation=settings.learner.steps_per_generation,
            seed=seed,
            progress=lambda made, wanted, unit: terminal.show("self-play", made, wanted, unit),
            on_games=_record_files(config, settings, run),
        )
        self._trainer = self._make_trainer(trainer, config)
        terminal.say(settings.learner.schedule_in_words(trainer.max_steps, trainer.max_seconds))
        terminal.say(f"memory {source.in_words()}{self._window_in_words()}{self._cache_in_words()}")

    def _time_share(self) -> float:
        """How much of the time that the run may take has passed, parts before a resume included."""
        if self._timer is None or not self._max_seconds:
            return 0.0
        return self._timer.time_elapsed() / self._max_seconds

    def _window_in_words(self) -> str:
        """What games may come to in memory and on disk, which hold them alike."""
        settings, game = self._settings, self._settings.game
        window = self._window.max_bytes(settings.search.most_targets(game.num_actions))
        words = f", and at most {window / 1e6:,.0f} MB of games in the replay window"
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if window > there:
            words += f", which is more than this machine's {there / 1e6:,.0f} MB"
        if not settings.supervised.enabled:
            positions = self._data.most_positions(self._module.max_steps)
            share = positions / (settings.replay.window_games * game.max_game_length)
            words += f"; at most {share * window / 1e6:,.0f} MB of records on disk"
        return words

    def _cache_in_words(self) -> str:
        settings = self._settings
        if not settings.selfplay.evaluation_cache:
            return ""
        size = CachedEvaluator.bytes_needed(
            settings.game.num_actions, settings.selfplay.evaluation_cache
        )
        size *= self.sizes.get("workers", 1)
        return f", and {size / 1e6:,.0f} MB of evaluations for each network in play"

    def _make_algorithm(self) -> Algorithm:
        if self._settings.supervised.enabled:
            return Supervised(self._settings)
        if not self._settings.gate.enabled:
            return AlphaZero()
        return AlphaGoZero(
            network=self._module.network,
            settings=self._settings,
            run=self._run,
            terminal=self._terminal,
        )

    def _self_play(self, who_plays: WhoPlays) -> GameSource:
        settings, network = self._settings, self._module.network

        actor = self._sized_actor()

        def evaluator_in_play() -> tuple[Evaluator, int]:
            playing, version = who_plays(network, self._trainer.global_step)
            return settings.search_evaluator(playing, version, self.sizes["workers"]), version

        return SelfPlay(actor=actor, window=self._window, who_plays=evaluator_in_play)

    def _sized_actor(self) -> Actor:
        """The actor; what settings leave open of its size is as the run was begun, or found now."""
        settings = self._settings
        device = settings.device.type
        known = self._run.read_sizes()
        selfplay = replace(
            settings.selfplay,
            num_games=known.get("num_games", settings.selfplay.num_games),
            workers=known.get("workers", settings.selfplay.workers),
        )
        selfplay = with_workers(selfplay, device)
        workers = selfplay.workers
        assert workers is not None
        evaluator = settings.search_evaluator(self._module.network, 0, workers)

        def actor_of(tried: SelfPlaySettings) -> Actor:
            return Actor(
                game=settings.game,
                variant=settings.selfplay_game,
                search=settings.search,
                settings=tried,
                seed=settings.seed,
                evaluator=evaluator,
            )

        selfplay, trials = with_games(selfplay, device, actor_of)
        tried = ", ".join(f"{trial.num_games}: {trial.evaluations_per_s:,.0f}" for trial in trials)
        found = f"; evaluations/s by games: {tried}" if trials else ""
        self._terminal.say(f"self-play {selfplay.num_games} games on {workers} threads{found}")
        assert selfplay.num_games is not None
        self.sizes = {"num_games": selfplay.num_games, "workers": workers}
        return actor_of(selfplay)

    def fit(self, checkpoint: str | None) -> int:
        """Run to the end, from a checkpoint if one is given; the optimizer steps reached."""
        began = _Beginning(lambda: self._begin(checkpoint))
        self._trainer.callbacks.insert(0, began)  # type: ignore[attr-defined]
        try:
            self._trainer.fit(
                self._module, datamodule=self._data, ckpt_path=checkpoint, weights_only=True
            )
        except FAULTS as error:
            is_told = isinstance(error, AzcoreError) and not isinstance(error, CheckpointError)
            if checkpoint is None or began.is_over or is_told or checkpoint in str(error):
                raise
            raise CheckpointError(
                f"{checkpoint}: a run cannot go on from this checkpoint: {told_in_short(error)}"
            ) from error
        began.now()
        return self._trainer.global_step

    def _begin(self, checkpoint: str | None) -> None:
        """Only now, when all has been restored, is anything cut off or set aside."""
        if checkpoint is not None and Path(checkpoint) != self._run.last_checkpoint:
            rewind(self._run, Path(checkpoint), self._terminal.say)
        self._data.cut_records()

    def _make_trainer(self, settings: TrainerSettings, config: Config) -> Trainer:
        run, learner = self._run, self._settings.learner
        options = asdict(settings)
        del options["max_time"]  # its timer is ours
        # Lightning warns of an interval longer than an epoch.
        options["log_every_n_steps"] = min(settings.log_every_n_steps, learner.steps_per_generation)
        metrics = GenerationMetrics(
            Table(run.metrics, list(METRICS)),
            self._data,
            self._algorithm.metrics,
            self._terminal.generation,
        )
        rating = ArenaRating(self._settings, run, self._data, self._terminal)
        callbacks: list[Callback] = [] if self._timer is None else [self._timer]
        callbacks += [  # the timer says to the others whether a generation is the last
            LearnerProgress(self._terminal, learner.steps_per_generation),
            DivergenceGuard(run),
            Hyperparameters({key: value for key, value, _ in differences(config, {})}),
            self._algorithm,
            rating,
            metrics,
            Checkpoints(run, lambda: rating.rated_step),
        ]
        try:
            return Trainer(
                **options,
                max_epochs=-1,
                callbacks=callbacks,
                logger=TensorBoardLogger(run.logs, name="", version=""),
                plugins=[SafeCheckpointIO()],
                enable_progress_bar=False,
                enable_model_summary=False,
                num_sanity_val_steps=0,
                limit_val_batches=0,
                use_distributed_sampler=False,
            )
        except (MisconfigurationException, ValueError, TypeError) as error:
            raise SettingError(f"trainer: Lightning refuses these settings: {error}") from error


def _record_files(
    config: Config, settings: Settings, run: RunDirectory
) -> Callable[[list[GameRecord]], None]:
    """What makes record files of each generation's games, as far as settings say so.

    Raises:
        SettingError: a setting cannot be used.
        GameError: the game has no such format.
    """
    export, game = export_settings(config["export"]), settings.game
    if export.per_generation == 0:
        return lambda games: None
    format_named(game, export.format)
    return lambda games: write_games_of_generation(run.records, game, games, export)


class SafeCheckpointIO(TorchCheckpointIO):
    """Lightning's checkpoints through `azcore.checkpoint`: whole, checked, never executed."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        write_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        return read_checkpoint(Path(path))


class _Beginning(Callback):
    """Knows whether all that a checkpoint holds has been restored.

    Args:
        then: is called once, at that moment.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self.is_over = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.now()

    def now(self) -> None:
        """Also where no step is left to train."""
        if not self.is_over:
            self.is_over = True
            self._then()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Interrupted` while the loop runs."""

    def interrupt(_signal: int, _frame: object) -> None:
        _ignore_interrupts()
        raise Interrupted

    before = {n: signal.signal(n, interrupt) for n in interrupts.SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_interrupts() -> None:
    for number in interrupts.SIGNALS:
        signal.signal(number, interrupts.no_handler)


def _trainer_settings(config: Config) -> TrainerSettings:
    """The settings of Lightning's Trainer, which this machine can follow.

    Raises:
        SettingError: one of them cannot be used, or this machine has no such accelerator.
    """
    settings = trainer_settings(config["trainer"])
    require(
        settings.accelerator in ("auto", "cpu") or torch.cuda.is_available(),
        "trainer.accelerator",
        "auto or cpu on a machine without a GPU that torch can use",
        settings.accelerator,
    )
    return settings


def _words(settings: Config) -> str:
    return ",".join(f" {key} {value}" for key, value in settings.items())
