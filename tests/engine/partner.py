"""The other side of a protocol for tests: a server in this process, fed and read line by line."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from azcore.engine.lines import Writer
from azcore.engine.server import Engine, Loaded, Server
from azcore.engine.settings import engine_settings, thinking_search
from azcore.game import Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.predictions import Predictor

PATIENCE = 30  # seconds after which a test gives up; nothing should come near


class Ears:
    """A stream that keeps lines, each with when it came."""

    def __init__(self) -> None:
        self.lines: queue.Queue[tuple[float, str]] = queue.Queue()

    def write(self, text: str) -> int:
        for line in text.splitlines():
            self.lines.put((time.perf_counter(), line))
        return len(text)

    def flush(self) -> None:
        pass


def make_server(
    kind: Callable[[Engine, Writer], Server],
    config: dict[str, Any],
    game: Game,
    out: Any,
    evaluator: Evaluator | None = None,
    predictor: Predictor | None = None,
    **changes: Any,
) -> Server:
    """A server as `command=engine` makes it, with settings of the engine changed."""
    search = thinking_search(config)
    settings = replace(engine_settings(config), **changes)
    judge = evaluator or UniformEvaluator(game)
    return kind(Engine(lambda: Loaded(game, judge, predictor), search, settings), Writer(out))


class Partner:
    """Speaks to a server that runs on a thread of its own."""

    def __init__(self, make: Callable[[Any], Server]) -> None:
        self._ears = Ears()
        self._in: queue.Queue[str | None] = queue.Queue()
        self.server: Any = make(self._ears)
        self.status: int | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self.status = self.server.run(self._lines())

    def _lines(self) -> Iterator[str]:
        while (line := self._in.get()) is not None:
            yield line

    def say(self, *lines: str) -> None:
        for line in lines:
            self._in.put(line)

    def hear(self, word: str) -> list[str]:
        """Every line up to one that begins with `word`, that one last."""
        return [line for _, line in self.hear_when(word)]

    def hear_when(self, word: str) -> list[tuple[float, str]]:
        heard = []
        while True:
            try:
                heard.append(self._ears.lines.get(timeout=PATIENCE))
            except queue.Empty:
                raise AssertionError(f"no {word!r} after {heard[-5:]}") from None
            if heard[-1][1].split(" ")[0] == word:
                return heard

    def ask(self, *lines: str) -> str:
        """What `bestmove` comes after these lines, the last being a `go`."""
        self.say(*lines)
        return self.hear("bestmove")[-1]

    def quiet(self) -> list[str]:
        """What has been said and not heard, after all that was asked has been dealt with."""
        self.say("isready")
        return self.hear("readyok")[:-1]

    def quit(self) -> list[str]:
        """Quit; what was still said."""
        self.say("quit")
        return self.end()

    def end(self) -> list[str]:
        """The end of the input; what was still said."""
        self._in.put(None)
        self._thread.join(PATIENCE)
        assert self.status == 0
        rest = []
        while not self._ears.lines.empty():
            rest.append(self._ears.lines.get()[1])
        return rest
