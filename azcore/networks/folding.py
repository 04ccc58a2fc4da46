"""Networks for inference: folds scaling layers into the convolutions."""

import copy
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from azcore.networks.contract import AuxiliaryNetwork
from azcore.networks.heads import ConvBlock
from azcore.networks.towers import PlaneScale


def folded(module: nn.Module) -> nn.Module:
    """A copy for inference with all scaling layers folded into the convolutions.

    These are the batch norm after each convolution, and the scale of the planes before the first. A
    batch norm that does not follow a convolution becomes a `ChannelScale`. The copy lacks the heads
    for auxiliary targets.
    """
    module = copy.deepcopy(module).eval()
    if isinstance(module, AuxiliaryNetwork):
        module.for_play()
    for parent in list(module.modules()):
        children = list(parent.named_children())
        for (name, one), (next_name, following) in pairwise(children):
            if isinstance(one, nn.Conv2d) and isinstance(following, nn.BatchNorm2d):
                setattr(parent, name, fuse_conv_bn_eval(one, following))
                setattr(parent, next_name, nn.Identity())
            first = following.convolution if isinstance(following, ConvBlock) else following
            if isinstance(one, PlaneScale) and isinstance(first, nn.Conv2d) and first.groups == 1:
                first.weight.data *= one.scale
                setattr(parent, name, nn.Identity())
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.BatchNorm2d) and child.running_mean is not None:
                setattr(parent, name, ChannelScale(child))
    return module


class ChannelScale(nn.Module):
    """A batch norm outside training: scales and shifts each channel of [N, K, H, W]."""

    def __init__(self, norm: nn.BatchNorm2d) -> None:
        super().__init__()
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = torch.rsqrt(norm.running_var + norm.eps)
        if norm.weight is not None:
            scale = scale * norm.weight.detach()
        shift = -norm.running_mean * scale
        if norm.bias is not None:
            shift = shift + norm.bias.detach()
        self.scale = nn.Parameter(scale[:, None, None])  # [K, 1, 1]
        self.shift = nn.Parameter(shift[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        return self.shift + self.scale * x  # OpenVINO would copy the shift if it came last
