"""The settings of `trainer`: how long to train, on which devices and in which precision."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from azcore.errors import SettingError
from azcore.settings import (
    ONE_OR_MORE,
    POSITIVE,
    Checked,
    Test,
    build,
    one_of,
    or_null,
    require,
    within,
)

ACCELERATORS = ("auto", "cpu", "gpu", "cuda")
STRATEGIES = ("auto", "ddp")  # auto: ddp on several devices
MOST_DEVICES, MOST_NODES, MOST_PARTS = 1024, 4096, 65_536  # beyond any sensible use
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")  # weights are float32, as in players
LENGTH: Test = (lambda steps: steps >= 1, "1 or more, the length that learning rates refer to")
TIME: Test = (
    lambda text: re.fullmatch(r"\d{1,5}:\d\d:\d\d:\d\d", text, re.ASCII) is not None,
    "days:hours:minutes:seconds such as 00:00:10:00",
)
# Parameters of Lightning's Trainer that users cannot set.
DECIDED = {
    name: reason
    for names, reason in (
        (
            "max_epochs min_epochs min_steps limit_train_batches overfit_batches fast_dev_run "
            "reload_dataloaders_every_n_epochs",
            "an epoch is a generation of learner.steps_per_generation batches, each a step",
        ),
        (
            "limit_val_batches limit_test_batches limit_predict_batches val_check_interval "
            "check_val_every_n_epoch num_sanity_val_steps inference_mode",
            "matches measure strength (group arena), and there is no validation loop",
        ),
        ("sync_batchnorm", "learner.sync_batch_norm sets it, on any device"),
        ("use_distributed_sampler", "each rank draws its own share of each batch"),
        (
            "callbacks plugins logger default_root_dir enable_checkpointing enable_progress_bar "
            "enable_model_summary enable_autolog_hparams model_registry profiler barebones",
            "azcore controls what a run writes and prints",
        ),
        ("gradient_clip_algorithm benchmark detect_anomaly", "azcore keeps Lightning's default"),
    )
    for name in names.split()
}


@dataclass(frozen=True, kw_only=True)
class TrainerSettings(Checked, group="trainer"):
    """The parameters of Lightning's Trainer that users can set; see `conf/trainer`."""

    max_steps: Annotated[int, LENGTH]
    max_time: Annotated[str | None, TIME]
    accelerator: Annotated[str, one_of(ACCELERATORS)]
    devices: Annotated[int, within(1, MOST_DEVICES)]  # of each node
    num_nodes: Annotated[int, within(1, MOST_NODES)]
    strategy: Annotated[str, one_of(STRATEGIES)]
    accumulate_grad_batches: Annotated[int, within(1, MOST_PARTS)]
    precision: Annotated[str, one_of(PRECISIONS)]
    gradient_clip_val: Annotated[float | None, or_null(POSITIVE, "null for no limit")]
    deterministic: bool
    log_every_n_steps: Annotated[int, ONE_OR_MORE]

    @property
    def ranks(self) -> int:
        """The processes that learn together."""
        return self.devices * self.num_nodes

    def require_shares(self, batch_size: int) -> None:
        """Refuse a batch that cannot be divided equally.

        Raises:
            SettingError: the message names the numbers.
        """
        shares = self.ranks * self.accumulate_grad_batches
        if shares > 1:
            require(
                batch_size % shares == 0 and batch_size >= 2 * shares,
                "learner.batch_size",
                f"a multiple of {shares:,}, twice that or more, to divide equally by "
                "trainer.devices x trainer.num_nodes x trainer.accumulate_grad_batches",
                batch_size,
            )

    @property
    def max_seconds(self) -> float | None:
        """`max_time` in seconds."""
        if self.max_time is None:
            return None
        days, hours, minutes, seconds = map(int, self.max_time.split(":"))
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()


def max_time_of(seconds: int) -> str:
    """The value of `trainer.max_time` for a number of seconds."""
    days, clock = divmod(seconds, 86_400)
    return f"{days:02}:{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"


# Settings that a run does not keep, since they belong to the machine.
ON_ONE_DEVICE: Mapping[str, Any] = {"devices": 1, "num_nodes": 1, "strategy": "auto"}


def trainer_settings(values: Mapping[str, Any]) -> TrainerSettings:
    """The typed settings of the group `trainer`.

    Raises:
        SettingError: a value is invalid, or users cannot set this parameter of Lightning's.
    """
    for name in values:
        if name in DECIDED:
            raise SettingError(f"trainer.{name} cannot be set: {DECIDED[name]}")
    texts = {
        name: str(values[name])  # 32 and 10 are parsed as numbers
        for name in ("precision", "max_time")
        if values.get(name) is not None
    }
    return build(TrainerSettings, {**values, **texts}, "trainer")
