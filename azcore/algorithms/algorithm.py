"""The part that differs between the papers' loops: the source of the games.

A package adds another by an entry point of group `azcore.algorithms`, a subclass of `Algorithm` or
of one of azcore's own.
"""

from __future__ import annotations

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
from azcore.selfplay.jobs import Workplaces
from azcore.storage.run_directory import RunDirectory

# Maps the network in training and the optimizer steps behind it to the network that plays the next
# generation's games and the steps behind that one.
WhoPlays = Callable[[nn.Module, int], tuple[nn.Module, int]]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What an algorithm may use of its run."""

    network: nn.Module  # that learns, with its first weights
    settings: RunSettings
    run: RunDirectory  # for files of its own
    terminal: TrainingDisplay  # for progress and messages
    workplaces: Callable[[], Workplaces]  # returns where matches are played
    clock: RunClock


class Algorithm(Callback, ABC):
    """A Lightning callback, so that checkpoints have its state: plain values and tensors.

    Args:
        around: its run.
    """

    def __init__(self, around: Surroundings) -> None:
        self.around = around

    @abstractmethod
    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        """The source of its games.

        Args:
            self_play: makes a source in which the network of a `WhoPlays` plays itself.
        """

    def publish(self, trainer: Trainer, module: LearnerModule) -> None:
        """Choose the network that plays the next games, now that a generation was learned from.

        Where a run stops within a generation, it is called then, and again at the end.
        """

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Its numbers of the generation that just ended, for metrics.csv and the loggers.

        `evaluations`: the number it needed in addition to self-play's. Those that metrics.csv has
        no column for go to the loggers alone.
        """
