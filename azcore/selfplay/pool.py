"""A pool: all self-play workers of a run. Weights go in, finished games come out.

    pool.set_weights(weights, resign_threshold)
    records = pool.play(num_positions)       # finished games only; the others stay in play

Workers play rounds of `selfplay.round_waves` waves. After each round the pool checks whether there
are enough games, and one worker may be a round ahead of another. So the games that end in a call of
`play` depend on the number of games and of workers, never on timing or place: `Actor` runs the
workers on threads of this process, `RemotePool` in separate processes or in a cluster, and both
return the same games.
"""

import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from azcore.errors import CheckpointError
from azcore.game import Game
from azcore.selfplay.jobs import JobSlots
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.weights import Weights
from azcore.storage.game_record import GameRecord


class Amount(NamedTuple):
    games: int  # finished
    positions: int  # to learn from, in these games

    def with_more(self, games: list[GameRecord]) -> "Amount":
        """This amount with these games added."""
        positions = sum(record.num_samples for record in games)
        return Amount(self.games + len(games), self.positions + positions)


NOTHING = Amount(0, 0)
MEASURED_ROUNDS = 4  # at least


class MemberStatistics(NamedTuple):
    """The work of a remote part of the pool since the last reset."""

    name: str  # of the part
    games: int  # finished
    evaluations: int
    version: int  # of its weights
    restarted: int  # how often it was lost and started again, in total


@dataclass
class ActorStatistics:
    """The work of self-play since the last reset, for logs; seconds of wall time."""

    evaluations: int = 0  # positions that the network evaluated
    remembered: int = 0  # positions whose evaluation was cached
    seconds: float = 0.0
    network_seconds: float = 0.0  # per worker, on average
    proof_seconds: float = 0.0  # likewise
    members: list[MemberStatistics] = field(default_factory=list)  # empty for threads


class WorkerPool(ABC):
    """The workers of a run. A pool is unusable after it has raised an error.

    Attributes:
        game: the game in the form that self-play uses.
    """

    game: Game
    settings: SelfPlaySettings

    def __init__(self) -> None:
        self._seconds = 0.0

    @abstractmethod
    def set_weights(self, weights: Weights, resign_threshold: float | None = None) -> None:
        """Continue with newer weights; a search in progress starts again with them.

        Args:
            resign_threshold: v, see `azcore.selfplay.resignation`; None: no resignation.
        """

    @abstractmethod
    def begin_round(self, worker: int) -> Future[list[GameRecord]]:
        """Start a round of an idle worker; the future returns the games that end in it."""

    @abstractmethod
    def leave_rounds(self) -> None:
        """Make all workers leave their rounds at once, permanently."""

    @abstractmethod
    def bytes_needed(self, legal_actions: int) -> int:
        """Bytes of full search trees whose positions have `legal_actions` legal actions."""

    @abstractmethod
    def longest_in_play(self) -> int:
        """Plies of the longest game in play, possibly slightly out of date."""

    @property
    @abstractmethod
    def statistics(self) -> ActorStatistics:
        """The work of all workers together."""

    @abstractmethod
    def reset_statistics(self) -> None:
        """Set all counts to zero."""

    @abstractmethod
    def worker_states(self) -> list[dict[str, Any]]:
        """The games in play of each worker, without trees, between rounds."""

    @abstractmethod
    def load_worker_states(self, states: list[dict[str, Any]]) -> None:
        """Restore the games in play, whose number must match.

        Raises:
            CheckpointError: one of them cannot have been played this way.
        """

    @abstractmethod
    def close(self) -> None:
        """Free what the workers hold outside this process; the pool is then unusable."""

    def job_slots(self) -> JobSlots | None:
        """Where jobs can run alongside self-play; None: this pool cannot run any."""
        return None

    # -- playing ----------------------------------------------------------------------------------

    def play(
        self,
        num_positions: int = 0,
        progress: Callable[[Amount], bool | None] | None = None,
        *,
        num_games: int = 0,
    ) -> list[GameRecord]:
        """Play until enough games have ended and they have enough positions to learn from.

        Args:
            num_positions: minimum sum of the games' searched plies.
            progress: called with the amount so far, before the first round and after each; False
                ends it before there are enough.
            num_games: minimum number of games.

        Returns:
            The finished games, ordered by round, by worker and by when they ended.
        """

        def is_wanted(made: Amount) -> bool:
            if progress is not None and progress(made) is False:
                return False
            return made.games < num_games or made.positions < num_positions

        return self.play_while(is_wanted)

    def play_while(self, is_wanted: Callable[[Amount], bool]) -> list[GameRecord]:
        """Play rounds in all workers while `is_wanted` returns True.

        Args:
            is_wanted: called with the amount so far, before the first round and after each. With
                several workers, one more round is played after it has returned False.

        Returns:
            The finished games, ordered by round, by worker and by when they ended.
        """
        began = time.perf_counter()
        try:
            return self._rounds(is_wanted)
        finally:
            self._seconds += time.perf_counter() - began

    def _rounds(self, is_wanted: Callable[[Amount], bool]) -> list[GameRecord]:
        """Run all workers; one may be a round ahead of another, so that it seldom waits."""
        records: list[GameRecord] = []
        made = NOTHING
        count = len(self.settings.shares())
        ahead = 1 if count > 1 else 0  # rounds
        played = [0] * count  # rounds of each worker
        of_round: dict[int, list[list[GameRecord]]] = {}
        complete = 0  # rounds that all workers have played
        last: int | None = None if is_wanted(made) else 0  # total number of rounds, once known
        running = RoundsUnderWay(self)
        idle = set(range(count))
        try:
            while True:
                for number in sorted(idle):
                    if played[number] <= complete + ahead and (
                        last is None or played[number] < last
                    ):
                        idle.discard(number)
                        running.begin(number)
                if not running.count:
                    return records
                for number, future in running.ended():
                    games = of_round.setdefault(played[number], [[] for _ in range(count)])
                    games[number] = future.result()
                    played[number] += 1
                    idle.add(number)
                while min(played) > complete:
                    ended = [record for games in of_round.pop(complete) for record in games]
                    made = made.with_more(ended)
                    records += ended
                    complete += 1
                    if last is None and not is_wanted(made):
                        last = complete + ahead
        except BaseException:
            self.leave_rounds()
            running.wait()
            raise

    # -- exact resume -----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The games in play, without trees: see `set_weights`."""
        return {"workers": self.worker_states()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the games in play.

        Raises:
            CheckpointError: the number of games or workers differs from the settings.
        """
        saved = [len(worker["games"]) for worker in state["workers"]]
        shares = self.settings.shares()
        for key, was, now in (
            ("num_games", sum(saved), sum(shares)),
            ("workers", len(saved), len(shares)),
        ):
            if was != now:
                raise CheckpointError(
                    f"selfplay.{key} must stay {was} as in the checkpoint, got {now}"
                )
        self.load_worker_states(state["workers"])


class RoundsUnderWay:
    """Rounds of a pool's workers. The cost of waiting does not grow with their number."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._ended: queue.SimpleQueue[tuple[int, Future[list[GameRecord]]]] = queue.SimpleQueue()
        self._begun: dict[int, Future[list[GameRecord]]] = {}  # by worker, not yet returned

    @property
    def count(self) -> int:
        """How many rounds have begun that `ended` has not returned."""
        return len(self._begun)

    def begin(self, worker: int) -> None:
        """Start a round of an idle worker."""
        begun = self._begun[worker] = self._pool.begin_round(worker)
        begun.add_done_callback(lambda done: self._ended.put((worker, done)))

    def ended(self) -> list[tuple[int, Future[list[GameRecord]]]]:
        """Wait until a round ends; returns all finished ones, each with its worker."""
        ended = [self._ended.get()]
        while not self._ended.empty():
            ended.append(self._ended.get())
        for worker, _ in ended:
            del self._begun[worker]
        return ended

    def wait(self) -> None:
        """Wait until all rounds have ended, whatever the state of the queue after an interrupt."""
        wait(self._begun.values())


def without_ended(state: dict[str, Any], ended: Collection[int]) -> dict[str, Any]:
    """A pool's state in which new games replace those that have ended since.

    Args:
        state: the games in play at a checkpoint.
        ended: indices of games that ended after it.

    Returns:
        The state with None in place of those games; no later game reuses their indices. Games that
        began after the checkpoint and have not ended are lost, which affects long games more often.
    """
    step = len(state["workers"])
    workers = [
        {
            **worker,
            "next_index": max(
                [worker["next_index"]] + [index + step for index in ended if index % step == number]
            ),
            "games": [None if game["game_index"] in ended else game for game in worker["games"]],
        }
        for number, worker in enumerate(state["workers"])
    ]
    return {**state, "workers": workers}


def evaluations_per_s(pool: WorkerPool, seconds: float) -> float:
    """The rate at which the network evaluates positions for all workers together.

    Measured from the end of the first round until no further round is wanted. So it includes
    neither the start of the workers nor their final wait for each other, both of which training has
    once per generation.
    """
    marks: list[tuple[float, int]] = []

    def is_wanted(_made: Amount) -> bool:
        marks.append((time.perf_counter(), pool.statistics.evaluations))
        return len(marks) <= MEASURED_ROUNDS or marks[-1][0] - marks[1][0] < seconds

    pool.play_while(is_wanted)
    (began, before), (ended, after) = marks[1], marks[-1]
    return (after - before) / (ended - began)
