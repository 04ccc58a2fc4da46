"""What sets one paper's loop apart from another's: who plays the games that are learned from."""

from __future__ import annotations

from abc import ABC, abstractmethod

from lightning.pytorch import Callback
from torch import nn


class Algorithm(Callback, ABC):
    """A Lightning callback, so that it may act when a generation ends and keep a state."""

    @abstractmethod
    def who_plays(self, network: nn.Module, step: int) -> tuple[nn.Module, int]:
        """The network that makes the next generation's games, and the optimizer steps behind it.

        Args:
            network: in training, with its latest weights.
            step: optimizer steps behind those.
        """

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Its part of the row in metrics.csv of the generation that just ended.

        `evaluations`: those it asked for beside self-play's.
        """
