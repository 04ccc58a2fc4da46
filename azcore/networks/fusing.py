"""Rewrites a folded network for an NVIDIA GPU: convolution, bias, skip and ReLU as one kernel.

As separate kernels, bias, skip and ReLU each read and write all features again, which takes as long
as the convolution. cuDNN includes them in its convolution. It also has faster kernels if the number
of planes is a multiple of eight, so the first convolution gets additional planes of zeros.
"""

import copy
from collections.abc import Sequence
from typing import TypeGuard

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from azcore.networks.blocks import GlobalPool, PooledBlock, Residual
from azcore.networks.heads import ConvBlock
from azcore.networks.pooled import PooledNetwork, PooledPolicyHead, values_of
from azcore.networks.towers import ResidualBlock

MULTIPLE = 8  # of planes, for the matrix units
CLOSE = 0.05  # of the largest number: rounding in bfloat16, through tens of layers


class FusedConvolution(nn.Module):
    """ReLU of a convolution, or of the sum of one and its skip: [N, C, H, W] -> [N, K, H, W].

    Planes beyond the convolution's, up to a multiple of `MULTIPLE`, may follow and are ignored.

    Args:
        planes: C, if more follow.
    """

    def __init__(self, convolution: nn.Conv2d, planes: int = 0) -> None:
        super().__init__()
        planes = max(planes, convolution.in_channels)
        missing = planes + -planes % MULTIPLE - convolution.in_channels
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

    def __init__(self, layers: nn.Module, last: nn.Conv2d, planes: int = 0) -> None:
        super().__init__()
        self.layers, self.last = layers, FusedConvolution(last, planes)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layers(x), x)  # type: ignore[no-any-return]


class _AllButLast(nn.Module):
    """The layers of a residual block without its last convolution."""

    def __init__(self, block: Residual) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return self.block.all_but_last(x)


class FusedPooling(nn.Module):
    """A `PooledBlock` without its last convolution, with its two convolutions as one.

    The pooled channels stay after the others in the result, which saves a copy, without effect: the
    last convolution has weights of zero for them.
    """

    def __init__(self, block: PooledBlock) -> None:
        super().__init__()
        local, pooled = _first_convolution(block.local), _first_convolution(block.everywhere[0])
        self.kept, self.padding = local.out_channels, local.padding
        self.weight = _joined([local, pooled])
        self.pooled_bias = _constant(_bias(pooled)[:, None, None])
        self.pool = GlobalPool()
        self.to_bias = copy.deepcopy(block.everywhere[2])
        assert isinstance(self.to_bias, nn.Linear)
        more = pooled.out_channels
        self.to_bias.weight = _constant(F.pad(self.to_bias.weight, (0, 0, 0, more)))
        self.to_bias.bias = _constant(F.pad(self.to_bias.bias + _bias(local), (0, more)))

    def forward(self, x: Tensor) -> Tensor:
        y = F.conv2d(x, self.weight, padding=self.padding)
        pooled = self.pool(torch.relu(y[:, self.kept :] + self.pooled_bias))
        return torch.relu_(y + self.to_bias(pooled)[:, :, None, None])


class FusedPooledNetwork(nn.Module):
    """A `PooledNetwork` whose heads share their first convolution and the layer after pooling.

    Args:
        network: a network with a `PooledPolicyHead`, in which h channels enter each head.
    """

    def __init__(self, network: PooledNetwork) -> None:
        super().__init__()
        head = network.policy_head
        assert isinstance(head, PooledPolicyHead)
        local = _first_convolution(head.local)
        pooled = [_first_convolution(head.pooled[0]), _first_convolution(network.value_features)]
        h = self.channels = local.out_channels
        self.tower = network.tower
        self.weight = _joined([local, *pooled])
        self.pooled_bias = _constant(torch.cat([_bias(one) for one in pooled])[:, None, None])
        self.pool = GlobalPool()
        # It pools h means of the policy head, h of the value head, then as many maxima.
        policy, value = [0, 2], [1, 3]
        layers = [(head.bias, policy), *((other, policy) for other in head.others.values())]
        layers.append((network.value_hidden[1], value))
        weights, biases = [], []
        for layer, places in layers:
            assert isinstance(layer, nn.Linear)
            weight = layer.weight.new_zeros((layer.out_features, 4, h))
            weight[:, places] = layer.weight.detach().view(-1, 2, h)
            weights.append(weight.flatten(1))
            biases.append(layer.bias.detach())
        biases[0] = biases[0] + _bias(local)
        self.sizes = [len(bias) for bias in biases]
        self.pooled_weight = _constant(torch.cat(weights))
        self.biases = _constant(torch.cat(biases))
        self.cells, self.value = head.cells["policy"], network.value
        self.is_wdl = network.is_wdl

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        y = F.conv2d(self.tower(observations), self.weight)
        pooled = self.pool(torch.relu(y[:, self.channels :] + self.pooled_bias))
        parts = torch.split(F.linear(pooled, self.pooled_weight, self.biases), self.sizes, 1)
        bias, *others, hidden = parts
        cells = self.cells(torch.relu(y[:, : self.channels] + bias[:, :, None, None]))
        values = values_of(self.value(torch.relu(hidden)), self.is_wdl)
        return torch.cat([cells, *others], 1), values


def _first_convolution(layers: nn.Module) -> nn.Conv2d:
    """The convolution that layers begin with."""
    assert isinstance(layers, nn.Sequential)
    convolution = layers[0]
    assert isinstance(convolution, nn.Conv2d)
    return convolution


def _joined(convolutions: Sequence[nn.Conv2d]) -> nn.Parameter:
    """The weights of one convolution in place of several."""
    weight = torch.cat([convolution.weight.detach() for convolution in convolutions])
    return _constant(weight.contiguous(memory_format=torch.channels_last))


def _bias(layer: nn.Conv2d) -> Tensor:
    assert layer.bias is not None  # from folding
    return layer.bias.detach()


def _constant(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values.detach(), requires_grad=False)


def can_fuse() -> bool:
    """Whether this torch has cuDNN's fused kernels."""
    names = ("cudnn_convolution_relu", "cudnn_convolution_add_relu")
    return torch.version.cuda is not None and all(hasattr(torch, name) for name in names)


def fused(network: nn.Module) -> nn.Module:
    """A copy of a folded network with fused convolutions in the blocks that allow them."""
    return _fused(copy.deepcopy(network))


def _fused(module: nn.Module) -> nn.Module:
    if type(module) is PooledBlock and _is_pooling_alone(module):
        last = _first_convolution(module.last)
        return FusedResidual(FusedPooling(module), last, last.out_channels)
    if type(module) is PooledNetwork and _has_plain_heads(module):
        network = FusedPooledNetwork(module)
        network.tower = _fused(network.tower)
        return network
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


def _is_pooling_alone(block: PooledBlock) -> bool:
    """Whether `FusedPooling` and a fused convolution can compute a block."""
    return (
        _is_relu_alone([block.before, block.activation])
        and _is_relu_alone([block.excite, block.after])
        and _begins_alone(block.everywhere[0], has_relu=True)
        and all(_begins_alone(layers, has_relu=False) for layers in (block.local, block.last))
    )


def _has_plain_heads(network: PooledNetwork) -> bool:
    """Whether `FusedPooledNetwork` can compute a network's heads."""
    head = network.policy_head
    return (
        isinstance(head, PooledPolicyHead)
        and _is_relu_alone([head.activation])
        and _is_relu_alone([network.value_hidden[2]])
        and _begins_alone(head.local, has_relu=False)
        and _begins_alone(head.pooled[0], has_relu=True)
        and _begins_alone(network.value_features, has_relu=True)
    )


def _begins_alone(layers: nn.Module, has_relu: bool) -> bool:
    """Whether layers are just a fusible convolution, perhaps with a ReLU after it."""
    convolution, *rest = layers.children()
    return _fits(convolution) and _is_relu_alone(rest if has_relu else [*rest, nn.ReLU()])


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
    """C, or the next multiple of `MULTIPLE` if planes of zeros may follow.

    Args:
        network: folded, of observations [N, C, H, W] alone.
        instead: the result of `fused`.
        observations: some, in the network's dtype and on its device.

    Returns:
        None: it computes other results than the network, or fails on this device.
    """
    planes = observations.shape[1]
    expected = network(observations)
    for missing in sorted({-planes % MULTIPLE, 0}, reverse=True):
        padded = F.pad(observations, (0, 0, 0, 0, 0, missing))
        try:
            results = instead(padded.contiguous(memory_format=torch.channels_last))
        except torch.OutOfMemoryError:
            raise
        except Exception:  # a kernel that this card lacks, or a plugin's layer
            continue
        if all(map(_is_close, results, expected)):
            return planes + missing
    return None


def _is_close(one: Tensor, other: Tensor) -> bool:
    room = CLOSE * max(1.0, float(other.abs().max()))
    return one.shape == other.shape and bool(((one - other).abs() <= room).all())
