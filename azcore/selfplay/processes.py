"""A crew whose workers run in processes of their own, on this machine.

Python's threads share one lock; processes do not, and one that dies takes no other with it. Each
has some of the run's workers, with the numbers that they would have here, so the games are the same
however many processes there are.

A process that is lost is started again. Its crew remembers what it has asked since the process last
got weights: the games in play at that moment, the weights, and rounds. All of it is asked again,
and answers that are there already are dropped. Since a game is a function of weights, seed and
index, the new process plays what the lost one played: the loss costs time, and no game.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any

from azcore.errors import LostProcessError
from azcore.game import Game
from azcore.selfplay.crew import ActorStatistics, Crew, Recipe, Weights
from azcore.selfplay.member import BEGIN, Request, Round
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.worker import WorkerStatistics
from azcore.storage.game_record import GameRecord


class ProcessCrew(Crew):
    """Workers in processes; close it, or they go on until this process ends.

    Args:
        game: the game as self-play plays it.
        settings: number of games and workers, and how moves are chosen.
        recipe: builds the workers in each process.
        processes: how many; at most one for each worker.
        restarts: how often in a row a process is started again before it has answered anything.
        say: called with a sentence about each loss, on any thread.
        environment: of the processes, besides that of this one.
    """

    def __init__(
        self,
        *,
        game: Game,
        settings: SelfPlaySettings,
        recipe: Recipe,
        processes: int,
        restarts: int,
        say: Callable[[str], None],
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.game, self.settings = game, settings
        shared = divided(len(settings.shares()), processes)
        self._members = [
            _Process(number, recipe, numbers, restarts, say, environment or {})
            for number, numbers in enumerate(shared)
        ]
        self._places = [  # of each worker: its process, and its number there
            (member, local)
            for member, numbers in zip(self._members, shared, strict=True)
            for local in range(len(numbers))
        ]
        self._states: list[list[dict[str, Any]]] | None = None  # of each process, if still true
        self._longest = [0] * len(self._places)  # plies, of each worker's process
        self._counting = threading.Lock()
        self.reset_statistics()

    def set_weights(self, weights: Weights, resign_threshold: float | None = None) -> None:
        message = (weights.packed(), weights.version, resign_threshold)
        states = self._states_of_members()
        given = [
            member.go_on_from(state, message)
            for member, state in zip(self._members, states, strict=True)
        ]
        for done in given:
            done.result()

    def begin_round(self, worker: int) -> Future[list[GameRecord]]:
        self._states = None
        member, local = self._places[worker]
        ended: Future[list[GameRecord]] = Future()

        def on_answer(answer: Future[Round]) -> None:
            error = answer.exception()
            if error is not None:
                ended.set_exception(error)
                return
            self._count(answer.result().statistics)
            self._longest[worker] = answer.result().longest
            ended.set_result(answer.result().records)

        member.ask("round", local).add_done_callback(on_answer)
        return ended

    def leave_rounds(self) -> None:
        self.close()  # nothing that they hold is missed

    def close(self) -> None:
        for member in self._members:
            member.close()

    def bytes_needed(self, legal_actions: int) -> int:
        return sum(self._of_all("bytes_needed", legal_actions))

    def worker_states(self) -> list[dict[str, Any]]:
        return [state for states in self._states_of_members() for state in states]

    def load_worker_states(self, states: list[dict[str, Any]]) -> None:
        left = iter(states)
        shared = [list(itertools.islice(left, len(member.numbers))) for member in self._members]
        loaded = [
            member.go_on_from(own, None) for member, own in zip(self._members, shared, strict=True)
        ]
        for done in loaded:
            done.result()
        self._states = shared

    def _states_of_members(self) -> list[list[dict[str, Any]]]:
        if self._states is None:
            self._states = self._of_all("states")
        return self._states

    def _of_all(self, method: str, *values: Any) -> list[Any]:
        """What all processes answer to a request, in their order."""
        asked = [member.ask(method, *values) for member in self._members]
        return [answer.result() for answer in asked]

    def longest_in_play(self) -> int:
        return max(self._longest)

    # -- statistics -------------------------------------------------------------------------------

    def _count(self, more: WorkerStatistics) -> None:
        with self._counting:
            self._counted.evaluations += more.evaluations
            self._counted.remembered += more.remembered
            self._counted.network_seconds += more.network_seconds

    @property
    def statistics(self) -> ActorStatistics:
        with self._counting:
            return ActorStatistics(
                evaluations=self._counted.evaluations,
                remembered=self._counted.remembered,
                seconds=self._seconds,
                network_seconds=self._counted.network_seconds / len(self._places),
            )

    def reset_statistics(self) -> None:
        with self._counting:
            self._seconds = 0.0
            self._counted = WorkerStatistics()


def divided(workers: int, processes: int) -> list[list[int]]:
    """The numbers of each process's workers, as equal as possible in number."""
    bounds = [workers * process // processes for process in range(processes + 1)]
    return [list(range(first, end)) for first, end in itertools.pairwise(bounds)]


class _Process:
    """One process and all that it was asked since it last got weights.

    Args:
        number: of the process.
        recipe: builds its workers.
        numbers: of its workers among those of the run.
        restarts: see `ProcessCrew`.
        say: the same.
        environment: the same.
    """

    def __init__(
        self,
        number: int,
        recipe: Recipe,
        numbers: Sequence[int],
        restarts: int,
        say: Callable[[str], None],
        environment: dict[str, str],
    ) -> None:
        self.numbers = numbers
        self._number, self._recipe = number, recipe
        self._restarts, self._say, self._environment = restarts, say, environment
        self._lock = threading.Lock()  # of all below
        self._requests: list[Request] = []  # to repeat after a loss
        self._asked: dict[int, Future[Any]] = {}  # without an answer yet
        self._next_request = itertools.count()
        self._losses = 0  # since the last answer
        self._is_closed = False
        with self._lock:
            self._start()
        threading.Thread(
            target=self._listen, name=f"self-play process {number}", daemon=True
        ).start()

    def ask(self, method: str, *values: Any) -> Future[Any]:
        """Send a request; its answer, which also comes after a loss."""
        with self._lock:
            return self._ask(method, values)

    def go_on_from(
        self, states: list[dict[str, Any]], weights: tuple[bytes, int, float | None] | None
    ) -> Future[Any]:
        """Load the states, or set the weights that come after them; forget what was asked before.

        Args:
            states: of its workers, which have them already if there are weights.
            weights: values of `Member.weights`.
        """
        with self._lock:
            self._requests = []
            if weights is None:
                return self._ask("load", (states,))
            self._requests.append((next(self._next_request), "load", (states,)))
            return self._ask("weights", weights)

    def _ask(self, method: str, values: tuple[Any, ...]) -> Future[Any]:
        answer: Future[Any] = Future()
        request = (next(self._next_request), method, values)
        if self._is_closed:
            answer.set_exception(self._ended())
            return answer
        self._requests.append(request)
        self._asked[request[0]] = answer
        with contextlib.suppress(OSError):  # if it is lost, it will be asked again
            self._connection.send(request)
        return answer

    def _start(self) -> None:
        """Start the process, and ask it what it, or the one before it, was asked."""
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BEGIN, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env={**os.environ, **self._environment},
                process_group=0,  # Ctrl-C is for the process that it works for
            )
        self._connection = Connection(ours.detach())
        with contextlib.suppress(OSError):  # if it is lost again, the listener will see it
            self._connection.send((self._recipe, self.numbers, self._number))
            for request in self._requests:
                self._connection.send(request)

    def _listen(self) -> None:
        while True:
            try:
                number, is_well, value = self._connection.recv()
            except (EOFError, OSError):
                if self._is_over():
                    return
                continue
            except Exception as error:  # an answer that cannot be read: a fault of ours
                self.close(error)
                return
            with self._lock:
                answer = self._asked.pop(number, None)
                if answer is None:  # asked twice
                    continue
                self._losses = 0
            if is_well:
                answer.set_result(value)
            else:
                answer.set_exception(value)

    def _is_over(self) -> bool:
        """Start the lost process again; True if it was closed, or lost too often."""
        with self._lock:
            if self._is_closed:
                self._connection.close()
                return True
            self._process.kill()
            status = self._process.wait()
            self._connection.close()
            self._losses += 1
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            if self._losses <= self._restarts:
                self._say(f"self-play process {self._number} ended {how} and is started again")
                self._start()
                return False
        self.close(
            LostProcessError(
                f"self-play process {self._number} ended {how}, {self._losses} times in a row"
            )
        )
        return True

    def close(self, why: Exception | None = None) -> None:
        """End the process; whoever waits for an answer gets an error."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._process.kill()
                self._process.wait()
            waiting, self._asked = list(self._asked.values()), {}
        for answer in waiting:
            answer.set_exception(why or self._ended())

    def _ended(self) -> LostProcessError:
        return LostProcessError(f"self-play process {self._number} has ended")
