"""The learner: the overhead of drawing batches from the window."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import repeat

import torch

from azcore.algorithms.self_play import GENERATION_STEPS
from azcore.assembly.parts import LearningSettings
from azcore.commands.bench.search import FreeEvaluator
from azcore.commands.bench.settings import BenchSettings
from azcore.learner.data import GenerationLoader, draw_batch
from azcore.learner.module import LearnerModule
from azcore.networks import build_network
from azcore.selfplay.actor import Actor
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer

Batch = dict[str, torch.Tensor]
GENERATIONS = 5  # of each kind, at least
POSITIONS = 2000  # in the window, at least


class Learning:
    """Steps of the learner on a window of games, without Lightning."""

    def __init__(self, settings: LearningSettings, games: Sequence[GameRecord]) -> None:
        self._settings = settings
        self._window = ReplayBuffer(
            game=settings.game,
            window_games=len(games),
            augment=settings.replay.augment,
            targets=settings.network.targets,
            own_targets=settings.plugins.function("targets"),
            augmentation=settings.plugins.function("augmentation"),
        )
        self._window.extend(games)
        self._module = settings.plugins.subclass("learner", LearnerModule)(
            network=build_network(settings.game, settings.network, settings.seed).to(
                settings.device
            ),
            settings=settings.learner,
            max_steps=1,
            description={},
        )
        self._optimizer = self._module.configure_optimizers()["optimizer"]

    def draw(self, number: int) -> Batch:
        settings = self._settings
        return draw_batch(
            self._window,
            settings.learner.batch_size,
            settings.seed,
            number,
            pin=settings.device.type == "cuda",
        )

    def step(self, batch: Batch) -> None:
        """Learn from a batch; waits until the device is done."""
        device = self._settings.device
        self._optimizer.zero_grad()
        there = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
        loss, _ = self._module.loss(there)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()


def feeding_ratio(
    draw: Callable[[int], Batch], step: Callable[[Batch], object], *, steps: int, seconds: float
) -> float:
    """Steps/s with batches sampled as in training, divided by those with one batch in memory.

    Whole generations of both kinds are timed alternately. As in training, the learner waits for a
    generation's first batch, which cannot be sampled before the generation's games arrive.

    Args:
        step: learns from a batch and returns when it is done.
        steps: per generation; fewer if that many would take too long.
        seconds: approximate total time; at least five generations of two steps or more are timed.

    Returns:
        Median of the ratios.
    """
    batch = draw(0)
    step(batch)
    start = time.perf_counter()
    step(batch)
    affordable = seconds / (2 * GENERATIONS * (time.perf_counter() - start))
    steps = max(2, min(steps, round(affordable)))
    loader = GenerationLoader(draw, steps)
    ratios: list[float] = []
    began = time.perf_counter()
    while len(ratios) < GENERATIONS or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        for in_memory in repeat(batch, steps):
            step(in_memory)
        middle = time.perf_counter()
        for drawn in loader:
            step(drawn)
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


def learner_ratio(settings: LearningSettings, options: BenchSettings) -> float:
    """Training steps/s with batches drawn from the window, over those with one batch in memory."""
    game = settings.game
    actor = Actor(
        game=game,
        search=replace(settings.search, num_simulations=2),
        settings=replace(settings.selfplay, workers=1),
        seed=settings.seed,
        evaluator=FreeEvaluator(game, options.num_games),
    )
    learning = Learning(settings, actor.play(POSITIONS))
    return feeding_ratio(
        learning.draw,
        learning.step,
        steps=settings.learner.steps_per_generation or GENERATION_STEPS[-1],
        seconds=options.seconds,
    )
