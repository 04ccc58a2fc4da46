"""Measures the speed of an actor, for the probe at the start of a run and for `command=bench`."""

import time

from azcore.selfplay.pool import Amount, WorkerPool

ROUNDS = 4  # minimum per measurement


def evaluations_per_s(pool: WorkerPool, seconds: float) -> float:
    """The rate at which the network evaluates positions for all workers together.

    Measured from the end of the first round until no further round is wanted. So it includes
    neither the start of the workers nor their final wait for each other, both of which training has
    once per generation.
    """
    marks: list[tuple[float, int]] = []

    def is_wanted(_made: Amount) -> bool:
        marks.append((time.perf_counter(), pool.statistics.evaluations))
        return len(marks) <= ROUNDS or marks[-1][0] - marks[1][0] < seconds

    pool.play_while(is_wanted)
    (began, before), (ended, after) = marks[1], marks[-1]
    return (after - before) / (ended - began)
