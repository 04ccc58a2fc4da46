"""What the scripts share: they read the work, write rows and repeat measurements."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Work = Mapping[str, Any]
Measures = Mapping[str, Callable[[Work], None]]  # by the name of a row in bench.rows


def serve(measures: Measures) -> None:
    """Measure the rows that standard input asks for, except unknown ones."""
    work = json.load(sys.stdin)
    for name in work["rows"]:
        if name in measures:
            measures[name](work)


def row(what: str, value: float, unit: str, note: str = "") -> None:
    print(json.dumps({"what": what, "value": value, "unit": unit, "note": note}), flush=True)


def doing(text: str) -> None:
    print(json.dumps({"doing": text}), flush=True)


def timed(run: Callable[[], object]) -> float:
    """Seconds of wall time."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def median_seconds(run: Callable[[], object], seconds: float) -> float:
    """The median of at least three runs, or of as many as fit into `seconds`."""
    times = [timed(run) for _ in range(3)]
    while sum(times) < seconds:
        times.append(timed(run))
    return statistics.median(times)
