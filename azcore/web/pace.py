"""How the page leaves a run beside it its share of the machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

BURST = 2.0  # seconds: what the page may have saved up, so that a single move comes at once
LONGEST_PAUSE = 3.0  # seconds: a longer debt, such as from compiling, is forgiven
LOOK_AGAIN = 3.0  # seconds between two looks whether a run goes on


class Pace:
    """Keeps the time of this process's threads within a share while a run goes on.

    A bucket of processor time fills at `share` times the number of cores and is emptied by whatever
    the process does. When it is empty, `wait` pauses. Priorities alone are no such cap: they weigh
    thread against thread, and visitors are many threads.

    Args of the constructor:
        share: of the processors' time, above 0, at most 1.
        cores: of the machine.
        goes_on: whether a run goes on here.
    """

    def __init__(self, share: float, cores: int, goes_on: Callable[[], bool]) -> None:
        self._rate = share * cores  # seconds of processors a second
        self._goes_on = goes_on
        self._saved = BURST * self._rate
        self._then, self._used = time.monotonic(), time.process_time()
        self._looked, self._found = -LOOK_AGAIN, False
        self._lock = threading.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether the page has had its share, so that visitors wait for each other."""
        return self._found and self._saved < 0

    def wait(self) -> None:
        """Pause the calling thread for as long as the page has had more than its share."""
        with self._lock:
            now, used = time.monotonic(), time.process_time()
            self._saved += self._rate * (now - self._then) - (used - self._used)
            self._then, self._used = now, used
            self._saved = min(self._saved, BURST * self._rate)
            self._saved = max(self._saved, -LONGEST_PAUSE * self._rate)
            if self._saved >= 0:
                return
            if now - self._looked >= LOOK_AGAIN:
                self._looked, self._found = now, self._goes_on()
            pause = -self._saved / self._rate if self._found else 0.0
        time.sleep(pause)
