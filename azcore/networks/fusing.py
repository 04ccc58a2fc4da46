"""Rewrites a folded network for an NVIDIA GPU: convolution, bias, skip and ReLU as one kernel.

As kernels of their own, bias, skip and ReLU each read and write all features again, which takes as
long as the convolution. cuDNN does them in its convolution. It also has faster kernels where the
number of planes is a multiple of eight, so the first convolution gets planes of zeros.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

MULTIPLE = 8  # of planes, for the matrix units
ADDITIONS = (operator.add, torch.add, operator.iadd)
RELUS = (torch.relu, F.relu, torch.relu_)


class FusedConvolution(nn.Module):
    """ReLU of a convolution, or of the sum of one and its skip: [N, C, H, W] -> [N, K, H, W].

    Args:
        convolution: with a bias, or without.
        planes: C, at least the convolution's; the weights of those beyond are zeros.
    """

    def __init__(self, convolution: nn.Conv2d, planes: int) -> None:
        super().__init__()
        missing = planes - convolution.in_channels
        weight = F.pad(convolution.weight.detach(), (0, 0, 0, 0, 0, missing))
        weight = weight.contiguous(memory_format=torch.channels_last)
        self.weight = nn.Parameter(weight, requires_grad=False)
        bias = convolution.bias
        self.bias = nn.Parameter(
            weight.new_zeros(len(weight)) if bias is None else bias.detach(), requires_grad=False
        )
        assert not isinstance(convolution.padding, str)
        self._shape = (convolution.stride, convolution.padding, convolution.dilation)
        self._groups = convolution.groups

    def forward(self, x: Tensor, skip: Tensor | None = None) -> Tensor:
        weight, bias, groups = self.weight, self.bias, self._groups
        if not x.is_cuda:
            y = F.conv2d(x, weight, bias, *self._shape, groups)
            return torch.relu(y if skip is None else y + skip)
        if skip is None:
            return torch.cudnn_convolution_relu(x, weight, bias, *self._shape, groups)
        return torch.cudnn_convolution_add_relu(x, weight, skip, 1.0, bias, *self._shape, groups)


def can_fuse() -> bool:
    """Whether this torch has cuDNN's fused kernels."""
    names = ("cudnn_convolution_relu", "cudnn_convolution_add_relu")
    return torch.version.cuda is not None and all(hasattr(torch, name) for name in names)


def fused(network: nn.Module, example: Tensor) -> tuple[nn.Module, int]:
    """A network with fused convolutions where it has that pattern, and the planes that it takes.

    Args:
        network: folded, and on observations [N, C, H, W] alone.
        example: such observations in the network's dtype and on its device.

    Returns:
        The network, or itself where torch cannot trace it; and C, or more: then planes of zeros
        must follow the C.
    """
    planes = example.shape[1]
    try:
        traced = fx.symbolic_trace(network)
        ShapeProp(traced).propagate(example)
    except Exception:  # a plugin's network may do anything
        return network, planes
    _remove_identities(traced)
    found = [match for node in traced.graph.nodes if (match := _match(traced, node))]
    first = next(node for node in traced.graph.nodes if node.op == "placeholder")
    readers = {match.convolution for match in found if match.layer.groups == 1}
    if set(first.users) <= readers:
        planes = -(-planes // MULTIPLE) * MULTIPLE
    for number, relu in enumerate([match.relu for match in found]):
        match = _match(traced, relu)  # anew: what it reads may have been replaced
        assert match is not None
        x = match.convolution.args[0]
        name = f"fused_{number}"  # a new one: the layers are the network's as well
        width = planes if x is first else match.layer.in_channels
        traced.add_submodule(name, FusedConvolution(match.layer, width))
        with traced.graph.inserting_before(relu):
            arguments = (x,) if match.skip is None else (x, match.skip)
            instead = traced.graph.call_module(name, arguments)
        instead.meta = dict(relu.meta)
        relu.replace_all_uses_with(instead)
    traced.graph.eliminate_dead_code()
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced, planes


class _Match(NamedTuple):
    """relu(convolution(x)) or relu(convolution(x) + skip)."""

    relu: fx.Node
    convolution: fx.Node
    skip: fx.Node | None
    layer: nn.Conv2d


def _match(traced: fx.GraphModule, relu: fx.Node) -> _Match | None:
    """The pattern that ends in a node; None: there is none."""
    if not _is_relu(traced, relu):
        return None
    before = relu.args[0]
    assert isinstance(before, fx.Node)
    if (layer := _only_convolution(traced, before)) is not None:
        return _Match(relu, before, None, layer)
    if before.op != "call_function" or before.target not in ADDITIONS or len(before.users) > 1:
        return None
    one, other = before.args[:2]
    for node, skip in ((one, other), (other, one)):
        if isinstance(node, fx.Node) and isinstance(skip, fx.Node) and not before.kwargs:
            layer = _only_convolution(traced, node)
            if layer is not None and node is not skip and _shape(node) == _shape(skip):
                return _Match(relu, node, skip, layer)
    return None


def _only_convolution(traced: fx.GraphModule, node: fx.Node) -> nn.Conv2d | None:
    """The convolution that a node is, if nothing else reads its result and its layer runs once."""
    if not _is(traced, node, nn.Conv2d) or len(node.users) > 1:
        return None
    layer = traced.get_submodule(str(node.target))
    assert isinstance(layer, nn.Conv2d)
    calls = [other for other in traced.graph.nodes if other.target == node.target]
    is_plain = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    return layer if is_plain and len(calls) == 1 else None


def _is_relu(traced: fx.GraphModule, node: fx.Node) -> bool:
    is_function = node.op == "call_function" and node.target in RELUS
    return is_function or _is(traced, node, nn.ReLU)


def _is(traced: fx.GraphModule, node: fx.Node, kind: type[nn.Module]) -> bool:
    return node.op == "call_module" and isinstance(traced.get_submodule(str(node.target)), kind)


def _shape(node: fx.Node) -> tuple[int, ...] | None:
    found = node.meta.get("tensor_meta")
    return None if found is None else tuple(found.shape)


def _remove_identities(traced: fx.GraphModule) -> None:
    for node in list(traced.graph.nodes):
        if _is(traced, node, nn.Identity):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
