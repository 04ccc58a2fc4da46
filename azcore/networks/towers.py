"""The networks of both papers: one tower of convolutions for two heads, or a tower for each head.

Silver 2017 (Nature 24270), Methods "Neural network architecture" and figure 4, which compares the
four; Silver 2018 keeps `dual_res`. The papers' size is 256 channels and 19 or 39 residual blocks
after the first convolution; ours is a setting.

Letters: N batch, C planes in, K channels, H rows, W columns, A actions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from azcore.errors import SettingError
from azcore.game import FloatArray, Game
from azcore.networks.contract import NetworkSettings
from azcore.networks.heads import ConvBlock, ConvolutionalPolicyHead, LinearPolicyHead, ValueHead
from azcore.settings import ONE_OR_MORE, one_of, or_null, require

POLICY_HEADS = ("auto", "linear", "convolutional")


@dataclass(frozen=True, kw_only=True)
class SettingsWithHistory(NetworkSettings):
    """The settings of networks that begin with `input_layers`."""

    # latest positions that it sees, the present one included; None: all that the game shows
    history: Annotated[int | None, or_null(ONE_OR_MORE)] = None

    def planes(self, game: Game) -> list[int]:
        """The planes of the observation that the network sees.

        Raises:
            SettingError: the game shows fewer positions.
        """
        ages, history = game.plane_ages, self.history
        most = max(ages) + 1
        wanted = f"1 to {most}, the positions that {game.name} shows, or null"
        require(history is None or history <= most, "network.history", wanted, history)
        return [plane for plane, age in enumerate(ages) if history is None or age < history]

    def __str__(self) -> str:
        return super().__str__() + (f", history {self.history}" if self.history else "")


def input_layers(game: Game, settings: SettingsWithHistory) -> list[nn.Module]:
    """The layers before the first convolution, from bytes [N, C, H, W] to `settings.planes`."""
    planes = settings.planes(game)
    chosen = [] if len(planes) == game.observation_shape[0] else [PlaneChoice(planes)]
    return [*chosen, PlaneScale(game.observation_maximum[planes])]


class PlaneChoice(nn.Module):
    """Keeps some planes: [N, C, H, W] -> [N, `len(planes)`, H, W]."""

    planes: Tensor

    def __init__(self, planes: list[int]) -> None:
        super().__init__()
        self.register_buffer("planes", torch.tensor(planes), False)  # a setting: not saved, either

    def forward(self, observations: Tensor) -> Tensor:
        return observations.index_select(1, self.planes)


@dataclass(frozen=True, kw_only=True)
class TowerSettings(SettingsWithHistory):
    """The settings that the papers' four networks share; each defines its block."""

    policy_head: Annotated[str, one_of(POLICY_HEADS)]


class PlaneScale(nn.Module):
    """Divides planes [N, C, H, W], bytes, by `Game.observation_maximum`, in the network's dtype."""

    scale: Tensor  # [C, 1, 1]

    def __init__(self, maximum: FloatArray) -> None:
        super().__init__()
        # A fact of the game, so not saved in checkpoints.
        self.register_buffer("scale", torch.from_numpy(1 / maximum)[:, None, None], False)

    def forward(self, observations: Tensor) -> Tensor:
        return observations.to(self.scale.dtype) * self.scale


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with the input added before the last ReLU, on [N, K, H, W]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = ConvBlock(channels, channels, 3)
        self.second = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(self.first(x)) + x)


Block = Callable[[int], nn.Module]  # channels -> module from [N, K, H, W] to [N, K, H, W]


def convolutional_block(channels: int) -> nn.Module:
    """The block of a tower without skip connections."""
    return ConvBlock(channels, channels, 3)


def tower(game: Game, settings: TowerSettings, block: Block) -> nn.Module:
    """Observations [N, C, H, W] to features [N, K, H, W]: a first convolution, then the blocks."""
    return nn.Sequential(
        *input_layers(game, settings),
        ConvBlock(len(settings.planes(game)), settings.channels, 3),
        *[block(settings.channels) for _ in range(settings.blocks)],
    )


def policy_head(game: Game, settings: TowerSettings) -> nn.Module:
    """The head that the settings name; `auto`: convolutional if the game's actions are planes.

    Raises:
        SettingError: a convolutional head for a game whose actions are not planes.
    """
    _, height, width = game.observation_shape
    planes = game.action_planes or 0
    is_planes = planes * height * width == game.num_actions  # without other actions
    if settings.policy_head == "linear" or (settings.policy_head == "auto" and not is_planes):
        return LinearPolicyHead(settings.channels, height, width, game.num_actions)
    if not is_planes:
        raise SettingError(
            f"network.policy_head must be linear or auto for {game.name}, whose actions are not "
            f"numbered plane by plane, got {settings.policy_head!r}"
        )
    return ConvolutionalPolicyHead(settings.channels, planes)


class DualNetwork(nn.Module):
    """One tower for both heads."""

    def __init__(self, block: Block, game: Game, settings: TowerSettings) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        self.tower = tower(game, settings, block)
        self.policy_head = policy_head(game, settings)
        self.value_head = ValueHead(settings.channels, height, width, settings.value_hidden)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [N, A] and values [N], view of the player to move, of bytes [N, C, H, W]."""
        features = self.tower(observations)
        return self.policy_head(features), self.value_head(features).squeeze(1)


class SeparateNetwork(nn.Module):
    """A separate tower for each head."""

    def __init__(self, block: Block, game: Game, settings: TowerSettings) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        self.policy_tower = tower(game, settings, block)
        self.policy_head = policy_head(game, settings)
        self.value_tower = tower(game, settings, block)
        self.value_head = ValueHead(settings.channels, height, width, settings.value_hidden)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [N, A] and values [N], view of the player to move, of bytes [N, C, H, W]."""
        policy_logits = self.policy_head(self.policy_tower(observations))
        return policy_logits, self.value_head(self.value_tower(observations)).squeeze(1)


class DualRes(TowerSettings):
    """One residual tower for both heads."""

    def build(self, game: Game) -> nn.Module:
        return DualNetwork(ResidualBlock, game, self)


class SepRes(TowerSettings):
    """A residual tower for each head."""

    def build(self, game: Game) -> nn.Module:
        return SeparateNetwork(ResidualBlock, game, self)


class DualConv(TowerSettings):
    """One tower without skip connections for both heads."""

    def build(self, game: Game) -> nn.Module:
        return DualNetwork(convolutional_block, game, self)


class SepConv(TowerSettings):
    """A tower without skip connections for each head."""

    def build(self, game: Game) -> nn.Module:
        return SeparateNetwork(convolutional_block, game, self)
