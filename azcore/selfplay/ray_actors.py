"""Members in actors of a Ray cluster: on one machine, or on many.

Each member has an actor as its home. Ray places it where its resources are free, and the weights
go through Ray's object store, once for each version. Losing an actor or a node loses the channels
that lead to it, see `azcore.selfplay.remote`. If a member's home waits too long for resources, the
member is a guest in another's actor; it returns home with the next weights. So all games continue
while nodes come and go, and equal those that threads play.
"""

import asyncio
import contextlib
import itertools
import math
import queue
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from azcore.errors import LostProcessError, SettingError
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.channel import Channel, Launcher, LostMemberError, MovedMemberError
from azcore.selfplay.member import Answer, Recipe, Request, RequestServer
from azcore.selfplay.ray_cluster import RayCluster
from azcore.version import __version__

OPEN, SHUT = "open", "shut"  # requests to a `ServingActor` besides the methods of `Member`
LOOK_AGAIN = 0.5  # seconds between attempts to find a place
Done = tuple[bool, Any]  # True: a method's result, False: its error


class RayLauncher(Launcher):
    """Starts actors in a Ray cluster.

    Args:
        count: the number of actors; at most one for each worker.
        environment: variables of the actors, in addition to their nodes'.

    Raises:
        SettingError: ray is not installed, no cluster answers, or none of its nodes fits an actor.
    """

    called = "actor"

    def __init__(
        self,
        *,
        count: int,
        workers: int,
        placement: BackendSettings,
        say: Callable[[str], None],
        environment: dict[str, str] | None = None,
    ) -> None:
        self.count = count
        cpus = float(-(-workers // count)) if placement.num_cpus is None else placement.num_cpus
        cluster = RayCluster(placement.address, max(1, math.ceil(cpus * count)), placement.wait)
        options = {
            "num_cpus": cpus,
            "num_gpus": placement.num_gpus,
            "max_restarts": 0,  # the caller restarts actors and repeats their requests
            "scheduling_strategy": "SPREAD",
            "runtime_env": {"env_vars": environment or {}},
        }
        self._actors = RayActors(cluster, options, count, placement.wait, say)
        try:
            self._actors.wait_for_one()
        except BaseException:
            self._actors.close()
            raise

    def launch(self, recipe: Recipe, numbers: Sequence[int], member: int) -> Channel:
        return RayChannel(self._actors, (recipe, numbers, member))

    def published(self, packed: bytes) -> Any:
        return self._actors.cluster.ray.put(packed)  # arrives as the bytes, as an argument

    def close(self) -> None:
        self._actors.close()


class PlacedActor:
    """The local view of an actor.

    Args:
        since: `time.monotonic()` from which it waits for a place.

    Attributes:
        is_ready: whether it has resources and has started.
        failure: why it is lost; None: not lost.
    """

    def __init__(self, cluster: RayCluster, options: dict[str, Any], since: float) -> None:
        self._cluster = cluster
        self.handle = cluster.ray.remote(ServingActor).options(**options).remote(__version__)
        self.since, self.is_ready, self.channels = since, False, 0
        self.failure: str | None = None
        self.handle.begun.remote().future().add_done_callback(self._on_begun)

    def _on_begun(self, begun: Future[None]) -> None:
        """Handle its start; on the thread that Ray's own calls need, so it must not call Ray."""
        error = begun.exception()
        if error is None:
            self.is_ready = True
        elif self.failure is None:
            self.failure = _how(error)

    def lose(self, how: str) -> None:
        """Mark the actor as lost; kill it in case it is only unreachable."""
        if self.failure is None:
            self.failure = how
            with contextlib.suppress(Exception):
                self._cluster.ray.kill(self.handle)

    @property
    def is_usable(self) -> bool:
        return self.is_ready and self.failure is None


class RayActors:
    """The actors of a pool: the home of each member. They close their cluster.

    A member without resources becomes a guest after `wait` seconds.
    """

    def __init__(
        self,
        cluster: RayCluster,
        options: dict[str, Any],
        count: int,
        wait: float,
        say: Callable[[str], None],
    ) -> None:
        self.cluster, self.wait, self.say = cluster, wait, say
        self._options = options
        self._lock = threading.Lock()
        self._homes = [self._placed(time.monotonic()) for _ in range(count)]
        self._is_closed = False
        self.channels: set[RayChannel] = set()
        cluster.head.watch(say, self._lose)

    def _lose(self, error: LostProcessError) -> None:
        """Answer all open requests with an error."""
        for channel in list(self.channels):
            channel.fail(error)

    def _placed(self, since: float) -> PlacedActor:
        self.cluster.head.require()  # else Ray would wait for it while we hold our lock
        return PlacedActor(self.cluster, self._options, since)

    def wait_for_one(self) -> None:
        """Wait until the first actor has started.

        Raises:
            SettingError: no node can ever fit one, or all have failed.
        """
        end, is_reported = time.monotonic() + self.wait, False
        while not any(home.is_usable for home in self._homes):
            if all(home.failure for home in self._homes):
                raise SettingError(f"no actor starts in the Ray cluster: {self._homes[0].failure}")
            if time.monotonic() > end and not is_reported:
                is_reported = True
                self._require_possible()
                self.say(
                    f"self-play waits for a free slot in the Ray cluster: {self.needs()} per actor"
                )
            time.sleep(0.02)

    def _require_possible(self) -> None:
        needs = self._options["num_cpus"], self._options["num_gpus"]
        if not self.cluster.has_node_for(*needs):
            cpus, gpus = self.cluster.most()
            raise SettingError(
                f"backend.num_cpus and backend.num_gpus must fit a node of the Ray cluster, whose "
                f"largest has {cpus:g} CPUs and {gpus:g} GPUs, got {needs[0]:g} and {needs[1]:g}"
            )

    def needs(self) -> str:
        """The resources of an actor, as text."""
        return f"{self._options['num_cpus']:g} CPUs and {self._options['num_gpus']:g} GPUs"

    def home(self, number: int) -> PlacedActor:
        """A member's own actor; a new one if that is lost."""
        with self._lock:
            return self._home(number)

    def _home(self, number: int) -> PlacedActor:
        if self._homes[number].failure is not None and not self._is_closed:
            self._homes[number] = self._placed(time.monotonic())
        return self._homes[number]

    def place_for(self, number: int) -> PlacedActor:
        """Where a member should start: at home, or as a guest after waiting too long."""
        with self._lock:
            home = self._home(number)
            if home.is_ready or time.monotonic() < home.since + self.wait:
                return home
            return self._other(number) or home

    def _other(self, number: int) -> PlacedActor | None:
        others = [home for n, home in enumerate(self._homes) if n != number and home.is_usable]
        return min(others, key=lambda other: other.channels, default=None)

    def leave(self, number: int) -> bool:
        """Whether a member should leave its home, which lacks resources; drops calls there."""
        with self._lock:
            home = self._homes[number]
            if self._is_closed or home.is_ready or self._other(number) is None:
                return False
            home.lose("without a place")
            # Ray still sees the demand for resources.
            self._homes[number] = self._placed(home.since)
            return True

    def close(self) -> None:
        """End all actors and the connection."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            for home in self._homes:
                home.lose("closed")
            self.cluster.close()


class RayChannel(Channel):
    """A connection to a `RequestServer` with the arguments `what`, in an actor."""

    _ids = itertools.count()

    def __init__(self, actors: RayActors, what: tuple[Recipe, Sequence[int], int]) -> None:
        self._actors, self._number = actors, what[2]
        self._actor = actors.place_for(self._number)
        self._actor.channels += 1
        self._is_home = self._actor is actors.home(self._number)
        self._server_number = next(RayChannel._ids)
        self._turns = itertools.count()
        self._arrived: queue.SimpleQueue[tuple[int, Future[Done]] | Exception | None] = (
            queue.SimpleQueue()
        )
        self._is_told = False
        actors.channels.add(self)
        self._call(-1, OPEN, what)

    def send(self, request: Request) -> None:
        self._call(*request)

    def _call(self, number: int, method: str, values: tuple[Any, ...]) -> None:
        try:
            ask = self._actor.handle.ask.remote
            done = ask(self._server_number, next(self._turns), method, *values).future()
        except Exception as error:
            done = Future()
            done.set_exception(error)
        done.add_done_callback(lambda done: self._arrived.put((number, done)))

    def receive(self) -> Answer:
        while True:
            with contextlib.suppress(queue.Empty):
                arrived = self._arrived.get(timeout=self._patience())
                if arrived is None:
                    raise LostMemberError("here")
                if isinstance(arrived, Exception):
                    raise arrived
                number, done = arrived
                is_well, value = self._result(done)
                if number >= 0:
                    return number, is_well, value
                continue
            self._look_elsewhere()

    def _patience(self) -> float | None:
        """Seconds to wait for an answer before trying another place; None: forever."""
        if self._actor.is_ready:
            return None
        return max(LOOK_AGAIN, self._actor.since + self._actors.wait - time.monotonic())

    def _look_elsewhere(self) -> None:
        if self._actor.is_ready or self._actor.failure is not None:
            return
        if self._actors.leave(self._number):
            raise MovedMemberError(
                "has no free slot in the cluster; its games move to another actor"
            )
        if not self._is_told:
            self._is_told = True
            self._actors.say(
                f"self-play actor {self._number} waits for a free slot: {self._actors.needs()}"
            )

    def _result(self, done: Future[Done]) -> Done:
        error = done.exception()
        if error is None:
            return done.result()
        errors = self._actors.cluster.ray.exceptions
        if isinstance(error, errors.RayTaskError) or not isinstance(error, errors.RayError):
            if isinstance(getattr(error, "cause", None), errors.RaySystemError):
                raise SettingError(
                    "every node of the Ray cluster must have the run's packages, such as its game: "
                    f"{_how(error)}"
                )
            raise error  # a bug in azcore
        self._actor.lose(_how(error))
        raise LostMemberError(_how(error))

    def end(self) -> None:
        self._actors.channels.discard(self)
        self._arrived.put(None)
        self._actor.channels -= 1
        if self._actor.failure is None:
            self._call(-1, SHUT, ())

    def fail(self, error: Exception) -> None:
        self._arrived.put(error)

    def is_better_elsewhere(self) -> bool:
        return not self._is_home and self._actors.home(self._number).is_usable


def _how(error: BaseException) -> str:
    """How an actor ended, to follow its name and `ended`."""
    text = str(error)
    if re.search(r"\bnode (has |was |is )?(died|dead|terminated)", text):
        return "with its node"
    if "running low on memory" in text:
        return "out of memory"
    lines = [line.strip() for line in text.splitlines() if "Error: " in line]
    return f"by an error, {lines[-1]}," if lines else "unexpectedly"


# -- in the cluster --------------------------------------------------------------------------------


class ServingActor:
    """An actor: a process of the cluster with the request servers of one or more members.

    Calls may arrive out of order, so each has a turn.

    Args:
        version: the version of azcore at the run.
    """

    def __init__(self, version: str) -> None:
        self._wrong = None
        if version != __version__:
            self._wrong = SettingError(
                f"azcore must be {version} on every node of the Ray cluster, as at the run, "
                f"got {__version__}"
            )
        self._servers: dict[int, _OrderedServer] = {}

    async def begun(self) -> None:
        """Answer once the actor has started."""

    async def ask(self, server: int, turn: int, method: str, *values: Any) -> Done:
        """The answer to a request to a server.

        Args:
            turn: the number of the call among those to this server.
            method: the method of `Member`, or OPEN or SHUT.
        """
        if self._wrong is not None:
            return False, self._wrong
        done = await self._servers.setdefault(server, _OrderedServer()).ask(turn, method, values)
        if method == SHUT:
            del self._servers[server]
        return done


class _OrderedServer:
    """A `RequestServer` that gets requests in the order of turns, on its own thread."""

    def __init__(self) -> None:
        self._server: RequestServer
        self._turn = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._thread = ThreadPoolExecutor(1, "requests")

    async def ask(self, turn: int, method: str, values: tuple[Any, ...]) -> Done:
        if turn != self._turn:
            self._waiting[turn] = asyncio.get_running_loop().create_future()
            await self._waiting[turn]
            del self._waiting[turn]
        answer: Future[Answer] = Future()
        self._thread.submit(self._do, method, values, answer)
        self._turn += 1
        if (following := self._waiting.get(self._turn)) is not None:
            following.set_result(None)
        _, is_well, value = await asyncio.wrap_future(answer)
        return bool(is_well), value

    def _do(self, method: str, values: tuple[Any, ...], answer: Future[Answer]) -> None:
        try:
            if method == OPEN:
                self._server = RequestServer(*values)
            elif method == SHUT:
                self._server.close()
            else:
                self._server.ask((0, method, values), lambda result: _finally(result, answer))
                return
            answer.set_result((0, True, None))
        except Exception as error:  # a bug in azcore
            answer.set_exception(error)


def _finally(result: Answer, answer: Future[Answer]) -> None:
    """Pass on an answer; Ray cannot report progress before it."""
    if result[1] is not None:
        answer.set_result(result)
