"""Typed training settings, in a separate module so that reading them needs no Lightning."""

import math
from dataclasses import dataclass, fields
from datetime import timedelta
from importlib.metadata import EntryPoint
from typing import Annotated, Any, TypeVar

import numpy as np

from azcore.plugins import PREFIX, loaded, named
from azcore.settings import (
    ABOVE_0_AT_MOST_1,
    NOT_NEGATIVE,
    ONE_OR_MORE,
    Checked,
    Test,
    one_of,
    or_null,
    require,
    require_each,
)
from azcore.storage.targets import TARGETS

T = TypeVar("T")
OPTIMIZERS = ("sgd", "adamw", "muon")
SCHEDULES = ("steps", "cosine")
# The share of the average that a step keeps.
AVERAGING: Test = (lambda share: 0 < share < 1, "between 0 and 1, or null")


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(Checked, group="learner"):
    """How to train; the numbers and their sources are in `conf/learner` and `conf/algorithm`.

    A paper's rates and milestones are stated once, for its own batch size and length.
    `rates_by_step` converts them to a run of other sizes.
    """

    optimizer: Annotated[str, one_of(OPTIMIZERS)]
    batch_size: Annotated[int, (lambda size: size >= 2, "2 or more")]
    # None: sized by `azcore.algorithms.self_play.fitted_to_machine`
    steps_per_generation: Annotated[int | None, or_null(ONE_OR_MORE)]
    learning_rates: tuple[float, ...]  # for batches of `learning_rate_batch`
    learning_rate_batch: Annotated[int, ONE_OR_MORE]
    # "cosine": from the first of the rates, without milestones
    schedule: Annotated[str, one_of(SCHEDULES)]
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

    def describe_schedule(self, max_steps: int, max_seconds: float | None = None) -> str:
        """`learning rate 0.05 until step 2,857, 0.005 until 8,571, 0.0005 to the end`.

        With a time limit: `until step 2,857 or 0:01:26`. Cosine: `learning rate 0.05, falling as a
        cosine to 0.0025 at step 20,000`.
        """
        begins, rates = zip(*self.rates_by_step(max_steps), strict=True)
        rising = f"rising for {self.warmup_steps:,} steps, " if self.warmup_steps else ""
        if self.schedule == "cosine":
            first, last = _rate_text(rates[0]), _rate_text(rates[0] * self.cosine_end)
            end = f"step {max_steps:,}"
            if max_seconds is not None:
                end += f" or {timedelta(seconds=round(max_seconds))}"
            return f"learning rate {rising}{first}, falling as a cosine to {last} at {end}"
        clocks = [""] * len(rates)
        if max_seconds is not None:
            clocks = [f" or {timedelta(seconds=round(m * max_seconds))}" for m in self.milestones]
            clocks.append("")
        ends = (*begins[1:], max_steps)
        shown = [_rate_text(rate) for rate in rates]
        words = [
            f"{rate} until {end:,}{clock}"
            for begin, rate, end, clock in zip(begins, shown, ends, clocks, strict=True)
            if begin < end  # a short run passes two milestones in one step
        ]
        words[-1] = words[-1].partition(" until ")[0] + " to the end"
        return f"learning rate {rising}" + ", ".join(words).replace(" until ", " until step ", 1)


def _rate_text(rate: float) -> str:
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
