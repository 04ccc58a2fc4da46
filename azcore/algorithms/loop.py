"""The loop that all algorithms share. Begin here to see what a run does, and in which order.

`Loop.generation` is one turn of it. Lightning's `fit`, whose epoch is a generation, starts it
before the optimizer steps and continues it after them. `alphazero.py`, `alphagozero.py` and
`supervised.py` have what each algorithm changes; `training.py` builds the parts of a run from its
settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from azcore.algorithms.algorithm import Algorithm
from azcore.algorithms.checkpoints import Checkpoints, DivergenceGuard
from azcore.algorithms.metrics import GenerationMetrics
from azcore.algorithms.ratings import ArenaRating
from azcore.algorithms.reports import GenerationReports
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule


class Loop(Checkpoint):
    """Repeats generations until `trainer.max_steps` or `trainer.max_time`.

    A `Checkpoint` only because Lightning calls those callbacks last.

    Args:
        data: the source of games and the window of them.
        guard: knows whether training has diverged.
        algorithm: chooses the network that plays.
        rating: plays matches.
        metrics: describes generations.
        checkpoints: saves the run.
        reports: shows it.
        close: ends self-play and matches, wherever they run.
    """

    def __init__(
        self,
        *,
        data: SelfPlayData,
        guard: DivergenceGuard,
        algorithm: Algorithm,
        rating: ArenaRating,
        metrics: GenerationMetrics,
        checkpoints: Checkpoints,
        reports: GenerationReports,
        close: Callable[[], None],
    ) -> None:
        self.data, self.guard, self.algorithm, self.rating = data, guard, algorithm, rating
        self.metrics, self.checkpoints, self.reports = metrics, checkpoints, reports
        self._close = close
        self._turn: Iterator[None] | None = None  # the generation under way

    def generation(self, trainer: Trainer, module: LearnerModule) -> Iterator[None]:
        """One generation: up to `yield` before the optimizer steps, and from there after them.

        Args:
            trainer: Lightning's, which counts the steps.
            module: the network that learns.

        Raises:
            AzcoreError: the run cannot go on; what it has saved stays.
        """
        self.data.self_play()  # new positions, unless the run resumed within this generation
        yield  # learn: Lightning takes `learner.steps_per_generation` steps, by `LearnerModule`
        self.guard.check(trainer, module)  # end a run whose loss or weights are not finite
        self.algorithm.publish(trainer, module)  # which plays next: the latest, or a gate decides
        self.rating.rate(trainer, module)  # matches with earlier weights, if they are due
        self.metrics.report(trainer, module)  # metrics.csv, curves, a line on the terminal
        self.checkpoints.save(trainer, self.rating.rated_step)  # from which a run resumes exactly
        self.reports.show()  # report.html, with curves and games

    # -- Lightning calls ---------------------------------------------------------------------------

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.data.between_generations:  # Lightning starts no epoch that was begun before
            self.on_train_epoch_start(trainer, pl_module)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, LearnerModule)
        self._turn = self.generation(trainer, pl_module)
        next(self._turn)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert self._turn is not None
        next(self._turn, None)  # the rest

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # Before Lightning frees memory of a GPU, which networks at work still use.
        self._close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        self._close()
