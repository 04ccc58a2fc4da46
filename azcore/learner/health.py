"""Whether gradients still reach a network, measured on those of its last batch."""

from __future__ import annotations

import torch
from torch import nn


def gradient_norm(network: nn.Module) -> float:
    """The Euclidean norm of all gradients together; 0 before the first batch."""
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    return float(nn.utils.get_total_norm(gradients)) if gradients else 0.0


def dead_channels(network: nn.Module) -> float:
    """The share of channels behind a batch norm that no gradient reaches.

    Behind the norm a rectifier follows: where it is 0 in the whole batch, the gradients of the
    channel's scale and shift are exactly 0. Networks without batch norm have no dead channels.
    """
    dead: list[torch.Tensor] = []
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d) and module.weight.grad is not None:
            dead.append((module.weight.grad == 0) & (module.bias.grad == 0))
    return float(torch.cat(dead).float().mean()) if dead else 0.0
