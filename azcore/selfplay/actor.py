"""The actor: all games of self-play, split over workers that each have a thread and a share.

A worker searches while another one is at the network, or on another core: what a worker does is
compiled or in the network, both without the GIL. On a CPU each has one core for its search and its
network alike; cores that work on one batch together wait for each other at every layer instead.

With the same weights throughout, a game depends on them, the threshold of resignation, the seed and
its index alone, up to how a network rounds in batches: its chance comes from counters. Which games
end in a call of `play` depends on their number and the number of workers as well, never on time.
Trees never outlive the weights that judged them.

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

WAVES = 16  # of a round, after which the actor asks whether there is enough


class Amount(NamedTuple):
    """So much of self-play."""

    games: int  # that have ended
    positions: int  # of them, to learn from

    def with_more(self, games: list[GameRecord]) -> Amount:
        """This and these games."""
        positions = sum(record.num_samples for record in games)
        return Amount(self.games + len(games), self.positions + positions)


NOTHING = Amount(0, 0)


@dataclass
class ActorStatistics:
    """What the actor has done since it was last asked, for logs; seconds of wall time."""

    evaluations: int = 0  # positions that the network judged
    remembered: int = 0  # positions whose evaluation was known already
    seconds: float = 0.0
    network_seconds: float = 0.0  # of a worker, on average


class Actor:
    """Plays games against itself. One that has raised an error is not to be used any more.

    Args:
        game: to be played, and what records are of.
        variant: the game as self-play plays it, which may forbid actions that `game` allows.
        search: how each move is searched; root noise as it says.
        settings: how many games and workers, and how moves are chosen.
        seed: of the run.
        evaluator: judge of leaves; `set_evaluator` brings newer ones.
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
        """Memory of full search trees whose positions have so many legal actions."""
        return sum(worker.bytes_needed(legal_actions) for worker in self._workers)

    def set_evaluator(
        self,
        evaluator: Evaluator,
        weights_version: int,
        resign_threshold: float | None = None,
    ) -> None:
        """Go on with newer weights; a move under way is searched anew with them.

        Args:
            evaluator: of these weights.
            weights_version: optimizer steps behind them.
            resign_threshold: v, see `azcore.selfplay.resignation`; None: nobody resigns.
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
        """Play on until so many games have ended, with so many positions to learn from.

        Args:
            num_positions: sum of the games' searched plies, at least.
            progress: called before the first round and after each with what there is so far.
            num_games: at least.

        Returns:
            The finished games, by round, worker and the order they ended.
        """

        def is_wanted(made: Amount) -> bool:
            if progress is not None:
                progress(made)
            return made.games < num_games or made.positions < num_positions

        return self.play_while(is_wanted)

    def play_while(self, is_wanted: Callable[[Amount], bool]) -> list[GameRecord]:
        """Play rounds of `WAVES` waves in all workers, while more is wanted.

        Args:
            is_wanted: told what there is so far, before the first round and after each. With
                several workers one more round is played after it has said no.

        Returns:
            The finished games, by round, worker and the order they ended.
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
        """A worker may be a round ahead of another one, so that it seldom waits."""
        assert self._pool is not None
        records: list[GameRecord] = []
        made = NOTHING
        count = len(self._workers)
        played = [0] * count  # rounds of each worker
        of_round: dict[int, list[list[GameRecord]]] = {}
        complete = 0  # rounds that all workers have played
        last: int | None = None if is_wanted(made) else 0  # as many as there will be
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
            self._stopped = True  # a worker leaves its round after the wave it is in
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
        """Of all workers together."""
        each = [worker.statistics for worker in self._workers]
        return ActorStatistics(
            evaluations=sum(one.evaluations for one in each),
            remembered=sum(one.remembered for one in each),
            seconds=self._seconds,
            network_seconds=sum(one.network_seconds for one in each) / len(each),
        )

    def reset_statistics(self) -> None:
        """Count from zero again."""
        self._seconds = 0.0
        for worker in self._workers:
            worker.reset_statistics()

    # -- exact resume ---------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The games in play, as plain lists; trees are not needed, see `set_evaluator`."""
        return {"workers": [worker.state_dict() for worker in self._workers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put the games in play back as they were.

        Raises:
            CheckpointError: another number of games or workers than in the settings.
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
