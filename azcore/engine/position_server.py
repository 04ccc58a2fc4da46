"""The common part of UCI and USI: position texts, limits of all kinds, options, analysis lines.

USI derives from UCI, so both servers are this one with different keywords. Reading commands never
waits for a search: during one, `stop`, `ponderhit` and `quit` take effect at once.

Neither protocol has an error reply. The server reports invalid input in one sentence after
`info string`, which GUIs show or log. Such input changes nothing, with one exception: after a
refused position there is no position until a valid one arrives. Other engines play the moves as far
as they can, or keep the previous position, and then answer for a position that the GUI did not ask
about. Every `go` gets an answer, whatever follows it; after a refused position it is
`bestmove (none)`.

A GUI may continue where our rules end the game (an unclaimed third repetition, a limit of plies).
The server then continues from the same position without its history, and only a position without
legal actions ends the game.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any

from azcore.engine.go_command import GoCommand, read_go
from azcore.engine.lines import Writer
from azcore.engine.mates import LONGEST
from azcore.engine.options import MOST_VARIATIONS, Option, plain_name, set_option, whole_option
from azcore.engine.position_command import Follower, GivenGame, read_position
from azcore.engine.scores import centipawns, wins_at_once
from azcore.engine.server import AbandonedError, Engine, NotLoadedError, Server
from azcore.engine.settings import EngineSettings
from azcore.engine.thinker import Thinker
from azcore.engine.thought import Limits, Line, Thought, Variation
from azcore.errors import AzcoreError, InvalidTextError
from azcore.game import Game, texts_along
from azcore.game.faults import game_faults
from azcore.search.predictions import Prediction
from azcore.version import __version__

LONGEST_NOTE = 300  # characters of a sentence after `info string`
NO_ANSWER = "bestmove (none)"  # for a refused position; not a resignation


class PositionServer(Server):
    """The server of both protocols; the differences are below, under "the dialect"."""

    # -- the dialect ----------------------------------------------------------------------------

    protocol: str  # its name, which is also the first command
    position_word: str  # what comes before a position's text
    clock_letters: tuple[str, str]  # of seat 0 and 1, in `wtime`
    numbers: tuple[str, ...]  # keywords of `go` that take a number
    overhead_option: str  # the name of the option for the milliseconds that a move costs
    no_action: str  # the answer if no action is legal
    end_words: tuple[str, ...] = ()  # what a GUI may write after the moves of a finished game
    centipawns_per_logit: float  # the score shown for one unit of ln(E / (1 - E))

    @abstractmethod
    def _own_options(self) -> list[Option]:
        """The options besides the common ones."""

    @abstractmethod
    def _own_commands(self) -> dict[str, Callable[[list[str]], None]]:
        """The commands besides the common ones, each called with the words after its name."""

    @abstractmethod
    def _without_counters(self, text: str) -> str | None:
        """A position's text without its move counters; None if it has no counters."""

    @abstractmethod
    def _claim(self, line: Line) -> str | None:
        """The answer that claims the end of the game here; None: no claim."""

    @abstractmethod
    def _gives_up(self, thought: Thought) -> bool:
        """Whether to resign instead of playing."""

    @abstractmethod
    def _shows_prediction(self) -> bool:
        """Whether `_chances` needs the network's prediction for the root; called at each search."""

    @abstractmethod
    def _chances(self, value: float, root: Prediction | None) -> str:
        """What follows the score, or empty; `root` is None unless `_shows_prediction`."""

    # -- lines ----------------------------------------------------------------------------------

    def __init__(self, engine: Engine, writer: Writer) -> None:
        super().__init__(engine, writer)
        self._given: GivenGame | None = None  # None: nothing yet, so the initial position
        self._is_refused = False  # whether the last position was
        self._variations = 1
        self._forget = False  # drop the tree before the next search
        self._thinks = False  # a `go` is still unanswered
        self._held: str | None = None  # an answer withheld until the GUI asks for it
        self._after_hit: Limits | None = None  # limits after `ponderhit`, while pondering
        self._debug = False
        self._closed = False  # the other side has disconnected
        self._before: EngineSettings | None = None  # if options named another book or tablebase
        self._own_book = True  # whether the book may answer
        self._failure_is_reported = False
        self._options = {plain_name(option.name): option for option in self._all_options()}
        self._commands = {
            self.protocol: self._on_hello,
            f"{self.protocol}newgame": self._on_new_game,
            "isready": self._on_isready,
            "position": self._on_position,
            "go": self.think,
            "stop": lambda _: self._stop_thinking(),
            "ponderhit": lambda _: self._on_ponderhit(),
            "setoption": lambda words: set_option(self._options, words),
            "debug": self._on_debug,
            **self._own_commands(),
        }

    def run(self, lines: Iterator[str | None]) -> int:
        try:
            return super().run(lines)
        except NotLoadedError as error:
            raise error.__cause__ or error from None

    def _take(self, line: str | None) -> bool:
        if line is None:  # only this command can be that long
            self._refuse_position("ignored a line that was too long")
            return True
        self.writer.received(line)
        return self.answer(line) and not self._closed

    def _is_quit(self, line: str) -> bool:
        commands = (word for word in line.split() if not self._is_unknown(word))
        return next(commands, None) == "quit"

    def _rest(self) -> None:
        self._stop_thinking()

    def _tell_failure(self, error: Exception) -> None:
        if not self._failure_is_reported:
            self._note(str(error))

    def answer(self, line: str) -> bool:
        """Execute one line; False to quit.

        It skips words before the first command, as UCI demands.

        Raises:
            AzcoreError: the game or checkpoint cannot be loaded; also reported to the other side.
        """
        words = line.split()
        unknown = sum(1 for _ in takewhile(self._is_unknown, words))
        if unknown == len(words):
            if words:
                self._note(f"unknown command {words[0][:20]!r}")
            return True
        command, rest = words[unknown], words[unknown + 1 :]
        if command == "quit":
            return False
        try:
            with game_faults():
                self._commands[command](rest)
        except (NotLoadedError, AbandonedError):
            raise
        except AzcoreError as error:
            self._note_error(error)
        return True

    def _is_unknown(self, word: str) -> bool:
        return word != "quit" and word not in self._commands

    def _say(self, text: str) -> None:
        """Write a text, or record that the other side has disconnected."""
        try:
            self.writer.write(text)
        except (OSError, ValueError):
            self._closed = True

    def _note(self, text: str) -> None:
        line = "".join(letter if letter.isprintable() else " " for letter in text)
        self._say(f"info string {line[:LONGEST_NOTE]}")

    def _note_error(self, error: Exception, before: str = "") -> None:
        """Send an error to the GUI's log."""
        self._tell_author(error)
        self._note(before + (str(error) if isinstance(error, AzcoreError) else repr(error)))

    # -- commands without thinking --------------------------------------------------------------

    def _on_hello(self, _words: list[str]) -> None:
        self._say(
            "\n".join(
                [
                    f"id name {self.engine.name} {__version__}",
                    f"id author the {self.engine.name} contributors",
                    *(option.declaration() for option in self._options.values()),
                    f"{self.protocol}ok",
                ]
            )
        )

    def _on_isready(self, _words: list[str]) -> None:
        thinker = self._load()
        if not self._thinks:
            self._open_known()
        if not self._thinks and self._given is None:
            # Warm up: compiling and loading at the first evaluation must not cost clock time.
            try:
                thinker.think(Limits(simulations=1))
            except Exception as error:  # every `go` will report it again, and answer
                self._note_error(error, "search fails: ")
                with suppress(Exception):  # the same error again
                    thinker.stop()
            thinker.forget()
        self._say("readyok")

    def _on_new_game(self, _words: list[str]) -> None:
        self._stop_thinking()
        self._forget = True
        self.engine.begin_game()

    def _on_debug(self, words: list[str]) -> None:
        if words not in (["on"], ["off"]):
            raise InvalidTextError(f"debug must be on or off, got {' '.join(words)[:20]!r}")
        self._debug = words == ["on"]

    def _all_options(self) -> list[Option]:
        settings = self.engine.settings
        return [
            *self._own_options(),
            whole_option("MultiPV", 1, MOST_VARIATIONS, self._set_variations),
            whole_option(
                "Simulations",
                settings.num_simulations,
                10_000_000,
                lambda count: self._change(num_simulations=count),
            ),
            whole_option(
                self.overhead_option,
                round(1000 * settings.move_overhead),
                10_000,
                lambda milliseconds: self._change(move_overhead=milliseconds / 1000),
                least=0,
            ),
        ]

    def _set_variations(self, count: int) -> None:
        self._variations = count

    def _set_own_book(self, on: int) -> None:
        self._own_book = bool(on)

    def _change_known(self, **paths: str | None) -> None:
        """Set another book or tablebase, to be opened before the next search.

        The network may still be loading, and the handshake does not wait for it.
        """
        self._before = self._before or self.engine.settings
        self._change(**paths)

    def _open_known(self) -> None:
        """Open the files that options name; report unusable ones and keep the old ones."""
        before, self._before = self._before, None
        if before is None:
            return
        wanted = self.engine.settings
        self._change(book=before.book, tablebase=before.tablebase)
        for name in ("book", "tablebase"):
            self._change(**{name: getattr(wanted, name)})
            try:
                self.engine.open_known()
            except AzcoreError as error:
                self._note_error(error)
                self._change(**{name: getattr(before, name)})

    def _change(self, **settings: Any) -> None:
        self.engine.settings = replace(self.engine.settings, **settings)

    # -- the position ---------------------------------------------------------------------------

    @property
    def line(self) -> Line:
        if self._given is None:
            self._given = self._follower.begin(None)
        return self._given.line

    def _on_position(self, words: list[str]) -> None:
        try:
            with game_faults():
                start, actions = read_position(words, self.position_word)
                while actions and actions[-1] in self.end_words:
                    actions.pop()
                self._given = self._follower.follow(self._given, start, actions)
        except (NotLoadedError, AbandonedError):
            raise
        except AzcoreError as error:
            self._tell_author(error)
            self._refuse_position(f"{error}; go has no move until a valid position arrives")
        else:
            self._is_refused = False

    def _refuse_position(self, reason: str) -> None:
        self._is_refused = True
        self._note(reason)

    @property
    def _follower(self) -> Follower:
        return Follower(self._game, self._without_counters, self._note)

    # -- thinking -------------------------------------------------------------------------------

    def think(self, words: list[str]) -> None:
        """`go`: search the position within the limits in the words."""
        go = read_go(words, self.numbers, self._note)
        self._load()
        self._stop_thinking()
        try:
            with game_faults():
                answer = self._begin_thinking(go)
        except (NotLoadedError, AbandonedError):
            raise
        except AzcoreError as error:
            self._note_error(error)
            answer = NO_ANSWER
        if answer is None:
            return
        if go.is_endless:  # the answer waits until the GUI asks for it
            self._held = answer
        else:
            self._say(answer)

    def _begin_thinking(self, go: GoCommand) -> str | None:
        """Begin a search; returns the answer if it needs none."""
        if self._is_refused:
            return NO_ANSWER
        thinker = self._load()
        if self.line.is_over and self._given is not None:
            self._given = self._follower.play_on(self._given)
        line = self.line
        answer = self._answer_without_thinking(line)
        if answer is not None:
            return answer
        limits = self._limits(go, line)
        self._after_hit = limits if "ponder" in go.flags else None
        thinker.settings = self.engine.settings
        thinker.set_line(line)
        if self._forget:
            thinker.forget()
            self._forget = False
        self._open_known()
        if go.is_endless:  # analysis does not use the book
            limits = Limits(actions=limits.actions, tablebase=True)
        may_give_up = "infinite" not in go.flags
        self._thinks = True
        thinker.start(
            limits,
            on_report=lambda thought: self._say(self._analysis(thought)),
            on_done=lambda thought: self._say(self._conclusion(thought, may_give_up)),
            on_error=lambda error: self._say_error(line, error),
            predictions=0 if self._shows_prediction() else None,
        )
        return None

    def _answer_without_thinking(self, line: Line) -> str | None:
        answer = self._claim(line)
        if answer is None and line.is_over:
            score = "cp 0" if self._game.outcome(line.state) == 0 else "mate 0"
            answer = f"info depth 0 score {score}\nbestmove {self.no_action}"
        return answer

    def _on_ponderhit(self) -> None:
        if self._held is not None:
            self._stop_thinking()
        elif self._after_hit is not None:
            self._load().change_limits(self._after_hit)
            self._after_hit = None
        else:
            self._note("ignored ponderhit without go ponder")

    def _stop_thinking(self) -> None:
        """End the search; a pending answer is sent before this returns."""
        self._after_hit = None
        if self._held is not None:
            self._say(self._held)
            self._held = None
        if self._thinks:
            self._thinks = False
            thinker = self._load()
            try:
                thinker.stop()
            except Exception:  # _say_error has reported it, with an answer
                thinker.forget()

    def _limits(self, go: GoCommand, line: Line) -> Limits:
        settings, numbers = self.engine.settings, go.numbers
        seconds = []
        clock = go.clock(self.clock_letters[line.player])
        if clock is not None:
            seconds.append(clock.seconds_to_think(settings.time_share, settings.move_overhead))
        if "movetime" in numbers:
            seconds.append(max(0.0, numbers["movetime"] / 1000 - settings.move_overhead))
        mate = min(numbers.get("mate", 0), (LONGEST + 1) // 2)
        limits = Limits(
            simulations=numbers.get("nodes"),
            seconds=min(seconds, default=None),
            depth=numbers.get("depth"),
            actions=go.legal_actions(self._game, line.state, self._note),
            book=self._own_book,
            tablebase=True,
            forced_wins=self._variations == 1,
            mate_plies=2 * mate - 1 if mate else None,
        )
        if limits.is_endless:
            limits = replace(limits, simulations=settings.num_simulations)
        if self._debug:
            self._note(f"limits: {limits}")
        return limits

    # -- on the thinking thread -----------------------------------------------------------------

    def _conclusion(self, thought: Thought, may_give_up: bool) -> str:
        best = thought.best
        assert best is not None, "a finished game is answered without thinking"
        if may_give_up and self._gives_up(thought):
            return f"{self._analysis(thought)}\nbestmove resign"
        if thought.source == "book":
            move = self._game.action_to_text(thought.state, best.action)
            return f"info string {move} is from the book\nbestmove {move}"
        texts = texts_along(self._game, thought.state, best.actions[:2])
        ponder = f" ponder {texts[1]}" if len(texts) > 1 else ""
        return f"{self._analysis(thought)}\nbestmove {texts[0]}{ponder}"

    def _analysis(self, thought: Thought) -> str:
        """A line for each of the best variations, without unvisited ones."""
        seen = [v for v in thought.variations if v.visits > 0]
        shown = (seen or thought.variations[:1])[: self._variations]
        deepest = max(len(variation.actions) for variation in thought.variations)
        speed = round(thought.new_simulations / max(thought.seconds, 1e-3))
        common = (
            f"time {round(1000 * thought.seconds)} nodes {thought.new_simulations} nps {speed} "
            f"hashfull {round(1000 * thought.fullness)}"
            + (" tbhits 1" if thought.source == "tablebase" else "")
        )
        return "\n".join(
            f"info depth {len(variation.actions)} seldepth {deepest} multipv {rank} "
            f"score {self._score(thought, variation)} {common} "
            f"pv {' '.join(texts_along(self._game, thought.state, variation.actions))}"
            for rank, variation in enumerate(shown, 1)
        )

    def _score(self, thought: Thought, variation: Variation) -> str:
        """`mate N` if proven, by a search or the rules, else centipawns."""
        if thought.proof is not None:
            mate = (len(variation.actions) + 1) // 2
            return f"mate {mate}{self._chances(1.0, thought.prediction)}"
        value = variation.value if variation.visits > 0 else thought.value
        if wins_at_once(self._game, thought.state, variation.action):
            return f"mate 1{self._chances(1.0, thought.prediction)}"
        score = centipawns(value, self.centipawns_per_logit)
        return f"cp {score}{self._chances(value, thought.prediction)}"

    def _say_error(self, line: Line, error: Exception) -> None:
        """Report that the evaluator failed, and answer with any legal move rather than none."""
        try:
            with game_faults():
                action = int(self._game.legal_action_mask(line.state).argmax())
                answer = f"bestmove {self._game.action_to_text(line.state, action)}"
        except Exception:  # the game itself fails
            answer = NO_ANSWER
        any_move = "" if answer == NO_ANSWER else ", the answer is any legal move"
        self._note_error(error, f"search failed{any_move}: ")
        self._say(answer)

    # -- the engine -----------------------------------------------------------------------------

    @property
    def _game(self) -> Game:
        return self._load().game

    def _load(self) -> Thinker:
        """The thinker; waits until it is loaded."""
        try:
            return self.engine.thinker
        except AbandonedError:
            raise
        except AzcoreError as error:
            self._note(str(error))
            self._failure_is_reported = True
            raise NotLoadedError(str(error)) from error
