"""The losses of auxiliary targets: see `azcore.storage.targets`.

A target that is unknown for a position has no loss there: each loss is a mean over the positions
that have it, times their share of the batch.

Letters: N batch, A actions, H rows, W columns.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

SOFTNESS = 0.25  # power of the policy target (KataGo)
_LEAST = 1e-7  # visit share assumed for a legal action without visits, before that power
PLIES = 20.0  # the unit of errors of `plies_left` (lc0)
_MOST_PLIES = 10.0  # error from which it counts linearly (lc0)


def auxiliary_losses(
    outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The mean loss of each target that a network predicts and a batch has.

    Args:
        outputs: the result of `AuxiliaryNetwork.outputs`.
        batch: see `LearnerModule.loss`, with the targets of `Samples.auxiliary` by name.
    """
    losses: dict[str, Tensor] = {}
    if "ownership" in outputs:
        losses["ownership"] = _ownership(outputs["ownership"].float(), batch["ownership"])
    if "score" in outputs:
        losses["score"] = _squared_error(outputs["score"].float(), batch["score"])
    if "material" in outputs:
        losses["material"] = _squared_error(outputs["material"].float(), batch["material"])
    if "reply" in outputs:
        # The legal replies are unavailable, so the softmax is over all actions.
        log_policy = outputs["reply"].float().log_softmax(1)
        losses["reply"] = -(batch["reply"] * log_policy).sum(1).mean()
    if "soft_policy" in outputs:
        legal = batch["legal_action_mask"]
        target = softened(batch["policy_targets"], legal)
        log_policy = outputs["soft_policy"].float().masked_fill(~legal, -torch.inf).log_softmax(1)
        losses["soft_policy"] = -(target * log_policy.masked_fill(~legal, 0.0)).sum(1).mean()
    if "later_values" in outputs:
        errors = (outputs["later_values"].float() - batch["later_values"]) ** 2
        losses["later_values"] = errors.sum(1).mean()
    if "plies_left" in outputs:
        losses["plies_left"] = (
            nn.functional.huber_loss(
                outputs["plies_left"].float(), batch["plies_left"], delta=_MOST_PLIES
            )
            / PLIES**2
        )
    return losses


def softened(policy: Tensor, legal: Tensor) -> Tensor:
    """A policy to the power of 1/4 over the legal actions, normalised: [N, A]."""
    soft = (policy + _LEAST) ** SOFTNESS * legal
    return soft / soft.sum(1, keepdim=True)


def _ownership(predicted: Tensor, owned: Tensor) -> Tensor:
    """Cross-entropy of each cell's owner, both [N, H, W] in [-1, 1]; 0 is half for each seat."""
    known = ~owned.isnan()
    share = ((1 + torch.where(known, owned, 0.0)) / 2).clamp(0, 1)
    # Avoid exactly 0 or 1, to which tanh may round.
    guess = ((1 + predicted) / 2).clamp(1e-6, 1 - 1e-6)
    # Torch's own cross-entropy raises on NaN, which the run's guard reports better.
    entropy = -(share * guess.log() + (1 - share) * (1 - guess).log())
    return (entropy * known).mean()


def _squared_error(predicted: Tensor, wanted: Tensor) -> Tensor:
    known = ~wanted.isnan()
    return ((predicted - torch.where(known, wanted, 0.0)) ** 2 * known).mean()
