"""Typed training settings, separate from the module so that reading them needs no Lightning."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from importlib.metadata import EntryPoint
from typing import Annotated, Any, TypeVar

import numpy as np

from azcore.errors import SettingError
from azcore.plugins import PREFIX, loaded, named
from azcore.settings import (
    ABOVE_0_AT_MOST_1,
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    Checked,
    Test,
    build,
    one_of,
    or_null,
    require,
    require_each,
    within,
)
from azcore.storage.targets import TARGETS

T = TypeVar("T")
OPTIMIZERS = ("sgd", "adamw", "muon")
SCHEDULES = ("steps", "cosine")
ACCELERATORS = ("auto", "cpu", "gpu", "cuda")
STRATEGIES = ("auto", "ddp")  # auto: ddp on several devices
MOST_DEVICES, MOST_NODES, MOST_PARTS = 1024, 4096, 65_536  # beyond any sensible use
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")  # weights are float32, as in players
# The share that the average of the weights keeps at each step.
AVERAGING: Test = (lambda share: 0 < share < 1, "between 0 and 1, or null")
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
        (
            "sync_batchnorm",
            "learner.sync_batch_norm sets it, on any device",
        ),
        (
            "use_distributed_sampler",
            "each rank draws its own share of each batch",
        ),
        (
            "callbacks plugins logger default_root_dir enable_checkpointing enable_progress_bar "
            "enable_model_summary enable_autolog_hparams model_registry profiler barebones",
            "azcore controls what a run writes and prints",
        ),
        (
            "gradient_clip_algorithm benchmark detect_anomaly",
            "azcore keeps Lightning's default",
        ),
    )
    for name in names.split()
}


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(Checked, group="learner"):
    """How to train; the numbers and their sources are in `conf/learner` and `conf/algorithm`.

    A paper's rates and milestones are stated once, for its own batch size and length.
    `rates_by_step` converts them to a run of other sizes.
    """

    optimizer: Annotated[str, one_of(OPTIMIZERS)]
    batch_size: Annotated[int, (lambda size: size >= 2, "2 or more")]
    steps_per_generation: Annotated[int, ONE_OR_MORE]
    learning_rates: tuple[float, ...]  # for batches of `learning_rate_batch`
    learning_rate_batch: Annotated[int, ONE_OR_MORE]
    schedule: Annotated[
        str, one_of(SCHEDULES)
    ]  # "cosine": from the first of the rates, without milestones
    milestones: tuple[float, ...]  # shares of trainer.max_steps
    cosine_end: Annotated[float, ABOVE_0_AT_MOST_1]  # share of the first rate
    warmup_steps: Annotated[int, NOT_NEGATIVE]  # first steps, in which the rate rises from near 0
    value_weight: Annotated[float, NOT_NEGATIVE]
    auxiliary_weights: dict[str, float]  # by target
    mask_illegal_actions: bool  # in the policy's softmax
    momentum: Annotated[float, (lambda value: 0 <= value < 1, "0 to 1")]
    l2: Annotated[float, NOT_NEGATIVE]
    weight_averaging: Annotated[float | None, AVERAGING]
    sync_batch_norm: bool  # over the rows of all ranks
    compile: bool  # by torch.compile

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.milestones) + 1
        rising = list(self.milestones) == sorted(self.milestones)
        related: dict[str, Test] = {
            "learning_rates": (
                lambda rates: len(rates) == count and min(rates) > 0,
                f"{count} rates above 0, one more than learner.milestones",
            ),
            "milestones": (
                lambda shares: rising and all(0 < share < 1 for share in shares),
                "rising shares of trainer.max_steps between 0 and 1",
            ),
        }
        require_each(self, "learner", related)
        for name, weight in self.auxiliary_weights.items():
            where = f"learner.auxiliary_weights.{name}"
            require(name in TARGETS, where, f"one of {', '.join(TARGETS)}", name)
            require(0 <= weight < math.inf, where, "0 or more", weight)

    def rates_by_step(self, max_steps: int) -> list[tuple[int, float]]:
        """(first optimizer step, rate) for each part of a run of `max_steps`.

        A milestone is the paper's share of the run. A rate is the paper's times
        sqrt(batch_size / learning_rate_batch): the mean of k times as many gradients has a
        standard deviation sqrt(k) times smaller, so the noise that a step adds to the weights
        stays the same (Krizhevsky 2014, arXiv:1404.5997). With the paper's batch size it is exactly
        the paper's rate.
        """
        scale = math.sqrt(self.batch_size / self.learning_rate_batch)
        begins = (0, *(round(milestone * max_steps) for milestone in self.milestones))
        return [(step, scale * r) for step, r in zip(begins, self.learning_rates, strict=True)]

    def learning_rate(self, step: int, max_steps: int, time_share: float = 0.0) -> float:
        """The rate at an optimizer step of `max_steps`.

        A run with a time limit ends at whichever limit comes first, so it passes a milestone either
        in steps or in time. The cosine (Loshchilov and Hutter 2017, equation 5, without restarts)
        takes the larger share of the two.

        Args:
            step: the optimizer step.
            max_steps: length of the run.
            time_share: share of the time limit that has passed; 0 without a limit.
        """
        parts = self.rates_by_step(max_steps)
        if self.schedule == "cosine":
            share = min(1.0, max(step / max_steps, time_share))
            half_turn = (1 + math.cos(math.pi * share)) / 2  # 1 to 0
            rate = parts[0][1] * (self.cosine_end + (1 - self.cosine_end) * half_turn)
        else:
            begins = zip(parts, (0.0, *self.milestones), strict=True)
            rate = [r for (begin, r), share in begins if step >= begin or time_share >= share][-1]
        return rate * min(1.0, (step + 1) / max(1, self.warmup_steps))

    def schedule_in_words(self, max_steps: int, max_seconds: float | None = None) -> str:
        """`learning rate 0.05 until step 2,857, 0.005 until 8,571, 0.0005 to the end`.

        With a time limit: `until step 2,857 or 0:01:26`. Cosine: `learning rate 0.05, falling as a
        cosine to 0.0025 at step 20,000`.
        """
        begins, rates = zip(*self.rates_by_step(max_steps), strict=True)
        rising = f"rising for {self.warmup_steps:,} steps, " if self.warmup_steps else ""
        if self.schedule == "cosine":
            first, last = _in_words(rates[0]), _in_words(rates[0] * self.cosine_end)
            end = f"step {max_steps:,}"
            if max_seconds is not None:
                end += f" or {timedelta(seconds=round(max_seconds))}"
            return f"learning rate {rising}{first}, falling as a cosine to {last} at {end}"
        clocks = [""] * len(rates)
        if max_seconds is not None:
            clocks = [f" or {timedelta(seconds=round(m * max_seconds))}" for m in self.milestones]
            clocks.append("")
        ends = (*begins[1:], max_steps)
        shown = [_in_words(rate) for rate in rates]
        words = [
            f"{rate} until {end:,}{clock}"
            for begin, rate, end, clock in zip(begins, shown, ends, clocks, strict=True)
            if begin < end  # a short run passes two milestones in one step
        ]
        words[-1] = words[-1].partition(" until ")[0] + " to the end"
        return f"learning rate {rising}" + ", ".join(words).replace(" until ", " until step ", 1)


def _in_words(rate: float) -> str:
    return np.format_float_positional(rate, 3, fractional=False, trim="-")


@dataclass(frozen=True, kw_only=True)
class PluginSettings:
    """Parts of training from installed packages, by entry points; see `conf/plugins`."""

    targets: str | None
    augmentation: str | None
    learner: str | None
    algorithm: str | None

    def __post_init__(self) -> None:
        for part in fields(self):
            if getattr(self, part.name) is not None:
                self._point(part.name)

    def function(self, part: str) -> Any:
        """The function that a setting names; None: no function.

        Raises:
            SettingError: it cannot be imported, or is not a function.
        """
        return None if getattr(self, part) is None else loaded(self._point(part))

    def subclass(self, part: str, own: type[T]) -> type[T]:
        """The class that a setting names, a subclass of azcore's own; by default that one.

        Raises:
            SettingError: it cannot be imported, or is not such a class.
        """
        return own if getattr(self, part) is None else loaded(self._point(part), own)

    def _point(self, part: str) -> EntryPoint:
        group = f"{PREFIX}{part.removesuffix('s')}s"
        return named(group, getattr(self, part), f"plugins.{part}")


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
            SettingError: naming the numbers.
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
