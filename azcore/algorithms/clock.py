"""`trainer.max_time`: the time that a run has taken, and the time left.

The time of a run counts from the start of its command, summed over all its parts. With a limit, the
run checks it between two rounds of self-play, after each optimizer step and during matches, so that
it ends in time with its last rating finished and its weights saved:

    self-play ends early     the run takes as many steps as its games so far allow
    learning ends early      a resumed run continues the generation at that step
    a match ends early       the run discards it

The checkpoint counts the missing part, and a resumed run makes up for it. Without a limit nothing
depends on the clock.
"""

import math
import time
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from azcore.learner.data import SelfPlayData
from azcore.storage.checkpoint import like

CLOSING = 3.0  # seconds to write a checkpoint and the report
RATED = 0.1  # share of the time that ratings may take
UNKNOWN = 0.1  # share of the time assumed for a generation's steps, before the first
MOST_KEPT = 0.5  # share of the time reserved for what follows self-play, at most


class TimeIsUpError(Exception):
    """No time is left for this."""


class RunClock(Callback):
    """Ends a run when its time is up.

    Args:
        max_seconds: the whole run's limit in seconds; None: no limit.
        began: `time.monotonic()` when this part of the run began.
    """

    def __init__(
        self, max_seconds: float | None, began: float, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.max_seconds, self._began, self._say = max_seconds, began, say
        self.to_rate: Callable[[], float] = lambda: 0.0  # estimated seconds of the last rating
        self.cuts = True  # generations short; False: checked between generations alone
        self.data: SelfPlayData  # returns how many steps its games allow
        self._before = 0.0  # seconds of earlier parts
        self._is_over = False
        self._steps, self._learning = 0, 0.0  # taken in this part, and the seconds they took
        self._playing, self._games = 0.0, 0  # seconds of self-play in this part, and its games
        self._since = 0.0

    # -- checks -----------------------------------------------------------------------------------

    def elapsed(self) -> float:
        """Seconds of the run until now."""
        return self._before + time.monotonic() - self._began

    def left(self) -> float | None:
        """Seconds until the limit; None without one."""
        return None if self.max_seconds is None else max(0.0, self.max_seconds - self.elapsed())

    def share(self) -> float:
        """The share of the limit that has passed; 0 without one."""
        return self.elapsed() / self.max_seconds if self.max_seconds else 0.0

    def seconds_per_game(self) -> float:
        """Seconds per game of self-play in this part of the run, with all its games at once."""
        return self._playing / max(1, self._games)

    def must_learn(self, share: float) -> bool:
        """Whether self-play must end in time for what follows, after this share of its games."""
        if self.max_seconds is None or not self.cuts:
            return False
        whole = UNKNOWN * self.max_seconds
        if self._steps:
            whole = self._learning / self._steps * self.data.steps_per_generation
        return self._is_up(min(1.0, share) * whole + self.to_rate() + CLOSING)

    def is_up(self) -> bool:
        """Whether the run must take no further step."""
        return self._is_over or self._is_up(self.to_rate() + CLOSING)

    def _is_up(self, kept: float) -> bool:
        if self.max_seconds is None:
            return False
        return self.elapsed() + min(kept, MOST_KEPT * self.max_seconds) >= self.max_seconds

    def require_time(self, until: float = math.inf) -> None:
        """Stop the current work if the run's time is up.

        Args:
            until: seconds of the run, if it has to end earlier.

        Raises:
            TimeIsUpError: it is up.
        """
        limit = self.max_seconds
        if limit is not None and self.elapsed() >= min(until, limit - CLOSING):
            raise TimeIsUpError

    def had_its_time(self) -> bool:
        """Whether earlier parts of the run used up the time."""
        return self.max_seconds is not None and self._before >= self.max_seconds

    # -- called by the loop -----------------------------------------------------------------------

    def begins_to_play(self) -> None:
        self._since = time.monotonic()

    def begins_to_learn(self, trainer: Trainer) -> None:
        """Limit the steps to what the games allow, at the end of self-play."""
        now = time.monotonic()
        self._playing, self._since = self._playing + now - self._since, now
        self._games += len(self.data.new_games)
        if self.data.last_step is None:
            return
        if self.data.last_step <= trainer.global_step:
            games = self.data.total_games
            self._say(
                f"trainer.max_time is up after {self.elapsed():.0f} s, before "
                + ("a game has ended" if not games else "enough games have ended for a step")
                + ": the run takes no step"
            )
            self.end(trainer)

    def has_learned(self, trainer: Trainer, stop: bool) -> None:
        """End a generation; `stop`: also end the run, as all ranks agreed."""
        self._learning += time.monotonic() - self._since
        if stop:
            self.end(trainer)

    def end(self, trainer: Trainer) -> None:
        """End the run before any further step."""
        self._is_over = trainer.should_stop = True

    # -- Lightning calls ---------------------------------------------------------------------------

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        self._steps += 1
        if self.max_seconds is None or not self.cuts:
            return
        last = self.data.last_step
        if (last is not None and trainer.global_step >= last) or self.is_up():
            self.end(trainer)

    @property
    def state_key(self) -> str:
        return "Timer"  # the key of Lightning's own timer

    def state_dict(self) -> dict[str, Any]:
        if self.max_seconds is None:
            return {"time_elapsed": {"train": self.elapsed()}} if self._before else {}
        # A run that stopped shortly before its limit counts as finished.
        seconds = max(self.elapsed(), self.max_seconds) if self._is_over else self.elapsed()
        return {"time_elapsed": {"train": seconds}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        seconds = like(state_dict.get("time_elapsed"), {"train": 0.0}, "a checkpoint's clock")
        self._before = float(seconds.get("train", 0.0))
