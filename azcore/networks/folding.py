"""Networks for inference: folds scaling layers into the convolutions."""

from __future__ import annotations

import copy
from itertools import pairwise

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from azcore.networks.contract import AuxiliaryNetwork
from azcore.networks.heads import ConvBlock
from azcore.networks.towers import PlaneScale


def folded(module: nn.Module) -> nn.Module:
    """A copy for inference with all scaling layers folded into the convolutions.

    These are the batch norm after each convolution, and the scale of the planes before the first.
    Heads for auxiliary targets are left out.
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
    return module
