"""Workers in other processes for tests: what they are built of, and faults that they can have."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import azcore
from azcore.errors import SettingError
from azcore.search.evaluators import Evaluator
from azcore.selfplay.actor import Actor
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.jobs import JobContext
from azcore.selfplay.member import Recipe, SelfPlayMember
from azcore.selfplay.pool import Amount, WorkerPool
from azcore.selfplay.processes import ProcessChannel, ProcessLauncher
from azcore.selfplay.ray_actors import RayLauncher
from azcore.selfplay.remote import RemotePool
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.weights import Weights
from reference_mcts import HashEvaluator
from search_kit import search_settings
from selfplay_kit import selfplay_settings

GAME = azcore.make("tic_tac_toe")
HERE = {"PYTHONPATH": str(Path(__file__).parent)}


@dataclass(frozen=True)
class HashWeights(Weights):
    """Arbitrary weights; those of another version play other games."""

    version: int

    def evaluator(self, callers: int) -> Evaluator:
        return HashEvaluator(GAME, self.version)

    def packed(self) -> bytes:
        return b"hashes"


def unpacked(packed: bytes, version: int) -> Weights:
    assert packed == b"hashes"
    return HashWeights(version)


@dataclass(frozen=True)
class SmallRecipe(Recipe):
    """Workers of tic-tac-toe without a network.

    Args:
        settings: of self-play.
        fault: what goes wrong as they are built; empty: nothing.
    """

    settings: SelfPlaySettings
    fault: str = ""

    def build(self, numbers: Sequence[int], process: int) -> SelfPlayMember:
        if self.fault.startswith("SIG"):
            os.kill(os.getpid(), signal.Signals[self.fault])
        if self.fault == "refuses":
            raise SettingError("a setting must be one, got another")
        context = JobContext(GAME, unpacked, len(numbers))
        return SelfPlayMember(small_actor(self.settings, numbers), context)


def small_actor(settings: SelfPlaySettings, numbers: Sequence[int] | None = None) -> Actor:
    return Actor(
        game=GAME,
        search=search_settings(num_simulations=12),
        settings=settings,
        seed=1,
        evaluator=HashEvaluator(GAME),
        numbers=numbers,
    )


def small_settings(workers: int) -> SelfPlaySettings:
    return selfplay_settings(num_games=7, workers=workers, branch_share=0.2)


def small_pool(
    settings: SelfPlaySettings,
    processes: int,
    *,
    fault: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> RemotePool:
    return RemotePool(
        game=GAME,
        settings=settings,
        launcher=ProcessLauncher(processes, HERE),
        recipe=SmallRecipe(settings, fault),
        restarts=2,
        say=say,
    )


def backend_settings(name: str, **changed: Any) -> BackendSettings:
    values: dict[str, Any] = {
        "processes": None,
        "restarts": 2,
        "address": None,
        "actors": None,
        "num_cpus": None,
        "num_gpus": 0.0,
        "wait": 60.0,
    }
    return BackendSettings(name=name, **{**values, **changed})


def small_ray_pool(
    settings: SelfPlaySettings,
    actors: int,
    *,
    address: str,
    num_cpus: float = 1.0,
    wait: float = 60.0,
    say: Callable[[str], None] = lambda _: None,
) -> RemotePool:
    placement = backend_settings(
        "ray", address=address, actors=actors, num_cpus=num_cpus, wait=wait
    )
    return RemotePool(
        game=GAME,
        settings=settings,
        launcher=RayLauncher(
            count=actors,
            workers=len(settings.shares()),
            placement=placement,
            say=say,
            environment=HERE,
        ),
        recipe=SmallRecipe(settings),
        restarts=2,
        say=say,
    )


def history(pool: WorkerPool, at_round: Callable[[int], None] = lambda _: None) -> list[Any]:
    """All that three generations of a pool make, with a state saved after each."""
    made: list[Any] = []
    count = 0

    def progress(_made: Amount) -> None:
        nonlocal count
        count += 1
        at_round(count)

    for version in range(3):
        pool.set_weights(HashWeights(version), -0.9 if version else None)
        made += [record.to_bytes() for record in pool.play(150, progress)]
        made.append(pool.state_dict())
    return made


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return not Path(f"/proc/{pid}/stat").read_text().split(")")[1].startswith(" Z")
    return False


def gone(processes: list[int], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(is_alive, processes)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(is_alive, processes))


def pids(pool: RemotePool) -> list[int]:
    """Of the pool's processes, in the order of their numbers."""
    channels = [member._channel for member in pool._members]
    return [channel.process.pid for channel in channels if isinstance(channel, ProcessChannel)]
