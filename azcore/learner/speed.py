"""Whether the learner ever waits for its batches, for `command=bench`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import repeat

from torch import Tensor

from azcore.learner.data import GenerationLoader

Batch = dict[str, Tensor]


def feeding_ratio(
    draw: Callable[[int], Batch], step: Callable[[Batch], object], *, steps: int, seconds: float
) -> float:
    """Steps/s with batches drawn as training draws them, over those with one batch in memory.

    Whole generations of both are timed in turn. A generation's first batch is waited for, as in
    training, where none can be drawn before the generation's games are there.

    Args:
        draw: the batch of a step.
        step: learns from a batch and returns when it is done.
        steps: of a generation.
        seconds: to measure, in all; at least five generations.

    Returns:
        Median of the ratios.
    """
    loader = GenerationLoader(lambda generation: None, draw, steps)
    batch = draw(0)
    step(batch)
    ratios: list[float] = []
    began = time.perf_counter()
    while len(ratios) < 5 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        for in_memory in repeat(batch, steps):
            step(in_memory)
        middle = time.perf_counter()
        for drawn in loader:
            step(drawn)
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)
