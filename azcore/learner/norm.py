"""Batch norm over the rows of all ranks, on any device.

torch's `SyncBatchNorm` runs only on GPUs and is not a `BatchNorm2d`, the class that copies of a
network for search look for. This class is a `BatchNorm2d`: its weights have the same names, and
outside training it acts as one.

Letters: N rows of this rank, C channels, W ranks.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class SynchronisedNorm(nn.BatchNorm2d):
    """Batch norm that in training uses means and variances over the rows of all ranks.

    All ranks have equally many rows.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training and dist.is_initialized() and dist.get_world_size() > 1):
            return super().forward(x)
        scaled: Tensor = self._over_ranks(x)
        return scaled

    # In bfloat16, torch.compile (torch 2.13) turns the collectives into code with NaN gradients.
    @torch.compiler.disable
    def _over_ranks(self, x: Tensor) -> Tensor:
        mean, variance, count = _moments(x)
        if self.running_mean is not None and self.running_var is not None:
            assert self.num_batches_tracked is not None
            self.num_batches_tracked.add_(1)
            share = self.momentum
            if share is None:  # all batches count equally
                share = 1.0 / float(self.num_batches_tracked)
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(variance * (count / (count - 1)), share)
        scaled: Tensor = _Normalised.apply(  # type: ignore[no-untyped-call]
            x, self.weight, self.bias, mean, variance, self.eps
        )
        return scaled


def _moments(x: Tensor) -> tuple[Tensor, Tensor, int]:
    """Mean and biased variance of each channel over all ranks, both [C]; and the number of values.

    It combines squared deviations from each rank's own mean (Chan 1979), which loses no digits if
    the mean is large.
    """
    variance, mean = torch.var_mean(x.detach().float(), _all_but_channels(x), correction=0)
    own = torch.stack([mean, variance])
    ranks = dist.get_world_size()
    found = own.new_empty(ranks, *own.shape)
    dist.all_gather(list(found.unbind()), own)
    means, variances = found.unbind(1)  # [W, C]
    mean = means.mean(0)
    return mean, variances.mean(0) + (means - mean).square().mean(0), ranks * _count(x)


class _Normalised(torch.autograd.Function):
    """(x - mean) / sqrt(variance + eps) * weight + bias; mean and variance also depend on x."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        eps: float,
    ) -> Tensor:
        inverse = torch.rsqrt(variance + eps)
        ctx.save_for_backward(x, weight, mean, inverse)
        scale = inverse if weight is None else inverse * weight
        shift = -mean * scale if bias is None else bias - mean * scale
        return torch.addcmul(_wide(shift, x), x.float(), _wide(scale, x)).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the sum of all ranks' losses, of which DDP takes the mean over ranks."""
        x, weight, mean, inverse = ctx.saved_tensors
        above = gradients[0].float()
        normal = (x.float() - _wide(mean, x)) * _wide(inverse, x)
        over = _all_but_channels(x)
        own = torch.stack([above.sum(over), (above * normal).sum(over)])
        both = own.clone()
        dist.all_reduce(both)
        of_mean, of_deviation = both / (dist.get_world_size() * _count(x))
        scale = inverse if weight is None else inverse * weight
        below = (above - _wide(of_mean, x) - normal * _wide(of_deviation, x)) * _wide(scale, x)
        for_bias, for_weight = own.unbind()
        has_weight, has_bias = ctx.needs_input_grad[1:3]
        return (
            below.to(x.dtype),
            for_weight if has_weight else None,
            for_bias if has_bias else None,
            None,
            None,
            None,
        )


def _all_but_channels(x: Tensor) -> list[int]:
    return [place for place in range(x.ndim) if place != 1]


def _count(x: Tensor) -> int:
    """Values of each channel."""
    return x.numel() // x.shape[1]


def _wide(values: Tensor, x: Tensor) -> Tensor:
    """[C] broadcast to the shape of x."""
    return values.view(1, -1, *[1] * (x.ndim - 2))


def synchronised(network: nn.Module) -> nn.Module:
    """Make the batch norms of a network's planes use the rows of all ranks; returns the network."""
    for module in list(network.modules()):
        for name, norm in list(module.named_children()):
            if type(norm) is nn.BatchNorm2d:
                setattr(module, name, _synchronised(norm))
    return network


def _synchronised(norm: nn.BatchNorm2d) -> SynchronisedNorm:
    made = SynchronisedNorm(
        norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats
    )
    made.load_state_dict(norm.state_dict())
    return made.train(norm.training)
