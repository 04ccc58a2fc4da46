"""The engine that a protocol's server stands before: loaded in the background, of one game."""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from azcore.engine.lines import Inbox, Writer
from azcore.engine.thinker import EngineSettings, Thinker
from azcore.errors import AzcoreError, FaultyGameError, GameError
from azcore.game import CompiledGame, Game, Setting
from azcore.game.faults import game_faults
from azcore.game.registry import make, unprepared
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.settings import SearchSettings


class AbandonedError(AzcoreError):
    """The other side did not wait for the engine to be loaded."""


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
        self._thinker: Future[Thinker] = Future()
        # A daemon, so that nobody waits for it who wants to end.
        threading.Thread(target=self._load, args=(load,), daemon=True).start()

    def _load(self, load: Callable[[], tuple[Game, Evaluator]]) -> None:
        with suppress(InvalidStateError):  # abandoned meanwhile
            try:
                with game_faults():
                    thinker = self._make(*load())
                self._thinker.set_result(thinker)
            except InvalidStateError:
                raise
            except BaseException as error:  # raised where the thinker is wanted
                self._thinker.set_exception(error)

    @property
    def thinker(self) -> Thinker:
        """Waits until it is there.

        Raises:
            AzcoreError: the checkpoint or game cannot be used, or the loading was abandoned.
        """
        return self._thinker.result()

    @property
    def game(self) -> Game:
        """Of the thinker."""
        return self.thinker.game

    def on_failure(self, tell: Callable[[BaseException], None]) -> None:
        """Have `tell` called, from another thread, if the loading fails; at once if it has."""

        def look(thinker: Future[Thinker]) -> None:
            error = thinker.exception()
            if error is not None and not isinstance(error, AbandonedError):
                tell(error)

        self._thinker.add_done_callback(look)

    def interrupt(self) -> None:
        """Have the thinking under way, if any, end soon; from any thread."""
        thinker = self._thinker
        if thinker.done() and thinker.exception() is None:
            thinker.result().interrupt()

    def abandon(self) -> None:
        """Have nobody wait any longer for the loading or thinking under way; from any thread."""
        with suppress(InvalidStateError):  # loaded
            self._thinker.set_exception(AbandonedError("told to quit before all was loaded"))
        self.interrupt()

    def change_game(self, **settings: Setting) -> None:
        """Play the same game with other settings, such as another komi, from now on.

        Raises:
            GameError: the game refuses them, or the network is made for another board.
        """
        thinker = self.thinker
        old, evaluator = thinker.game, thinker.evaluator
        new = unprepared(old.name, **{**old.settings, **settings})
        if new.identity == old.identity:
            return
        if isinstance(evaluator, UniformEvaluator):
            evaluator = UniformEvaluator(new)
        elif (new.num_actions, new.observation_shape) != (old.num_actions, old.observation_shape):
            changed = {key: value for key, value in settings.items() if value != old.settings[key]}
            before = {key: old.settings[key] for key in changed}
            raise GameError(
                f"the network is made for {_in_words(before)}, got {_in_words(changed)}"
            )
        new = make(old.name, **new.settings)
        thinker.stop()
        if _differ_in_positions_alone(old, new):
            thinker.change_game(new)
        else:
            self._replace(self._make(new, evaluator))

    def _make(self, game: Game, evaluator: Evaluator) -> Thinker:
        return Thinker(game=game, evaluator=evaluator, search=self._search, settings=self.settings)

    def _replace(self, thinker: Thinker) -> None:
        self._thinker = Future()
        self._thinker.set_result(thinker)


def _in_words(settings: dict[str, Setting]) -> str:
    """`board size 9`."""
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in settings.items())


def _differ_in_positions_alone(one: Game, other: Game) -> bool:
    """Whether what searches one game can search the other: the difference is in their states."""
    return (
        isinstance(one, CompiledGame)
        and isinstance(other, CompiledGame)
        and (one.rules, one.state_dtype) == (other.rules, other.state_dtype)
        and (one.num_actions, one.observation_shape, one.max_game_length)
        == (other.num_actions, other.observation_shape, other.max_game_length)
    )


class Server(ABC):
    """A protocol spoken over lines, which are read ahead so that `quit` is never waited for."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self.engine = engine
        self.writer = writer
        self._inbox: Inbox
        self._is_busy = False  # with a command

    def run(self, lines: Iterator[str | None]) -> int:
        """Answer every line (None: one too long) until told to quit or they end; exit status.

        Nothing that arrives raises: what cannot be understood gets the protocol's own error reply.

        Raises:
            AzcoreError: the checkpoint or game cannot be used, which the other side was told.
        """
        self._inbox = Inbox(lines, self._arrived)
        failures: list[BaseException] = []

        def failed(error: BaseException) -> None:
            failures.append(error)
            self._inbox.fail(error)

        self.engine.on_failure(failed)
        try:
            goes_on = True
            while goes_on:
                line = self._inbox.get()
                self._is_busy = True
                goes_on = self._take(line)
                self._is_busy = False
        except (EOFError, AbandonedError):
            pass
        except KeyboardInterrupt:
            return 130
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
        """A game's fault on standard error too, whole: answers are short, and a GUI's to show."""
        if isinstance(error, FaultyGameError):
            print(f"azcore: {error}", file=sys.stderr)

    def _arrived(self, line: object, burst: int) -> bool:
        """See whether this line breaks off what is done; on the reading thread.

        One that came together with the command under way, as from a file, does not.
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
        """Do what one line says; False: to quit."""

    @abstractmethod
    def _is_quit(self, line: str) -> bool:
        """Whether nothing is to be read after this line."""

    @abstractmethod
    def _rest(self) -> None:
        """End the thinking under way."""

    def _tell_failure(self, error: Exception) -> None:  # noqa: B027 - GTP answers each command
        """Say that the engine could not be loaded, where the protocol has words for it."""
