"""The contract of a network: its settings, and the module that they build.

A package registers a network by an entry point of group `azcore.networks`: a name, and a subclass
of `NetworkSettings`. azcore finds its own the same way. docs/new-network.md explains how to write
one.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from torch import Tensor, nn

from azcore.game import Game
from azcore.settings import ONE_OR_MORE, Checked


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(Checked, ABC, group="network"):
    """The name and size of a network; the numbers are in `conf/network`.

    Every network has the three sizes, since scales and a game's presets set them. Each network
    defines what a block is. A subclass adds its own fields (`azcore.settings.build` lists the
    types), states their ranges as these do, and refuses other values in `__post_init__`.
    """

    name: str  # of the entry point
    blocks: Annotated[int, ONE_OR_MORE]  # depth
    channels: Annotated[int, ONE_OR_MORE]  # width
    value_hidden: Annotated[int, ONE_OR_MORE]  # width of the value head's hidden layer

    @property
    def targets(self) -> tuple[str, ...]:
        """The auxiliary targets that the network predicts if a game states them.

        Some of `azcore.storage.targets.TARGETS`. Then `build` returns an `AuxiliaryNetwork`.
        """
        return ()

    @abstractmethod
    def build(self, game: Game) -> nn.Module:
        """The network with new weights, drawn from torch's generator.

        Args:
            game: has `observation_shape` (C, H, W), `observation_maximum` [C], by which to divide
                the planes (`azcore.networks.towers.PlaneScale`), and `num_actions` A.

        Returns:
            A module that takes observations [N, C, H, W], whole numbers from 0 to 255 in any dtype,
            and returns policy logits [N, A] and values [N] in [-1, 1], view of the player to move.
            Outside training, row i depends only on observation i.

        Raises:
            SettingError: the network cannot play this game.
        """

    def __str__(self) -> str:
        return f"{self.name} {self.blocks}x{self.channels}"


class AuxiliaryNetwork(nn.Module, ABC):
    """A network that predicts more than policy and value, for learning and analysis."""

    @abstractmethod
    def outputs(self, observations: Tensor) -> dict[str, Tensor]:
        """Everything that the network predicts, in the view of the player to move.

        Args:
            observations: as for `forward`.

        Returns:
            policy_logits [N, A]; values [N]; for a value of win, draw and loss also wdl_logits
            [N, 3]; and by name the targets: ownership [N, H, W] in [-1, 1], score [N] as a share of
            the game's `score_maximum`, material [N] as `Game.material`, logits [N, A] of reply and
            soft_policy, later_values [N, 3], plies_left [N].
        """

    @abstractmethod
    def for_play(self) -> None:
        """Remove everything that `forward` does not use, so that a copy for search is as cheap."""
