"""Reads and writes lines, whatever the input: the basis of all protocols."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from io import BytesIO, FileIO, RawIOBase
from pathlib import Path
from typing import TextIO

from azcore.errors import SettingError, os_errors_as

LONGEST_LINE = 1 << 20  # bytes; a game of 10,000 moves fits in a twentieth of it
CHUNK = 1 << 16


def claim_stdin() -> RawIOBase:
    """Standard input without a buffer: a thread may still read it when the program ends.

    With a buffer, Python would then wait for the buffer's lock and end with a fatal error.
    """
    return FileIO(sys.stdin.fileno(), closefd=False)


def read_lines(source: RawIOBase | BytesIO) -> Iterator[str | None]:
    """Every line of a stream, without its line break, as soon as it arrives.

    Args:
        source: its `read` returns what has arrived, without waiting for more.

    Invalid UTF-8 becomes replacement characters. A line longer than `LONGEST_LINE` is yielded as
    None; its bytes are dropped as they arrive, so that endless input takes no memory. Text after
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
    """Lines read ahead on a separate thread, so that a command in progress can be interrupted.

    Args:
        on_arrival: called on the reading thread with each line (None: too long) or `Inbox.END`,
            and its burst; returns True to stop reading.

    Lines that arrive together, as from a file, form a burst; bursts are numbered. A new burst
    begins when the reading thread had to wait for a line. The times of reading do not count, so a
    busy machine does not split a burst.
    """

    END = object()
    PAUSE = 0.1  # seconds of waiting after which a line begins a new burst
    MOST = 1000  # waiting lines; beyond it reading pauses

    def __init__(
        self, lines: Iterator[str | None], on_arrival: Callable[[object, int], bool]
    ) -> None:
        self._waiting: deque[tuple[int, object]] = deque()
        self.burst = 0  # of the line that `get` returned last
        self._changed = threading.Condition()
        self._arguments = (lines, on_arrival)
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting))

    def get(self) -> str | None:
        """The next line; None if it was too long.

        Raises:
            EOFError: there are no more lines.
            Exception: the one passed to `fail` or raised by the lines.
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
        """Make `get` raise this error after the lines before it; callable from any thread."""
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
        except BaseException as error:  # raised again by `get`
            self.fail(error)

    def _put(self, burst: int, item: object) -> None:
        with self._changed:
            self._waiting.append((burst, item))
            self._changed.notify_all()


class Writer:
    """Writes whole lines at once, from any thread, and copies them to a log.

    Args:
        log: a file for all lines, received ones marked `<` and sent ones `>`.
        on_gone: called when the other side has stopped reading, on the thread that writes, which
            may be that of a search; the error follows.

    Raises:
        SettingError: the log cannot be written to.
    """

    PATIENCE = 5.0  # seconds that the last lines wait for the other side to read them

    def __init__(
        self, out: TextIO, log: str | None = None, on_gone: Callable[[], None] = lambda: None
    ) -> None:
        self._out, self._on_gone = out, on_gone
        self._since: float | None = None  # when the current write began
        self._lock = threading.Lock()
        self._log: TextIO | None = None
        if log is not None:
            with os_errors_as(SettingError, f"engine.log {log} cannot be written"):
                self._log = Path(log).open("a", buffering=1)  # noqa: SIM115 - until we end

    def write(self, text: str) -> None:
        """Send one or several lines, uninterrupted by other threads."""
        with self._lock:
            self._since = time.monotonic()
            try:
                self._out.write(text + "\n")
                self._out.flush()
            except BrokenPipeError:
                self._on_gone()
                raise
            self._since = None
            self._note(">", text)

    def give_up_unread(self) -> None:
        """From now on, end the process if the other side takes too long to read a line.

        This is for the time after `quit`: the other side may have stopped reading, and a full pipe
        would block the process forever.
        """

        def watch() -> None:
            while True:
                time.sleep(0.1)
                since = self._since
                if since is not None and time.monotonic() - since > self.PATIENCE:
                    os._exit(0)

        threading.Thread(target=watch, daemon=True).start()

    def received(self, text: str) -> None:
        """Log a line from the other side."""
        with self._lock:
            self._note("<", text)

    def _note(self, sign: str, text: str) -> None:
        if self._log is not None:
            self._log.write("".join(f"{sign} {line}\n" for line in text.split("\n")))


def claim_stdout() -> TextIO:
    """Standard output for the protocol alone: everything else printed goes to standard error."""
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return ours
