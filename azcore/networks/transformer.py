"""A tower of transformer blocks, in which each cell attends to all others.

The encoder of Vaswani 2017 (arXiv:1706.03762) with the norms before attention and feed-forward
layers (Xiong 2020, arXiv:2002.04745). Policy and value heads are those of `pooled`.

Letters: N batch, C planes, K channels, H rows, W columns, T cells, A attention heads of D channels.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from azcore.game import Game
from azcore.networks.heads import Activation
from azcore.networks.pooled import ACTIVATIONS, PooledNetwork, PooledSettings
from azcore.networks.towers import input_layers
from azcore.settings import ONE_OR_MORE, require


@dataclass(frozen=True, kw_only=True)
class Transformer(PooledSettings):
    """The settings of `network=transformer`."""

    attention_heads: int  # of each block
    feed_forward: Annotated[int, ONE_OR_MORE]  # hidden units for each channel

    def __post_init__(self) -> None:
        super().__post_init__()
        heads, wanted = self.attention_heads, f"a divisor of network.channels={self.channels}"
        fits = heads >= 1 and self.channels % heads == 0
        require(fits, "network.attention_heads", wanted, heads)

    def build(self, game: Game) -> nn.Module:
        tower = nn.Sequential(
            *input_layers(game, self),
            nn.Conv2d(len(self.planes(game)), self.channels, 1),
            Encoder(game, self),
        )
        return PooledNetwork(game, self, tower)


class Encoder(nn.Module):
    """Adds a learned vector for each cell's place, then runs the blocks, on [N, K, H, W]."""

    def __init__(self, game: Game, settings: Transformer) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        channels, activation = settings.channels, ACTIVATIONS[settings.activation]
        hidden = settings.feed_forward * channels
        self.places = nn.Parameter(torch.empty(height * width, channels))
        nn.init.normal_(self.places, std=0.02)  # Devlin 2019 (arXiv:1810.04805)
        self.blocks = nn.Sequential(
            *[
                Block(channels, settings.attention_heads, hidden, activation)
                for _ in range(settings.blocks)
            ],
            Norm(channels),
        )
        self.board = nn.Unflatten(2, (height, width))

    def forward(self, x: Tensor) -> Tensor:
        # OpenVINO would copy the places if they came last.
        cells = self.places + x.flatten(2).transpose(1, 2)  # [N, T, K]
        return self.board(self.blocks(cells).transpose(1, 2))  # type: ignore[no-any-return]


class Norm(nn.LayerNorm):
    """Each cell's channels to mean 0 and variance 1; the layer that follows scales and shifts."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, elementwise_affine=False)


class Block(nn.Module):
    """Attention, then two linear layers, each added to its input, on [N, T, K]."""

    def __init__(self, channels: int, heads: int, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.attention = nn.Sequential(Norm(channels), Attention(channels, heads))
        self.feed_forward = nn.Sequential(
            Norm(channels), nn.Linear(channels, hidden), activation(), nn.Linear(hidden, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x)
        return x + self.feed_forward(x)  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Each cell gets a mean of all cells, with weights of each head's own, on [N, T, K].

    torch's `MultiheadAttention` has the same formula, but outside training it takes a path that
    supports neither export nor counting.
    """

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = nn.Unflatten(2, (3, heads, channels // heads))
        self.queries_keys_values = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.heads(self.queries_keys_values(x)).permute(2, 0, 3, 1, 4)  # [3, N, A, T, D]
        mixed = nn.functional.scaled_dot_product_attention(*parts.unbind(0))  # [N, A, T, D]
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]
