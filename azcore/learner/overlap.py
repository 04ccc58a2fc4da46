"""Self-play that continues while the learner takes its steps: `schedule=overlap`.

    each generation begins:  the newest weights play; the learner waits until it has enough games
    the learner's steps:     self-play continues with these weights, for the next generation's games

So self-play is never more than a generation ahead, the learner is never ahead of its games, and the
ratio of samples to positions holds on any machine. A game is on disk as soon as it has ended. Which
games end in which generation depends on timing, so a run is not byte-for-byte repeatable.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace

from azcore.learner.sources import Progress, SelfPlay
from azcore.selfplay.pool import NOTHING, ActorStatistics, Amount, RoundsUnderWay, WorkerPool
from azcore.selfplay.weights import Weights
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer

LOOK = 1.0  # seconds between two checks whether self-play may continue


class OverlappingSelfPlay(SelfPlay):
    """Self-play on its own thread, paused only within `at_rest`."""

    def __init__(
        self, *, pool: WorkerPool, window: ReplayBuffer, weights_in_play: Callable[[], Weights]
    ) -> None:
        super().__init__(pool=pool, window=window, weights_in_play=weights_in_play)
        self._playing = _FreePlay(pool)
        self._has_newest = False  # whether the pool has this generation's weights

    def deliver_to(self, store: Callable[[list[GameRecord]], None]) -> None:
        self._playing.store = store

    def new_games(self, wanted: Amount, progress: Progress) -> list[GameRecord]:
        """Let self-play continue until it has delivered these games; returns none itself."""
        self._renew()
        self._playing.until(wanted, progress)
        return []

    def play_on(self, most: Amount) -> None:
        self._renew()
        self._has_newest = False  # for the next generation
        self._playing.allow(most)

    def _renew(self) -> None:
        """Switch to the newest weights, once per generation.

        It does so even if they equal the previous generation's, since a lost process repeats
        everything since it last got weights.
        """
        if not self._has_newest:
            self._pool.set_weights(self._weights_in_play(), self._find_threshold())
            self._has_newest = True

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        with self._playing.at_rest():
            yield

    def take_statistics(self) -> ActorStatistics:
        return replace(super().take_statistics(), seconds=self._playing.take_seconds())

    def close(self) -> None:
        self._playing.close()
        super().close()


class _FreePlay:
    """Starts rounds of a pool: each worker's next as soon as its last one ends, without waiting."""

    def __init__(self, pool: WorkerPool) -> None:
        self.store: Callable[[list[GameRecord]], None]
        self._pool = pool
        self._changed = threading.Condition()  # guards all below
        self._made = NOTHING  # since the last call of `allow`
        self._most = NOTHING
        self._rests, self._is_still, self._is_over = True, True, False
        self._error: BaseException | None = None
        self._seconds = 0.0  # in which rounds were running
        self._thread = threading.Thread(target=self._run, name="self-play schedule", daemon=True)
        self._thread.start()

    def allow(self, most: Amount) -> None:
        """Start rounds until this much more has been played, once outside `at_rest`."""
        with self._changed:
            self._made, self._most = NOTHING, most
            self._changed.notify_all()

    def until(self, wanted: Amount, progress: Progress) -> None:
        """Within `at_rest`, play this much, unless `progress` returns False, and pause again."""
        self.allow(wanted)
        with self._changed:
            self._rests = False
            self._changed.notify_all()
            try:
                while self._is_allowed and self._error is None:
                    if progress(self._made) is False:
                        self._most = NOTHING
                        break
                    self._changed.wait(LOOK)
                progress(self._made)
            finally:
                self._rests = True
            self._wait_until_still()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Within the block, no round is running and all finished games are saved."""
        with self._changed:
            self._rests = True
            self._wait_until_still()
        yield
        with self._changed:
            self._rests = False
            self._changed.notify_all()

    def _wait_until_still(self) -> None:
        while not self._is_still:
            self._changed.wait()
        if self._error is not None:
            raise self._error

    @property
    def _is_allowed(self) -> bool:
        made, most = self._made, self._most
        return made.games < most.games or made.positions < most.positions

    def take_seconds(self) -> float:
        """The seconds with running rounds since the last call."""
        with self._changed:
            seconds, self._seconds = self._seconds, 0.0
        return seconds

    def close(self) -> None:
        """End all rounds, saving the games that ended in them."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._pool.leave_rounds()
        self._thread.join()

    # -- on its thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        running = RoundsUnderWay(self._pool)
        idle = set(range(len(self._pool.settings.shares())))
        try:
            while self._may_begin(running.count > 0) or running.count:
                began = time.perf_counter()
                for number in sorted(idle) if self._may_begin(True) else ():
                    idle.discard(number)
                    running.begin(number)
                ended = running.ended()
                with self._changed:
                    self._seconds += time.perf_counter() - began
                idle.update(number for number, _ in ended)
                self._store_all(ended)
        except BaseException as error:
            with self._changed:
                self._error = None if self._is_over else error
            self._pool.leave_rounds()
            while running.count:
                with suppress(Exception):  # another error comes first
                    self._store_all(running.ended())
        finally:
            with self._changed:
                self._is_still = True
                self._changed.notify_all()

    def _may_begin(self, at_once: bool) -> bool:
        """Whether rounds may start now; unless `at_once`, wait until they may or the end."""
        with self._changed:
            while True:
                if self._is_over:
                    return False
                if self._is_allowed and not self._rests:
                    self._is_still = False
                    return True
                if at_once:
                    return False
                self._is_still = True
                self._changed.notify_all()
                self._changed.wait()

    def _store_all(self, ended: list[tuple[int, Future[list[GameRecord]]]]) -> None:
        """Save the games of several rounds together, since each save costs a sync of the disk.

        Raises:
            BaseException: as raised in one of the rounds; the games of the others are stored.
        """
        wrong = [error for _, done in ended if (error := done.exception()) is not None]
        well = [done.result() for _, done in ended if done.exception() is None]
        records = [record for games in well for record in games]
        if records:
            self.store(records)
        with self._changed:
            self._made = self._made.with_more(records)
            self._changed.notify_all()
        if wrong:
            raise wrong[0]
