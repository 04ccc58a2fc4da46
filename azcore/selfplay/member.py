"""A process of self-play: answers the requests of a `ProcessCrew` until that goes away.

It is given a `Recipe` and the numbers of its workers, and holds nothing that would be missed: the
crew knows all that it has asked for. Requests are answered as if they were done one after another,
while rounds of different workers run side by side. `BEGIN` is what Python runs: first of all it
watches for the end of the crew's process, upon which, however it came, the system closes the
connection.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from azcore.selfplay.actor import Actor
from azcore.selfplay.crew import Weights
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
    """

    def __init__(self, actor: Actor, unpack: Callable[[bytes, int], Weights]) -> None:
        self._actor, self._unpack = actor, unpack

    def round(self, worker: int) -> Round:
        """The `worker` is counted among those of this process."""
        records = self._actor.play_round(worker)
        statistics = self._actor.take_statistics_of(worker)
        return Round(records, statistics, self._actor.longest_in_play())

    def weights(self, packed: bytes, version: int, resign_threshold: float | None) -> None:
        self._actor.set_weights(self._unpack(packed, version), resign_threshold)

    def states(self) -> list[dict[str, Any]]:
        return self._actor.worker_states()

    def load(self, states: list[dict[str, Any]]) -> None:
        self._actor.load_worker_states(states)

    def bytes_needed(self, legal_actions: int) -> int:
        return self._actor.bytes_needed(legal_actions)


# Importing the rest takes seconds. With -m, the classes here would be those of __main__.
BEGIN = """
import os, select, sys, threading
def watch():
    hangup = select.poll()
    hangup.register(int(sys.argv[1]), 0)
    hangup.poll()
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from azcore.selfplay.member import serve
serve(int(sys.argv[1]))
"""


def serve(descriptor: int) -> None:
    """Answer all requests; if the workers cannot be built, that error is every answer.

    Args:
        descriptor: of the connection to the crew.
    """
    connection, sending = Connection(descriptor), threading.Lock()
    recipe, numbers, process = connection.recv()
    built: Future[Member] = Future()
    try:
        built.set_result(Member(*recipe.build(numbers, process)))
    except BaseException as error:
        built.set_exception(error)

    def answer(number: int, method: str, values: tuple[Any, ...]) -> None:
        done: Answer
        try:
            done = (number, True, getattr(built.result(), method)(*values))
        except BaseException as error:
            done = (number, False, _sendable(error))
        with sending:
            connection.send(done)

    threads = [ThreadPoolExecutor(1, "self-play") for _ in numbers]  # one for each worker
    rounds: list[Future[None]] = []
    with contextlib.suppress(EOFError, OSError):  # the crew is gone
        while True:
            request: Request = connection.recv()
            if request[1] == Member.round.__name__:
                rounds.append(threads[request[2][0]].submit(answer, *request))
            else:
                wait(rounds)
                rounds.clear()
                answer(*request)


def _sendable(error: BaseException) -> BaseException:
    """An error as it can be raised in another process, where its traceback becomes a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("\n".join(traceback.format_exception(error)))
    return error
