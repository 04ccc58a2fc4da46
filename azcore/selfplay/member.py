"""A member of a crew: some of the run's workers, in a process somewhere, and what it can be asked.

It is built of a `Recipe` and the numbers of its workers, and holds nothing that would be missed:
the crew knows all that it has asked for. How requests come and answers go is no matter of this
file.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from azcore.errors import AzcoreError
from azcore.selfplay.actor import Actor
from azcore.selfplay.crew import Recipe, Weights
from azcore.selfplay.jobs import Job, Workplace
from azcore.selfplay.worker import WorkerStatistics
from azcore.storage.game_record import GameRecord

Request = tuple[int, str, tuple[Any, ...]]  # its number, the name of a method of `Member`, values
Answer = tuple[int, bool, Any]  # that number; True: what the method returned, False: its error


class Round(NamedTuple):
    """What a worker did in a round."""

    records: list[GameRecord]
    statistics: WorkerStatistics
    longest: int  # plies, of the process's games in play


class Member:
    """What a request can ask for.

    Args:
        actor: has the workers of this process.
        unpack: makes weights of bytes and a version.
        workers: how many there are.
    """

    def __init__(self, actor: Actor, unpack: Callable[[bytes, int], Weights], workers: int) -> None:
        self._actor, self._unpack = actor, unpack
        self._place = Workplace(actor.game_of_records, unpack, workers)

    def round(self, worker: int) -> Round:
        """The `worker` is counted among those of this process."""
        records = self._actor.play_round(worker)
        statistics = self._actor.take_statistics_of(worker)
        return Round(records, statistics, self._actor.longest_in_play())

    def weights(self, packed: bytes, version: int, resign_threshold: float | None) -> None:
        self._actor.set_weights(self._unpack(packed, version), resign_threshold)

    def states(self) -> bytes:
        """Pickled already: the crew keeps them for the case of a loss, and seldom looks inside."""
        return pickle.dumps(self._actor.worker_states())

    def load(self, states: bytes) -> None:
        self._actor.load_worker_states(pickle.loads(states))

    def bytes_needed(self, legal_actions: int) -> int:
        return self._actor.bytes_needed(legal_actions)

    def job(self, worker: int, job: Job[Any], *weights: bytes) -> Any:
        """The `worker` is the one beside which it is done."""
        return self._place.do(job, weights, lambda done: None)

    def leave(self) -> None:
        """Leave all rounds and jobs at once."""
        self._actor.leave_rounds()
        self._place.leave()


JOB = Member.job.__name__


class Desk:
    """Answers requests as if they were done one after another; rounds run side by side.

    Jobs are done beside all of that, one at a time for each worker.

    Ask it on one thread. If the workers cannot be built, that error is every answer.

    Args:
        recipe: builds the workers.
        numbers: of its workers among those of the run.
        process: its number.
    """

    def __init__(self, recipe: Recipe, numbers: Sequence[int], process: int) -> None:
        self._built: Future[Member] = Future()
        try:
            self._built.set_result(Member(*recipe.build(numbers, process), len(numbers)))
        except BaseException as error:
            self._built.set_exception(error)
        self._threads = [ThreadPoolExecutor(1, "self-play") for _ in numbers]  # one for each worker
        self._rounds: list[Future[None]] = []
        self._jobs = [ThreadPoolExecutor(1, "job") for _ in numbers]

    def ask(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Do it, now or when its worker is free, and then call `answer`, on any thread."""
        _, method, values = request
        if method == Member.round.__name__:
            self._rounds.append(self._threads[values[0]].submit(self._do, request, answer))
        elif method == JOB:
            self._jobs[values[0]].submit(self._do, request, answer)
        else:
            wait(self._rounds)
            self._rounds.clear()
            self._do(request, answer)

    def _do(self, request: Request, answer: Callable[[Answer], None]) -> None:
        number, method, values = request
        done: Answer
        try:
            done = (number, True, getattr(self._built.result(), method)(*values))
        except BaseException as error:
            done = (number, False, _sendable(error))
        answer(done)

    def close(self) -> None:
        """Leave all rounds and jobs, and begin no more."""
        if self._built.exception() is None:
            self._built.result().leave()
        for thread in self._threads + self._jobs:
            thread.shutdown(wait=False, cancel_futures=True)


def _sendable(error: BaseException) -> BaseException:
    """An error as it can be raised in another process, where its traceback becomes a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        if isinstance(error, AzcoreError):  # one that is made of more than its text
            return AzcoreError(str(error))
        return RuntimeError("\n".join(traceback.format_exception(error)))
    return error
