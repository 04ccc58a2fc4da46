"""Whether the learner ever waits for its batches, for `command=bench`."""

from __future__ import annotations

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
    """Steps/s with batches drawn as training draws them, over those with one batch in memory.

    Whole generations of both are timed in turn. A generation's first batch is waited for, as in
    training, where none can be drawn before the generation's games are there.

    Args:
        draw: the batch of a step.
        step: learns from a batch and returns when it is done.
        steps: of a generation; fewer are taken of it where so many would take too long.
        seconds: to measure, in all, about; at least five generations, of two steps or more.

    Returns:
        Median of the ratios.
    """
    batch = draw(0)
    step(batch)
    start = time.perf_counter()
    step(batch)
    affordable = seconds / (2 * GENERATIONS * (time.perf_counter() - start))
    steps = max(2, min(steps, round(affordable)))
    loader = GenerationLoader(lambda generation: None, draw, steps)
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
