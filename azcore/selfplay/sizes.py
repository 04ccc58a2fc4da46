"""How many workers and games suit a machine, where the settings leave that open.

Workers are one a core. The number of games is found by trying: too few leave the network's batches
small and every call's fixed costs weigh; too many end late, by weights that are old by then.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from azcore.selfplay.actor import Actor
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.speed import evaluations_per_s

GAMES_PER_WORKER = {"cpu": (16, 32, 64), "cuda": (64, 128, 256, 512)}
MOST_WORKERS = {"cpu": 256, "cuda": 8}  # before a GPU, more would make its batches small
GOOD_ENOUGH = 0.97  # of the best rate, which is what two measurements of one machine differ by
SECONDS = 0.25  # of a measurement
ROUNDS = 3  # of measurements of all sizes in turn
CGROUP = Path("/sys/fs/cgroup")  # what limits a group of processes, said in one of two forms
MANY_ACTIONS = 100  # legal in a position, for an estimate of memory


@dataclass(frozen=True)
class Trial:
    """What a number of games came to."""

    num_games: int
    evaluations_per_s: float


def available_cores() -> int:
    """Cores that this process may use: those it may run on, or as many as it is given time for."""
    cores = len(os.sched_getaffinity(0))
    quota = time_quota()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def time_quota() -> float | None:
    """Cores' worth of time that a container is given, which all the same sees every core.

    Returns:
        None: no limit, or no way to know.
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


def with_workers(settings: SelfPlaySettings, device_type: str) -> SelfPlaySettings:
    """The settings with a number of workers, one a core; no more than games."""
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
) -> tuple[SelfPlaySettings, list[Trial]]:
    """The settings with a number of games, and the trials it was found by, none if it was given.

    Args:
        settings: with a number of workers.
        device_type: of the network, as torch names it.
        actor_of: makes an actor of such settings, to be tried and thrown away.
    """
    if settings.num_games is not None:
        return settings, []
    assert settings.workers is not None
    each = GAMES_PER_WORKER.get(device_type, (64,))
    actors: list[Actor] = []
    for games in each:
        actor = actor_of(replace(settings, num_games=settings.workers * games))
        if actors and actor.bytes_needed(MANY_ACTIONS) > _memory() / 4:
            break
        actors.append(actor)
    rates = _rates(actors)
    trials = [
        Trial(settings.workers * games, rate) for games, rate in zip(each, rates, strict=False)
    ]
    return replace(settings, num_games=best_num_games(trials)), trials


def best_num_games(trials: Sequence[Trial]) -> int:
    """The fewest games that come near the best rate."""
    best = max(trial.evaluations_per_s for trial in trials)
    near = [t for t in trials if t.evaluations_per_s >= GOOD_ENOUGH * best]
    return min(trial.num_games for trial in near)


def _rates(actors: Sequence[Actor]) -> list[float]:
    """Evaluations/s of each, the median of a few measurements in turn."""
    measured: list[list[float]] = [[] for _ in actors]
    for actor in actors:
        evaluations_per_s(actor, 0.0)  # the first batch of a size prepares memory
    for _ in range(ROUNDS):
        for actor, rates in zip(actors, measured, strict=True):
            rates.append(evaluations_per_s(actor, SECONDS))
    return [statistics.median(rates) for rates in measured]


def _memory() -> int:
    """Bytes of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
