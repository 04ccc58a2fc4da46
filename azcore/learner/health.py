"""Whether a network still learns: gradients of its last batch, and values of new games."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from azcore.storage.game_record import GameRecord


def gradient_norm(network: nn.Module) -> float:
    """The Euclidean norm of all gradients together; 0 before the first batch."""
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    return float(nn.utils.get_total_norm(gradients)) if gradients else 0.0


def dead_channels(network: nn.Module) -> float:
    """The share of channels behind a batch norm without any gradient.

    A rectifier follows the norm: if it is 0 in the whole batch, the gradients of the channel's
    scale and shift are exactly 0. Networks without batch norm have no dead channels.
    """
    dead: list[torch.Tensor] = []
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d) and module.weight.grad is not None:
            dead.append((module.weight.grad == 0) & (module.bias.grad == 0))
    return float(torch.cat(dead).float().mean()) if dead else 0.0


def explained_variance(games: Sequence[GameRecord]) -> float | None:
    """The share of the outcomes' variance that search values explain, in games not yet learned.

    1 - Var(z - v) / Var(z) over all searched positions, z the outcome and v the root's value, both
    in the view of the player to move: 1 at best, 0 without any explanation. A constant error of
    v, such as the optimism of Gumbel's search, does not count, and neither do proofs.

    Returns:
        None if no position was searched, or all outcomes are equal.
    """
    outcomes, values = [np.zeros(0)], [np.zeros(0)]
    for game in games:
        learned = game.learned & ~game.proven
        outcomes.append(game.outcomes[learned].astype(np.float64))
        values.append(game.root_values[learned].astype(np.float64))
    z, v = np.concatenate(outcomes), np.concatenate(values)
    if not len(z) or not z.var() or not v.any():
        return None
    return float(1 - (z - v).var() / z.var())
