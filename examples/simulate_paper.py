"""Simulates how many actors of a run of AlphaZero's size one driver can serve.

    python examples/simulate_paper.py                    # 50 to 5,000 actors, rounds of 16 waves
    python examples/simulate_paper.py --waves 160        # as selfplay.round_waves=160
    python examples/simulate_paper.py --actors 5000 --gigabits 100 --broadcast star

AlphaZero's chess run (Silver 2018): 44 million games and 700,000 steps of 4,096 positions in 9
hours, by 5,000 generators that searched a move of 800 simulations in 40 ms (arXiv:1712.01815, table
S3). Here an actor is a network that takes a given time per batch and no processor.

The script first measures azcore's own code in the run's process, in seconds of processor time, so
that other work on this machine matters less: the pool with that many members, Ray's calls if it is
installed, pickling records and writing them with a sync of the disk, the window, the batches, the
games in play, and the weights of the paper's network. It then simulates events: rounds end at the
actors and travel to the driver, which handles them in order of arrival and begins the next rounds,
as with `schedule=overlap`. All actors are idle while newer weights go out.

The table shows how busy each part is. The first to reach 1 is the bottleneck.
"""

from __future__ import annotations

import argparse
import heapq
import importlib.util
import itertools
import json
import os
import pickle
import queue
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hydra
import numpy as np
from omegaconf import OmegaConf

import azcore
from azcore.assembly.parts import RunSettings, settings_from
from azcore.assembly.selfplay import NetworkWeights
from azcore.game import Game
from azcore.learner.data import draw_batch
from azcore.learner.overlap import OverlappingSelfPlay
from azcore.networks import build_network
from azcore.selfplay.channel import Channel, Launcher, LostMemberError
from azcore.selfplay.jobs import JobContext
from azcore.selfplay.member import Answer, Recipe, Request, Round, SelfPlayMember
from azcore.selfplay.pool import Amount, Weights
from azcore.selfplay.ray_actors import RayLauncher
from azcore.selfplay.remote import RemotePool
from azcore.selfplay.worker import WorkerStatistics
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, parse_frame
from azcore.storage.replay import ReplayBuffer

CORE = "driver's Python"  # parts of the table; 1: always busy
PARTS = (CORE, "Ray's threads", "disk", "link in", "link out", "batches", "learner", "actors")


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The assumptions: a run of AlphaZero's size, and the machines around the driver."""

    actors: int = 5000
    games_at_once: int = 256  # per actor; a batch has one leaf of each
    latency: float = 0.0128  # seconds per batch: 20,000 evaluations/s, a move of 800 in 40 ms
    waves: int = 16  # per round
    simulations: int = 800
    plies: int = 92  # 44 M games in 9 h by 5,000 at 40 ms a move
    batch_size: int = 4096
    step_seconds: float = 9 * 3600 / 700_000
    steps: int = 1000  # per generation
    games: int = 62_857  # per generation, 44 M in total
    gigabits: float = 25.0  # per second and direction, the driver's link
    delay: float = 0.0002  # seconds from machine to machine
    disk: float = 1e9  # bytes/s
    node: int = 8  # actors per machine
    broadcast: str = "tree"  # or star: the driver sends to each node itself

    @property
    def rate(self) -> float:
        """Games/s of an actor that never waits."""
        return self.games_at_once / (self.latency * self.simulations * self.plies)

    @property
    def bytes_per_s(self) -> float:
        return self.gigabits * 1e9 / 8


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The cost of the driver's parts: seconds of processor time, or bytes."""

    round: float  # to request a round and handle its answer, in Python
    ray: float  # the same in Ray's own threads, which other cores can run
    unpickle: float  # per received record
    encode: float  # per record, for the disk
    extend: float  # per game that enters the window
    batch: float  # per 4,096 positions
    state: float  # per game in play, to and fro with new weights
    pack: float  # the weights
    sync: float  # to sync the disk, wall time
    answer_bytes: int  # per round without games
    record_bytes: int  # per pickled record
    frame_bytes: int  # per record on disk
    window_bytes: int  # per game in the window
    state_bytes: int  # per pickled game in play
    weight_bytes: int


# -- the simulation --------------------------------------------------------------------------------


@dataclass
class Outcome:
    """The results of a simulated run after its first generation."""

    seconds: float = 0.0
    games: int = 0
    rounds: int = 0
    still: float = 0.0  # seconds in which all actors waited for newer weights
    busy: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))  # seconds
    lags: list[float] = field(default_factory=list)  # steps, of the weights of each ended game

    @property
    def made(self) -> float:
        """Games/s."""
        return self.games / self.seconds

    def share(self, part: str) -> float:
        return self.busy[part] / self.seconds

    @property
    def fullest(self) -> str:
        return max(PARTS, key=self.share)


class Simulation:
    """Actors, links, a driver and a learner; time is in seconds.

    Args:
        paper: the assumptions.
        parts: the measurements.
        seed: for the durations of rounds.
    """

    def __init__(self, paper: Paper, parts: Measured, seed: int = 1) -> None:
        self.paper, self.parts = paper, parts
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._numbered = 0
        self._now = 0.0
        self._ripe = [self._random.random() for _ in range(paper.actors)]  # games of each actor
        self._link_free = self._ray_free = 0.0
        self._answers: list[tuple[int, int]] = []  # at the driver: actor, games
        self._is_at_work = False
        self._idle = list(range(paper.actors))
        self._running = 0
        self._made = 0  # games on disk
        self._allowed = 0  # the number to reach
        self._in_window = 0
        self._rests = True
        self._when_still: Callable[[], None] | None = None
        self._generation = -1
        self._weights_at = 0.0  # steps since the weights that play
        self._steps_began, self._steps_before = 0.0, 0.0
        self._still_since = 0.0
        self.outcome = Outcome()

    def run(self, generations: int) -> Outcome:
        """Simulate generations; the first does not count, since it begins without games."""
        self._last = generations
        self._is_over = False
        self._begin_generation()
        while not self._is_over:
            self._now, _, do, values = heapq.heappop(self._events)
            do(*values)
        return self.outcome

    def _at(self, when: float, do: Callable[..., None], *values: Any) -> None:
        self._numbered += 1
        heapq.heappush(self._events, (when, self._numbered, do, values))

    def _work(self, part: str, seconds: float) -> float:
        self.outcome.busy[part] += seconds
        return seconds

    # -- actors and the driver --------------------------------------------------------------------

    def _begin_rounds(self) -> None:
        if self._rests or self._made >= self._allowed:
            self._look_still()
            return
        idle, self._idle = self._idle, []
        for actor in idle:
            took = self.paper.waves * self.paper.latency * self._random.uniform(0.95, 1.05)
            self._running += 1
            self._at(self._now + self.paper.delay + took, self._round_ends, actor)

    def _round_ends(self, actor: int) -> None:
        paper = self.paper
        self._ripe[actor] += paper.rate * paper.waves * paper.latency
        games = max(0, int(self._ripe[actor]))
        self._ripe[actor] -= games
        size = self.parts.answer_bytes + games * self.parts.record_bytes
        took = self._work("link in", size / paper.bytes_per_s)
        self._link_free = max(self._link_free, self._now + paper.delay) + took
        took = self._work("Ray's threads", self.parts.ray)
        self._ray_free = max(self._ray_free, self._link_free) + took
        self._at(self._ray_free, self._arrives, actor, games)

    def _arrives(self, actor: int, games: int) -> None:
        self._answers.append((actor, games))
        if not self._is_at_work:
            self._take_answers()

    def _take_answers(self) -> None:
        """Handle all arrived rounds: sync their games to disk, then begin the next rounds."""
        taken, self._answers = self._answers, []
        games = sum(count for _, count in taken)
        parts = self.parts
        took = len(taken) * parts.round + games * (parts.unpickle + parts.encode)
        self._work(CORE, took)
        if games:
            took += self._work("disk", parts.sync + games * parts.frame_bytes / self.paper.disk)
        self._is_at_work = True
        self._at(self._now + took, self._taken, [actor for actor, _ in taken], games)

    def _taken(self, actors: list[int], games: int) -> None:
        self._is_at_work = False
        self._running -= len(actors)
        self._made += games
        self.outcome.rounds += len(actors)
        self.outcome.games += games
        self.outcome.lags += [self._step() - self._weights_at] * games
        self._idle += actors
        self._begin_rounds()
        if self._answers:
            self._take_answers()

    # -- generations ------------------------------------------------------------------------------

    def _step(self) -> float:
        """The steps that the learner has taken."""
        seconds = max(0.0, self._now - self._steps_began)
        return min(self._steps_before + seconds / self._step_takes, self._steps_end)

    @property
    def _step_takes(self) -> float:
        return max(self.paper.step_seconds, self.parts.batch)

    @property
    def _steps_end(self) -> float:
        return (self._generation + 1.0) * self.paper.steps

    def _begin_generation(self) -> None:
        """The learner has taken its steps: pause all actors, then let newer weights play."""
        self._generation += 1
        if self._generation == 1:
            self.outcome, self._began = Outcome(), self._now
        if self._generation > self._last:
            self.outcome.seconds = self._now - self._began
            self._work("actors", self.outcome.games / (self.paper.rate * self.paper.actors))
            self._is_over = True
            return
        self._steps_before = float(self._generation * self.paper.steps)
        self._steps_began = float("inf")
        self._rests, self._still_since = True, self._now
        self._when_still = self._play_first
        self._look_still()

    def _look_still(self) -> None:
        if self._running == 0 and self._when_still is not None:
            if not self._rests and self._made < self._allowed:
                return
            then, self._when_still = self._when_still, None
            then()

    def _play_first(self) -> None:
        """Wait for the games that the generation still needs."""
        wanted = (self._generation + 1) * self.paper.games
        self._weights_at = self._steps_before
        ready = self._now + self._new_weights()
        self.outcome.still += ready - self._still_since
        if self._made < wanted:
            self._when_still = self._learn
            self._at(ready, self._allow, wanted)
        else:
            self._at(ready, self._learn)

    def _learn(self) -> None:
        entering = self._made - self._in_window
        self._in_window = self._made
        took = self._work(CORE, entering * self.parts.extend)
        self.outcome.still += took
        began = self._now + took
        self._at(began, self._allow, (self._generation + 2) * self.paper.games)
        self._steps_began = began + self.parts.batch
        steps = self.paper.steps
        self._work("batches", steps * self.parts.batch)
        self._work("learner", steps * self.paper.step_seconds)
        self._at(self._steps_began + steps * self._step_takes, self._begin_generation)

    def _allow(self, games: int) -> None:
        self._rests, self._allowed = False, games
        self._begin_rounds()

    def _new_weights(self) -> float:
        """Seconds until all actors have the weights; the driver first gets all games in play."""
        paper, parts = self.paper, self.parts
        in_play = paper.actors * paper.games_at_once
        arrive = self._work("link in", in_play * parts.state_bytes / paper.bytes_per_s)
        taken = self._work(CORE, in_play * parts.state + paper.actors * 2 * parts.round)
        packed = self._work(CORE, parts.pack)
        nodes = -(-paper.actors // paper.node)
        once = parts.weight_bytes / paper.bytes_per_s
        if paper.broadcast == "star":
            sent = self._work("link out", nodes * once)
        else:  # each node that has the weights sends them to another
            sent = nodes.bit_length() * once
            self._work("link out", sent)
        # All searches restart, a quarter of them at a time: see `Worker._search_again`.
        lost = paper.rate * paper.latency * paper.simulations * (1 / 2 + 3 / 8)
        self._ripe = [ripe - lost for ripe in self._ripe]
        return max(arrive, taken) + packed + sent


# -- the measurement -------------------------------------------------------------------------------


def processor_seconds(do: Callable[[], Any], times: int = 5) -> float:
    """The median processor time of a call on this thread, after one call to compile."""
    do()
    took = []
    for _ in range(times):
        began = time.thread_time()
        do()
        took.append(time.thread_time() - began)
    return statistics.median(took)


def made_up_games(game: Game, plies: int, count: int) -> list[GameRecord]:
    """Random games that end by resignation; all legal actions have visits."""
    rng = np.random.default_rng(1)
    records = []
    while len(records) < count:
        state, actions, visits, players = game.initial_state(), [], [], []
        while len(actions) < plies and not game.is_terminal(state):
            legal = np.flatnonzero(game.legal_action_mask(state))
            actions.append(int(rng.choice(legal)))
            visits.append((legal, rng.integers(1, 60, len(legal))))
            players.append(game.current_player(state))
            state = game.step(state, actions[-1])
        if len(actions) < plies or game.is_terminal(state):
            continue  # such a game ended early
        values = rng.uniform(-1, 1, plies).astype(np.float32)
        loser = game.current_player(state)
        records.append(
            GameRecord(
                game=game.identity,
                actions=np.array(actions, np.uint16),
                visit_offsets=np.cumsum([0, *(len(legal) for legal, _ in visits)], dtype=np.uint32),
                visit_actions=np.concatenate([legal for legal, _ in visits]).astype(np.uint16),
                visit_counts=np.concatenate([counts for _, counts in visits]).astype(np.uint32),
                root_values=values,
                best_child_values=values,
                players=np.array(players, np.uint8),
                outcome=-1 if loser == 0 else 1,
                resigned_by=loser,
                resign_threshold=-0.9,
                played_out=False,
                opening_plies=0,
                seed=1,
                game_index=len(records),
                weights_version=0,
                counts="visits",
            )
        )
    return records


def in_play(record: GameRecord) -> dict[str, Any]:
    """A game halfway through, as in `Worker.state_dict`."""
    plies = len(record) // 2
    bounds = record.visit_offsets[: plies + 1].tolist()
    actions, counts = record.visit_actions.tolist(), record.visit_counts.tolist()
    return {
        "game_index": record.game_index,
        "opening_plies": 0,
        "policy_plies": 0,
        "actions": record.actions[:plies].tolist(),
        "visits": [
            [actions[first:end], counts[first:end]] for first, end in itertools.pairwise(bounds)
        ],
        "root_values": [float(value) for value in record.root_values[:plies]],
        "best_child_values": [float(value) for value in record.best_child_values[:plies]],
        "could_resign": False,
    }


class LatentChannel(Channel):
    """A channel to a member that only takes time."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._arrived: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()

    def send(self, request: Request) -> None:
        number, method, _ = request
        done = Round([], WorkerStatistics(), 1) if method == "round" else None
        after = self._seconds if method == "round" else 0.0
        self._clock.put(after, self._arrived, (number, True, done))

    def receive(self) -> Answer:
        answer = self._arrived.get()
        if answer is None:
            raise LostMemberError("here")
        return answer

    def end(self) -> None:
        self._arrived.put(None)

    def is_better_elsewhere(self) -> bool:
        return False


class Clock:
    """Send answers when they are due, on a thread whose processor time is measured."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, queue.SimpleQueue[Answer | None], Answer]] = []
        self._lock, self._count, self.seconds = threading.Lock(), 0, 0.0
        self._is_over = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, after: float, where: queue.SimpleQueue[Answer | None], answer: Answer) -> None:
        when = time.monotonic() + after * random.uniform(0.9, 1.1)
        with self._lock:
            self._count += 1
            heapq.heappush(self._due, (when, self._count, where, answer))

    def close(self) -> None:
        self._is_over.set()

    def _run(self) -> None:
        while not self._is_over.wait(0.005):
            with self._lock:
                due = []
                while self._due and self._due[0][0] <= time.monotonic():
                    due.append(heapq.heappop(self._due))
            for _, _, where, answer in due:
                where.put(answer)
            self.seconds = time.thread_time()


class LatentLauncher(Launcher):
    """Starts members that only take time.

    Args:
        members: their number.
        seconds: per round.
    """

    called = "member"

    def __init__(self, members: int, seconds: float) -> None:
        self.count, self.clock, self._round_seconds = members, Clock(), seconds

    def launch(self, recipe: Recipe, numbers: Sequence[int], member: int) -> Channel:
        return LatentChannel(self.clock, self._round_seconds)

    def published(self, packed: bytes) -> Any:
        return packed

    def close(self) -> None:
        self.clock.close()


def latent_pool(members: int, seconds: float) -> RemotePool:
    """azcore's pool with such members."""
    settings: Any = SimpleNamespace(shares=lambda: [1] * members, resignation=False)
    game: Any = None
    return RemotePool(
        game=game,
        settings=settings,
        launcher=LatentLauncher(members, seconds),
        recipe=NoRecipe(),
        restarts=0,
        say=print,
    )


class NoWeights(Weights):
    version = 0

    def evaluator(self, callers: int) -> Any:
        raise NotImplementedError

    def packed(self) -> bytes:
        return b""


def python_seconds() -> float:
    """Processor time that the threads running Python have used so far."""
    total = 0
    for thread in threading.enumerate():
        try:
            told = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
        except OSError:  # the thread has just ended
            continue
        total += int(told.split()[0])
    return total / 1e9


def measured_rounds(pool: RemotePool, seconds: float) -> tuple[float, float, float]:
    """Seconds per round, in Python's threads and in others, and rounds/s."""
    count, begin = 0, pool.begin_round

    def counted(worker: int) -> Any:
        nonlocal count
        count += 1
        return begin(worker)

    pool.begin_round = counted  # type: ignore[method-assign]
    window: Any = None
    source = OverlappingSelfPlay(pool=pool, window=window, weights_in_play=NoWeights)
    source.deliver_to(lambda records: None)
    with closing(source):
        with source.at_rest():
            source.play_on(Amount(1, 1))
        time.sleep(seconds / 2)  # until rounds are out of step
        clock = getattr(pool._slots.launcher, "clock", None)

        def used() -> tuple[float, float]:
            others = clock.seconds if clock else 0.0
            return python_seconds() - others, time.process_time() - others

        (python, whole), before, began = used(), count, time.monotonic()
        time.sleep(seconds)
        (python_now, whole_now), rounds = used(), count - before
        wall = time.monotonic() - began
    python, whole = python_now - python, whole_now - whole
    return python / rounds, max(0.0, whole - python) / rounds, rounds / wall


class NoActor:
    """Replaces an `Actor`: its rounds end at once."""

    def play_round(self, worker: int) -> list[GameRecord]:
        return []

    def take_statistics_of(self, worker: int) -> WorkerStatistics:
        return WorkerStatistics()

    def longest_in_play(self) -> int:
        return 1

    def set_weights(self, weights: Weights, resign_threshold: float | None) -> None:
        pass

    def worker_states(self) -> list[dict[str, Any]]:
        return [{}]

    def leave_rounds(self) -> None:
        pass


@dataclass(frozen=True)
class NoRecipe(Recipe):
    def build(self, numbers: Sequence[int], process: int) -> Any:
        no_game: Any = None
        no_actor: Any = NoActor()
        return SelfPlayMember(no_actor, JobContext(no_game, lambda *_: NoWeights(), len(numbers)))


def rounds_of_ray(seconds: float, actors: int = 2) -> tuple[float, float, float]:
    """`measured_rounds` with Ray's actors on this machine."""
    from azcore.selfplay.backend import BackendSettings

    settings: Any = SimpleNamespace(shares=lambda: [1] * actors, resignation=False)
    game: Any = None
    placement = BackendSettings(
        name="ray",
        processes=None,
        restarts=0,
        address=None,
        actors=actors,
        num_cpus=1.0,
        num_gpus=0.0,
        wait=120.0,
    )
    launcher = RayLauncher(
        count=actors,
        workers=actors,
        placement=placement,
        say=print,
        environment={"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent)])},
    )
    pool = RemotePool(
        game=game, settings=settings, launcher=launcher, recipe=NoRecipe(), restarts=0, say=print
    )
    with closing(pool):
        return measured_rounds(pool, seconds)


def measured(
    paper: Paper,
    *,
    game: str = "chess",
    games: int = 256,
    window_games: int = 20_000,
    members: int = 500,
    seconds: float = 5.0,
    round_seconds: float = 1.0,
    ray: bool = True,
    network: Sequence[int] = (19, 256),
) -> Measured:
    """Measure all parts of the driver.

    Args:
        paper: the length of a game, and the batch size.
        game: the game.
        games: the number of games to measure with.
        window_games: the games in the window, more than fit into a processor's caches.
        members: the size of the pool to measure.
        seconds: how long to measure rounds.
        round_seconds: the duration of its rounds.
        ray: whether to add the cost of Ray's calls.
        network: its blocks and channels.
    """
    rules = azcore.make(game)
    records = made_up_games(rules, paper.plies, games)
    frames = [record.to_bytes() for record in records]
    parse_frame(frames[0], "the first")
    pickled = [pickle.dumps(record) for record in records]
    states = [pickle.dumps(in_play(record)) for record in records]
    answers = [pickle.dumps((0, True, state)) for state in states]  # `Member.states` pickles
    window = ReplayBuffer(game=rules, window_games=window_games, augment=False)
    while len(window) < window_games:
        window.extend(records)
    with tempfile.TemporaryDirectory() as folder:
        file = GameFile(Path(folder) / "records.azg")
        waits = []
        for _ in range(20):
            began = time.monotonic()
            file.append(records[:1])
            waits.append(time.monotonic() - began)
    round_python, _, _ = measured_rounds(latent_pool(members, round_seconds), seconds)
    round_ray = 0.0
    if ray:
        round_python, round_ray, _ = rounds_of_ray(seconds)
    weights = packed_weights(game, *network)
    empty = pickle.dumps((0, True, Round([], WorkerStatistics(), 1)))
    return Measured(
        round=round_python,
        ray=round_ray,
        unpickle=processor_seconds(lambda: [pickle.loads(one) for one in pickled]) / games,
        encode=processor_seconds(lambda: [one.to_bytes() for one in records]) / games,
        extend=processor_seconds(lambda: window.extend(records)) / games,
        batch=processor_seconds(lambda: draw_batch(window, paper.batch_size, 1, 1)),
        state=processor_seconds(lambda: [pickle.loads(one) for one in answers]) / games,
        pack=processor_seconds(weights, 3),
        sync=statistics.median(waits),
        answer_bytes=len(empty) + 200,  # and an estimate of Ray's own data
        record_bytes=sum(map(len, pickled)) // games,
        frame_bytes=sum(map(len, frames)) // games,
        window_bytes=window.bytes_held // len(window),
        state_bytes=sum(map(len, states)) // games,
        weight_bytes=len(weights()),
    )


def packed_weights(game: str, blocks: int, channels: int) -> Callable[[], bytes]:
    """Pack random weights of a network of this size, as `NetworkWeights.packed` does."""
    words = [f"game={game}", "scale=paper", f"network.blocks={blocks}"]
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config: Any = OmegaConf.to_container(
            hydra.compose("train", overrides=[*words, f"network.channels={channels}"]),
            resolve=True,
        )
    settings = settings_from(config, RunSettings)
    network = build_network(settings.game, settings.network, 1)
    return NetworkWeights(settings, network, 0).packed


# -- the table -------------------------------------------------------------------------------------


def most_taken(paper: Paper, parts: Measured) -> float:
    """Games/s at which handling rounds would take all of the driver's time."""
    rounds = 1 / (paper.rate * paper.waves * paper.latency)  # for a game
    game = parts.unpickle + parts.encode + parts.extend
    return 1 / max(rounds * parts.ray, rounds * parts.round + game)


def table(outcomes: Sequence[tuple[Paper, Outcome]], parts: Measured) -> str:
    """A row for each size."""
    head = ["actors", "games/s possible", "driver's limit", "games/s reached", "of the paper's"]
    head += [*PARTS, "all idle", "lag, steps", "fullest"]
    rows = [head]
    for paper, outcome in outcomes:
        row = [f"{paper.actors:,}", f"{paper.actors * paper.rate:,.1f}"]
        row += [f"{most_taken(paper, parts):,.0f}", f"{outcome.made:,.1f}"]
        row += [f"{outcome.made / (44e6 / (9 * 3600)):.3f}"]
        row += [f"{outcome.share(part):.3f}" for part in PARTS]
        row += [f"{outcome.still / outcome.seconds:.3f}"]
        row += [f"{statistics.mean(outcome.lags or [0.0]):,.0f}", outcome.fullest]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def describe(parts: Measured) -> str:
    """Describe the measurements."""
    lines = ["measured here, of one core:"]
    for name, value in asdict(parts).items():
        amount = f"{value:,} bytes" if name.endswith("bytes") else f"{value * 1e6:,.1f} us"
        lines.append(f"  {name.replace('_', ' '):14} {amount}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--actors", type=int, nargs="*", default=[50, 500, 1000, 5000])
    parser.add_argument("--waves", type=int, nargs="*", default=[16], help="waves per round")
    parser.add_argument(
        "--generations", type=int, default=2, help="generations to simulate after the first"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds to measure rounds")
    parser.add_argument("--game", default="chess")
    parser.add_argument("--save", type=Path, help="write the measurements to this file")
    parser.add_argument("--load", type=Path, help="read the measurements from such a file")
    stated = Paper()
    for name in ("games_at_once", "latency", "gigabits", "plies", "broadcast"):
        value = getattr(stated, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = parser.parse_args()
    stated = replace(
        stated,
        **{
            name: getattr(options, name)
            for name in ("games_at_once", "latency", "gigabits", "plies", "broadcast")
        },
    )
    if options.load:
        parts = Measured(**json.loads(options.load.read_text()))
    else:
        ray = importlib.util.find_spec("ray") is not None
        parts = measured(stated, game=options.game, seconds=options.seconds, ray=ray)
    if options.save:
        options.save.write_text(json.dumps(asdict(parts)))
    print(describe(parts), flush=True)
    games, in_play = 1_000_000, stated.games_at_once * max(options.actors)
    print(
        f"memory of the driver: {games * parts.window_bytes / 1e9:,.1f} GB for a window of "
        f"{games:,} games, {in_play * parts.state_bytes / 1e9:,.1f} GB for {in_play:,} in play"
    )
    for waves in options.waves:
        outcomes = []
        for actors in options.actors:
            paper = replace(stated, actors=actors, waves=waves)
            outcomes.append((paper, Simulation(paper, parts).run(options.generations)))
        print(f"\nrounds of {waves} waves, {waves * stated.latency:.2f} s")
        print(table(outcomes, parts), flush=True)


if __name__ == "__main__":
    main()
