"""Members: what another process has of a run's work, and what it can be asked.

A member is built of a `Recipe` and the numbers of its workers, and holds nothing that would be
missed: whoever asks it knows all that was asked. How requests come and answers go is no matter of
this file.
"""

from __future__ import annotations

import pickle
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from azcore.errors import AzcoreError
from azcore.selfplay.actor import Actor
from azcore.selfplay.jobs import Job, Tell, Workplace
from azcore.selfplay.worker import WorkerStatistics
from azcore.storage.game_record import GameRecord

Request = tuple[int, str, tuple[Any, ...]]  # its number, the name of a method of `Member`, values
# That number; True: what the method returned, False: its error, None: how much of a job is done.
Answer = tuple[int, bool | None, Any]
TELL = 0.25  # seconds between two answers of the last kind, at least


class Round(NamedTuple):
    """What a worker did in a round."""

    records: list[GameRecord]
    statistics: WorkerStatistics
    longest: int  # plies, of the process's games in play


class Member:
    """What a request can ask for.

    Args:
        workplace: has what jobs need.
    """

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def job(self, tell: Tell, worker: int, job: Job[Any], *weights: bytes) -> Any:
        """The `worker`, counted among those of this process, is the one beside which it is done."""
        return self._workplace.do(job, weights, tell)

    def leave(self) -> None:
        """Leave all that is under way at once."""
        self._workplace.leave()


class Recipe(ABC):
    """Builds a member in another process; pickled, it travels there."""

    @abstractmethod
    def build(self, numbers: Sequence[int], process: int) -> Member:
        """A member.

        Args:
            numbers: of its workers among those of the run.
            process: its number.
        """


class MemberOfCrew(Member):
    """One with workers of self-play.

    Args:
        actor: has the workers of this process.
        workplace: has what jobs need, and makes weights of packed ones.
    """

    def __init__(self, actor: Actor, workplace: Workplace) -> None:
        super().__init__(workplace)
        self._actor = actor

    def round(self, worker: int) -> Round:
        """The `worker` is counted among those of this process."""
        records = self._actor.play_round(worker)
        statistics = self._actor.take_statistics_of(worker)
        return Round(records, statistics, self._actor.longest_in_play())

    def weights(self, packed: bytes, version: int, resign_threshold: float | None) -> None:
        self._actor.set_weights(self._workplace.unpack(packed, version), resign_threshold)

    def states(self) -> bytes:
        """Pickled already: the crew keeps them for the case of a loss, and seldom looks inside."""
        return pickle.dumps(self._actor.worker_states())

    def load(self, states: bytes) -> None:
        self._actor.load_worker_states(pickle.loads(states))

    def bytes_needed(self, legal_actions: int) -> int:
        return self._actor.bytes_needed(legal_actions)

    def leave(self) -> None:
        self._actor.leave_rounds()
        super().leave()


ROUND, JOB = MemberOfCrew.round.__name__, Member.job.__name__
# What a member that is begun again is asked again, although it has been answered.
CHANGING = (ROUND, MemberOfCrew.weights.__name__, MemberOfCrew.load.__name__)


class Desk:
    """Answers requests as if they were done one after another; rounds run side by side.

    Jobs are done beside all of that, one at a time for each worker.

    Ask it on one thread. If the member cannot be built, that error is every answer.

    Args:
        recipe: builds the member.
        numbers: of its workers among those of the run.
        process: its number.
    """

    def __init__(self, recipe: Recipe, numbers: Sequence[int], process: int) -> None:
        self._built: Future[Member] = Future()
        try:
            self._built.set_result(recipe.build(numbers, process))
        except BaseException as error:
            self._built.set_exception(error)
        self._threads = [ThreadPoolExecutor(1, "self-play") for _ in numbers]  # one for each worker
        self._rounds: list[Future[None]] = []
        self._jobs = [ThreadPoolExecutor(1, "job") for _ in numbers]

    def ask(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Do it, now or when its worker is free, and then call `answer`, on any thread."""
        _, method, values = request
        if method == ROUND:
            self._rounds.append(self._threads[values[0]].submit(self._do, request, answer))
        elif method == JOB:
            values = (_telling(request[0], answer), *values)
            self._jobs[values[1]].submit(self._do, (request[0], method, values), answer)
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


def _telling(number: int, answer: Callable[[Answer], None]) -> Tell:
    """A function that answers how much of a job is done, not too often."""
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= TELL:
            last = now
            answer((number, None, done))

    return tell


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
