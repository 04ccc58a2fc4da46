"""Command lines that a command runs, as a person would type them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from subprocess import Popen, TimeoutExpired

from azcore import interrupts
from azcore.errors import SettingError


def run_line(
    words: Sequence[str],
    asked_by: str,
    *,
    every: float | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> bool:
    """Print a command line of azcore and run it to its end; False: it was interrupted.

    Whatever ends this process ends that one too, after it has saved what it has.

    Args:
        words: behind `python -m azcore`.
        asked_by: the command that asks for it, for errors.
        every: seconds between two calls of `meanwhile`; None: it is not called.
        meanwhile: called while the line runs.

    Raises:
        SettingError: it fails; it has said why.
    """
    line = f"python -m azcore {shlex.join(words)}"
    print(f"\n> {line}", flush=True)
    process = Popen([sys.executable, "-m", "azcore", *words])
    try:
        while True:
            try:
                status = process.wait(every)
                break
            except TimeoutExpired:
                meanwhile()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if status not in (0, interrupts.STATUS):
        raise SettingError(f"{asked_by}: status {status} of {line}")
    return status == 0
