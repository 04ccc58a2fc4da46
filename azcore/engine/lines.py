"""Lines in and lines out, whatever comes: the ground on which the protocols stand."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from io import BytesIO, FileIO, RawIOBase
from pathlib import Path
from typing import TextIO

from azcore.errors import SettingError

LONGEST_LINE = 1 << 20  # bytes; a game of 10,000 moves fits in a twentieth of it
CHUNK = 1 << 16


def claim_stdin() -> RawIOBase:
    """Standard input without a buffer: a thread may still read it when the program ends.

    With a buffer Python stops at its lock then, and ends by a fatal error.
    """
    return FileIO(sys.stdin.fileno(), closefd=False)


def read_lines(source: RawIOBase | BytesIO) -> Iterator[str | None]:
    """Every line of a stream, without its end, at once when it is there.

    Args:
        source: whose `read` gives what has arrived, without waiting for more.

    Bytes that are no UTF-8 become replacement characters. A line longer than `LONGEST_LINE` comes
    as None: it is dropped as it arrives, so that endless input takes no memory. What stands after
    the last line break is a line too.
    """
    kept, too_long = bytearray(), False
    while chunk := source.read(CHUNK):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            too_long = too_long or len(kept) + len(end) > LONGEST_LINE
            yield None if too_long else (bytes(kept) + end).decode(errors="replace").rstrip("\r")
            kept, too_long = bytearray(), False
        too_long = too_long or len(kept) + len(rest) > LONGEST_LINE
        if too_long:
            kept.clear()
        else:
            kept += rest
    if kept or too_long:
        yield None if too_long else kept.decode(errors="replace")


class Inbox:
    """Lines read ahead by a thread of their own, so that an answer under way can be broken off.

    Args:
        lines: what arrives.
        on_arrival: told of each line (None: too long) and of `Inbox.END` with its burst, on the
            reading thread; True: nothing after it is to be read.

    Lines that come together, as from a file, are a burst; bursts are counted. What is waited for is
    measured, not when a line is read, so that a busy machine takes no burst apart.
    """

    END = object()
    PAUSE = 0.1  # seconds of waiting after which a line begins another burst
    MOST = 1000  # lines that wait; until there is room no more are read

    def __init__(
        self, lines: Iterator[str | None], on_arrival: Callable[[object, int], bool]
    ) -> None:
        self._waiting: deque[tuple[int, object]] = deque()
        self.burst = 0  # of the line got last
        self._changed = threading.Condition()
        self._arguments = (lines, on_arrival)
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to get."""
        return bool(self._waiting)

    def wait(self) -> None:
        """Until there is something to get."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting))

    def get(self) -> str | None:
        """The next line; None: it was too long.

        Raises:
            EOFError: there are no more.
            Exception: what `fail` was given, or what the lines raised.
        """
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting))
            self.burst, item = self._waiting.popleft()
            self._changed.notify_all()
        if item is self.END:
            raise EOFError
        if isinstance(item, BaseException):
            raise item
        assert item is None or isinstance(item, str)
        return item

    def fail(self, error: BaseException) -> None:
        """Have `get` raise this when it comes to it; from any thread."""
        self._put(0, error)

    def _read(self) -> None:
        lines, on_arrival = self._arguments
        line: object
        burst, last = 0, False
        try:
            while not last:
                since = time.perf_counter()
                line = next(lines, self.END)
                burst += time.perf_counter() - since > self.PAUSE
                last = on_arrival(line, burst) or line is self.END
                with self._changed:
                    self._changed.wait_for(lambda: len(self._waiting) < self.MOST)
                self._put(burst, line)
        except BaseException as error:  # raised where the lines are wanted
            self.fail(error)

    def _put(self, burst: int, item: object) -> None:
        with self._changed:
            self._waiting.append((burst, item))
            self._changed.notify_all()


class Writer:
    """Writes whole lines, from any thread, at once; a copy goes to a log.

    Args:
        out: where the other side listens.
        log: a file to write all lines to, theirs with `<` and ours with `>`.

    Raises:
        SettingError: the log cannot be written to.
    """

    PATIENCE = 5.0  # seconds that the last words wait for someone to read them

    def __init__(self, out: TextIO, log: str | None = None) -> None:
        self._out = out
        self._since: float | None = None  # when the write under way began
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
            self._since = time.monotonic()
            self._out.write(text + "\n")
            self._out.flush()
            self._since = None
            self._note(">", text)

    def give_up_unread(self) -> None:
        """From now on, end the process when a line waits too long for someone to read it.

        For the time after `quit`: who has said that may read nothing more, and a full pipe would
        keep us for ever.
        """

        def watch() -> None:
            while True:
                time.sleep(0.1)
                since = self._since
                if since is not None and time.monotonic() - since > self.PATIENCE:
                    os._exit(0)

        threading.Thread(target=watch, daemon=True).start()

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
