"""Sources of the games from which the learner samples positions.

`SelfPlay` plays them; `azcore.learner.given` provides games from elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from azcore.search.evaluators import Evaluator
from azcore.selfplay import resignation
from azcore.selfplay.actor import Actor, ActorStatistics, Amount
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer


class GameSource(ABC):
    """Provides the games that each generation begins with."""

    @abstractmethod
    def new_games(self, wanted: Amount, progress: Callable[[Amount], None]) -> list[GameRecord]:
        """The next games.

        Args:
            wanted: minimum for the generation; above 0.
            progress: called with the amount so far.
        """

    @abstractmethod
    def take_statistics(self) -> ActorStatistics:
        """The cost of games since the last call."""

    @abstractmethod
    def metrics(self, games: list[GameRecord]) -> dict[str, float]:
        """Its columns of metrics.csv for the generation that began with these games."""

    @abstractmethod
    def in_words(self) -> str:
        """A description of what it holds, printed at the start of a run."""

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
    """An actor that plays against itself.

    Args:
        actor: plays the games.
        window: the latest games, from which the resignation threshold is found.
        evaluator_in_play: returns the evaluator for the next games, and the optimizer steps behind
            its weights.
    """

    def __init__(
        self,
        *,
        actor: Actor,
        window: ReplayBuffer,
        evaluator_in_play: Callable[[], tuple[Evaluator, int]],
    ) -> None:
        self._actor, self._window, self._evaluator_in_play = actor, window, evaluator_in_play
        self._threshold: float | None = None  # of resignation, in the current generation

    def new_games(self, wanted: Amount, progress: Callable[[Amount], None]) -> list[GameRecord]:
        settings = self._actor.settings
        if settings.resignation:
            self._threshold = resignation.threshold(
                self._played_out(), settings.resignation_false_positives
            )
        self._actor.set_evaluator(*self._evaluator_in_play(), self._threshold)
        return self._actor.play(wanted.positions, progress, num_games=wanted.games)

    def _played_out(self) -> Iterator[GameRecord]:
        """The latest games to measure resignation on; older ones would reflect older weights."""
        return islice(self._window.played_out(), self._actor.settings.resignation_games)

    def take_statistics(self) -> ActorStatistics:
        statistics = self._actor.statistics
        self._actor.reset_statistics()
        return statistics

    def metrics(self, games: list[GameRecord]) -> dict[str, float]:
        if self._threshold is None:
            return {}
        # Recent thresholds, applied to the games that were played to their end.
        found = resignation.measured(self._played_out())
        row = {
            "resign_threshold": self._threshold,
            "resigned_rate": sum(record.resigned_by is not None for record in games)
            / max(1, len(games)),
            "resign_measured": found.resigned,
        }
        return {**row, "resign_false_positives": found.share} if found.resigned else row

    def in_words(self) -> str:
        legal = min(self._actor.game.num_actions, 100)  # a guess; trees grow as the game needs
        return (
            f"{self._actor.bytes_needed(legal) / 1e6:,.0f} MB of search trees at {legal} legal "
            "actions a position"
        )

    def state_dict(self) -> dict[str, Any]:
        return self._actor.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._actor.load_state_dict(state)
