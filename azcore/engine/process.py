"""Another program that communicates in lines; no call waits forever, whatever the program does."""

import contextlib
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import IO

from azcore.errors import AzcoreError, os_errors_as

# Where Debian installs game programs; not on every PATH.
MORE_PLACES = ("/usr/games", "/usr/local/games")
# With these two limits, a talkative program takes 16 MB of memory at most.
LONGEST_LINE = 1 << 14  # bytes of a line that are stored; the rest is dropped
MOST_WAITING = 1000  # lines that may wait in the queue; reading pauses until there is room
LAST_WORDS = 3  # lines of standard error to show when the program fails
SHOWN = 200  # characters of a line to show


class ProgramError(Exception):
    """The other program crashed, was too slow or sent invalid output; see the message."""


class MissingProgramError(AzcoreError):
    """A program is not installed; the message states how to get it."""


def command_of(text: str, install: str | None = None) -> list[str]:
    """Split a command line into words and locate its program.

    Args:
        text: as typed in a shell, but without the shell's expansions.
        install: how to get the program, for the error.

    Raises:
        MissingProgramError: the program is missing; the message states how to get it.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise MissingProgramError(f"{text!r} cannot be read as a command: {error}") from error
    if not words:
        raise MissingProgramError("a command must name a program, got nothing")
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *MORE_PLACES])
    program = shutil.which(words[0], path=places)
    if program is None:
        hint = f"; to install it: {install}" if install else ""
        raise MissingProgramError(f"the program {words[0]} is not installed{hint}")
    return [program, *words[1:]]


class Process:
    """A running program.

    Attributes:
        joins_group: whether programs join the process group of the process that starts them, and so
            get its Ctrl-C; for a process with its own group and without a keyboard.

    Args:
        command: the words of its command line; the first is a path.

    Raises:
        ProgramError: it cannot be started.
    """

    joins_group = False

    def __init__(self, command: list[str]) -> None:
        self.name = Path(command[0]).name
        with os_errors_as(ProgramError, f"{self.name} cannot be started"):
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=not self.joins_group,  # our Ctrl-C must not reach it
            )
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._passed_over: str | None = None  # the last line skipped as not an answer
        self._was_asked = False
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def send(self, line: str) -> None:
        """Write a line.

        Raises:
            ProgramError: the program no longer reads.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error

    def ask(self, words: str, answers: Callable[[str], bool], deadline: float) -> str:
        """Write a line and return the first later line that answers it; others are skipped.

        It also skips lines that wait already: output before the question cannot answer it.

        Args:
            deadline: on the clock of `time.monotonic`.

        Raises:
            ProgramError: the program ended, or did not answer before the deadline.
        """
        self._passed_over = None
        for _ in range(self._lines.qsize()):
            early = self._lines.get()
            if early is None:  # keep the end mark for `receive`
                self._lines.put(None)
            elif not self._was_asked and early.strip():  # may be why no answer will follow
                self._passed_over = early
        self._was_asked = True
        self.send(words)
        while not answers(line := self.receive(deadline)):
            if line.strip():
                self._passed_over = line
        return line

    def receive(self, deadline: float) -> str:
        """The next line, without its end.

        Raises:
            ProgramError: as `ask`.
        """
        seconds = deadline - monotonic()
        try:
            if seconds <= 0:  # even if lines wait: a program that never pauses is also too late
                raise queue.Empty
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            if self._passed_over is None:
                raise self.fault("did not answer in time") from None
            message = f"sent no answer in time, only: {cut(self._passed_over)}"
            raise self.fault(message) from None
        if line is None:
            self._lines.put(None)  # for the next call
            raise self._ended()
        return line

    def fault(self, text: str) -> ProgramError:
        """An error about the program's fault, with its last lines of standard error."""
        words = " / ".join(self._last_words)
        return ProgramError(f"{self.name} {text}" + (f"; standard error: {words}" if words else ""))

    def close(self) -> None:
        """End the program, by force if necessary."""
        process = self._process
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            if self.joins_group:
                process.kill()  # its child processes end with the group
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with its child processes
            process.wait()
        until = monotonic() + 1
        while self._reader.is_alive() and monotonic() < until:  # it may wait for space in the queue
            with contextlib.suppress(queue.Empty):
                self._lines.get(timeout=0.01)

    def _ended(self) -> ProgramError:
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return self.fault("closed its output")
        self._listener.join(1)  # its last lines may still be on their way
        return self.fault(f"ended with status {status}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in _lines_of(self._process.stdout):
            self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in _lines_of(self._process.stderr):
            if line.strip():
                self._last_words.append(cut(line))


def cut(line: str) -> str:
    """A line for a message: printable and not too long."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line.strip())
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."


def _lines_of(stream: IO[bytes]) -> Iterator[str]:
    """Every line as it arrives, without its line break, cut at `LONGEST_LINE`."""
    with stream:
        is_rest = False
        while part := stream.readline(LONGEST_LINE):
            if not is_rest:
                yield part.decode(errors="replace").rstrip("\r\n")
            is_rest = not part.endswith(b"\n")
