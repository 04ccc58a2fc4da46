"""The optimizers of `learner.optimizer`, and the state of each in a checkpoint."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from azcore.errors import CheckpointError
from azcore.learner.muon import MuonWithAdamW, is_kernel
from azcore.learner.settings import LearnerSettings
from azcore.storage.checkpoint import require_same_tensor

_BETA_2 = 0.999  # of AdamW (Loshchilov and Hutter 2019)
_MOMENTUM, _MOMENTS = ("momentum_buffer",), ("exp_avg", "exp_avg_sq", "step")


def make_optimizer(
    settings: LearnerSettings, parameters: Iterable[nn.Parameter]
) -> torch.optim.Optimizer:
    """The optimizer of a run, with rate 1: the schedule multiplies it.

    So a checkpoint's optimizer holds only its last rate. The gradient of c |theta|^2 is 2 c theta:
    weight_decay = 2 c. The decay of AdamW and Muon is separate from the gradient.
    """
    decay = 2 * settings.l2
    betas = (settings.momentum, _BETA_2)
    if settings.optimizer == "muon":
        return MuonWithAdamW(parameters, lr=1.0, betas=betas, weight_decay=decay)
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(parameters, lr=1.0, betas=betas, weight_decay=decay)
    return torch.optim.SGD(parameters, lr=1.0, momentum=settings.momentum, weight_decay=decay)


def _held(name: str, parameter: nn.Parameter) -> tuple[tuple[str, ...], Tensor]:
    """The names of a parameter's entries in an optimizer's state, each a tensor of its shape."""
    if name == "muon" and is_kernel(parameter):
        return _MOMENTUM, parameter.detach().flatten(1)
    return (_MOMENTUM if name == "sgd" else _MOMENTS), parameter


def checked_state(
    name: str, saved: dict[Any, dict[str, Any]], parameters: Sequence[nn.Parameter]
) -> dict[int, dict[str, Any]]:
    """The state of an optimizer from a checkpoint, if it fits this network.

    Args:
        saved: the saved state by number of the parameter.

    Raises:
        CheckpointError: the message names the tensor.
    """
    state: dict[int, dict[str, Any]] = {}
    for index, kept in saved.items():
        what = f"the optimizer's momentum {index!r:.20}"
        if type(index) is not int or not 0 <= index < len(parameters):
            raise CheckpointError(f"{what} does not belong to a tensor of this network")
        wanted, shape = _held(name, parameters[index])
        if set(kept) != set(wanted):
            raise CheckpointError(
                f"{what} must hold {', '.join(wanted)} for learner.optimizer={name}, got "
                f"{', '.join(map(str, kept)):.100}"
            )
        for part, value in kept.items():
            like: Tensor = torch.zeros(()) if part == "step" else shape
            if value is None and name == "sgd":
                continue
            try:
                require_same_tensor(value, like, what)
            except ValueError as error:
                raise CheckpointError(str(error)) from error
        state[index] = dict(kept)
    return state
