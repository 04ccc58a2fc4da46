"""An estimate of the time of a self-play game on this machine with the composed settings."""

import time
from dataclasses import dataclass

import numpy as np

from azcore.assembly.parts import LearningSettings
from azcore.game import Game
from azcore.networks import build_network
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.selfplay.worker import Worker

TREES = 64  # at most, while the search is timed: enough to fill its loops


@dataclass(frozen=True, kw_only=True)
class SelfPlayCost:
    """The cost of self-play at the start of training."""

    batch: int  # positions evaluated at once
    evaluations_per_s: float  # of the network alone
    search_us: float  # of rules and search, for each evaluation
    seconds_per_game: float  # if games are as long as random ones


def estimate(settings: LearningSettings, plies: float, seconds: float) -> SelfPlayCost:
    """Measure network and search separately, for about `seconds` each.

    A batch has self-play's `num_games` positions; a large network may take longer for its first.
    """
    network = build_network(settings.game, settings.network, settings.seed)
    batch, rate = _network_rate(
        settings.evaluator(network), settings.game, settings.selfplay.num_games or TREES, seconds
    )
    search = _search_seconds(settings, seconds)
    evaluations = plies * settings.search.num_simulations
    return SelfPlayCost(
        batch=batch,
        evaluations_per_s=rate,
        search_us=search * 1e6,
        seconds_per_game=evaluations * (1 / rate + search),
    )


def _network_rate(
    evaluator: Evaluator, game: Game, largest: int, seconds: float
) -> tuple[int, float]:
    """The batch size reached, `largest` if time allows, and positions evaluated per second."""
    rng = np.random.default_rng(1)
    size = 1
    while True:
        observations = rng.integers(0, 2, (size, *game.observation_shape), np.uint8)
        evaluator.evaluate(observations)  # warm up: the first call of a size prepares memory
        times = []
        for _ in range(3):  # the fastest counts: other programs may be running
            began = time.perf_counter()
            evaluator.evaluate(observations)
            times.append(time.perf_counter() - began)
        if size == largest or 8 * min(times) > seconds:
            break
        size = min(4 * size, largest)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        evaluator.evaluate(observations)
        done += size
    return size, done / (time.perf_counter() - began)


def _search_seconds(settings: LearningSettings, seconds: float) -> float:
    """Seconds of rules and search per evaluation, with an evaluator that costs nothing."""
    worker = Worker(
        game=settings.game,
        variant=settings.selfplay_game,
        search=settings.search,
        settings=settings.selfplay,
        num_games=min(TREES, settings.selfplay.num_games or TREES),
        first_index=0,
        index_step=1,
        seed=settings.seed,
        evaluator=UniformEvaluator(settings.game),
        record_surprise=False,
    )
    worker.play_wave()  # warm up: loads or compiles what it needs
    worker.reset_statistics()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds or not worker.statistics.evaluations:
        worker.play_wave()
    return (time.perf_counter() - began) / worker.statistics.evaluations
