"""A residual tower whose blocks weight their channels by averages over the whole board.

Hu, Shen and Sun 2018, "Squeeze-and-Excitation Networks", figure 3.
Letters: N batch, K channels, H rows, W columns, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from azcore.game import Game
from azcore.networks import NetworkSettings
from azcore.networks.heads import LinearPolicyHead, ValueHead
from azcore.networks.towers import PlaneScale
from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class SqueezeExcitation(NetworkSettings):
    """The settings of `network=se_res`."""

    reduction: int  # channels for each hidden unit of a block's excitation

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = f"1 to network.channels={self.channels}"
        fits = 1 <= self.reduction <= self.channels
        require(fits, "network.reduction", wanted, self.reduction)

    def build(self, game: Game) -> nn.Module:
        return Network(game, self)


class Block(nn.Module):
    """A residual block: [N, K, H, W] to the same shape."""

    def __init__(self, channels: int, reduction: int) -> None:
        super().__init__()
        hidden = channels // reduction
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.excitation = nn.Sequential(
            nn.Linear(channels, hidden), nn.ReLU(), nn.Linear(hidden, channels), nn.Sigmoid()
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.convolutions(x)
        weights = self.excitation(y.mean((2, 3)))  # [N, K]
        return torch.relu(x + y * weights[:, :, None, None])


class Network(nn.Module):
    """Observations [N, C, H, W] to policy logits [N, A] and values [N]."""

    def __init__(self, game: Game, settings: SqueezeExcitation) -> None:
        super().__init__()
        planes, height, width = game.observation_shape
        channels = settings.channels
        self.tower = nn.Sequential(
            PlaneScale(game.observation_maximum),
            nn.Conv2d(planes, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            *[Block(channels, settings.reduction) for _ in range(settings.blocks)],
        )
        self.policy_head = LinearPolicyHead(channels, height, width, game.num_actions)
        self.value_head = ValueHead(channels, height, width, settings.value_hidden)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        features = self.tower(observations)
        return self.policy_head(features), self.value_head(features).squeeze(1)
