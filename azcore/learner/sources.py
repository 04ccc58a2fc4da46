"""Sources of the games that the learner samples positions from.

`SelfPlay` plays them; `azcore.learner.imported_games` provides games from elsewhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from azcore.selfplay import resignation
from azcore.selfplay.pool import ActorStatistics, Amount, WorkerPool
from azcore.selfplay.sizes import many_legal
from azcore.selfplay.weights import Weights
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer

Progress = Callable[[Amount], bool | None]


class GameSource(ABC):
    """Provides the games for each generation."""

    @abstractmethod
    def new_games(self, wanted: Amount, progress: Progress) -> list[GameRecord]:
        """Return the next games.

        Args:
            wanted: minimum for the generation; above 0.
            progress: called with the amount so far; False ends it early.
        """

    def deliver_to(self, store: Callable[[list[GameRecord]], None]) -> None:  # noqa: B027
        """Set the function that receives games between requests, on any thread."""

    def play_on(self, most: Amount) -> None:  # noqa: B027
        """Allow games to continue on their own, until there are this many more."""

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Within the block, no game continues, and all finished games have been delivered."""
        yield

    def close(self) -> None:  # noqa: B027
        """Stop playing permanently."""

    def longest_in_play(self) -> int:
        """Plies of the longest game in play; 0: no game."""
        return 0

    @abstractmethod
    def take_statistics(self) -> ActorStatistics:
        """The cost of the games since the last call."""

    @abstractmethod
    def metrics(self, games: list[GameRecord]) -> dict[str, float]:
        """Its columns of metrics.csv for the generation that began with these games."""

    @abstractmethod
    def describe(self) -> str:
        """A description of its content, printed at the start of a run."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """The state to resume from, in plain values."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state.

        Raises:
            CheckpointError: the state belongs to other games.
        """


class SelfPlay(GameSource):
    """A pool of workers, which play games against themselves with the weights in play.

    The window's latest games determine the resignation threshold.
    """

    def __init__(
        self, *, pool: WorkerPool, window: ReplayBuffer, weights_in_play: Callable[[], Weights]
    ) -> None:
        self._pool, self._window, self._weights_in_play = pool, window, weights_in_play
        self._threshold: float | None = None  # of resignation, in the current generation

    def new_games(self, wanted: Amount, progress: Progress) -> list[GameRecord]:
        self._pool.set_weights(self._weights_in_play(), self._find_threshold())
        return self._pool.play(wanted.positions, progress, num_games=wanted.games)

    def longest_in_play(self) -> int:
        return self._pool.longest_in_play()

    def _find_threshold(self) -> float | None:
        """The resignation threshold for the next games."""
        settings = self._pool.settings
        if settings.resignation:
            self._threshold = resignation.threshold(
                self._played_out(), settings.resignation_false_positives
            )
        return self._threshold

    def _played_out(self) -> Iterator[GameRecord]:
        """The latest games on which to measure resignation; older ones reflect older weights."""
        return islice(self._window.played_out(), self._pool.settings.resignation_games)

    def take_statistics(self) -> ActorStatistics:
        statistics = self._pool.statistics
        self._pool.reset_statistics()
        return statistics

    def metrics(self, games: list[GameRecord]) -> dict[str, float]:
        if self._threshold is None:
            return {}
        # Recent thresholds, applied to the games played to their end.
        found = resignation.measured(self._played_out())
        row = {
            "resign_threshold": self._threshold,
            "resigned_rate": sum(record.resigned_by is not None for record in games)
            / max(1, len(games)),
            "resign_measured": found.resigned,
        }
        return {**row, "resign_false_positives": found.share} if found.resigned else row

    def describe(self) -> str:
        legal = many_legal(self._pool.game)
        return (
            f"{self._pool.bytes_needed(legal) / 1e6:,.0f} MB of search trees at {legal} legal "
            "actions a position"
        )

    def state_dict(self) -> dict[str, Any]:
        return self._pool.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._pool.load_state_dict(state)

    def close(self) -> None:
        self._pool.close()
