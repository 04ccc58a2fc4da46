"""How many positions self-play must supply: samples per generation / samples per position.

With `replay.least_samples_per_position` the ratio depends on how well values generalise. While the
searches of new games do not explain their outcomes, more samples of the same games only make the
value head memorise them, and new games teach more.
"""

from collections.abc import Sequence
from typing import Any

from azcore.errors import CheckpointError
from azcore.learner.health import explained_variance
from azcore.storage.game_record import GameRecord
from azcore.storage.replay_settings import ReplaySettings

EXPLAINED = 0.3  # explained variance from which a position gets the most samples
SPAN = 5  # generations over which it is averaged


class Ratio:
    """The positions that the generations so far need, by `samples_per_position`."""

    def __init__(self, settings: ReplaySettings, samples: int) -> None:
        assert settings.samples_per_position is not None
        self._most = settings.samples_per_position
        is_fixed = settings.least_samples_per_position is None
        self._least = None if is_fixed else settings.fewest_samples
        self._samples = samples
        self._asked = 0.0  # positions, by the generations that have all their games
        self._explained: list[float] = []  # by the latest of them, where it is known

    @property
    def samples_per_position(self) -> float:
        """The ratio in the current generation."""
        if self._least is None:
            return self._most
        known = self._explained
        explained = sum(known) / len(known) if known else 0.0
        share = min(1.0, max(0.0, explained / EXPLAINED))
        return self._least + share * (self._most - self._least)

    def positions(self, generation: int) -> int:
        """How many positions a run needs for the current generation and all before."""
        if self._least is None:
            return max(1, round((generation + 1) * self._samples / self._most))
        return max(1, round(self._asked + self._samples / self.samples_per_position))

    def samples(self, generation: int, positions: int) -> float:
        """How many samples of the whole run these positions allow."""
        if self._least is None:
            return positions * self._most
        of_this = (positions - self._asked) * self.samples_per_position
        return generation * self._samples + of_this

    def end_generation(self, games: Sequence[GameRecord]) -> None:
        """Note that a generation has all its games."""
        if self._least is None:
            return
        self._asked += self._samples / self.samples_per_position
        explained = explained_variance(games)
        if explained is not None:
            self._explained = [*self._explained, explained][-SPAN:]

    def state_dict(self) -> dict[str, Any]:
        """The state; empty for a fixed ratio."""
        if self._least is None:
            return {}
        return {"asked": self._asked, "explained": self._explained}

    def load_state_dict(self, state: dict[str, Any], positions: int) -> None:
        """Restore a state; a run with a fixed ratio so far needed just its `positions`.

        Raises:
            CheckpointError: it is malformed.
        """
        asked, explained = state.get("asked", float(positions)), state.get("explained", [])
        numbers = [asked, *explained] if type(explained) is list else [None]
        if not all(type(number) is float and abs(number) < 1e15 for number in numbers):
            raise CheckpointError(
                "a checkpoint's ratio of samples must be finite numbers, "
                f"got {asked!r:.50} and {explained!r:.100}"
            )
        self._asked, self._explained = asked, explained[-SPAN:]
