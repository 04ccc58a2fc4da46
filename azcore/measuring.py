"""Measures speeds on a machine that may run other programs."""

import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

OF_OTHERS = 1 / 5  # of the best rate of all
OF_ITS_OWN = 1 / 2  # of its own best rate
AGAIN = 2  # repetitions of a measurement below these
BUSY = 0.5  # share of each core that others use
MINUTE = 60.0  # seconds over which the kernel averages the load

T = TypeVar("T")


def undisturbed(
    measured: Mapping[T, Sequence[float]],
    again: Callable[[T], float],
    earlier: Mapping[T, float] | None = None,
) -> dict[T, float]:
    """The median rate of each, or the best one if the median is implausible.

    A rate far below the others, or below its own best, comes from a disturbed machine, so it is
    measured again.

    Args:
        measured: rates, one or more of each.
        again: measures one of them again.
        earlier: rates that each should reach, if known.
    """
    rates = {each: statistics.median(values) for each, values in measured.items()}
    seen = {each: max(*values, (earlier or {}).get(each, 0.0)) for each, values in measured.items()}
    for _ in range(AGAIN):
        best = max(rates.values(), default=0.0)
        for each, rate in rates.items():
            if rate < max(OF_OTHERS * best, OF_ITS_OWN * seen[each]):
                rates[each] = max(rate, again(each))
    return rates


def is_busy() -> bool:
    """Whether other programs use more than `BUSY` of the machine's cores.

    The load average of the last minute includes this process: using u cores for t seconds adds
    u (1 - exp(-t / 60)).
    """
    try:
        load = os.getloadavg()[0]
        words = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(words[19]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return False
    used = sum(os.times()[:4]) / max(age, 1.0)
    own = used * (1.0 - math.exp(-age / MINUTE))
    return load - own > BUSY * (os.cpu_count() or 1)
