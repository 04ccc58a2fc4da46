"""Builds the parts of a run from its settings and gives them to Lightning, which drives `loop.py`.

Callbacks, loggers, precision and devices work as usual in Lightning.
"""

import copy
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from azcore.algorithms.algorithm import Algorithm, Surroundings, WhoPlays
from azcore.algorithms.alphagozero import AlphaGoZero
from azcore.algorithms.alphazero import AlphaZero
from azcore.algorithms.checkpoints import Checkpoints, DivergenceGuard, SafeCheckpointIO, rewind
from azcore.algorithms.clock import RunClock
from azcore.algorithms.display import Heartbeat, LearnerProgress, TrainingDisplay
from azcore.algorithms.follower import tell_followers
from azcore.algorithms.loggers import logger_of
from azcore.algorithms.loop import Loop
from azcore.algorithms.metrics import GenerationMetrics, Hyperparameters
from azcore.algorithms.objects import NONE, Objects
from azcore.algorithms.place import Place, learns_on
from azcore.algorithms.ranks import Meeting, Ranks, Together, lightning_trainer, threads_of
from azcore.algorithms.ratings import ArenaRating
from azcore.algorithms.reports import GenerationReports
from azcore.algorithms.self_play import fitted_to_machine, pool_of_run
from azcore.algorithms.supervised import Supervised
from azcore.assembly.parts import RunSettings
from azcore.assembly.selfplay import NetworkWeights, unpacker
from azcore.errors import AzcoreError, CheckpointError
from azcore.learner.data import Progress, SelfPlayData, compile_sampling
from azcore.learner.module import LearnerModule
from azcore.learner.norm import synchronised
from azcore.learner.overlap import OverlappingSelfPlay
from azcore.learner.settings import LearnerSettings
from azcore.learner.sources import GameSource, SelfPlay
from azcore.learner.trainer_settings import TrainerSettings
from azcore.networks import build_network, network_cost
from azcore.networks.checkpoint import describe_run
from azcore.search.evaluators import CachedEvaluator
from azcore.selfplay.jobs import JobContext, JobSlots, ThreadSlots
from azcore.selfplay.sizes import available_memory, many_legal
from azcore.selfplay.weights import Weights
from azcore.storage.card import MADE, made_by
from azcore.storage.checkpoint import FAULTS, short_reason
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer
from azcore.storage.run_directory import RunDirectory, Sizes
from azcore.storage.run_settings import ORIGIN

MOST_GENERATION = 3  # warn if a generation takes more than this part of the run's time


class Training:
    """The parts of one run.

    Args:
        began: `time.monotonic()` from which its time counts.
        on_games: called with the games of each generation once they are on disk.
        hyperparameters: settings that loggers list alongside the curves.
        weights: the initial weights; None: random ones.
        origin: the origin of the weights, which every checkpoint stores.
        beside: a folder of runs whose sizes it reuses where its settings leave them open.

    Raises:
        AzcoreError: a setting cannot be used.
    """

    def __init__(
        self,
        *,
        settings: RunSettings,
        place: Place,
        run: RunDirectory,
        terminal: TrainingDisplay,
        began: float,
        on_games: Callable[[list[GameRecord]], None],
        hyperparameters: dict[str, Any],
        weights: Mapping[str, Tensor] | None = None,
        origin: Mapping[str, Any] | None = None,
        objects: Objects = NONE,
        beside: Path | None = None,
    ) -> None:
        self._run, self._terminal, trainer = run, terminal, settings.trainer
        self._hyperparameters, self._own_callbacks = hyperparameters, objects.callbacks or ()
        self._clock = RunClock(trainer.max_seconds, began, terminal.say)
        terminal.left = self._clock.left
        self._ranks = Ranks(place, learns_on(trainer))
        self._team = self._ranks.team
        self._together = Together(self._team, self._clock.share, threads_of(place))
        game = settings.game
        terminal.say(
            f"{game.name}{_words(game.settings)}: {game.num_actions} actions, observation "
            f"{'x'.join(map(str, game.observation_shape))}; compiling for this machine, "
            "once per game and version of azcore"
        )
        self._starts, self._arena_starts = settings.selfplay_starts(), settings.arena_starts()
        for whose, starts in (("games", self._starts), ("matches", self._arena_starts)):
            if starts is not None:
                terminal.say(f"{whose} begin from {starts.describe()}")
        network = build_network(game, settings.network, settings.seed)
        if weights is not None:
            network.load_state_dict(weights)
        terminal.say(
            f"network {settings.network}, {network_cost(network, game)}, on {settings.device}"
        )
        self._settings = settings = fitted_to_machine(settings, network, run, terminal.say, beside)
        steps = settings.learner.steps_per_generation
        assert steps is not None
        self.sizes = Sizes(  # see `RunDirectory.save_sizes`
            backend=settings.evaluation.backend,
            precision=settings.evaluation.precision,
            threads=settings.evaluation.threads,
            workers=settings.selfplay.workers,
            steps_per_generation=steps,
        )
        workers = settings.selfplay.workers
        assert workers is not None
        unpack = unpacker(settings, copy.deepcopy(network))
        self._slots: JobSlots = ThreadSlots(  # here, unless a pool has others
            JobContext(game, unpack, workers), workers
        )
        if self._team.is_many and settings.learner.sync_batch_norm:
            network = synchronised(network)
        learner = objects.learner or settings.plugins.subclass("learner", LearnerModule)
        self._module = learner(
            network=network,
            settings=settings.learner,
            max_steps=trainer.max_steps,
            description=describe_run(game, settings.network)
            | {MADE: made_by(hyperparameters)}
            | ({ORIGIN: dict(origin)} if origin else {}),
            time_share=self._time_share,
            team=self._team,
        )
        self._window = settings.window(run.records.parent)
        self._algorithm = self._make_algorithm()
        source = self._algorithm.source(self._self_play)
        self._data = SelfPlayData(
            source=source,
            buffer=self._window,
            records=GameFile(run.records),
            settings=settings.replay,
            batch_size=settings.learner.batch_size,
            steps_per_generation=steps,
            seed=settings.seed,
            progress=self._progress(source, terminal),
            team=self._team,
            parts=trainer.accumulate_grad_batches,
            on_games=on_games,
        )
        self._clock.data, self._clock.cuts = self._data, not self._team.is_many
        try:
            self._trainer = self._make_trainer()
        except BaseException:
            self.close()  # else processes of self-play would live as long as this one
            raise
        terminal.say(settings.learner.describe_schedule(trainer.max_steps, trainer.max_seconds))
        terminal.say(f"memory {source.describe()}{self._describe_window()}{self._describe_cache()}")
        if ranks := _describe_ranks(trainer, settings.learner):
            terminal.say(ranks)

    def fit(self, checkpoint: str | None) -> int:
        """Run to the end, from a checkpoint if given; return the number of optimizer steps."""
        is_last = checkpoint is not None and Path(checkpoint) == self._run.last_checkpoint
        self._data.keeps_games_since = self._settings.overlaps and is_last
        began = _Beginning(lambda: self._begin(checkpoint))
        self._trainer.callbacks.insert(0, began)  # type: ignore[attr-defined]
        try:
            with self._ranks.gathered():
                tell_followers(self._team, self._settings, resumes=checkpoint is not None)
                self._trainer.fit(
                    self._module, datamodule=self._data, ckpt_path=checkpoint, weights_only=True
                )
        except FAULTS as error:
            is_reported = isinstance(error, AzcoreError) and not isinstance(error, CheckpointError)
            if checkpoint is None or began.is_over or is_reported or checkpoint in str(error):
                raise
            raise CheckpointError(
                f"{checkpoint}: a run cannot resume from this checkpoint: {short_reason(error)}"
            ) from error
        began.now()
        return self._trainer.global_step

    def _make_trainer(self) -> Trainer:
        settings, run, terminal = self._settings, self._run, self._terminal
        rating = ArenaRating(
            settings, run, self._data, terminal, self._arena_starts, self._slots, self._clock
        )
        self._clock.to_rate = rating.expected_seconds
        loop = Loop(
            clock=self._clock,
            data=self._data,
            guard=DivergenceGuard(run),
            algorithm=self._algorithm,
            rating=rating,
            metrics=GenerationMetrics(run, self._data, self._algorithm, terminal),
            checkpoints=Checkpoints(run, self._team),
            reports=GenerationReports(run.path, settings.device, terminal.say),
            team=self._team,
            close=self.close,
        )
        # The clock comes first: it informs the others that a step is the last.
        callbacks: list[Callback] = [self._clock]
        callbacks += [self._together] if self._team.is_many else []
        callbacks += [
            LearnerProgress(terminal, self._data.steps_per_generation),
            Hyperparameters(self._hyperparameters),
            loop.guard,
            loop.algorithm,
            loop.rating,
            loop.metrics,
        ]
        callbacks += self._own_callbacks
        callbacks += [Meeting(self._team)] if self._team.is_many else []
        return lightning_trainer(
            settings.trainer,
            settings.learner,
            self._ranks.place,
            callbacks=[*callbacks, loop],
            checkpoints=SafeCheckpointIO(self._team),
            logger=logger_of(settings.logger, run),
        )

    def _make_algorithm(self) -> Algorithm:
        settings = self._settings
        kind: type[Algorithm] = AlphaGoZero if settings.gate.enabled else AlphaZero
        if settings.supervised.enabled:
            kind = Supervised
        if settings.plugins.algorithm is not None:
            kind = settings.plugins.subclass("algorithm", Algorithm)  # type: ignore[type-abstract]
        return kind(
            Surroundings(
                network=self._module.network,
                settings=settings,
                run=self._run,
                terminal=self._terminal,
                job_slots=lambda: self._slots,
                clock=self._clock,
            )
        )

    def _progress(self, source: GameSource, terminal: TrainingDisplay) -> Progress:
        """Show self-play in the terminal during a generation's games."""
        if self._settings.supervised.enabled:
            return lambda made, wanted, unit: terminal.show("self-play", made, wanted, unit)
        trainer = self._settings.trainer
        length, is_first = self._settings.game.max_game_length, True
        steps, is_warned = self.sizes.steps_per_generation, False
        began = time.monotonic()
        heart = Heartbeat("self-play", terminal.warn, source.longest_in_play, length)

        def progress(made: float, wanted: float, unit: str) -> bool:
            nonlocal is_first, is_warned, began
            if is_first:
                terminal.say(f"self-play begins; the first generation needs {wanted:,} {unit}")
            is_first = False
            if not made:
                began = time.monotonic()
            self._ranks.require_whole()
            heart.beat(made)
            terminal.show("self-play", made, wanted, unit)
            self._run.save_progress(made, wanted, unit)
            limit, seconds = trainer.max_seconds, time.monotonic() - began
            if limit is not None and seconds > limit / MOST_GENERATION and not is_warned:
                is_warned = True
                terminal.warn(
                    f"a generation takes more than a third of trainer.max_time; in a new run, "
                    f"lower learner.steps_per_generation, now {steps}"
                )
            return not self._clock.must_learn(made / max(1, wanted))

        return progress

    def _self_play(self, who_plays: WhoPlays) -> GameSource:
        settings, network = self._settings, self._module.playing
        if settings.backend.name != "inline":  # this process is idle while others start
            threading.Thread(target=_compile_sampling, args=(settings,), daemon=True).start()
        rates = [self._run.read_sizes().evaluations_per_s]
        pool = pool_of_run(settings, network, self._starts, self._terminal.say, rates.append)
        self._slots = pool.job_slots() or self._slots
        sizes = pool.settings
        self.sizes = replace(
            self.sizes,
            num_games=sizes.num_games,
            workers=sizes.workers,
            evaluations_per_s=rates[-1],
        )

        def weights_in_play() -> Weights:
            playing, version = who_plays(network, self._trainer.global_step)
            return NetworkWeights(settings, playing, version)

        kind = OverlappingSelfPlay if settings.overlaps else SelfPlay
        return kind(pool=pool, window=self._window, weights_in_play=weights_in_play)

    def close(self) -> None:
        """End self-play and matches, wherever they run; idempotent."""
        self._data.source.close()
        self._slots.close()

    def _begin(self, checkpoint: str | None) -> None:
        """Rewind the run and truncate records, after restoring everything."""
        if checkpoint is not None and Path(checkpoint) != self._run.last_checkpoint:
            rewind(self._run, Path(checkpoint), self._terminal.say)
        self._data.cut_records()

    def _time_share(self) -> float:
        """The share of the run's time that has passed, which all ranks agree on."""
        return self._together.time_share() if self._team.is_many else self._clock.share()

    def _describe_window(self) -> str:
        """Upper limits of the games in memory and on disk, where a game takes the same space."""
        settings, game = self._settings, self._settings.game
        legal = many_legal(game)
        window = self._window.max_bytes(settings.search.most_targets(legal))
        words = f", and at most {window / 1e6:,.0f} MB of games in the replay window"
        if settings.replay.window_on_disk:
            words += ", on disk (replay.window_on_disk)"
            folder = next(
                path for path in (self._run.path, *self._run.path.parents) if path.exists()
            )
            there, whose = shutil.disk_usage(folder).free, "are free there"
        else:
            there, whose = available_memory(), "this process may use"
        if window > there:
            words += f", which is more than the {there / 1e6:,.0f} MB that {whose}"
        if not settings.supervised.enabled:
            positions = self._data.most_positions(self._module.max_steps)
            share = positions / (settings.replay.window_games * game.max_game_length)
            words += f"; at most {share * window / 1e6:,.0f} MB of records on disk"
        return words

    def _describe_cache(self) -> str:
        settings = self._settings
        if not settings.evaluation.cache:
            return ""
        size = CachedEvaluator.bytes_needed(settings.game.num_actions, settings.evaluation.cache)
        size *= self.sizes.workers or 1
        return f", and {size / 1e6:,.0f} MB of evaluations for each network in play"


class _Beginning(Callback):
    """Calls a function once everything in a checkpoint has been restored."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self.is_over = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.now()

    def now(self) -> None:
        """Call `then` unless called before; also when no step is left."""
        if not self.is_over:
            self.is_over = True
            self._then()


def _describe_ranks(trainer: TrainerSettings, learner: LearnerSettings) -> str:
    """Describe how ranks divide a step's batch; empty if they do not."""
    ranks, parts = trainer.ranks, trainer.accumulate_grad_batches
    sentences = []
    if ranks > 1:
        norm = "over all of them" if learner.sync_batch_norm else "over each rank alone"
        sentences.append(
            f"learns on {ranks} ranks, batch norm {norm}; each holds the replay window"
        )
    if ranks * parts > 1:
        passes = f"{parts} passes of " if parts > 1 else ""
        rows = learner.batch_size // (ranks * parts)
        shares = f"{ranks} x {rows:,}" if ranks > 1 else f"{rows:,}"
        sentences.append(f"a batch of {learner.batch_size:,} is {passes}{shares} positions")
    return "; ".join(sentences)


def _words(settings: Mapping[str, Any]) -> str:
    return ",".join(f" {key} {value}" for key, value in settings.items())


def _compile_sampling(settings: RunSettings) -> None:
    """Compile the code that draws batches; if that fails, the first batch compiles it."""
    with suppress(Exception):
        compile_sampling(
            ReplayBuffer(
                game=settings.game,
                window_games=1,
                augment=settings.replay.augment,
                targets=settings.network.targets,
            )
        )
