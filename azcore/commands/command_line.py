"""Runs command lines for a command, as a person would type them."""

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

    A signal that ends this process also ends that one, after it has saved its work.

    Args:
        words: after `python -m azcore`.
        asked_by: the command that runs it, for errors.
        every: seconds between two calls of `meanwhile`; None: never called.
        meanwhile: called while the line runs.

    Raises:
        SettingError: it fails; it has reported the reason.
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
