"""What sets one paper's loop apart from another's: where its games come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from lightning.pytorch import Callback
from torch import nn

from azcore.learner.sources import GameSource

# Of the network in training and the optimizer steps behind it: the network that makes the next
# generation's games, and the steps behind that one.
WhoPlays = Callable[[nn.Module, int], tuple[nn.Module, int]]


class Algorithm(Callback, ABC):
    """A Lightning callback, so that it may act when a generation ends and keep a state."""

    @abstractmethod
    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        """Where its games come from.

        Args:
            self_play: makes the source in which that network plays itself.
        """

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Its part of the row in metrics.csv of the generation that just ended.

        `evaluations`: those it asked for beside self-play's.
        """
