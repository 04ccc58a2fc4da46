"""How to train, as typed settings; apart from the module, for reading them needs no Lightning."""

from __future__ import annotations

from dataclasses import dataclass

from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """How to train; the numbers and their sources are in `conf/algorithm` and `conf/scale`."""

    batch_size: int
    steps_per_generation: int
    learning_rates: tuple[float, ...]
    milestones: tuple[float, ...]
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
            list(self.milestones) == sorted(self.milestones)
            and all(0 < milestone < 1 for milestone in self.milestones),
            "learner.milestones",
            "rising shares of trainer.max_steps between 0 and 1",
            self.milestones,
        )
        require(0 <= self.momentum < 1, "learner.momentum", "0 to 1", self.momentum)
        require(self.l2 >= 0, "learner.l2", "0 or more", self.l2)

    def learning_rate(self, step: int, max_steps: int) -> float:
        """The rate at an optimizer step of `max_steps`; milestones are shares of the whole run."""
        passed = sum(step >= milestone * max_steps for milestone in self.milestones)
        return self.learning_rates[passed]
