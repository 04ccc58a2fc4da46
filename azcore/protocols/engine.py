"""The engine that a protocol's server stands before: loaded in the background, of one game."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from azcore.errors import GameError
from azcore.evaluators import Evaluator, UniformEvaluator
from azcore.game import Game, Setting
from azcore.protocols.lines import Writer
from azcore.registry import make
from azcore.search.mcts import SearchSettings
from azcore.thinking import EngineSettings, Thinker


class Engine:
    """A thinker that is made while the protocol's first words are exchanged.

    Args:
        load: gives the game and who judges its positions; may take seconds.
        search: how to search.
        settings: of the engine.
    """

    name = "azcore"

    def __init__(
        self,
        load: Callable[[], tuple[Game, Evaluator]],
        search: SearchSettings,
        settings: EngineSettings,
    ) -> None:
        self.settings = settings
        self._search = search
        self._pool = ThreadPoolExecutor(1)
        self._thinker: Future[Thinker] = self._pool.submit(lambda: self._make(*load()))

    @property
    def thinker(self) -> Thinker:
        """Waits until it is there.

        Raises:
            AzcoreError: the checkpoint or game cannot be used.
        """
        return self._thinker.result()

    @property
    def game(self) -> Game:
        """Of the thinker."""
        return self.thinker.game

    @property
    def is_loading(self) -> bool:
        return not self._thinker.done()

    def on_failure(self, tell: Callable[[BaseException], None]) -> None:
        """Have `tell` called, from another thread, if the loading fails; at once if it has."""

        def look(thinker: Future[Thinker]) -> None:
            error = thinker.exception()
            if error is not None:
                tell(error)

        self._thinker.add_done_callback(look)

    def interrupt(self) -> None:
        """Have the thinking under way, if any, end soon; from any thread."""
        thinker = self._thinker
        if thinker.done() and thinker.exception() is None:
            thinker.result().interrupt()

    def change_game(self, **settings: Setting) -> None:
        """Play the same game with other settings, such as another komi, from now on.

        Raises:
            GameError: the game refuses them, or the network is made for another board.
        """
        old, evaluator = self.thinker.game, self.thinker.evaluator
        new = make(old.name, **{**old.settings, **settings})
        if new.identity == old.identity:
            return
        if isinstance(evaluator, UniformEvaluator):
            evaluator = UniformEvaluator(new)
        elif (new.num_actions, new.observation_shape) != (old.num_actions, old.observation_shape):
            raise GameError(f"the network is made for {old.settings}, got {settings}")
        self.thinker.stop()
        self._replace(self._make(new, evaluator))

    def _make(self, game: Game, evaluator: Evaluator) -> Thinker:
        return Thinker(game=game, evaluator=evaluator, search=self._search, settings=self.settings)

    def _replace(self, thinker: Thinker) -> None:
        self._thinker = Future()
        self._thinker.set_result(thinker)


class Server(ABC):
    """A protocol spoken over lines."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self.engine = engine
        self.writer = writer

    @abstractmethod
    def run(self, lines: Iterator[str | None]) -> int:
        """Answer every line (None: one too long) until told to quit or they end; exit status.

        Nothing that arrives raises: what cannot be understood gets the protocol's own error reply.
        """
