"""Runs command lines for a command, as a person would type them."""

import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired
from typing import Any

from azcore import interrupts
from azcore.errors import SettingError
from azcore.selfplay.sizes import available_cores


def run_line(words: Sequence[str], asked_by: str) -> bool:
    """Run a command line of azcore to its end, after printing it; False: interrupted.

    A signal that ends this process also ends the command, after it has saved its work.

    Args:
        words: after `python -m azcore`.
        asked_by: the command that runs it, for errors.

    Raises:
        SettingError: it failed, and reported the reason.
    """
    process = _started(words)
    try:
        status = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return _is_done(status, words, asked_by)


def run_at_once(
    lines: Mapping[str, Sequence[str]],
    asked_by: str,
    *,
    seconds: float,
    every: float,
    meanwhile: Callable[[], object],
) -> bool:
    """Run several command lines at once, each with its share of the cores; False: interrupted.

    Their output appears after their names.

    Args:
        lines: the words of each, as for `run_line`, by name.
        seconds: after which unfinished runs must save their work and end.

    Raises:
        SettingError: one of them fails; the others are ended.
    """
    threads = max(1, available_cores() // max(1, len(lines)))
    kind = {"stdout": PIPE, "stderr": STDOUT, "text": True, "errors": "replace"}
    kind["env"] = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    began, is_late = time.monotonic(), False
    width = max(map(len, lines), default=0)
    processes: dict[str, Any] = {}
    printing: list[_Printed] = []
    try:
        for name, words in lines.items():
            processes[name] = _started(words, **kind)
            printing.append(_Printed(name.ljust(width), processes[name].stdout))
            printing[-1].start()
        running = dict(processes)
        while running:
            left = every if is_late else max(0.1, began + seconds - time.monotonic())
            for name, process in list(running.items()):
                try:
                    status = process.wait(min(every, left) / len(running))
                except TimeoutExpired:
                    continue
                del running[name]
                if not _is_done(status, lines[name], asked_by) and not is_late:
                    return False
            meanwhile()
            if not is_late and time.monotonic() - began >= seconds:
                is_late = True
                for process in running.values():
                    process.terminate()
        return True
    finally:
        # All at once, and once only: a later signal would not let them save their work.
        for process in processes.values():
            if not is_late and process.poll() is None:
                process.terminate()
        for process, printed in zip(processes.values(), printing, strict=True):
            process.wait()
            printed.join(1.0)


class _Printed(threading.Thread):
    """Prints the lines of an output after a name, until it is closed."""

    def __init__(self, name: str, output: Any) -> None:
        super().__init__(daemon=True)
        self._name, self._output = name, output

    def run(self) -> None:
        for line in self._output:
            with suppress(OSError):  # nobody reads it, but the process must not block on that
                print(f"{self._name}  {line}", end="", flush=True)


def _started(words: Sequence[str], **kind: Any) -> Any:
    print(f"\n> {_line_of(words)}", flush=True)
    return Popen([sys.executable, "-m", "azcore", *words], **kind)


def _is_done(status: int, words: Sequence[str], asked_by: str) -> bool:
    """Whether a line ran to its end; False: it was interrupted."""
    if status not in (0, interrupts.STATUS):
        raise SettingError(f"{asked_by}: status {status} of {_line_of(words)}")
    return status == 0


def _line_of(words: Sequence[str]) -> str:
    return f"python -m azcore {shlex.join(words)}"
