"""A pool whose workers run elsewhere, in members behind channels.

Each member has some of the run's workers, with the numbers that they would have here, so the number
and place of members do not change the games.

The pool restarts a lost member. It remembers its requests since the member last got weights: the
games in play at that moment, the weights, and rounds. It repeats all of them and drops answers that
it already has. Since a game is a function of weights, seed and index, the new member plays what the
lost one played: the loss costs time, but no game. The pool also repeats jobs without an answer.

`processes.py` and `ray_actors.py` implement channels.
"""

import itertools
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from azcore.errors import LostProcessError
from azcore.game import Game
from azcore.selfplay.channel import Channel, Launcher, LostMemberError, MovedMemberError
from azcore.selfplay.jobs import Job, JobSlots, Result, Tell
from azcore.selfplay.member import CHANGING, JOB, ROUND, Recipe, Request, Round
from azcore.selfplay.pool import ActorStatistics, MemberStatistics, WorkerPool
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.weights import Weights
from azcore.selfplay.worker import WorkerStatistics
from azcore.storage.game_record import GameRecord


def members_in(
    launcher: Launcher,
    recipe: Recipe,
    workers: int,
    work: str,
    restarts: int,
    say: Callable[[str], None],
) -> "list[RemoteMember]":
    """New members, which share the workers.

    Args:
        workers: their number; at least one for each member.
        work: their purpose, a part of their names.
        restarts: how often in a row a member restarts before its first answer.
        say: called with a sentence about each loss, on any thread.
    """
    members: list[RemoteMember] = []
    try:
        for number, numbers in enumerate(divided(workers, launcher.count)):
            name = f"{work} {launcher.called} {number}"
            launch = partial(launcher.launch, recipe, numbers, number)
            members.append(RemoteMember(name, numbers, launch, restarts, say))
    except BaseException:
        for member in members:
            member.close()
        launcher.close()
        raise
    return members


class RemotePool(WorkerPool):
    """Remote workers, until this process ends or the pool closes, and its launcher with it."""

    def __init__(
        self,
        *,
        game: Game,
        settings: SelfPlaySettings,
        launcher: Launcher,
        recipe: Recipe,
        restarts: int,
        say: Callable[[str], None],
    ) -> None:
        super().__init__()
        self.game, self.settings = game, settings
        workers = len(settings.shares())
        self._members = members_in(launcher, recipe, workers, "self-play", restarts, say)
        self._slots = RemoteSlots(launcher, self._members)
        self._places = places_of(self._members)
        self._states: list[bytes] | None = None  # of each member, see `Member`; None: outdated
        self._longest = [0] * len(self._places)  # plies, of the games of each worker's member
        self._counting = threading.Lock()
        self._version = 0
        self.reset_statistics()

    def set_weights(self, weights: Weights, resign_threshold: float | None = None) -> None:
        message = (self._slots.published(weights.packed()), weights.version, resign_threshold)
        states = self._states_of_members()
        given = [
            member.resume_from(state, message)
            for member, state in zip(self._members, states, strict=True)
        ]
        for done in given:
            done.result()
        self._version = weights.version

    def begin_round(self, worker: int) -> Future[list[GameRecord]]:
        self._states = None
        member, local = self._places[worker]
        ended: Future[list[GameRecord]] = Future()

        def on_answer(answer: Future[Round]) -> None:
            error = answer.exception()
            if error is not None:
                ended.set_exception(error)
                return
            self._count(member, answer.result())
            self._longest[worker] = answer.result().longest
            ended.set_result(answer.result().records)

        self._members[member].ask(ROUND, local).add_done_callback(on_answer)
        return ended

    def job_slots(self) -> JobSlots:
        return self._slots

    def leave_rounds(self) -> None:
        self.close()  # members hold nothing irreplaceable

    def close(self) -> None:
        self._slots.close()

    def bytes_needed(self, legal_actions: int) -> int:
        return sum(self._of_all("bytes_needed", legal_actions))

    def worker_states(self) -> list[dict[str, Any]]:
        return [state for states in self._states_of_members() for state in pickle.loads(states)]

    def load_worker_states(self, states: list[dict[str, Any]]) -> None:
        left = iter(states)
        shared = [
            pickle.dumps(list(itertools.islice(left, len(member.numbers))))
            for member in self._members
        ]
        loaded = [
            member.resume_from(own, None) for member, own in zip(self._members, shared, strict=True)
        ]
        for done in loaded:
            done.result()
        self._states = shared

    def _states_of_members(self) -> list[bytes]:
        if self._states is None:
            self._states = self._of_all("states")
        return self._states

    def _of_all(self, method: str, *values: Any) -> list[Any]:
        """All members' answers to a request, in order."""
        asked = [member.ask(method, *values) for member in self._members]
        return [answer.result() for answer in asked]

    def longest_in_play(self) -> int:
        return max(self._longest)

    # -- statistics -------------------------------------------------------------------------------

    def _count(self, member: int, done: Round) -> None:
        more = done.statistics
        with self._counting:
            self._counted.evaluations += more.evaluations
            self._counted.remembered += more.remembered
            self._counted.network_seconds += more.network_seconds
            self._counted.proof_seconds += more.proof_seconds
            self._games[member] += len(done.records)
            self._evaluations[member] += more.evaluations

    @property
    def statistics(self) -> ActorStatistics:
        with self._counting:
            return ActorStatistics(
                evaluations=self._counted.evaluations,
                remembered=self._counted.remembered,
                seconds=self._seconds,
                network_seconds=self._counted.network_seconds / len(self._places),
                proof_seconds=self._counted.proof_seconds / len(self._places),
                members=[
                    MemberStatistics(
                        member.name, games, evaluations, self._version, member.restarted
                    )
                    for member, games, evaluations in zip(
                        self._members, self._games, self._evaluations, strict=True
                    )
                ],
            )

    def reset_statistics(self) -> None:
        with self._counting:
            self._seconds = 0.0
            self._counted = WorkerStatistics()
            self._games = [0] * len(self._members)
            self._evaluations = [0] * len(self._members)


class RemoteSlots(JobSlots):
    """Runs jobs alongside the workers of a pool's members, or of members for jobs alone.

    The launcher that started the members closes with them.
    """

    def __init__(self, launcher: Launcher, members: "Sequence[RemoteMember]") -> None:
        self.launcher, self._members = launcher, members
        self._places = places_of(members)
        self.count = len(self._places)

    def published(self, packed: bytes) -> Any:
        return self.launcher.published(packed)

    def begin(
        self, number: int, job: Job[Result], weights: Sequence[Any], tell: Tell
    ) -> Future[Result]:
        member, local = self._places[number]
        return self._members[member].ask(JOB, local, job, *weights, tell=tell)

    def close(self) -> None:
        for member in self._members:
            member.close()
        self.launcher.close()


def places_of(members: "Sequence[RemoteMember]") -> list[tuple[int, int]]:
    """Each worker's member, and its number there."""
    return [
        (number, local)
        for number, member in enumerate(members)
        for local in range(len(member.numbers))
    ]


def divided(workers: int, members: int) -> list[list[int]]:
    """The worker numbers of each member, in parts as equal as possible."""
    bounds = [workers * member // members for member in range(members + 1)]
    return [list(range(first, end)) for first, end in itertools.pairwise(bounds)]


@dataclass
class _Open:
    """An unanswered request that does not change the member."""

    request: Request
    tell: Tell | None
    losses: int = 0  # of the member, since the request or its last progress


class RemoteMember:
    """One member, and the requests to repeat after a loss, since it last got weights.

    Args:
        numbers: the numbers of its workers among those of the run.

    Attributes:
        restarted: how often it was lost and restarted.
    """

    def __init__(
        self,
        name: str,
        numbers: Sequence[int],
        new_channel: Callable[[], Channel],
        restarts: int,
        say: Callable[[str], None],
    ) -> None:
        self.name, self.numbers = name, numbers
        self.restarted = 0
        self._new_channel, self._restarts, self._say = new_channel, restarts, say
        self._lock = threading.Lock()  # guards all below
        self._requests: list[Request] = []  # requests that change it, to repeat after a loss
        self._open: dict[int, _Open] = {}  # unanswered others, also to repeat
        self._asked: dict[int, Future[Any]] = {}  # unanswered
        self._next_request = itertools.count()
        self._losses = 0  # since the last answer
        self._is_closed = False
        self._why: Exception | None = None  # why it was closed
        with self._lock:
            self._begin()
        threading.Thread(target=self._listen, name=name, daemon=True).start()

    def ask(self, method: str, *values: Any, tell: Tell | None = None) -> Future[Any]:
        """Send a request; returns its answer, even across a loss.

        Args:
            tell: called, on another thread, with a job's progress, if the channel reports it.
        """
        with self._lock:
            return self._ask(method, values, tell)

    def resume_from(
        self, states: bytes, weights: tuple[Any, int, float | None] | None
    ) -> Future[Any]:
        """Load the states, or set the weights that follow them; drop earlier requests.

        Args:
            states: the states of its workers; with weights, the workers have them already.
            weights: values of `Member.weights`.
        """
        with self._lock:
            self._requests = []
            if weights is None:
                return self._ask("load", (states,))
            self._requests.append((next(self._next_request), "load", (states,)))
            if not self._is_closed and self._channel.is_better_elsewhere():
                self._channel.end()
                self._begin()
            return self._ask("weights", weights)

    def _ask(self, method: str, values: tuple[Any, ...], tell: Tell | None = None) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()  # so that nobody cancels the future
        request = (next(self._next_request), method, values)
        if self._is_closed:
            answer.set_exception(self._ended())
            return answer
        if method in CHANGING:
            self._requests.append(request)
        else:
            self._open[request[0]] = _Open(request, tell)
        self._asked[request[0]] = answer
        self._channel.send(request)
        return answer

    def _begin(self) -> None:
        """Start the member, and repeat the requests to it or its predecessor."""
        self._channel = self._new_channel()
        for request in (*self._requests, *(each.request for each in self._open.values())):
            self._channel.send(request)

    def _listen(self) -> None:
        while True:
            channel = self._channel
            try:
                try:
                    number, is_well, value = channel.receive()
                except (LostMemberError, MovedMemberError) as end:
                    if self._is_over(channel, end):
                        return
                    continue
            except Exception as error:  # an unreadable answer, or no new member can start
                self.close(error)
                return
            if is_well is None:
                self._tell(channel, number, value)
                continue
            with self._lock:
                answer = self._asked.pop(number, None) if channel is self._channel else None
                if answer is None:  # asked twice
                    continue
                self._losses = 0
                self._open.pop(number, None)
            if is_well:
                answer.set_result(value)
            else:
                answer.set_exception(value)

    def _tell(self, channel: Channel, number: int, done: int) -> None:
        with self._lock:
            job = self._open.get(number) if channel is self._channel else None
            if job is None:
                return
            self._losses = job.losses = 0
        if job.tell is not None:
            job.tell(done)

    def _is_over(self, channel: Channel, end: LostMemberError | MovedMemberError) -> bool:
        """Restart the lost member; True if it was closed, or lost too often."""
        with self._lock:
            if self._is_closed:
                return True
            if channel is not self._channel:  # it has already started elsewhere
                return False
            channel.end()
            if isinstance(end, MovedMemberError):
                self._say(f"{self.name} {end}")
                self._begin()
                return False
            self._losses += 1
            if given_up := self._jobs_given_up():
                self._losses = 0  # the job was the cause; without it the member may survive
            if is_again := self._losses <= self._restarts:
                self.restarted += 1
                self._say(f"{self.name} ended {end}; restarting it")
                self._begin()
        times = f"{self.name} ended {end}, {self._restarts + 1} times"
        for answer in given_up:
            answer.set_exception(LostProcessError(f"{times} during the same job{end.hint}"))
        if not is_again:
            self.close(LostProcessError(f"{times} in a row{end.hint}"))
        return not is_again

    def _jobs_given_up(self) -> list[Future[Any]]:
        """The answers of jobs during which it was lost too often, although self-play continued."""
        given_up = []
        jobs = [(number, each) for number, each in self._open.items() if each.request[1] == JOB]
        for number, each in jobs:
            each.losses += 1
            if each.losses > self._restarts:
                del self._open[number]
                given_up.append(self._asked.pop(number))
        return given_up

    def close(self, why: Exception | None = None) -> None:
        """End the member; open requests get an error."""
        with self._lock:
            if not self._is_closed:
                self._is_closed, self._why = True, why
                self._channel.end()
            waiting, self._asked, self._open = list(self._asked.values()), {}, {}
        for answer in waiting:
            answer.set_exception(self._ended())

    def _ended(self) -> Exception:
        """The error that requests get after the member has ended."""
        return self._why or LostProcessError(f"{self.name} has ended")
