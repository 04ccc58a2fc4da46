"""Members: the part of a run's work in another process, and the requests it answers.

A member is built from a `Recipe` and the numbers of its workers, and holds nothing irreplaceable:
its caller remembers all requests. This file does not deal with the transport of requests and
answers.
"""

import pickle
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from azcore.errors import AzcoreError
from azcore.game import hangs
from azcore.selfplay.actor import Actor
from azcore.selfplay.jobs import Job, JobContext, Tell
from azcore.selfplay.worker import WorkerStatistics
from azcore.storage.game_record import GameRecord

Request = tuple[int, str, tuple[Any, ...]]  # its number, the name of a method of `Member`, values
# That number; True: the method's result, False: its error, None: the progress of a job.
Answer = tuple[int, bool | None, Any]
TELL = 0.25  # least seconds between two reports of progress


class Round(NamedTuple):
    records: list[GameRecord]
    statistics: WorkerStatistics
    longest: int  # plies, of the process's games in play


class Member:
    """The methods that a request can call."""

    def __init__(self, context: JobContext) -> None:
        self._context = context

    def job(self, tell: Tell, worker: int, job: Job[Any], *weights: bytes) -> Any:
        """Run a job alongside this `worker`, numbered within this process."""
        return self._context.do(job, weights, tell)

    def leave(self) -> None:
        """Stop all current work at once."""
        self._context.leave()


class Recipe(ABC):
    """Builds a member in another process, to which it travels pickled."""

    @abstractmethod
    def build(self, numbers: Sequence[int], process: int) -> Member:
        """A member.

        Args:
            numbers: the numbers of its workers among those of the run.
        """


class SelfPlayMember(Member):
    """A member with self-play workers."""

    def __init__(self, actor: Actor, context: JobContext) -> None:
        super().__init__(context)
        self._actor = actor

    def round(self, worker: int) -> Round:
        """Play a round of this `worker`, numbered within this process."""
        records = self._actor.play_round(worker)
        statistics = self._actor.take_statistics_of(worker)
        return Round(records, statistics, self._actor.longest_in_play())

    def weights(self, packed: bytes, version: int, resign_threshold: float | None) -> None:
        self._actor.set_weights(self._context.unpack(packed, version), resign_threshold)

    def states(self) -> bytes:
        """The pickled states: the pool stores them in case of a loss, and seldom unpacks them."""
        return pickle.dumps(self._actor.worker_states())

    def load(self, states: bytes) -> None:
        self._actor.load_worker_states(pickle.loads(states))

    def bytes_needed(self, legal_actions: int) -> int:
        return self._actor.bytes_needed(legal_actions)

    def leave(self) -> None:
        self._actor.leave_rounds()
        super().leave()


ROUND, JOB = SelfPlayMember.round.__name__, Member.job.__name__
# Requests that a restarted member gets again, although it has answered them.
CHANGING = (ROUND, SelfPlayMember.weights.__name__, SelfPlayMember.load.__name__)


class RequestServer:
    """Answers requests as if they ran one after another; rounds run concurrently.

    Jobs run alongside, one at a time for each worker.

    Call it from one thread only. If the member cannot be built, every answer is that error.
    """

    def __init__(self, recipe: Recipe, numbers: Sequence[int], process: int) -> None:
        hangs.watch()
        self._built: Future[Member] = Future()
        try:
            self._built.set_result(recipe.build(numbers, process))
        except BaseException as error:
            self._built.set_exception(error)
        self._threads = [ThreadPoolExecutor(1, "self-play") for _ in numbers]  # one for each worker
        self._rounds: list[Future[None]] = []
        self._jobs = [ThreadPoolExecutor(1, "job") for _ in numbers]

    def ask(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Execute a request, now or when its worker is free, then call `answer`, on any thread."""
        _, method, values = request
        if method == ROUND:
            self._rounds.append(self._threads[values[0]].submit(self._do, request, answer))
        elif method == JOB:
            values = (_progress_reporter(request[0], answer), *values)
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
        """Stop all rounds and jobs, and start no new ones."""
        if self._built.exception() is None:
            self._built.result().leave()
        for thread in self._threads + self._jobs:
            thread.shutdown(wait=False, cancel_futures=True)


def _progress_reporter(number: int, answer: Callable[[Answer], None]) -> Tell:
    """A function that reports a job's progress, at a limited rate."""
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= TELL:
            last = now
            answer((number, None, done))

    return tell


def _sendable(error: BaseException) -> BaseException:
    """An error that another process can raise, with its traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        if isinstance(error, AzcoreError):  # one constructed from more than its text
            return AzcoreError(str(error))
        return RuntimeError("\n".join(traceback.format_exception(error)))
    return error
