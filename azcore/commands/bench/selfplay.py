"""Self-play compared with the bare network: the search's overhead."""

import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from azcore.assembly.parts import Config, LearningSettings, settings_from
from azcore.commands.bench.children import in_new_process
from azcore.commands.bench.search import FreeEvaluator
from azcore.commands.bench.settings import BenchSettings
from azcore.game import ByteArray, FloatArray, Game
from azcore.networks import build_network
from azcore.search.evaluators import Evaluator
from azcore.selfplay.actor import Actor
from azcore.selfplay.pool import evaluations_per_s
from azcore.selfplay.sizes import with_workers

SLICE = 0.5  # seconds of one of many alternating measurements


def make_actor(settings: LearningSettings, evaluator: Evaluator) -> Actor:
    """Self-play by the settings, run until its games are out of step."""
    actor = Actor(
        game=settings.game,
        search=settings.search,
        settings=settings.selfplay,
        seed=settings.seed,
        evaluator=evaluator,
    )
    enough = settings.selfplay.shares()[0] * settings.search.num_simulations
    actor.play_while(lambda _: actor.statistics.evaluations < enough)
    return actor


def selfplay_and_network(
    settings: LearningSettings, options: BenchSettings
) -> tuple[float, float, float]:
    """Evaluations/s of self-play and of the bare network, alternately, and their median ratio.

    The bare network has the batches, the precision and the threads of self-play.
    """
    shares = settings.selfplay.shares()
    network = build_network(settings.game, settings.network, settings.seed)
    evaluator = settings.evaluator(network, len(shares))
    actor = make_actor(settings, evaluator)
    alone = evaluator.for_another_thread()  # self-play uses and changes this one
    rng = np.random.default_rng(1)
    bare = [
        own.prepared(rng.integers(0, 2, (share, *settings.game.observation_shape), np.uint8))
        for share, own in zip(shares, alone.for_threads(len(shares)), strict=True)
    ]
    bare_rate(bare, shares, SLICE)  # warm up: the first call of a thread prepares memory
    rates = [
        (evaluations_per_s(actor, SLICE), bare_rate(bare, shares, SLICE))
        for _ in range(max(5, round(options.seconds / SLICE)))
    ]
    return (
        statistics.median(rate[0] for rate in rates),
        statistics.median(rate[1] for rate in rates),
        statistics.median(rate[0] / rate[1] for rate in rates),
    )


def bare_rate(
    calls: Sequence[Callable[[], object]], shares: Sequence[int], seconds: float
) -> float:
    """Evaluations/s of networks whose input is already in their memory, each on its own thread.

    Each of `calls` evaluates a batch once; `shares` are the positions in each of the batches.
    """

    def repeat(call: Callable[[], object]) -> int:
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            call()
            done += 1
        return done

    began = time.perf_counter()
    with ThreadPoolExecutor(len(calls)) as pool:
        counts = list(pool.map(repeat, calls))
    done = sum(share * count for share, count in zip(shares, counts, strict=True))
    return done / (time.perf_counter() - began)


# -- by cores -----------------------------------------------------------------------------------


def selfplay_by_cores(config: Config, options: BenchSettings) -> tuple[list[int], list[float]]:
    """Evaluations/s of self-play on 1, 2, 4 ... cores and on all of them, three rounds of each.

    The number of games per core is constant.

    Args:
        config: the settings, with the sizes that the benchmark measures.

    Returns:
        The numbers of cores, and the rate on each.
    """
    cores = sorted(os.sched_getaffinity(0))
    numbers = [1 << bit for bit in range(len(cores).bit_length())]
    numbers = sorted({*(number for number in numbers if number < len(cores)), len(cores)})
    rates: list[list[float]] = [[] for _ in numbers]
    for _ in range(3):
        for number, each in zip(numbers, rates, strict=True):
            each.append(_rate_on(config, options, cores[:number], len(cores)))
    return numbers, [statistics.median(each) for each in rates]


def _rate_on(config: Config, options: BenchSettings, cores: Sequence[int], all_cores: int) -> float:
    games = max(len(cores), options.num_games * len(cores) // all_cores)
    selfplay = {**config["selfplay"], "num_games": games, "workers": len(cores)}
    return float(
        in_new_process(
            "azcore.commands.bench.selfplay:rate_here",
            {**config, "selfplay": selfplay},
            options.seconds / 2,
            cores=cores,
        )
    )


def rate_here(config: Config, seconds: float) -> float:
    """Evaluations/s of self-play in this process."""
    settings = settings_from(config, LearningSettings)
    selfplay = with_workers(settings.selfplay, settings.device.type)
    settings = replace(settings, selfplay=selfplay)
    network = build_network(settings.game, settings.network, settings.seed)
    evaluator = settings.evaluator(network, len(selfplay.shares()))
    return evaluations_per_s(make_actor(settings, evaluator), seconds)


# -- a simulated device -------------------------------------------------------------------------


class _Device:
    """The time at which a device that processes batches one after another will be free."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.free_at = 0.0


class SimulatedDevice(FreeEvaluator):
    """Returns random numbers with the delay of a device of some rate and latency, using no core.

    Batches of several threads queue, as on a GPU: the device processes one at a time while the
    others are in transfer.

    Args:
        rate: positions per second that the device can evaluate.
        latency: seconds of a batch's transfer, in each direction.
    """

    def __init__(self, game: Game, size: int, rate: float, latency: float) -> None:
        super().__init__(game, size)
        self._rate, self._latency = rate, latency
        self._device = _Device()

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        there = time.perf_counter() + self._latency
        with self._device.lock:
            done = max(self._device.free_at, there) + len(observations) / self._rate
            self._device.free_at = done
        time.sleep(max(0.0, done + self._latency - time.perf_counter()))
        return super().evaluate(observations)


def simulated_device_ratio(settings: LearningSettings, options: BenchSettings) -> float:
    """Evaluations/s of self-play on a simulated device, divided by the rate of the device."""
    selfplay = with_workers(
        replace(settings.selfplay, num_games=options.device_games, workers=options.device_workers),
        "cuda",
    )
    settings = replace(settings, selfplay=selfplay)
    rate = float(options.device_rate)
    device = SimulatedDevice(
        settings.game, selfplay.shares()[0], rate, options.device_latency_ms / 1000
    )
    actor = make_actor(settings, device)
    ratios = [evaluations_per_s(actor, options.seconds / 5) / rate for _ in range(5)]
    return statistics.median(ratios)
