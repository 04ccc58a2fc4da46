"""The residual blocks of `network=pooled_res`, in the style that its settings name.

Global pooling as in Wu 2019 (arXiv:1902.10565), section 3.3: a 3x3 convolution sees a few cells,
but a ko, a ladder or the state of the endgame depends on distant ones.

Letters: N batch, K channels, P pooled channels, H rows, W columns.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from azcore.networks.heads import Activation, ConvBlock


@dataclass(frozen=True, kw_only=True)
class Style:
    """The settings that all blocks of a tower share."""

    activation: Activation
    preactivation: bool  # batch norm and activation come before each convolution
    squeeze_excite: int  # channels for each hidden unit; 0: none


class GlobalPool(nn.Module):
    """Mean and maximum of each channel over the board: [N, P, H, W] -> [N, 2 P]."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)


class NormActivation(nn.Sequential):
    """Batch norm, activation: [N, K, H, W] -> [N, K, H, W]."""

    def __init__(self, channels: int, style: Style) -> None:
        super().__init__(nn.BatchNorm2d(channels), style.activation())


class SqueezeExcite(nn.Module):
    """Scales and shifts each channel by a function of all means: [N, K, H, W] -> [N, K, H, W].

    sigmoid(scale) x + shift, as in lc0; Hu 2018 (arXiv:1709.01507) only scales.
    """

    def __init__(self, channels: int, style: Style) -> None:
        super().__init__()
        hidden = channels // style.squeeze_excite
        self.excitation = nn.Sequential(
            nn.Linear(channels, hidden), style.activation(), nn.Linear(hidden, 2 * channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        excited: Tensor = self.excitation(x.mean((2, 3)))  # [N, 2 K]
        scale, shift = excited[:, :, None, None].chunk(2, 1)
        return torch.sigmoid(scale) * x + shift


class Residual(nn.Module, ABC):
    """Adds the output of its layers to its input: [N, K, H, W] -> [N, K, H, W].

    An activation follows the sum, as in the papers' tower; or batch norm and activation come before
    each convolution, and nothing follows the sum (He 2016, arXiv:1603.05027).
    """

    def __init__(self, channels: int, style: Style) -> None:
        super().__init__()
        before = style.preactivation
        self.before = NormActivation(channels, style) if before else nn.Identity()
        self.excite = SqueezeExcite(channels, style) if style.squeeze_excite else nn.Identity()
        self.after = nn.Identity() if before else style.activation()

    @abstractmethod
    def inside_of(self, x: Tensor) -> Tensor:
        """The layers except the first activation and the last convolution."""

    @property
    @abstractmethod
    def last(self) -> nn.Sequential:
        """The last layer, from `last_convolution`; returns [N, K, H, W] to add."""

    def all_but_last(self, x: Tensor) -> Tensor:
        return self.inside_of(self.before(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.excite(self.last(self.all_but_last(x))) + x)  # type: ignore[no-any-return]


def opening(planes: int, channels: int, kernel: int, style: Style) -> nn.Module:
    """The convolution before a row of blocks, [N, planes, H, W] -> [N, K, H, W]."""
    if not style.preactivation:
        return ConvBlock(planes, channels, kernel, style.activation)
    return nn.Conv2d(planes, channels, kernel, padding=kernel // 2, bias=False)


def ending(channels: int, style: Style) -> nn.Module:
    """The end of a row of blocks: the norm and activation that a next block would begin with."""
    return NormActivation(channels, style) if style.preactivation else nn.Identity()


def last_convolution(planes: int, channels: int, kernel: int, style: Style) -> nn.Sequential:
    """The convolution before a sum: [N, planes, H, W] -> [N, K, H, W]."""
    layers = nn.Sequential(nn.Conv2d(planes, channels, kernel, padding=kernel // 2, bias=False))
    return layers if style.preactivation else layers.append(nn.BatchNorm2d(channels))


class PlainBlock(Residual):
    """Two 3x3 convolutions."""

    def __init__(self, channels: int, style: Style) -> None:
        super().__init__(channels, style)
        self.first = ConvBlock(channels, channels, 3, style.activation)
        self.second = last_convolution(channels, channels, 3, style)

    def inside_of(self, x: Tensor) -> Tensor:
        return self.first(x)  # type: ignore[no-any-return]

    @property
    def last(self) -> nn.Sequential:
        return self.second


class PooledBlock(Residual):
    """Two 3x3 convolutions, the first of which adds information from the whole board.

    A quarter of the first layer's channels are pooled; a linear layer turns them into a bias for
    each of the others.
    """

    def __init__(self, channels: int, style: Style) -> None:
        super().__init__(channels, style)
        pooled = max(1, channels // 4)
        kept = channels - pooled
        self.local = nn.Sequential(
            nn.Conv2d(channels, kept, 3, padding=1, bias=False), nn.BatchNorm2d(kept)
        )
        self.everywhere = nn.Sequential(
            ConvBlock(channels, pooled, 3, style.activation),
            GlobalPool(),
            nn.Linear(2 * pooled, kept),
        )
        self.activation = style.activation()
        self.second = last_convolution(kept, channels, 3, style)

    def inside_of(self, x: Tensor) -> Tensor:
        return self.activation(self.local(x) + self.everywhere(x)[:, :, None, None])  # type: ignore[no-any-return]

    @property
    def last(self) -> nn.Sequential:
        return self.second


class NestedBlock(Residual):
    """A 1x1 convolution to half the channels, residual blocks of those, and one back (KataGo).

    Args:
        channels: K, in and out.
        inner: number of blocks inside.
        is_pooled: whether the first of them is a `PooledBlock`.
        style: the style of all; without `SqueezeExcite` inside.
    """

    def __init__(self, channels: int, inner: int, is_pooled: bool, style: Style) -> None:
        super().__init__(channels, style)
        half, within = channels // 2, replace(style, squeeze_excite=0)
        self.inside = nn.Sequential(
            opening(channels, half, 1, style),
            *[
                (PooledBlock if is_pooled and i == 0 else PlainBlock)(half, within)
                for i in range(inner)
            ],
            ending(half, style),
            last_convolution(half, channels, 1, style),
        )

    def inside_of(self, x: Tensor) -> Tensor:
        for layer in list(self.inside)[:-1]:
            x = layer(x)
        return x

    @property
    def last(self) -> nn.Sequential:
        last = self.inside[-1]
        assert isinstance(last, nn.Sequential)
        return last
