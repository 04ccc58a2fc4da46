"""The loop that all algorithms share.

`Loop.generation` is one iteration. Lightning's `fit`, whose epoch is a generation, starts it
before the optimizer steps and continues it after them. `alphazero.py`, `alphagozero.py` and
`supervised.py` have what each algorithm changes; `training.py` builds the parts of a run from its
settings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from azcore.algorithms.algorithm import Algorithm
from azcore.algorithms.checkpoints import Checkpoints, DivergenceGuard
from azcore.algorithms.clock import RunClock
from azcore.algorithms.metrics import GenerationMetrics
from azcore.algorithms.ratings import ArenaRating
from azcore.algorithms.reports import GenerationReports
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.learner.team import Team


@dataclass(kw_only=True, eq=False)
class Loop(Checkpoint):
    """Repeats generations until `trainer.max_steps` or `trainer.max_time`.

    A `Checkpoint` only because Lightning calls those callbacks last.
    """

    clock: RunClock  # checks the time
    data: SelfPlayData  # the source of games and the window of them
    guard: DivergenceGuard  # checks for divergence
    algorithm: Algorithm  # chooses the network that plays
    rating: ArenaRating  # plays matches
    metrics: GenerationMetrics  # describes generations
    checkpoints: Checkpoints  # saves the run
    reports: GenerationReports  # displays the run
    team: Team  # the ranks that learn
    close: Callable[[], None]  # ends self-play and matches, wherever they run
    _turn: Iterator[None] | None = field(default=None, init=False)  # the current generation

    def generation(self, trainer: Trainer, module: LearnerModule) -> Iterator[None]:
        """One generation: up to `yield` before the optimizer steps, and from there on after them.

        Raises:
            AzcoreError: the run cannot continue; its saved work stays.
        """
        before = trainer.global_step
        self.clock.begins_to_play()
        self.data.self_play()  # new positions, unless the run resumed within this generation
        self.checkpoints.require_in_place()  # the directory, which is written to from here on
        self.clock.begins_to_learn(trainer)  # fewer steps, or none, if time is short
        yield  # learn: Lightning takes `learner.steps_per_generation` steps, by `LearnerModule`
        self.checkpoints.require_in_place()
        self.clock.has_learned(trainer, self.team.agree(self.clock.is_up()) > 0)
        if trainer.global_step == before:  # no time for a step
            self.rating.rate(trainer, module)
            self.checkpoints.save(trainer, self.rating.rated_step)
            return
        self.guard.check(trainer, module)  # end a run whose loss or weights are not finite
        self.algorithm.publish(trainer, module)  # who plays next: the latest, or a gate decides
        self.rating.rate(trainer, module)  # matches with earlier weights, if they are due
        self.metrics.report(trainer, module)  # metrics.csv, curves, a line on the terminal
        self.checkpoints.save(trainer, self.rating.rated_step)  # from which a run resumes exactly
        if not trainer.should_stop and trainer.global_step < trainer.max_steps:
            self.reports.show()  # report.html, written once more after the end

    # -- Lightning calls ---------------------------------------------------------------------------

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.team.agree(self.clock.had_its_time()):
            self.clock.end(trainer)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.data.between_generations or self.data.was_cut:
            # Lightning does not restart an epoch that had begun before.
            self.on_train_epoch_start(trainer, pl_module)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, LearnerModule)
        if self._turn is None:
            self._turn = self.generation(trainer, pl_module)
            next(self._turn)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert self._turn is not None
        next(self._turn, None)  # the rest
        self._turn = None

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._turn is not None:  # no step since the run resumed
            self.on_train_epoch_end(trainer, pl_module)
        # Before Lightning frees GPU memory that networks still use.
        self.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        self.close()
