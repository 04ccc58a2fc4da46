"""The actor: self-play games in this process, divided among workers with one thread each.

One worker searches while another waits for the network or runs on another core: workers spend their
time in compiled code and in the network, and neither holds the GIL. On a CPU each worker uses one
core for both its search and its network; cores that shared a batch would wait for each other at
every layer.

If the weights do not change, a game depends only on them, the resignation threshold, the seed and
its index, up to the network's rounding in batches: random numbers come from counters. A game that
branches off also depends on the game before it in its slot. A search tree never outlives the
weights that evaluated it. `azcore.selfplay.pool` explains which games end in a call of `play`.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from azcore.game import Game
from azcore.game.faults import game_faults
from azcore.search.evaluators import Evaluator
from azcore.search.settings import SearchSettings
from azcore.selfplay.pool import ActorStatistics, WorkerPool
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.weights import Weights
from azcore.selfplay.worker import Worker, WorkerStatistics
from azcore.storage.game_record import GameRecord
from azcore.storage.starts import Starts


class Actor(WorkerPool):
    """Plays games against itself.

    Args:
        game, variant, search, record_surprise, starts: as for `Worker`.
        settings: number of games and workers, and how moves are chosen.
        evaluator: evaluates leaves; `set_evaluator` replaces it.
        numbers: the numbers of the run's workers in this actor; None: all.
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
        numbers: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.game = variant or game
        self.settings = settings
        shares = settings.shares()
        here = range(len(shares)) if numbers is None else numbers
        self._workers = [
            Worker(
                game=game,
                variant=self.game,
                search=search,
                settings=settings,
                num_games=shares[number],
                first_index=number,
                index_step=len(shares),
                seed=seed,
                evaluator=own,
                record_surprise=record_surprise,
                starts=starts,
            )
            for number, own in zip(here, evaluator.for_threads(len(here)), strict=True)
        ]
        self._pool = ThreadPoolExecutor(len(here), "self-play")
        self._stopped = False

    def compile(self, turn: int) -> None:
        """Compile what play needs; see `Worker.compile`."""
        self._workers[0].compile(turn)

    def bytes_needed(self, legal_actions: int) -> int:
        return sum(worker.bytes_needed(legal_actions) for worker in self._workers)

    def set_weights(self, weights: Weights, resign_threshold: float | None = None) -> None:
        evaluator = weights.evaluator(len(self._workers))
        self.set_evaluator(evaluator, weights.version, resign_threshold)

    def set_evaluator(
        self, evaluator: Evaluator, weights_version: int, resign_threshold: float | None = None
    ) -> None:
        """Continue with newer weights, of `weights_version` optimizer steps; see `set_weights`."""
        evaluators = evaluator.for_threads(len(self._workers))
        for worker, own in zip(self._workers, evaluators, strict=True):
            worker.set_evaluator(own, weights_version, resign_threshold)

    def begin_round(self, worker: int) -> Future[list[GameRecord]]:
        # Never on this thread, which is the learner's and uses all cores: an evaluator may limit
        # its own thread to some of them.
        return self._pool.submit(self.play_round, worker)

    def close(self) -> None:
        self._stopped = True

    def leave_rounds(self) -> None:
        self._stopped = True  # workers leave their round after the current wave

    def play_round(self, worker: int) -> list[GameRecord]:
        """Play a worker's round on this thread; returns the games that end in it."""
        records: list[GameRecord] = []
        with game_faults():
            for _ in range(self.settings.round_waves):
                if self._stopped:
                    break
                records += self._workers[worker].play_wave()
        return records

    def longest_in_play(self) -> int:
        return max(worker.longest_in_play for worker in self._workers)

    @property
    def statistics(self) -> ActorStatistics:
        each = [worker.statistics for worker in self._workers]
        return ActorStatistics(
            evaluations=sum(one.evaluations for one in each),
            remembered=sum(one.remembered for one in each),
            seconds=self._seconds,
            network_seconds=sum(one.network_seconds for one in each) / len(each),
            proof_seconds=sum(one.proof_seconds for one in each) / len(each),
        )

    def reset_statistics(self) -> None:
        self._seconds = 0.0
        for worker in self._workers:
            worker.reset_statistics()

    def take_statistics_of(self, worker: int) -> WorkerStatistics:
        """A worker's counts, which are zero afterwards."""
        taken = self._workers[worker].statistics
        self._workers[worker].reset_statistics()
        return taken

    def worker_states(self) -> list[dict[str, Any]]:
        return [worker.state_dict() for worker in self._workers]

    def load_worker_states(self, states: list[dict[str, Any]]) -> None:
        for worker, one in zip(self._workers, states, strict=True):
            worker.load_state_dict(one)
