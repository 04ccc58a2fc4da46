"""What a network of one's own states: its settings, and the module that they come to.

A package offers a network by an entry point of group `azcore.networks`: a name, and a subclass of
`NetworkSettings`. azcore's own are found the same way. docs/new-network.md tells how to write one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import nn

from azcore.game import Game
from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(ABC):
    """Which network, and how large; the numbers are in `conf/network`.

    The three sizes belong to every network, since scales and a game's presets state them. What a
    block is, the network says. A subclass adds fields of its own (`azcore.settings.build` says of
    which types) and refuses in `__post_init__` what cannot be.
    """

    name: str  # of the entry point
    blocks: int  # depth, 1 or more
    channels: int  # width, 1 or more
    value_hidden: int  # width of the value head's hidden layer, 1 or more

    def __post_init__(self) -> None:
        for size in ("blocks", "channels", "value_hidden"):
            require(getattr(self, size) >= 1, f"network.{size}", "1 or more", getattr(self, size))

    @abstractmethod
    def build(self, game: Game) -> nn.Module:
        """The network with new weights, drawn from torch's generator.

        Args:
            game: gives `observation_shape` (C, H, W), `observation_maximum` [C], by which to divide
                the planes (`azcore.networks.towers.PlaneScale`), and `num_actions` A.

        Returns:
            A module that takes observations [N, C, H, W], whole numbers from 0 to 255 in any dtype,
            and gives policy logits [N, A] and values [N] in [-1, 1], as the player to move sees
            them. Row i depends on observation i alone when it is not training.

        Raises:
            SettingError: the network cannot play this game.
        """

    def __str__(self) -> str:
        return f"{self.name} {self.blocks}x{self.channels}"
