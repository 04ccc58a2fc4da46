"""The network of AlphaGo Zero: convolutional tower, policy head, value head.

Silver 2017 (Nature 24270), Methods "Neural network architecture"; Silver 2018 keeps it. The papers'
size is 256 channels and 19 or 39 residual blocks; ours is a setting.

Letters: N batch, C planes in, K channels, H rows, W columns, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from azcore.errors import SettingError
from azcore.game import FloatArray, Game
from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """Which network, and how large; the numbers are in `conf/network`."""

    name: str
    blocks: int
    channels: int
    value_hidden: int

    def __post_init__(self) -> None:
        require(self.name in NETWORKS, "network.name", f"one of {', '.join(NETWORKS)}", self.name)
        require(self.blocks >= 1, "network.blocks", "1 or more", self.blocks)
        require(self.channels >= 1, "network.channels", "1 or more", self.channels)
        require(self.value_hidden >= 1, "network.value_hidden", "1 or more", self.value_hidden)


class PlaneScale(nn.Module):
    """Divides each plane by its largest value: bytes [N, C, H, W] -> the network's own dtype.

    Args:
        maximum: float32 [C], `Game.observation_maximum`.
    """

    scale: Tensor  # [C, 1, 1]

    def __init__(self, maximum: FloatArray) -> None:
        super().__init__()
        # A fact of the game, so that it is in no checkpoint.
        self.register_buffer("scale", torch.from_numpy(1 / maximum)[:, None, None], False)

    def forward(self, observations: Tensor) -> Tensor:
        return observations.to(self.scale.dtype) * self.scale


class ConvBlock(nn.Sequential):
    """Convolution, batch norm, ReLU: [N, C, H, W] -> [N, K, H, W]."""

    def __init__(self, planes: int, channels: int, kernel: int) -> None:
        super().__init__(
            # Batch norm has the bias, a second one would do nothing.
            nn.Conv2d(planes, channels, kernel, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        )

    @property
    def convolution(self) -> nn.Conv2d:
        """The first of its parts."""
        convolution = self[0]
        assert isinstance(convolution, nn.Conv2d)
        return convolution


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with the input added before the last ReLU: [N, K, H, W] -> the same."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = ConvBlock(channels, channels, 3)
        self.second = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(self.first(x)) + x)


class PolicyHead(nn.Sequential):
    """Two planes, then a linear layer to every action: [N, K, H, W] -> logits [N, A]."""

    def __init__(self, channels: int, height: int, width: int, num_actions: int) -> None:
        super().__init__(
            ConvBlock(channels, 2, 1), nn.Flatten(), nn.Linear(2 * height * width, num_actions)
        )


class ValueHead(nn.Sequential):
    """One plane, a hidden layer, tanh: [N, K, H, W] -> [N, 1] in [-1, 1]."""

    def __init__(self, channels: int, height: int, width: int, hidden: int) -> None:
        super().__init__(
            ConvBlock(channels, 1, 1),
            nn.Flatten(),
            nn.Linear(height * width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
            nn.Tanh(),
        )


class DualResidualNetwork(nn.Module):
    """`dual_res`: one residual tower under both heads."""

    def __init__(self, game: Game, settings: NetworkSettings) -> None:
        super().__init__()
        planes, height, width = game.observation_shape
        channels = settings.channels
        self.tower = nn.Sequential(
            PlaneScale(game.observation_maximum),
            ConvBlock(planes, channels, 3),
            *[ResidualBlock(channels) for _ in range(settings.blocks)],
        )
        self.policy_head = PolicyHead(channels, height, width, game.num_actions)
        self.value_head = ValueHead(channels, height, width, settings.value_hidden)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [N, A] and values [N], view of the player to move, of bytes [N, C, H, W]."""
        features = self.tower(observations)
        return self.policy_head(features), self.value_head(features).squeeze(1)


NETWORKS: dict[str, Callable[[Game, NetworkSettings], nn.Module]] = {
    "dual_res": DualResidualNetwork,
}


def build_network(game: Game, settings: NetworkSettings, seed: int) -> nn.Module:
    """A network for a game with weights drawn from `seed` alone.

    Raises:
        SettingError: no memory for a network of that size.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            return NETWORKS[settings.name](game, settings)
        except (RuntimeError, MemoryError) as error:
            raise SettingError(
                f"network.blocks={settings.blocks} with network.channels={settings.channels} "
                f"cannot be built: {error}"
            ) from error
