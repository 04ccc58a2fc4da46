"""How the page shares the machine with a run."""

import threading
import time
from collections.abc import Callable

BURST = 2.0  # seconds that an idle page may save up, so that a single move is fast
LONGEST_PAUSE = 3.0  # seconds; longer debts, such as from compiling, are forgiven
LOOK_AGAIN = 3.0  # seconds between two checks whether a run is active


class Pace:
    """Keeps this process's processor time within a share, at most 1, while a run is active.

    A bucket of processor time fills at `share` times the number of cores, and the process's work
    drains it. While it is empty, `wait` pauses. Priorities cannot cap this: they weigh thread
    against thread, and visitors are many threads.
    """

    def __init__(self, share: float, cores: int, is_active: Callable[[], bool]) -> None:
        self._rate = share * cores  # processor seconds per second
        self._is_active = is_active
        self._saved = BURST * self._rate
        self._then, self._used = time.monotonic(), time.process_time()
        self._looked, self._found = -LOOK_AGAIN, False
        self._lock = threading.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether the page has used up its share, so that visitors wait for each other."""
        return self._found and self._saved < 0

    def wait(self) -> None:
        """Pause the calling thread while the page is over its share."""
        with self._lock:
            now, used = time.monotonic(), time.process_time()
            self._saved += self._rate * (now - self._then) - (used - self._used)
            self._then, self._used = now, used
            self._saved = min(self._saved, BURST * self._rate)
            self._saved = max(self._saved, -LONGEST_PAUSE * self._rate)
            if self._saved >= 0:
                return
            if now - self._looked >= LOOK_AGAIN:
                self._looked, self._found = now, self._is_active()
            pause = -self._saved / self._rate if self._found else 0.0
        time.sleep(pause)
