"""Compares backends and schedules on this machine, in pairs of measurements.

    python examples/bench_scale.py                  # Go 9x9 with scale=laptop
    python examples/bench_scale.py game=chess --pairs 9 --seconds 20
    python examples/bench_scale.py --pairs 0 --generations 0 --actors 1 2 4 8 16

It answers three questions, the first two by the median of the pairs' ratios, since the speed of a
machine drifts:

    process / inline       evaluations/s of self-play with the same workers, games and network;
    ray / inline           the same in actors of Ray, which the script starts
    overlap / alternate    seconds of training for the same number of steps and games, self-play in
                           processes; below 1, overlap is faster
    actors                 evaluations/s of 1, 2, 4 ... Ray actors of one worker each, whose network
                           takes only time and no processor: the cost of the pool itself

Other work on the machine disturbs both halves of a pair, but not equally.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import hydra
from omegaconf import OmegaConf

from azcore.algorithms.self_play import GENERATION_STEPS, fitted_to_machine, pool_of_run
from azcore.assembly.parts import RunSettings, settings_from
from azcore.assembly.selfplay import NetworkWeights, make_actor
from azcore.game import ByteArray, FloatArray
from azcore.networks import build_network
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.jobs import JobContext
from azcore.selfplay.member import Recipe, SelfPlayMember
from azcore.selfplay.pool import Weights, WorkerPool, evaluations_per_s
from azcore.selfplay.ray_actors import RayLauncher
from azcore.selfplay.remote import RemotePool
from azcore.storage.run_directory import RunDirectory

INLINE, PROCESS, RAY = (
    BackendSettings(
        name=name,
        processes=None,
        restarts=0,
        address=None,
        actors=None,
        num_cpus=None,
        num_gpus=0.0,
        wait=60.0,
    )
    for name in ("inline", "process", "ray")
)
GAMES = 16  # games of each worker that only waits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", help="KEY=VALUE, as for python -m azcore")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="seconds of each half of a pair"
    )
    parser.add_argument(
        "--generations", type=int, default=4, help="generations of each run; 0: no runs"
    )
    parser.add_argument(
        "--actors", type=int, nargs="*", default=[], help="numbers of actors, such as 1 2 4 8 16"
    )
    parser.add_argument(
        "--latency", type=float, default=0.05, help="seconds per batch of these actors"
    )
    options = parser.parse_args()
    settings = options.settings or ["game=go"]
    if options.pairs:
        for backend in (PROCESS, RAY):
            pairs = backends(settings, backend, options.pairs, options.seconds)
            report(f"{backend.name} / inline", pairs)
    if options.generations:
        report("overlap / alternate", schedules(settings, options.pairs, options.generations))
    for actors in options.actors:
        rate = waiting(actors, options.latency, options.seconds)
        most = actors * GAMES / options.latency
        print(f"{actors} actors: {rate:,.0f} evaluations/s, {rate / most:.3f} of {most:,.0f}")


def report(what: str, pairs: Sequence[tuple[float, float]]) -> None:
    ratios = [first / second for first, second in pairs]
    each = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"{what}: {statistics.median(ratios):.3f}, the median of {each}", flush=True)


def backends(
    words: Sequence[str], backend: BackendSettings, pairs: int, seconds: float
) -> list[tuple[float, float]]:
    """Evaluations/s of a backend and of threads, alternately."""
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config: Any = OmegaConf.to_container(
            hydra.compose("train", overrides=[*words]), resolve=True
        )
    settings = settings_from(config, RunSettings)
    network = build_network(settings.game, settings.network, settings.seed)
    with tempfile.TemporaryDirectory() as folder:
        settings = fitted_to_machine(settings, network, RunDirectory(Path(folder)), print)

    def pool_of(backend: BackendSettings, games: int | None) -> WorkerPool:
        selfplay = replace(settings.selfplay, num_games=games)
        fitted = replace(settings, selfplay=selfplay, backend=backend)
        pool = pool_of_run(fitted, network, settings.selfplay_starts(), print)
        pool.set_weights(NetworkWeights(fitted, network, 0))
        evaluations_per_s(pool, seconds)  # seconds until games are out of step
        return pool

    threads = pool_of(INLINE, settings.selfplay.num_games)
    with closing(pool_of(backend, threads.settings.num_games)) as others:
        found = []
        for number in range(pairs):
            order = [others, threads] if number % 2 else [threads, others]
            rates = {id(pool): evaluations_per_s(pool, seconds) for pool in order}
            found.append((rates[id(others)], rates[id(threads)]))
            each = "evaluations/s: {} {:,.0f}, inline {:,.0f}"
            print(each.format(backend.name, *found[-1]), flush=True)
    return found


class WaitingEvaluator(Evaluator):
    """A network that takes time but no processor.

    Args:
        settings: the run's; they name the game.
        latency: seconds per call.
    """

    def __init__(self, settings: Any, latency: float) -> None:
        self._judge, self._latency = UniformEvaluator(settings.game), latency

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        time.sleep(self._latency)
        return self._judge.evaluate(observations)


@dataclass(frozen=True)
class WaitingWeights(Weights):
    settings: Any
    latency: float
    version: int = 0

    def evaluator(self, callers: int) -> Evaluator:
        return WaitingEvaluator(self.settings, self.latency)

    def packed(self) -> bytes:
        return bytes(10**7)  # bytes of a network of 2.5 million parameters


@dataclass(frozen=True)
class WaitingRecipe(Recipe):
    config: Any
    selfplay: Any
    latency: float

    def build(self, numbers: Sequence[int], process: int) -> SelfPlayMember:
        settings = settings_from(self.config, RunSettings)
        evaluator = WaitingEvaluator(settings, self.latency)
        actor = make_actor(settings, self.selfplay, evaluator, None, numbers)

        def unpack(_: bytes, version: int) -> Weights:
            return WaitingWeights(settings, self.latency, version)

        return SelfPlayMember(actor, JobContext(settings.game, unpack, len(numbers)))


def waiting(actors: int, latency: float, seconds: float) -> float:
    """Evaluations/s of actors whose network only takes time."""
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config: Any = OmegaConf.to_container(
            hydra.compose("train", overrides=["game=tic_tac_toe"]), resolve=True
        )
    settings = settings_from(config, RunSettings)
    selfplay = replace(settings.selfplay, num_games=GAMES * actors, workers=actors)
    with ExitStack() as stack:
        pool = RemotePool(
            game=settings.selfplay_game,
            settings=selfplay,
            launcher=RayLauncher(count=actors, workers=actors, placement=RAY, say=print),
            recipe=WaitingRecipe(config, selfplay, latency),
            restarts=0,
            say=print,
        )
        stack.enter_context(closing(pool))
        pool.set_weights(WaitingWeights(settings, latency))
        return evaluations_per_s(pool, seconds)


def schedules(words: Sequence[str], pairs: int, generations: int) -> list[tuple[float, float]]:
    """Seconds of runs with each schedule, alternately."""
    found = []
    for number in range(pairs):
        order = ["overlap", "alternate"] if number % 2 else ["alternate", "overlap"]
        seconds = {schedule: seconds_of(words, schedule, generations) for schedule in order}
        found.append((seconds["overlap"], seconds["alternate"]))
        print("seconds: overlap {:.1f}, alternate {:.1f}".format(*found[-1]), flush=True)
    return found


def seconds_of(words: Sequence[str], schedule: str, generations: int) -> float:
    """Seconds from the end of a run's first generation to that of its last."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        more = [f"run_dir={run}", f"schedule={schedule}", "backend=process"]
        steps = _steps_per_generation(words) * (generations + 1)
        more += [f"trainer.max_steps={steps}", "arena.every_generations=1000000"]
        command = [sys.executable, "-m", "azcore", *words, *more]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with (run / "metrics.csv").open() as file:
            rows = list(csv.DictReader(file))
        return float(rows[-1]["seconds"]) - float(rows[0]["seconds"])


def _steps_per_generation(words: Sequence[str]) -> int:
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        learner = hydra.compose("train", overrides=[*words]).learner
        return int(learner.steps_per_generation or GENERATION_STEPS[-1])


if __name__ == "__main__":
    main()
