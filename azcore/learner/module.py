"""The network in training: the papers' loss and optimizer as a Lightning module.

Letters: N batch, A actions.
"""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from azcore.checkpoint import KEY
from azcore.learner.settings import LearnerSettings


class LearnerModule(LightningModule):
    """A network and the loss (z - v)^2 - pi^T log p + c |theta|^2 (Silver 2017, equation 1).

    Args:
        network: gives logits [N, A] and values [N] for observations [N, C, H, W].
        settings: how to train.
        max_steps: length of the whole run in optimizer steps, which learning rates refer to.
        description: put into every checkpoint, see `azcore.checkpoint.describe_run`.
    """

    def __init__(
        self,
        *,
        network: nn.Module,
        settings: LearnerSettings,
        max_steps: int,
        description: dict[str, Any],
    ) -> None:
        super().__init__()
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.settings = settings
        self.max_steps = max_steps
        self.description = description

    def training_step(self, batch: dict[str, Tensor], _index: int) -> Tensor:
        loss, metrics = self.loss(batch)
        size = len(batch["value_targets"])
        self.log_dict(metrics, on_step=True, on_epoch=True, batch_size=size)
        return loss

    def loss(self, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """w (z - v)^2 - pi^T log p in the mean of a batch, and what else is worth logging of it.

        w is `learner.value_weight`, 1 in both papers but for supervised learning.

        Args:
            batch: observations uint8 [N, C, H, W]; legal_action_mask bool [N, A]; policy_targets
                float32 [N, A]; value_targets float32 [N], view of the player to move.
        """
        observations = batch["observations"].contiguous(memory_format=torch.channels_last)
        policy_logits, values = self.network(observations)
        targets, outcomes = batch["policy_targets"], batch["value_targets"]
        # Search takes its softmax over legal actions only; the loss trains that same distribution.
        illegal = ~batch["legal_action_mask"]
        log_policy = policy_logits.float().masked_fill(illegal, -torch.inf).log_softmax(1)
        log_policy = log_policy.masked_fill(illegal, 0.0)
        policy_loss = -(targets * log_policy).sum(1).mean()
        value_loss = nn.functional.mse_loss(values.float(), outcomes)
        loss = policy_loss + self.settings.value_weight * value_loss
        with torch.no_grad():
            policy = log_policy.exp().masked_fill(illegal, 0.0)
            metrics = {
                "loss": loss,
                "policy_loss": policy_loss,
                "value_loss": value_loss,
                "policy_accuracy": (policy.argmax(1) == targets.argmax(1)).float().mean(),
                "policy_entropy": -(policy * log_policy).sum(1).mean(),
                "target_entropy": -torch.xlogy(targets, targets).sum(1).mean(),
                # What a value head that knows nothing would lose.
                "value_target_variance": outcomes.var(correction=0),
            }
        return loss, metrics

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """SGD with momentum. The gradient of c |theta|^2 is 2 c theta: weight_decay = 2 c."""
        settings = self.settings
        optimizer = torch.optim.SGD(
            self.parameters(),
            lr=1.0,  # times the schedule, so a checkpoint's optimizer knows no rate but its last
            momentum=settings.momentum,
            weight_decay=2 * settings.l2,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: settings.learning_rate(step, self.max_steps)
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Say in the checkpoint which game and network it is of."""
        checkpoint[KEY] = dict(self.description)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Begin a new epoch after a checkpoint that was written at the end of one.

        Lightning counts such an epoch as under way until its last hooks have run, and without a
        validation loop takes one batch of the next generation for it. The progress is set to what
        it is a moment after the end.
        """
        loop = checkpoint["loops"]["fit_loop"]
        batches = loop["epoch_loop.batch_progress"]
        if batches["is_last_batch"]:
            epochs = loop["epoch_progress"]
            for span in ("total", "current"):
                epochs[span]["completed"] = epochs[span]["processed"]
            batches["current"] = dict.fromkeys(batches["current"], 0)
            batches["is_last_batch"] = False
