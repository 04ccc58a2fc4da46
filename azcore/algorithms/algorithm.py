"""The part in which the papers' loops differ: the source of the games.

A package adds another by an entry point of group `azcore.algorithms`: a subclass of `Algorithm` or
of one of azcore's algorithms.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from lightning.pytorch import Callback, Trainer
from torch import nn

from azcore.algorithms.clock import RunClock
from azcore.algorithms.display import TrainingDisplay
from azcore.assembly.parts import RunSettings
from azcore.learner.module import LearnerModule
from azcore.learner.sources import GameSource
from azcore.selfplay.jobs import JobSlots
from azcore.storage.run_directory import RunDirectory

# Maps the network in training and its optimizer steps to the network that plays the next
# generation's games and that network's steps.
WhoPlays = Callable[[nn.Module, int], tuple[nn.Module, int]]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The parts of a run that an algorithm may use."""

    network: nn.Module  # the one in training, with its initial weights
    settings: RunSettings
    run: RunDirectory  # for its own files
    terminal: TrainingDisplay  # for progress and messages
    job_slots: Callable[[], JobSlots]  # where it plays matches
    clock: RunClock


class Algorithm(Callback, ABC):
    """A Lightning callback, so that checkpoints store its state: plain values and tensors."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around

    @abstractmethod
    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        """Return the source of its games.

        Args:
            self_play: makes a source of self-play by the network that a `WhoPlays` names.
        """

    def publish(self, trainer: Trainer, module: LearnerModule) -> None:
        """Choose the network that plays the next games, after training on a generation.

        A run that stops within a generation calls it then, and again at the generation's end.
        """

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Its numbers of the generation that just ended, for metrics.csv and the loggers.

        `evaluations`: their number beyond those of self-play. Numbers without a column in
        metrics.csv go to the loggers alone.
        """
