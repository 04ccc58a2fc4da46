"""The engine behind a protocol, which loads in the background, and the base of all servers."""

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import NamedTuple

from azcore import interrupts
from azcore.engine.knowledge import Knowledge
from azcore.engine.lines import Inbox, Writer
from azcore.engine.settings import EngineSettings
from azcore.engine.thinker import Thinker
from azcore.errors import AzcoreError, FaultyGameError, GameError
from azcore.game import CompiledGame, Game, Setting
from azcore.game.faults import game_faults
from azcore.game.registry import make, unprepared
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.predictions import Predictor
from azcore.search.settings import SearchSettings


class AbandonedError(AzcoreError):
    """The other side quit before the engine was loaded."""


class NotLoadedError(AzcoreError):
    """The engine cannot be loaded; the cause has the reason. Only this error ends a server."""


class Loaded(NamedTuple):
    """The parts that an engine searches with."""

    game: Game
    evaluator: Evaluator
    predictor: Predictor | None = None  # of a network that predicts more than policy and value


class Engine:
    """A thinker that loads while the protocol's handshake takes place.

    Args:
        load: returns the game and its evaluator; may take seconds.
        seed: the seed of the moves drawn from an opening book.
    """

    name = "azcore"

    def __init__(
        self,
        load: Callable[[], Loaded],
        search: SearchSettings,
        settings: EngineSettings,
        seed: int = 0,
    ) -> None:
        self.settings = settings
        self._seed = seed
        self._search = search
        self._thinker: Future[Thinker] = Future()
        # A daemon, so that the end of the process does not wait for it.
        threading.Thread(target=self._load, args=(load, settings), daemon=True).start()

    def _load(self, load: Callable[[], Loaded], settings: EngineSettings) -> None:
        """Load with the initial settings; options may change them meanwhile."""
        with suppress(InvalidStateError):  # abandoned meanwhile
            try:
                with game_faults():
                    thinker = self._make(*load())
                    thinker.known = Knowledge(thinker.game, settings, self._seed)
                self._thinker.set_result(thinker)
            except InvalidStateError:
                raise
            except BaseException as error:  # raised again by `thinker`
                self._thinker.set_exception(error)

    @property
    def thinker(self) -> Thinker:
        """The thinker; waits until it is loaded.

        Raises:
            AzcoreError: the checkpoint or game cannot be used, or the loading was abandoned.
        """
        return self._thinker.result()

    @property
    def game(self) -> Game:
        return self.thinker.game

    @property
    def predictable(self) -> frozenset[str]:
        """The network's predictions besides policy and value."""
        predictor = self.thinker.predictor
        return frozenset() if predictor is None else predictor.predicts

    def on_failure(self, tell: Callable[[BaseException], None]) -> None:
        """Call `tell` from another thread if loading fails; at once if it has already failed."""

        def look(thinker: Future[Thinker]) -> None:
            error = thinker.exception()
            if error is not None and not isinstance(error, AbandonedError):
                tell(error)

        self._thinker.add_done_callback(look)

    def begin_game(self) -> None:
        """Make the book draw other moves from now on; never waits."""
        thinker = self._thinker
        if thinker.done() and thinker.exception() is None:
            known = thinker.result().known
            if known is not None:
                known.begin_game()

    def interrupt(self) -> None:
        """Make the current search, if any, end soon; callable from any thread."""
        thinker = self._thinker
        if thinker.done() and thinker.exception() is None:
            thinker.result().interrupt()

    def abandon(self) -> None:
        """Release all callers that wait for loading or search; callable from any thread."""
        with suppress(InvalidStateError):  # loaded
            self._thinker.set_exception(AbandonedError("quit before loading finished"))
        self.interrupt()

    def game_with(self, old: Game, **settings: Setting) -> Game:
        """The game with other settings, if the network can also play it.

        Raises:
            GameError: the game refuses them, or the network is for another board.
        """
        new = unprepared(old.name, **{**old.settings, **settings})
        if new.identity == old.identity:
            return old
        uniform = isinstance(self.thinker.evaluator, UniformEvaluator)
        if not uniform and (new.num_actions, new.observation_shape) != (
            old.num_actions,
            old.observation_shape,
        ):
            changed = {key: value for key, value in settings.items() if value != old.settings[key]}
            before = {key: old.settings[key] for key in changed}
            raise GameError(f"the network is for {_described(before)}, got {_described(changed)}")
        return make(old.name, **new.settings)

    def change_game(self, **settings: Setting) -> None:
        """Switch to the same game with other settings, such as another komi.

        Raises:
            GameError: the game refuses them, or the network is for another board.
        """
        thinker = self.thinker
        old, evaluator = thinker.game, thinker.evaluator
        new = self.game_with(old, **settings)
        if new is old:
            return
        if isinstance(evaluator, UniformEvaluator):
            evaluator = UniformEvaluator(new)
        thinker.stop()
        if _differ_in_positions_alone(old, new):
            thinker.change_game(new)
        else:
            self._replace(self._make(new, evaluator, thinker.predictor))
            try:
                self.thinker.known = self._known_of(new)
            except AzcoreError as error:  # a book is for one board
                print(f"azcore: continuing without book and tablebase: {error}", file=sys.stderr)

    def _make(
        self, game: Game, evaluator: Evaluator, predictor: Predictor | None = None
    ) -> Thinker:
        return Thinker(
            game=game,
            evaluator=evaluator,
            search=self._search,
            settings=self.settings,
            predictor=predictor,
        )

    def open_known(self) -> None:
        """Open the book and the tablebase of the current settings; call it without a search.

        Raises:
            AzcoreError: a file cannot be used; those opened before stay in use.
        """
        thinker = self.thinker
        if thinker.known is None or not thinker.known.is_of(self.settings):
            thinker.known = self._known_of(thinker.game)

    def _known_of(self, game: Game) -> Knowledge:
        return Knowledge(game, self.settings, self._seed)

    def _replace(self, thinker: Thinker) -> None:
        self._thinker = Future()
        self._thinker.set_result(thinker)


def _described(settings: dict[str, Setting]) -> str:
    """Describe settings, such as `board size 9`."""
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in settings.items())


def _differ_in_positions_alone(one: Game, other: Game) -> bool:
    """Whether one search can serve both games because only their states differ."""
    return (
        isinstance(one, CompiledGame)
        and isinstance(other, CompiledGame)
        and (one.rules, one.state_dtype) == (other.rules, other.state_dtype)
        and (one.num_actions, one.observation_shape, one.max_game_length)
        == (other.num_actions, other.observation_shape, other.max_game_length)
    )


class Server(ABC):
    """A protocol over lines, which are read ahead so that `quit` takes effect at once."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self.engine = engine
        self.writer = writer
        self._inbox: Inbox
        self._is_busy = False  # with a command

    def run(self, lines: Iterator[str | None]) -> int:
        """Answer every line (None: one too long) until `quit` or the end; the exit status.

        No input raises an error: invalid input gets the protocol's own error reply.

        Raises:
            AzcoreError: the checkpoint or game cannot be used; also reported to the other side.
        """
        self._inbox = Inbox(lines, self._arrived)
        failures: list[BaseException] = []

        def failed(error: BaseException) -> None:
            failures.append(error)
            self._inbox.fail(error)

        self.engine.on_failure(failed)
        try:
            must_continue = True
            while must_continue:
                line = self._inbox.get()
                self._is_busy = True
                must_continue = self._take(line)
                self._is_busy = False
        except (EOFError, AbandonedError):
            pass
        except KeyboardInterrupt:
            return interrupts.STATUS
        except Exception as error:
            if error in failures:
                self._tell_failure(error)
            raise
        finally:
            self._rest()
        if failures:
            raise failures[0]
        return 0

    @staticmethod
    def _tell_author(error: Exception) -> None:
        """Also print a game's fault in full on standard error: answers to a GUI are short."""
        if isinstance(error, FaultyGameError):
            print(f"azcore: {error}", file=sys.stderr)

    def _arrived(self, line: object, burst: int) -> bool:
        """Interrupt the current command if this line requires it; runs on the reading thread.

        A line in the same burst as the current command, as from a file, does not.
        """
        is_quit = isinstance(line, str) and self._is_quit(line)
        if is_quit:
            self.writer.give_up_unread()
        if self._is_busy and burst > self._inbox.burst:
            if is_quit:
                self.engine.abandon()
            elif line is Inbox.END:
                self.engine.interrupt()
        return is_quit

    @abstractmethod
    def _take(self, line: str | None) -> bool:
        """Execute one line; False to quit."""

    @abstractmethod
    def _is_quit(self, line: str) -> bool:
        """Whether reading stops after this line."""

    @abstractmethod
    def _rest(self) -> None:
        """End the current search."""

    def _tell_failure(self, error: Exception) -> None:  # noqa: B027 - GTP answers each command
        """Report that the engine could not be loaded, if the protocol has a message for it."""
