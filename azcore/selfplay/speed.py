"""How fast an actor plays, for the probe at the start of a run and for `command=bench`."""

from __future__ import annotations

import time

from azcore.selfplay.actor import Actor, Amount

ROUNDS = 4  # of one measurement, at least


def evaluations_per_s(actor: Actor, seconds: float) -> float:
    """The rate at which all workers together have positions judged by the network.

    Taken between the first round that ended and the last that was asked for, so that neither the
    start of the workers nor their waiting for each other at the end, which training has once a
    generation, are in it.
    """
    marks: list[tuple[float, int]] = []

    def is_wanted(_made: Amount) -> bool:
        marks.append((time.perf_counter(), actor.statistics.evaluations))
        return len(marks) <= ROUNDS or marks[-1][0] - marks[1][0] < seconds

    actor.play_while(is_wanted)
    (began, before), (ended, after) = marks[1], marks[-1]
    return (after - before) / (ended - began)
