"""The part that differs between the papers' loops: the source of the games."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from lightning.pytorch import Callback, Trainer
from torch import nn

from azcore.learner.module import LearnerModule
from azcore.learner.sources import GameSource

# Maps the network in training and the optimizer steps behind it to the network that plays the next
# generation's games and the steps behind that one.
WhoPlays = Callable[[nn.Module, int], tuple[nn.Module, int]]


class Algorithm(Callback, ABC):
    """A Lightning callback, so that checkpoints have its state."""

    @abstractmethod
    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        """The source of its games.

        Args:
            self_play: makes a source in which the network of a `WhoPlays` plays itself.
        """

    def publish(self, trainer: Trainer, module: LearnerModule) -> None:
        """Choose the network that plays the next games, now that a generation was learned from."""

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Its columns of metrics.csv for the generation that just ended.

        `evaluations`: the number it needed in addition to self-play's.
        """
