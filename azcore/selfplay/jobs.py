"""Jobs: work besides self-play, such as parts of a match, in the places that play games.

A job is pickled and travels to a slot: in this process, in a process of a pool, or in an actor of
a cluster. It depends only on itself and the weights sent with it, so a lost job can be repeated
elsewhere with the same result.
"""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from azcore.game import Game
from azcore.search.evaluators import Evaluator
from azcore.selfplay.weights import Weights

Result = TypeVar("Result")
_Key = tuple[bytes, int]  # a digest of weights, and their version
Tell = Callable[[int], None]  # called with the progress of a job


class Job(ABC, Generic[Result]):
    """Work that can be pickled, with a result that can be pickled."""

    @abstractmethod
    def do(self, context: "JobContext", weights: Sequence[bytes], tell: Tell) -> Result:
        """Do the work, on any thread, with packed weights, see `Weights.packed`.

        `tell` raises `JobCancelledError` if nobody waits for the result.
        """


class JobCancelledError(Exception):
    """Nothing waits for this job any more."""


class JobContext:
    """What jobs need where they run.

    Args:
        game: the one named in records, without settings of self-play.
        unpack: makes weights, with their own network, from packed ones and their version.
        at_once: the number of concurrent jobs, which share the cores.
    """

    def __init__(self, game: Game, unpack: Callable[[bytes, int], Weights], at_once: int) -> None:
        self.game = game
        self.unpack, self._at_once = unpack, at_once
        self._lock = threading.Lock()  # of both below
        self._evaluators: dict[_Key, Evaluator] = {}  # used by running jobs
        self._users: Counter[_Key] = Counter()  # number of those jobs
        self._own = threading.local()  # .keys: of the job on a thread
        self._is_left = False

    def do(self, job: Job[Result], weights: Sequence[bytes], tell: Tell) -> Result:
        """Do a job on this thread.

        Raises:
            JobCancelledError: `leave` was called.
        """

        def report(done: int) -> None:
            if self._is_left:
                raise JobCancelledError
            tell(done)

        self._own.keys = set()
        try:
            return job.do(self, weights, report)
        finally:
            with self._lock:
                self._users.subtract(self._own.keys)
                for key in self._own.keys:
                    if not self._users[key]:
                        del self._users[key], self._evaluators[key]

    def evaluator(self, packed: bytes, version: int) -> Evaluator:
        """An evaluator for the job on this thread; jobs share the network of equal weights."""
        key = hashlib.blake2b(packed, digest_size=16).digest(), version
        with self._lock:
            if key not in self._evaluators:
                weights = self.unpack(packed, version)
                self._evaluators[key] = weights.evaluator(self._at_once)
            if key not in self._own.keys:
                self._own.keys.add(key)
                self._users[key] += 1
            return self._evaluators[key].for_another_thread()

    def leave(self) -> None:
        """Make running jobs end soon, with an error."""
        self._is_left = True


class JobSlots(ABC):
    """`count` slots for jobs of a run or a tournament; jobs of one slot run one after another."""

    count: int

    @abstractmethod
    def published(self, packed: bytes) -> Any:
        """Weights in the form that `begin` accepts, for any number of jobs."""

    @abstractmethod
    def begin(
        self, number: int, job: Job[Result], weights: Sequence[Any], tell: Tell
    ) -> Future[Result]:
        """Start a job.

        Args:
            number: the slot's number, 0 to `count` - 1.
            tell: called, on any thread, with the progress; never called in a cluster, which reports
                only results.
        """

    @abstractmethod
    def close(self) -> None:
        """Make running jobs end soon, with an error; start no more."""


class ThreadSlots(JobSlots):
    """Threads of this process; the context is built for `count` jobs at once."""

    def __init__(self, context: JobContext, count: int) -> None:
        self.count = count
        self._context = context
        self._threads = [ThreadPoolExecutor(1, "job") for _ in range(count)]

    def published(self, packed: bytes) -> bytes:
        return packed

    def begin(
        self, number: int, job: Job[Result], weights: Sequence[Any], tell: Tell
    ) -> Future[Result]:
        return self._threads[number].submit(self._context.do, job, weights, tell)

    def close(self) -> None:
        self._context.leave()
        for thread in self._threads:
            thread.shutdown(wait=False, cancel_futures=True)
