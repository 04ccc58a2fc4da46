"""How to train, as typed settings; apart from the module, for reading them needs no Lightning."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """How to train; the numbers and their sources are in `conf/learner` and `conf/algorithm`.

    A paper's rates and milestones are stated once, for its own batch and length of run. What they
    come to in a run of other sizes is `schedule`.
    """

    batch_size: int
    steps_per_generation: int
    learning_rates: tuple[float, ...]  # for batches of `learning_rate_batch`
    learning_rate_batch: int
    milestones: tuple[float, ...]  # shares of trainer.max_steps
    value_weight: float
    momentum: float
    l2: float

    def __post_init__(self) -> None:
        require(self.batch_size >= 2, "learner.batch_size", "2 or more", self.batch_size)
        require(
            self.steps_per_generation >= 1,
            "learner.steps_per_generation",
            "1 or more",
            self.steps_per_generation,
        )
        require(
            len(self.learning_rates) == len(self.milestones) + 1 and min(self.learning_rates) > 0,
            "learner.learning_rates",
            f"{len(self.milestones) + 1} rates above 0, one more than learner.milestones",
            self.learning_rates,
        )
        require(
            self.learning_rate_batch >= 1,
            "learner.learning_rate_batch",
            "1 or more",
            self.learning_rate_batch,
        )
        require(
            list(self.milestones) == sorted(self.milestones)
            and all(0 < milestone < 1 for milestone in self.milestones),
            "learner.milestones",
            "rising shares of trainer.max_steps between 0 and 1",
            self.milestones,
        )
        require(
            0 <= self.value_weight < math.inf,
            "learner.value_weight",
            "0 or more",
            self.value_weight,
        )
        require(0 <= self.momentum < 1, "learner.momentum", "0 to 1", self.momentum)
        require(self.l2 >= 0, "learner.l2", "0 or more", self.l2)

    def schedule(self, max_steps: int) -> list[tuple[int, float]]:
        """From which optimizer step on which rate holds, in a run of `max_steps`.

        A milestone is the paper's share of the run. A rate is the paper's times
        sqrt(batch_size / learning_rate_batch): the mean of k times as many gradients has a
        standard deviation sqrt(k) times smaller, so the noise that a step adds to the weights
        stays the same (Krizhevsky 2014, arXiv:1404.5997). With the paper's batch it is exactly
        the paper's.
        """
        scale = math.sqrt(self.batch_size / self.learning_rate_batch)
        begins = (0, *(round(milestone * max_steps) for milestone in self.milestones))
        return [(step, scale * r) for step, r in zip(begins, self.learning_rates, strict=True)]

    def learning_rate(self, step: int, max_steps: int) -> float:
        """The rate at an optimizer step of `max_steps`."""
        return next(r for begin, r in reversed(self.schedule(max_steps)) if step >= begin)

    def schedule_in_words(self, max_steps: int) -> str:
        """`learning rate 0.05 until step 2,857, 0.005 until 8,571, 0.0005 to the end`."""
        begins, rates = zip(*self.schedule(max_steps), strict=True)
        words = [
            f"{np.format_float_positional(rate, 3, fractional=False, trim='-')} until {end:,}"
            for begin, rate, end in zip(begins, rates, (*begins[1:], max_steps), strict=True)
            if begin < end  # a short run passes two milestones in one step
        ]
        words[-1] = words[-1].partition(" until ")[0] + " to the end"
        return "learning rate " + ", ".join(words).replace(" until ", " until step ", 1)
