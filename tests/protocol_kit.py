"""What tests of protocols share: servers in this process, conversations, and lines gone wrong."""

from __future__ import annotations

import io
import queue
import random
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from azcore.engine.lines import Writer
from azcore.engine.server import Engine, Loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.game import Game
from azcore.search.evaluators import UniformEvaluator
from conftest import compose


def make_engine(game: Game, **changes: Any) -> Engine:
    """An engine that searches without a network, with changed settings."""
    config = compose("command=engine", "game=tic_tac_toe")
    settings = replace(engine_settings(config), **changes)
    search = thinking_search(config)
    return Engine(lambda: Loaded(game, UniformEvaluator(game)), search, settings)


class Recorder(Writer):
    """Keeps what is written, by the line that it answers."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.exchanges: list[tuple[str, str]] = []

    def write(self, text: str) -> None:
        line, told = self.exchanges[-1]
        self.exchanges[-1] = (line, told + text + "\n")

    def received(self, text: str) -> None:
        self.exchanges.append((text, ""))


class Live:
    """A server on a thread of its own, spoken to as time goes on.

    Args:
        server: its kind.
        engine: what it serves.
    """

    def __init__(self, server: Any, engine: Engine) -> None:
        self._in: queue.Queue[str | None] = queue.Queue()
        self._out: queue.Queue[str] = queue.Queue()
        live = self

        class Sender(Writer):
            def write(self, text: str) -> None:
                for line in text.split("\n"):
                    live._out.put(line)

        self.engine = engine
        self.status: list[int] = []
        self._server = server(engine, Sender(io.StringIO()))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self.status.append(self._server.run(self._lines()))

    def _lines(self) -> Iterator[str]:
        while (line := self._in.get()) is not None:
            yield line

    def send(self, *lines: str) -> None:
        for line in lines:
            self._in.put(line)

    def end(self) -> None:
        """Close its input."""
        self._in.put(None)

    def line(self, timeout: float = 60) -> str:
        """The next line that it writes."""
        return self._out.get(timeout=timeout)

    def until(self, wanted: str) -> list[str]:
        """Lines up to one that begins so, that one included; with "" up to an empty one."""
        lines = [self.line()]
        while not (lines[-1].startswith(wanted) if wanted else lines[-1] == ""):
            lines.append(self.line())
        return lines

    def join(self, timeout: float = 60) -> float:
        """Wait until it has ended; the seconds that took."""
        began = time.perf_counter()
        self._thread.join(timeout)
        assert not self._thread.is_alive()
        return time.perf_counter() - began


class Program:
    """A program that speaks GTP, as a controller sees it."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def ask(self, command: str) -> tuple[bool, str]:
        """Whether it did what was asked, and its words."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        lines: list[str] = []
        while line := self.process.stdout.readline():
            if not line.strip():
                break
            lines.append(line.rstrip("\n"))
        assert lines, f"it ended at {command}"
        return lines[0][0] == "=", "\n".join(lines)[1:].strip()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


# -- lines gone wrong --------------------------------------------------------------------------


class Target(ABC):
    """A protocol to throw lines at.

    A burst is a new conversation of one server each time, so that a failure is short to repeat.
    """

    @abstractmethod
    def lines(self, chance: random.Random) -> Iterator[str]:
        """Valid lines for ever, as they come in games."""

    @abstractmethod
    def answer(self, lines: list[str | None]) -> list[tuple[str, str]]:
        """What a server makes of them: each line it noticed and all it wrote until the next."""

    @abstractmethod
    def check(self, exchanges: list[tuple[str, str]]) -> None:
        """Raise AssertionError unless replies are well formed and the game is where it should be.

        The last line of a burst asks for the position.
        """

    @abstractmethod
    def question(self) -> list[str]:
        """The lines that end a burst."""


def spoil(chance: random.Random, line: str) -> str | None:
    """A line in which something went wrong."""
    kind = chance.randrange(10)
    at = chance.randrange(len(line) + 1)
    if kind == 0:
        return line[:at]  # cut
    if kind == 1:
        return line[at:]
    if kind == 2:  # a character replaced
        return line[:at] + chr(chance.randrange(256)) + line[at + 1 :]
    if kind == 3:  # one put in, of the awkward kind
        return line[:at] + chance.choice("\0\t\r#\x7f\x1b\ufffd\u2003é−99999999999 ") + line[at:]
    if kind == 4:  # words in another order, or gone
        words = line.split()
        chance.shuffle(words)
        return " ".join(words[: chance.randrange(len(words) + 1)])
    if kind == 5:
        return line + " " + line
    if kind == 6:  # numbers nobody meant
        number = chance.choice(["-1", "1e999", "nan", "0", "2147483648", "١٢", "0x10", "1_0", "00"])
        words = [number if word.isdigit() else word for word in line.split()]
        return " ".join(words)
    if kind == 7:
        return "".join(chr(chance.randrange(0x250)) for _ in range(chance.randrange(40)))
    if kind == 8:
        return line.upper()
    if chance.random() < 0.02:
        return None if chance.random() < 0.5 else line + " " + "A1 " * 5000
    return line + chance.choice(["", " ", "  extra", " # words"])


def fuzz(target: Target, count: int, seed: int = 0, burst: int = 250) -> int:
    """Throw `count` lines at a protocol, a third of them spoilt; how many got a reply.

    Raises:
        AssertionError: names the seed of the burst.
    """
    replies = 0
    for number in range(-(-count // burst)):
        chance = random.Random(f"{seed} {number}")
        valid = target.lines(chance)
        lines: list[str | None] = []
        while len(lines) < burst:
            line = next(valid)
            lines.append(spoil(chance, line) if chance.random() < 0.35 else line)
        exchanges = target.answer([*lines, *target.question()])
        try:
            target.check(exchanges)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, burst {number}: {error}") from error
        replies += sum(told != "" for _, told in exchanges)
    return replies
