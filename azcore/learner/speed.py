"""Measures whether the learner waits for its batches, for `command=bench`."""

import statistics
import time
from collections.abc import Callable
from itertools import repeat

from torch import Tensor

from azcore.learner.data import GenerationLoader

Batch = dict[str, Tensor]
GENERATIONS = 5  # of each kind, at least


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
