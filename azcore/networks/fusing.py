"""Rewrites a folded network for an NVIDIA GPU: convolution, bias, skip and ReLU as one kernel.

As kernels of their own, bias, skip and ReLU each read and write all features again, which takes as
long as the convolution. cuDNN does them in its convolution. It also has faster kernels where the
number of planes is a multiple of eight, so the first convolution gets planes of zeros.
"""

from __future__ import annotations

import copy
from typing import TypeGuard

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from azcore.networks.blocks import Residual
from azcore.networks.heads import ConvBlock
from azcore.networks.towers import ResidualBlock

MULTIPLE = 8  # of planes, for the matrix units
CLOSE = 0.05  # of the largest number: rounding in bfloat16, through tens of layers


class FusedConvolution(nn.Module):
    """ReLU of a convolution, or of the sum of one and its skip: [N, C, H, W] -> [N, K, H, W].

    Planes beyond the convolution's, up to a multiple of `MULTIPLE`, may follow and do not count.
    """

    def __init__(self, convolution: nn.Conv2d) -> None:
        super().__init__()
        missing = -convolution.in_channels % MULTIPLE
        weight = F.pad(convolution.weight.detach(), (0, 0, 0, 0, 0, missing))
        bias = convolution.bias
        assert bias is not None
        assert not isinstance(convolution.padding, str)
        self.weight = nn.Parameter(weight.contiguous(memory_format=torch.channels_last), False)
        self.bias = nn.Parameter(bias.detach(), requires_grad=False)
        self._shape = (convolution.stride, convolution.padding, convolution.dilation)

    def forward(self, x: Tensor, skip: Tensor | None = None) -> Tensor:
        missing = self.weight.shape[1] - x.shape[1]
        if missing:
            x = F.pad(x, (0, 0, 0, 0, 0, missing))
        weight, bias = self.weight, self.bias
        if not x.is_cuda:
            y = F.conv2d(x, weight, bias, *self._shape)
            return torch.relu(y if skip is None else y + skip)
        if skip is None:
            return torch.cudnn_convolution_relu(x, weight, bias, *self._shape, 1)
        return torch.cudnn_convolution_add_relu(x, weight, skip, 1.0, bias, *self._shape, 1)


class FusedResidual(nn.Module):
    """A residual block that ends in a ReLU, whose last convolution adds the skip."""

    def __init__(self, layers: nn.Module, last: nn.Conv2d) -> None:
        super().__init__()
        self.layers, self.last = layers, FusedConvolution(last)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layers(x), x)  # type: ignore[no-any-return]


class _AllButLast(nn.Module):
    """The layers of a residual block but for its last convolution."""

    def __init__(self, block: Residual) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return self.block.all_but_last(x)


def can_fuse() -> bool:
    """Whether this torch has cuDNN's fused kernels."""
    names = ("cudnn_convolution_relu", "cudnn_convolution_add_relu")
    return torch.version.cuda is not None and all(hasattr(torch, name) for name in names)


def fused(network: nn.Module) -> nn.Module:
    """A copy of a folded network with fused convolutions, in whichever blocks allow them."""
    return _fused(copy.deepcopy(network))


def _fused(module: nn.Module) -> nn.Module:
    for name, child in list(module.named_children()):
        setattr(module, name, _fused(child))
    if isinstance(module, ConvBlock):
        convolution, *rest = module
        if _fits(convolution) and _is_relu_alone(rest):
            return FusedConvolution(convolution)
    if isinstance(module, ResidualBlock):
        convolution, *rest = module.second
        if _fits(convolution) and _is_relu_alone([*rest, nn.ReLU()]):
            return FusedResidual(module.first, convolution)
    if isinstance(module, Residual):
        convolution, *rest = module.last
        if _fits(convolution) and _is_relu_alone([*rest, module.excite, module.after]):
            return FusedResidual(_AllButLast(module), convolution)
    return module


def _fits(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    """Whether it is a convolution that cuDNN can fuse; folding has given it a bias."""
    return (
        isinstance(layer, nn.Conv2d)
        and layer.bias is not None
        and layer.groups == 1
        and layer.padding_mode == "zeros"
        and not isinstance(layer.padding, str)
    )


def _is_relu_alone(layers: list[nn.Module]) -> bool:
    *others, last = layers
    return isinstance(last, nn.ReLU) and all(isinstance(layer, nn.Identity) for layer in others)


def planes_taken(network: nn.Module, instead: nn.Module, observations: Tensor) -> int | None:
    """C, or the multiple of `MULTIPLE` above it where planes of zeros may follow them.

    Args:
        network: folded, of observations [N, C, H, W] alone.
        instead: what `fused` made of it.
        observations: some, in the network's dtype and on its device.

    Returns:
        None: it does not compute what the network does, or not on this device.
    """
    planes = observations.shape[1]
    expected = network(observations)
    for missing in sorted({-planes % MULTIPLE, 0}, reverse=True):
        padded = F.pad(observations, (0, 0, 0, 0, 0, missing))
        try:
            results = instead(padded.contiguous(memory_format=torch.channels_last))
        except torch.OutOfMemoryError:
            raise
        except Exception:  # a kernel that this card does not have, or a plugin's layer
            continue
        if all(map(_is_close, results, expected)):
            return planes + missing
    return None


def _is_close(one: Tensor, other: Tensor) -> bool:
    room = CLOSE * max(1.0, float(other.abs().max()))
    return one.shape == other.shape and bool(((one - other).abs() <= room).all())
