"""The actor: all self-play games, divided among workers with one thread each.

One worker searches while another waits for the network or runs on another core: workers spend their
time in compiled code and in the network, and neither holds the GIL. On a CPU each worker uses one
core for both its search and its network; cores that shared a batch would wait for each other at
every layer.

If the weights do not change, a game depends only on them, the resignation threshold, the seed and
its index, up to the network's rounding in batches: random numbers come from counters. A game that
branches off depends on the game before it in its place as well. The games
that end in a call of `play` also depend on the number of games and of workers, never on timing.
A search tree never outlives the weights that evaluated it.

    actor.set_evaluator(evaluator, weights_version, resign_threshold)
    records = actor.play(num_positions)      # finished games only; the others stay in play
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

from azcore.errors import CheckpointError
from azcore.game import Game
from azcore.game.faults import game_faults
from azcore.search.evaluators import Evaluator
from azcore.search.settings import SearchSettings
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.worker import Worker
from azcore.storage.game_record import GameRecord
from azcore.storage.starts import Starts

WAVES = 16  # per round; after each round the actor checks whether there are enough games


class Amount(NamedTuple):
    """An amount of self-play."""

    games: int  # finished ones
    positions: int  # to learn from, in these games

    def with_more(self, games: list[GameRecord]) -> Amount:
        """This amount plus these games."""
        positions = sum(record.num_samples for record in games)
        return Amount(self.games + len(games), self.positions + positions)


NOTHING = Amount(0, 0)


@dataclass
class ActorStatistics:
    """The actor's work since the last reset, for logs; seconds of wall time."""

    evaluations: int = 0  # positions that the network evaluated
    remembered: int = 0  # positions whose evaluation was cached
    seconds: float = 0.0
    network_seconds: float = 0.0  # per worker, on average


class Actor:
    """Plays games against itself. Do not use an actor again after it has raised an error.

    Args:
        game: the game to play, which records name.
        variant: the game as self-play plays it, which may forbid actions that `game` allows.
        search: how each move is searched, root noise included.
        settings: number of games and workers, and how moves are chosen.
        seed: of the run.
        evaluator: evaluates leaves; `set_evaluator` replaces it.
        record_surprise: whether records say how much each search surprised the network.
        starts: what games begin from, of `variant`; None: the initial position.
    """

    def __init__(
        self,
        *,
        game: Game,
        variant: Game | None = None,
        search: SearchSettings,
        settings: SelfPlaySettings,
        seed: int,
        evaluator: Evaluator,
        record_surprise: bool = False,
        starts: Starts | None = None,
    ) -> None:
        self.game = variant or game
        self.settings = settings
        shares = settings.shares()
        self._workers = [
            Worker(
                game=game,
                variant=self.game,
                search=search,
                settings=settings,
                num_games=share,
                first_index=first,
                index_step=len(shares),
                seed=seed,
                evaluator=own,
                record_surprise=record_surprise,
                starts=starts,
            )
            for first, (share, own) in enumerate(
                zip(shares, evaluator.for_threads(len(shares)), strict=True)
            )
        ]
        self._pool: ThreadPoolExecutor | None = None
        if len(shares) > 1:
            self._pool = ThreadPoolExecutor(len(shares), "self-play")
        self._stopped = False
        self._seconds = 0.0

    def bytes_needed(self, legal_actions: int) -> int:
        """Bytes of full search trees whose positions have `legal_actions` legal actions."""
        return sum(worker.bytes_needed(legal_actions) for worker in self._workers)

    def set_evaluator(
        self,
        evaluator: Evaluator,
        weights_version: int,
        resign_threshold: float | None = None,
    ) -> None:
        """Continue with newer weights; a search in progress starts again with them.

        Args:
            evaluator: of these weights.
            weights_version: optimizer steps behind them.
            resign_threshold: v, see `azcore.selfplay.resignation`; None: no resignation.
        """
        evaluators = evaluator.for_threads(len(self._workers))
        for worker, own in zip(self._workers, evaluators, strict=True):
            worker.set_evaluator(own, weights_version, resign_threshold)

    def play(
        self,
        num_positions: int = 0,
        progress: Callable[[Amount], None] | None = None,
        *,
        num_games: int = 0,
    ) -> list[GameRecord]:
        """Play until enough games have ended and they have enough positions to learn from.

        Args:
            num_positions: minimum sum of the games' searched plies.
            progress: called with the amount so far, before the first round and after each.
            num_games: minimum number of games.

        Returns:
            The finished games, ordered by round, by worker and by when they ended.
        """

        def is_wanted(made: Amount) -> bool:
            if progress is not None:
                progress(made)
            return made.games < num_games or made.positions < num_positions

        return self.play_while(is_wanted)

    def play_while(self, is_wanted: Callable[[Amount], bool]) -> list[GameRecord]:
        """Play rounds of `WAVES` waves in all workers while `is_wanted` returns True.

        Args:
            is_wanted: called with the amount so far, before the first round and after each. With
                several workers, one more round is played after it has returned False.

        Returns:
            The finished games, ordered by round, by worker and by when they ended.
        """
        began = time.perf_counter()
        try:
            records = (
                self._rounds(is_wanted) if self._pool is None else self._side_by_side(is_wanted)
            )
        finally:
            self._seconds += time.perf_counter() - began
        return records

    def _rounds(self, is_wanted: Callable[[Amount], bool]) -> list[GameRecord]:
        records: list[GameRecord] = []
        made = NOTHING
        while is_wanted(made):
            ended = self._round(self._workers[0])
            made = made.with_more(ended)
            records += ended
        return records

    def _side_by_side(self, is_wanted: Callable[[Amount], bool]) -> list[GameRecord]:
        """Run all workers; one may be a round ahead of another, so that it seldom waits."""
        assert self._pool is not None
        records: list[GameRecord] = []
        made = NOTHING
        count = len(self._workers)
        played = [0] * count  # rounds of each worker
        of_round: dict[int, list[list[GameRecord]]] = {}
        complete = 0  # rounds that all workers have played
        last: int | None = None if is_wanted(made) else 0  # total number of rounds, once known
        running: dict[Future[list[GameRecord]], int] = {}
        idle = set(range(count))
        try:
            while True:
                for number in sorted(idle):
                    if played[number] <= complete + 1 and (last is None or played[number] < last):
                        idle.discard(number)
                        running[self._pool.submit(self._round, self._workers[number])] = number
                if not running:
                    return records
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number = running.pop(future)
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
                        last = complete + 1
        except BaseException:
            self._stopped = True  # workers leave their round after the current wave
            wait(running)
            raise

    def _round(self, worker: Worker) -> list[GameRecord]:
        records: list[GameRecord] = []
        with game_faults():
            for _ in range(WAVES):
                if self._stopped:
                    break
                records += worker.play_wave()
        return records

    @property
    def statistics(self) -> ActorStatistics:
        """The work of all workers together."""
        each = [worker.statistics for worker in self._workers]
        return ActorStatistics(
            evaluations=sum(one.evaluations for one in each),
            remembered=sum(one.remembered for one in each),
            seconds=self._seconds,
            network_seconds=sum(one.network_seconds for one in each) / len(each),
        )

    def reset_statistics(self) -> None:
        """Set all counts to zero."""
        self._seconds = 0.0
        for worker in self._workers:
            worker.reset_statistics()

    # -- exact resume ---------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The games in play as plain lists, without trees: see `set_evaluator`."""
        return {"workers": [worker.state_dict() for worker in self._workers]}

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
        for worker, one in zip(self._workers, state["workers"], strict=True):
            worker.load_state_dict(one)
