"""The average of the weights over the last steps, which plays instead of the latest weights.

Training continues from the latest ones. The average is less noisy at the same learning rate.
Lightning's callback, `WeightAveraging`, does not fit: it uses the average only in validation, which
azcore does not have, and copies the whole module with everything that the module refers to.
"""

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


def decay_at(step: int, decay: float) -> float:
    """The share that the average keeps at an optimizer step: min(decay, t / (9 + t)).

    t steps came before this one. The first step keeps nothing, so the initial random weights
    never count, and early on the average spans about the last ninth of the steps.
    TensorFlow's `ExponentialMovingAverage` with `num_updates` has (1 + t) / (10 + t), the same one
    step ahead.
    """
    return min(decay, step / (9 + step))


@torch.no_grad()
def move_average(average: nn.Module, network: nn.Module, decay: float) -> None:
    """average <- decay average + (1 - decay) network, for all weights and statistics.

    The means and variances of batch norm are averaged like the weights (Lightning's default). They
    are already averages over batches, and similar for similar weights; measuring those of the
    averaged weights by a pass over the data would cost as much as training steps. Whole numbers,
    the counts of batches, are copied.

    Args:
        average: changed.
        network: a network of the same shape, after the step.
        decay: see `decay_at`.
    """
    kept, latest = average.state_dict(), network.state_dict()
    real = [name for name, tensor in kept.items() if tensor.is_floating_point()]
    move = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    move([kept[name] for name in real], [latest[name] for name in real], 0)
    for name in kept.keys() - set(real):
        kept[name].copy_(latest[name])
