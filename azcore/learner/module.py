"""The network in training: the papers' loss and optimizer as a Lightning module.

Letters: N batch, A actions.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from azcore.errors import CheckpointError
from azcore.learner.auxiliary import auxiliary_losses
from azcore.learner.averaging import decay_at, move_average
from azcore.learner.optimizers import checked_state, make_optimizer
from azcore.learner.settings import LearnerSettings
from azcore.learner.team import ALONE, Team
from azcore.networks.checkpoint import require_weights
from azcore.networks.contract import AuxiliaryNetwork
from azcore.storage.checkpoint import KEY, like, weights_of, write_checkpoint
from azcore.storage.targets import TARGETS

CURVES = {  # in TensorBoard, each `trainer.log_every_n_steps`
    "loss": "loss/total",
    "policy_loss": "loss/policy",
    "value_loss": "loss/value",
    "policy_accuracy": "learner/policy_accuracy",
    "policy_entropy": "learner/policy_entropy",
    "target_entropy": "learner/target_entropy",
    "value_target_variance": "learner/value_target_variance",
    **{f"{name}_loss": f"loss/{name}" for name in TARGETS},
}
_LATEST = "latest_weights"  # of a checkpoint whose `state_dict` holds their average, which plays


class LearnerModule(LightningModule):
    """A network and the loss (z - v)^2 - pi^T log p + c |theta|^2 (Silver 2017, equation 1).

    Args:
        network: returns logits [N, A] and values [N] for observations [N, C, H, W].
        max_steps: length of the whole run in optimizer steps, to which learning rates refer.
        time_share: returns the share of the run's time limit that has passed, to which they refer
            as well; 0 without a limit.
        team: the ranks that learn together; each has this module.
        description: stored in every checkpoint, see `azcore.networks.checkpoint.describe_run`.
    """

    def __init__(
        self,
        *,
        network: nn.Module,
        settings: LearnerSettings,
        max_steps: int,
        description: dict[str, Any],
        time_share: Callable[[], float] = lambda: 0.0,
        team: Team = ALONE,
    ) -> None:
        super().__init__()
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average: nn.Module | None = None  # of the weights, if enabled
        if settings.weight_averaging is not None:
            self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.settings = settings
        self.max_steps = max_steps
        self.time_share = time_share
        self._team = team
        self.description = description
        self._outputs = torch.compile(self._outputs_of) if settings.compile else self._outputs_of
        # Of the generation so far, by metric: their sum, on the device, and how many there are.
        self._sums: dict[str, tuple[Tensor | float, int]] = {}

    @property
    def playing(self) -> nn.Module:
        """The network that plays, is rated and saved: the average of the weights, or the latest."""
        return self.network if self.average is None else self.average

    def training_step(self, batch: dict[str, Tensor], _index: int) -> Tensor:
        loss, metrics = self.loss(batch)
        # Lightning's own sums would take longer than a small network's step, on any device.
        for name, value in metrics.items():
            added, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = added + torch.as_tensor(value).detach().float(), count + 1
        # Lightning sets it without declaring it.
        every: int = self.trainer.log_every_n_steps  # type: ignore[attr-defined]
        if every and (self.trainer.global_step + 1) % every == 0:
            means = self._team.means(metrics)
            curves = {CURVES.get(name, f"learner/{name}"): value for name, value in means.items()}
            self.log_dict(curves, on_step=True, on_epoch=False, batch_size=1)
        return loss

    def _log_means(self) -> None:
        """Log the means of the generation, for metrics.csv and callbacks."""
        means = {
            name: torch.as_tensor(added / count) for name, (added, count) in self._sums.items()
        }
        self._sums.clear()
        if means:
            means = self._team.means(means)
            self.log_dict(means, on_step=False, on_epoch=True, logger=False, batch_size=1)

    def loss(self, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """w (z - v)^2 - pi^T log p, averaged over a batch, and metrics to log.

        w is `learner.value_weight`, 1 in both papers except for supervised learning. A network that
        predicts win, draw and loss has their cross-entropy in place of the squared error; one with
        auxiliary targets adds their losses, times `learner.auxiliary_weights`.

        Args:
            batch: observations uint8 [N, C, H, W]; legal_action_mask bool [N, A]; policy_targets
                float32 [N, A]; value_targets float32 [N], view of the player to move; the
                auxiliary targets of the network; and value_weights float32 [N], if positions differ
                in weight.
        """
        observations = batch["observations"].contiguous(memory_format=torch.channels_last)
        outputs = self._outputs(observations)
        policy_logits, values = outputs["policy_logits"], outputs["values"]
        targets, outcomes = batch["policy_targets"], batch["value_targets"]
        illegal = ~batch["legal_action_mask"]
        if not self.settings.mask_illegal_actions:
            illegal = torch.zeros_like(illegal)
        # Search takes its softmax over legal actions only; the loss trains the same distribution.
        log_policy = policy_logits.float().masked_fill(illegal, -torch.inf).log_softmax(1)
        log_policy = log_policy.masked_fill(illegal, 0.0)
        policy_loss = -(targets * log_policy).sum(1).mean()
        value_loss = nn.functional.mse_loss(values.float(), outcomes)
        weighted, weights = value_loss, batch.get("value_weights")
        if "wdl_logits" in outputs:
            log_chances = outputs["wdl_logits"].float().log_softmax(1)
            weighted = _mean(-(chances(outcomes) * log_chances).sum(1), weights)
        elif weights is not None:
            weighted = _mean((values.float() - outcomes).square(), weights)
        loss = policy_loss + self.settings.value_weight * weighted
        auxiliary = auxiliary_losses(outputs, batch)
        for name, part in auxiliary.items():
            loss = loss + self.settings.auxiliary_weights.get(name, 0.0) * part
        with torch.no_grad():
            policy = log_policy.exp().masked_fill(illegal, 0.0)
            metrics = {
                "loss": loss,
                "policy_loss": policy_loss,
                "value_loss": value_loss,
                "policy_accuracy": (policy.argmax(1) == targets.argmax(1)).float().mean(),
                "policy_entropy": -(policy * log_policy).sum(1).mean(),
                "target_entropy": -torch.xlogy(targets, targets).sum(1).mean(),
                # The value loss of the best constant prediction.
                "value_target_variance": outcomes.var(correction=0),
                **{f"{name}_loss": part for name, part in auxiliary.items()},
            }
        return loss, metrics

    def _outputs_of(self, observations: Tensor) -> dict[str, Tensor]:
        if isinstance(self.network, AuxiliaryNetwork):
            return self.network.outputs(observations)
        policy_logits, values = self.network(observations)
        return {"policy_logits": policy_logits, "values": values}

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """The optimizer of `learner.optimizer`, and its schedule."""
        optimizer = make_optimizer(self.settings, self.network.parameters())
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self.learning_rate)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def learning_rate(self, step: int) -> float:
        return self.settings.learning_rate(step, self.max_steps, self.time_share())

    def on_train_start(self) -> None:
        """Set the rate of the first step, after the clock of a resumed run has started again."""
        optimizer = self.trainer.optimizers[0]
        optimizer.param_groups[0]["lr"] = self.learning_rate(self.trainer.global_step)

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Update the average after a step, of one batch or several; log means."""
        if self.average is not None and (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0:
            assert self.settings.weight_averaging is not None
            decay = decay_at(self.trainer.global_step - 1, self.settings.weight_averaging)
            move_average(self.average, self.network, decay)
        if self.trainer.is_last_batch or self.trainer.should_stop:
            self._log_means()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Describe the game and the network in the checkpoint, and save the weights that play.

        So readers that only play need not handle averages.
        """
        checkpoint[KEY] = dict(self.description)
        if self.average is not None:
            checkpoint["state_dict"] = self.average.state_dict(prefix="network.")
            checkpoint[_LATEST] = self.network.state_dict()

    def save_weights(
        self, path: Path | str, network: nn.Module | None = None, step: int | None = None
    ) -> None:
        """Write a checkpoint of weights alone, which suffices to play.

        Args:
            network: a network with the structure of this module's; None: `playing`.
            step: number of its optimizer steps; None: those of the trainer, 0 without one.
        """
        network = self.playing if network is None else network
        step = self.global_step if step is None else step
        weights = {"state_dict": network.state_dict(prefix="network."), "global_step": step}
        write_checkpoint({**weights, KEY: dict(self.description)}, Path(path))

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check a checkpoint against this run's settings, and resume with a new epoch.

        It accepts only values that fit a run of these settings. The new epoch begins if the
        checkpoint is from the end of one. Lightning counts such an epoch as unfinished until its
        last hooks have run, and without a validation loop uses one batch of the next generation for
        it. So the progress is set to its state just after the end.
        """
        self._require_like_ours(checkpoint)
        checkpoint["state_dict"] = self._weights_to_load(checkpoint)
        loop = checkpoint["loops"]["fit_loop"]
        batches = loop["epoch_loop.batch_progress"]
        if batches["is_last_batch"]:
            epochs = loop["epoch_progress"]
            for span in ("total", "current"):
                epochs[span]["completed"] = epochs[span]["processed"]
            batches["current"] = dict.fromkeys(batches["current"], 0)
            batches["is_last_batch"] = False

    def _weights_to_load(self, checkpoint: dict[str, Any]) -> dict[str, Tensor]:
        """The latest weights and their average by the names that they have in this module.

        A run that begins to average starts from the latest weights; one that stops averaging drops
        the average.
        """
        playing = weights_of(checkpoint)
        latest = checkpoint.get(_LATEST, playing)
        try:
            require_weights(latest, self.network)
        except (TypeError, ValueError) as error:
            raise CheckpointError(
                f"a checkpoint's latest weights cannot be used: {error}"
            ) from error
        weights = {f"network.{name}": tensor for name, tensor in latest.items()}
        if self.average is not None:
            weights |= {f"average.{name}": tensor for name, tensor in playing.items()}
        return weights

    def _require_like_ours(self, checkpoint: dict[str, Any]) -> None:
        """Refuse loops, optimizer or schedule with a different structure from this run's."""
        loop = checkpoint["loops"]["fit_loop"]
        loaders = loop["state_dict"]  # stored there by Lightning; `GenerationLoader` checks it
        ours = self.trainer.fit_loop.state_dict()
        checkpoint["loops"] = {"fit_loop": {**like(loop, ours, "loops"), "state_dict": loaders}}
        made: Any = self.configure_optimizers()
        optimizer, schedule = made["optimizer"], made["lr_scheduler"]["scheduler"]
        (saved,) = checkpoint["optimizer_states"]
        # Rate, momentum and weight decay come from the current settings, not the checkpoint.
        groups = optimizer.state_dict()["param_groups"]
        groups[0]["lr"] = self.settings.learning_rate(checkpoint["global_step"], self.max_steps)
        state = checked_state(
            self.settings.optimizer, saved["state"], list(self.network.parameters())
        )
        checkpoint["optimizer_states"] = [{"state": state, "param_groups": groups}]
        saved = like(checkpoint["lr_schedulers"], [schedule.state_dict()], "the schedule of rates")
        checkpoint["lr_schedulers"] = saved


def _mean(each: Tensor, weights: Tensor | None) -> Tensor:
    """The weighted mean of [N]; 0 if no weight is above 0."""
    if weights is None:
        return each.mean()
    return (weights * each).sum() / weights.sum().clamp(min=1e-6)


def chances(values: Tensor) -> Tensor:
    """Probabilities of win, draw and loss for value targets: [N] in [-1, 1] -> [N, 3].

    An outcome is certain. A value between two outcomes, which mixes one with the search's value,
    lies on the straight line between them.
    """
    return torch.stack([values.clamp(min=0), 1 - values.abs(), (-values).clamp(min=0)], 1)
