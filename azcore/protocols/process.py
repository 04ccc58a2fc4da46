"""Another program, spoken to in lines; whatever it does, nobody waits for it forever."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import shutil
import subprocess
import threading
from pathlib import Path
from time import monotonic

from azcore.errors import AzcoreError

# Where Debian puts programs that play; not on every PATH.
MORE_PLACES = ("/usr/games", "/usr/local/games")
LONGEST_LINE = 1 << 20  # bytes of a line that are read; the rest of it is dropped
MOST_WAITING = 10_000  # lines that may wait unread, so that a talkative program takes no memory


class ProgramError(Exception):
    """The other program crashed, was too slow or said what makes no sense; the text says which."""


class MissingProgramError(AzcoreError):
    """A program is not installed; the text says how to get it."""


def command_of(text: str, install: str | None = None) -> list[str]:
    """A command line as words, its program found.

    Args:
        text: as typed in a shell, without its expansions.
        install: how to get the program, for the error.

    Raises:
        MissingProgramError: naming it, and how to get it.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise MissingProgramError(f"{text!r} cannot be read as a command: {error}") from error
    if not words:
        raise MissingProgramError("a command must name a program, got nothing")
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *MORE_PLACES])
    found = shutil.which(words[0], path=places)
    if found is None:
        hint = f"; to install it: {install}" if install else ""
        raise MissingProgramError(f"the program {words[0]} is not installed{hint}")
    return [found, *words[1:]]


class Process:
    """A running program.

    Args:
        command: its words, the first one a path.

    Raises:
        ProgramError: it cannot be started.
    """

    def __init__(self, command: list[str]) -> None:
        self.name = Path(command[0]).name
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # our Ctrl-C is not for it
            )
        except OSError as error:
            raise ProgramError(f"{self.name} cannot be started: {error.strerror}") from error
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, line: str) -> None:
        """Write a line.

        Raises:
            ProgramError: nobody reads it any more.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error

    def receive(self, deadline: float) -> str:
        """The next line, without its end.

        Args:
            deadline: on the clock of `time.monotonic`.

        Raises:
            ProgramError: it ended, or said nothing until then.
        """
        try:
            line = self._lines.get(timeout=max(0.0, deadline - monotonic()))
        except queue.Empty:
            raise ProgramError(f"{self.name} did not answer in time") from None
        if line is None:
            self._lines.put(None)  # for whoever asks again
            raise self._ended()
        return line

    def close(self) -> None:
        """End it, by force where it must be."""
        process = self._process
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ended(self) -> ProgramError:
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return ProgramError(f"{self.name} closed its output")
        return ProgramError(f"{self.name} ended with status {status}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while chunk := stream.readline(LONGEST_LINE):
                self._lines.put(chunk.decode(errors="replace").rstrip("\r\n"))
        self._lines.put(None)
