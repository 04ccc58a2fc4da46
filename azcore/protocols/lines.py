"""Lines in and lines out, whatever comes: the ground on which the protocols stand."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from azcore.errors import SettingError

LONGEST_LINE = 1 << 20  # bytes; a game of 10,000 moves fits in a twentieth of it
CHUNK = 1 << 16


def read_lines(source: BinaryIO) -> Iterator[str | None]:
    """Every line of a stream, without its end, at once when it is there.

    Bytes that are no UTF-8 become replacement characters. A line longer than `LONGEST_LINE` comes
    as None: it is dropped as it arrives, so that endless input takes no memory. What stands after
    the last line break is a line too.
    """
    kept, too_long = bytearray(), False
    while True:
        chunk = source.readline(CHUNK)
        if not chunk:
            if kept or too_long:
                yield None if too_long else kept.decode(errors="replace")
            return
        if len(kept) + len(chunk) > LONGEST_LINE:
            too_long = True
            kept.clear()
        if not too_long:
            kept += chunk
        if chunk.endswith(b"\n"):
            yield None if too_long else kept.decode(errors="replace").rstrip("\r\n")
            kept, too_long = bytearray(), False


class Writer:
    """Writes whole lines, from any thread, at once; a copy goes to a log.

    Args:
        out: where the other side listens.
        log: a file to write all lines to, theirs with `<` and ours with `>`.

    Raises:
        SettingError: the log cannot be written to.
    """

    def __init__(self, out: TextIO, log: str | None = None) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._log: TextIO | None = None
        if log is not None:
            try:
                self._log = Path(log).open("a", buffering=1)  # noqa: SIM115 - until we end
            except OSError as error:
                raise SettingError(
                    f"engine.log {log} cannot be written: {error.strerror}"
                ) from error

    def write(self, text: str) -> None:
        """Send a line, or several at once with nothing of another thread in between."""
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()
            self._note(">", text)

    def received(self, text: str) -> None:
        """Note in the log what the other side said."""
        with self._lock:
            self._note("<", text)

    def _note(self, sign: str, text: str) -> None:
        if self._log is not None:
            self._log.write("".join(f"{sign} {line}\n" for line in text.split("\n")))


def claim_stdout() -> TextIO:
    """Standard output for the protocol alone: whatever else is printed goes to standard error."""
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return ours
