"""The number of workers and games for a machine, where the settings leave them open.

There is one worker per core. A probe finds the number of games, unless processes share a GPU: then
it follows from the size of the board. With too few games, the network's batches are small and the
fixed cost of each call dominates. With too many, games end late, and their weights are old by then.
"""

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from azcore.game import Game
from azcore.measuring import undisturbed
from azcore.selfplay.actor import Actor
from azcore.selfplay.pool import evaluations_per_s
from azcore.selfplay.schedule import SelfPlaySettings

GAMES_PER_WORKER = {"cpu": (16, 32, 64), "cuda": (64, 128, 256, 512)}
MOST_WORKERS = {"cpu": 256, "cuda": 16}  # on a GPU, more would make its batches small
# Games of each process that shares a GPU, where a measurement would need all processes: batches of
# as many cells as fill a card together (docs/performance.md).
CELLS_PER_BATCH = 20_736
FEWEST_SHARED, MOST_SHARED = 32, 256
GOOD_ENOUGH = 0.97  # of the best rate: two measurements of one machine differ by as much
SECONDS = 0.25  # per measurement
SLOW = 0.25  # seconds for the smallest batches; the fixed cost of a call is a thousandth of that
ROUNDS = 3  # each measures all sizes once
CGROUP = Path("/sys/fs/cgroup")  # limits of a group of processes, in one of two formats
MANY_ACTIONS = 100  # legal in a position, if a game begins with no more of them


@dataclass(frozen=True)
class Trial:
    """The rate measured with one number of games."""

    num_games: int
    evaluations_per_s: float


def many_legal(game: Game) -> int:
    """A number of legal actions that few positions exceed, to estimate memory.

    Buffers grow as games need. All of a game's actions would be far too many if there are
    thousands.
    """
    at_first = int(game.legal_action_mask(game.initial_state()).sum())
    return min(game.num_actions, max(MANY_ACTIONS, at_first))


def available_cores() -> int:
    """Cores that this process may use: those it may run on, or fewer if its CPU time is limited."""
    cores = len(os.sched_getaffinity(0))
    quota = time_quota()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def time_quota() -> float | None:
    """The CPU time limit of a container, in cores; the container itself sees every core.

    Returns:
        None: no limit, or an unreadable one.
    """
    try:
        if (CGROUP / "cpu.max").exists():
            quota, period = (CGROUP / "cpu.max").read_text().split()
        else:
            quota = (CGROUP / "cpu/cpu.cfs_quota_us").read_text()
            period = (CGROUP / "cpu/cpu.cfs_period_us").read_text()
        return float(quota) / float(period) if float(quota) > 0 else None
    except (OSError, ValueError):  # the quota may be the word max
        return None


def available_memory() -> int:
    """Memory in bytes that this process may use: the machine's, or the limit of a container."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # the limit may be the word max
            return min(machine, int((CGROUP / limit).read_text()))
    return machine


def with_workers(settings: SelfPlaySettings, device_type: str) -> SelfPlaySettings:
    """The settings with a number of workers: one per core, but no more than games."""
    if settings.workers is not None:
        return settings
    workers = min(available_cores(), MOST_WORKERS.get(device_type, 1))
    if settings.num_games is not None:
        workers = min(workers, settings.num_games)
    return replace(settings, workers=workers)


def with_games(
    settings: SelfPlaySettings,
    device_type: str,
    actor_of: Callable[[SelfPlaySettings], Actor],
    processes: int = 1,
    cells: int = 1,
) -> tuple[SelfPlaySettings, list[Trial]]:
    """The settings with a number of games, and the trials that found it; empty if it was given.

    Args:
        actor_of: makes an actor with given settings, to be measured and discarded.
        processes: how many processes the workers will be in. Only the workers of one are
            measured, for all: in this process they would wait for Python's lock.
        cells: the number of cells of a plane of an observation.
    """
    if settings.num_games is not None:
        return settings, []
    workers = settings.workers
    assert workers is not None
    if device_type == "cuda" and processes > 1:
        return replace(settings, num_games=workers * _games_sharing_gpu(cells)), []
    together = -(-workers // processes)
    each = GAMES_PER_WORKER.get(device_type, (64,))
    of_one = [replace(settings, workers=together, num_games=together * games) for games in each]

    def trial(games: int, rate: float) -> Trial:
        return Trial(workers * games, rate * workers / together)

    glance = actor_of(replace(of_one[0], round_waves=1))
    rate, fast = evaluations_per_s(glance, 0.0), together * each[0] / SLOW
    if rate < fast:  # a disturbed measurement would end the search here
        rate = max(rate, evaluations_per_s(glance, 0.0))
    if rate < fast:
        trials = [trial(each[0], rate)]
    else:
        actors: list[Actor] = []
        for tried in of_one:
            actor = actor_of(tried)
            needed = processes * actor.bytes_needed(many_legal(actor.game))
            if actors and needed > available_memory() / 4:
                break
            actors.append(actor)
        rates = _rates(actors)
        trials = [trial(games, rate) for games, rate in zip(each, rates, strict=False)]
    return replace(settings, num_games=best_num_games(trials)), trials


def _games_sharing_gpu(cells: int) -> int:
    """The games of a process that shares a GPU, by the cells of a board; a power of two."""
    games = 1 << round(math.log2(CELLS_PER_BATCH / cells))
    return min(max(games, FEWEST_SHARED), MOST_SHARED)


def best_num_games(trials: Sequence[Trial]) -> int:
    """The smallest number of games with a rate near the best."""
    best = max(trial.evaluations_per_s for trial in trials)
    near = [t for t in trials if t.evaluations_per_s >= GOOD_ENOUGH * best]
    return min(trial.num_games for trial in near)


def _rates(actors: Sequence[Actor]) -> list[float]:
    """Evaluations/s of each actor, from a few alternating measurements."""
    measured: list[list[float]] = [[] for _ in actors]
    for actor in actors:
        evaluations_per_s(actor, 0.0)  # warm up: the first batch of a size prepares memory
    for _ in range(ROUNDS):
        for actor, rates in zip(actors, measured, strict=True):
            rates.append(evaluations_per_s(actor, SECONDS))
    by_number = dict(enumerate(measured))
    return list(undisturbed(by_number, lambda i: evaluations_per_s(actors[i], SECONDS)).values())
