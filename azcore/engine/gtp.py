"""GTP 2, the Go Text Protocol, for every game that it can express.

The server implements Gunnar Farnebäck's specification (version 2, draft 2, 2002) and the extensions
that GUIs use: analysis in the formats of Leela Zero and KataGo, KGS's clocks, GoGui's interrupt.
`docs/engines.md` lists all commands.

Seats are `b` and `w`, or the game's own names for them; moves are the game's own texts. If a seat
moves twice in a row and the game has a `pass`, the server inserts a pass for the other seat.
"""

import sys
import time
import traceback
from collections.abc import Callable

from azcore.engine.clock import SeatClock, TimeSettings
from azcore.engine.gtp_analysis import MANY, UNKNOWN, Question, analysis, considered
from azcore.engine.gtp_game import PASS, GtpGame
from azcore.engine.gtp_words import Refusal, number, split, whole
from azcore.engine.lines import LONGEST_LINE, Writer
from azcore.engine.server import Engine, Server
from azcore.engine.thought import Limits, Line, Report, Thought
from azcore.errors import AzcoreError, IllegalActionError
from azcore.game.faults import game_faults
from azcore.version import __version__

LONGEST_ERROR = 300  # characters; an error stays one sentence, whatever the input


# These leave the position and its search alone, so pondering continues.
ADMINISTRATIVE = {
    "protocol_version",
    "name",
    "version",
    "known_command",
    "list_commands",
    "showboard",
    "time_left",
    "gogui-interrupt",
}


class GtpServer(Server):
    """GTP 2 over lines."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        super().__init__(engine, writer)
        self._game = GtpGame(engine, self._on_clear)
        self._settings: TimeSettings | None = None
        self._clocks: list[SeatClock] = []  # by seat; empty: no clock
        self._id = ""
        self._is_open = False  # the head of a reply has been sent
        self._is_pondering = False
        self._commands: dict[str, Callable[[list[str]], str | None]] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: engine.name,
            "version": lambda _: __version__,
            "known_command": self._known_command,
            "list_commands": lambda _: "\n".join(self._commands),
            "quit": lambda _: "",
            **self._game.commands,
            "genmove": lambda words: self._genmove(words),
            "reg_genmove": lambda words: self._genmove(words, is_played=False),
            "time_settings": self._time_settings,
            "kgs-time_settings": self._kgs_time_settings,
            "time_left": self._time_left,
            "analyze": lambda words: self._analyze(words, is_kata=False),
            "lz-analyze": lambda words: self._analyze(words, is_kata=False),
            "kata-analyze": lambda words: self._analyze(words, is_kata=True),
            "genmove_analyze": lambda words: self._genmove_analyze(words, is_kata=False),
            "lz-genmove_analyze": lambda words: self._genmove_analyze(words, is_kata=False),
            "kata-genmove_analyze": lambda words: self._genmove_analyze(words, is_kata=True),
            "gogui-interrupt": lambda _: "",
            "kgs-genmove_cleanup": self._genmove_cleanup,
        }

    # -- dialogue --------------------------------------------------------------------------------

    def _is_quit(self, line: str) -> bool:
        return split(line)[1] == "quit"

    def _arrived(self, line: object, burst: int) -> bool:
        if isinstance(line, str) and line.strip().lower() == "# interrupt":  # GoGui's
            if self._is_busy:
                self.engine.interrupt()
            return False
        return super()._arrived(line, burst)

    def _take(self, line: str | None) -> bool:
        """Reply to one line; False after `quit`."""
        if line is None:
            self.writer.received("(line too long)")
            self._reply("?", "", f"a line may have at most {LONGEST_LINE} bytes")
            return True
        self.writer.received(line)
        self._id, name, words = split(line)
        self._is_open = False
        if not name and not self._id:
            return True
        sign, text = self._run_command(name, words)
        if self._is_open:  # the head and some lines have been sent
            if sign == "?":
                print(f"azcore: {text}", file=sys.stderr)
            self.writer.write("")
        elif text is not None:
            self._reply(sign, self._id, text)
        return name != "quit"

    def _run_command(self, name: str, words: list[str]) -> tuple[str, str | None]:
        command = self._commands.get(name)
        if command is None:
            return "?", "unknown command"
        try:
            if name not in ADMINISTRATIVE:
                self._rest()
            with game_faults():
                return "=", command(words)
        except (Refusal, AzcoreError) as error:
            self._tell_author(error)
            return "?", str(error)
        except BrokenPipeError:  # the other side has disconnected
            raise
        except Exception as error:  # a bug in azcore: the game can continue
            traceback.print_exc()
            return "?", f"internal error: {error!r}"

    def _reply(self, sign: str, number: str, text: str) -> None:
        if sign == "?":
            text = " ".join(text.split())[:LONGEST_ERROR]
        first, *rest = text.rstrip().split("\n")
        rest = [line if line.strip() else " " for line in rest]  # an empty one would end the reply
        self.writer.write("\n".join([f"{sign}{number} {first}", *rest]) + "\n")

    def _open(self) -> None:
        """Begin a reply whose lines are sent one by one as they become available."""
        self.writer.write(f"={self._id} ")
        self._is_open = True

    def _known_command(self, words: list[str]) -> str:
        return "true" if words and words[0] in self._commands else "false"

    # -- time -----------------------------------------------------------------------------------

    def _time_settings(self, words: list[str]) -> str:
        main, period, stones = number(words, 0), number(words, 1), whole(words, 2)
        if min(main, period) < 0:
            raise Refusal("syntax error: times are 0 or more")
        no_limit = period > 0 and stones == 0  # by the specification
        self._set_time(None if no_limit else TimeSettings(main=main, period=period, stones=stones))
        return ""

    def _kgs_time_settings(self, words: list[str]) -> str:
        kind, rest = (words or [""])[0].lower(), words[1:]
        if kind == "none":
            self._set_time(None)
        elif kind == "absolute":
            self._time_settings([*rest[:1], "0", "0"])
        elif kind == "canadian":
            self._time_settings(rest)
        elif kind == "byoyomi":
            main, period, _ = number(rest, 0), number(rest, 1), whole(rest, 2)
            if min(main, period) < 0:
                raise Refusal("syntax error: times are 0 or more")
            self._set_time(TimeSettings(main=main, period=period, stones=1, counts_periods=True))
        else:
            raise Refusal("syntax error: expected none, absolute, canadian or byoyomi")
        return ""

    def _set_time(self, settings: TimeSettings | None) -> None:
        self._settings = settings
        self._clocks = []
        self._restart_clocks()

    def _on_clear(self) -> None:
        self.engine.begin_game()
        self._restart_clocks()

    def _restart_clocks(self) -> None:
        if self._settings is not None:
            self._clocks = [SeatClock(self._settings), SeatClock(self._settings)]

    def _time_left(self, words: list[str]) -> str:
        seat, left, stones = self._game.seat(words), number(words, 1), whole(words, 2)
        if not self._clocks:  # a controller may send only this
            settings = TimeSettings(main=max(left, 0.0), period=0.0, stones=0)
            self._clocks = [SeatClock(settings), SeatClock(settings)]
        self._clocks[seat].set_left(left, stones)
        return ""

    # -- thinking -------------------------------------------------------------------------------

    def _limits(self, seat: int) -> Limits:
        settings = self.engine.settings
        if not self._clocks:
            return Limits(
                simulations=settings.num_simulations, book=True, tablebase=True, forced_wins=True
            )
        clock = self._clocks[seat].clock()
        seconds = clock.seconds_to_think(settings.time_share, settings.move_overhead)
        return Limits(seconds=seconds, book=True, tablebase=True, forced_wins=True)

    def _genmove(
        self, words: list[str], question: Question | None = None, *, is_played: bool = True
    ) -> str:
        """Think and return the best move's text, or `resign`; play the move if `is_played`."""
        began, seat = time.perf_counter(), self._game.seat(words)
        if self._game.line.is_over:
            if not self._game.has_pass():
                raise Refusal("the game is over")
            if is_played:
                self._game.keep_nothing()
            return PASS  # expected by a controller that lets both sides keep passing
        line = self._game.with_turn_of(seat)
        thinker = self.engine.thinker
        thinker.set_line(line)
        limits, tell, seconds, predictions = self._limits(seat), None, None, None
        if question is not None:
            actions = self._considered(question, line)
            limits = Limits(simulations=limits.simulations, seconds=limits.seconds, actions=actions)
            tell, seconds = self._teller(question, line), question.seconds
            predictions = self._predictions(question)
            self._open()
        thought = thinker.think(limits, tell, seconds, predictions)
        best = thought.best
        assert best is not None, "the game is not over"
        if thought.should_resign(self.engine.settings.resign_below):
            return "resign"
        text = line.game.action_to_text(line.state, best.action)
        if is_played:
            if text == PASS and self._game.line.player != seat:
                line = self._game.line  # see `GtpGame._play`
            else:
                line.play(best.action)
            self._game.keep(line)
            if self._clocks:
                self._clocks[seat].spend(time.perf_counter() - began)
            if self.engine.settings.ponder and not line.is_over:
                thinker.set_line(line)
                thinker.start(Limits())
                self._is_pondering = True
        return text

    def _genmove_cleanup(self, words: list[str]) -> str:
        """A move that captures dead stones before passing, as is common under area scoring."""
        game = self._game.line.game
        if game.status_of_stones(self._game.line.state) is None:
            raise Refusal(f"{game.name} has no dead stones to capture")
        return self._genmove(words)

    def _rest(self) -> None:
        """End pondering; a failure does not affect the next command."""
        if self._is_pondering:
            self._is_pondering = False
            try:
                self.engine.thinker.stop()
            except Exception:
                traceback.print_exc()

    def _genmove_analyze(self, words: list[str], *, is_kata: bool) -> str | None:
        question = self._question(words, is_kata)
        if question.seat is None:
            raise Refusal("syntax error: expected a colour, b or w")
        move = self._genmove(words, question)
        if not self._is_open:
            self._open()
        self.writer.write(f"play {move}")
        return None

    def _analyze(self, words: list[str], *, is_kata: bool) -> str | None:
        """Think and report until any input arrives."""
        question = self._question(words, is_kata)
        seat = self._game.line.player if question.seat is None else question.seat
        line = self._game.with_turn_of(seat)
        limits = Limits(actions=self._considered(question, line))
        thinker = self.engine.thinker
        thinker.set_line(line)
        tell = self._teller(question, line)
        reported: list[bool] = []

        def tell_until_asked(thought: Thought) -> None:
            if not self._inbox.is_waiting:
                tell(thought)
                reported.append(True)

        self._open()
        thinker.start(
            limits,
            tell_until_asked,
            report_seconds=question.seconds,
            predictions=self._predictions(question),
        )
        self._inbox.wait()
        thought = thinker.stop()
        if thought is not None and not reported:  # report at least once
            tell(thought)
        return None

    def _question(self, words: list[str], is_kata: bool) -> Question:
        """Parse `[colour] [centiseconds] [word value]...`."""
        question = Question(seconds=self.engine.settings.report_seconds, is_kata=is_kata)
        rest = list(words)
        if rest and (seat := self._game.named_seat(rest[0])) is not None:
            question.seat = seat
            rest.pop(0)
        if rest and rest[0].isdecimal():
            rest.insert(0, "interval")
        while rest:
            key = rest.pop(0).lower()
            if key in ("avoid", "allow"):
                whole(rest, 2)  # plies; only the first one counts
                question.rules.append((key == "allow", self._game.seat(rest), rest[1].split(",")))
                del rest[:3]
                continue
            if key == "interval":
                question.seconds = max(0.01, number(rest, 0) / 100)
            elif key == "minmoves":
                question.fewest = whole(rest, 0)
            elif key == "maxmoves":
                question.most = whole(rest, 0)
            elif is_kata and key == "rootinfo" and rest:
                question.root = rest[0].lower() == "true"
            elif is_kata and key == "ownership" and rest:
                question.ownership = rest[0].lower() == "true"
                if question.ownership and "ownership" not in self.engine.predictable:
                    raise Refusal(f"cannot predict {key}; only {key} false is possible")
            elif is_kata and key in UNKNOWN and rest:
                if rest[0].lower() != "false":
                    raise Refusal(f"{key} is not supported; only {key} false is possible")
            else:
                raise Refusal(f"syntax error: unknown word {key[:20]}")
            del rest[0]
        return question

    def _predictions(self, question: Question) -> int | None:
        """How many moves to predict besides the root; None: not even the root."""
        if question.is_kata and "score" in self.engine.predictable:
            return MANY
        return 0 if question.ownership else None

    def _considered(self, question: Question, line: Line) -> tuple[int, ...]:
        """The root's actions that `allow` and `avoid` leave; empty: all.

        The rules apply to the first move only, whatever number of plies they state.
        """
        left = considered(question.rules, line, _named)
        if left is None:
            raise Refusal("no legal move is left")
        return tuple(left)

    def _teller(self, question: Question, line: Line) -> Report:
        def tell(thought: Thought) -> None:
            if text := analysis(question, line, thought):
                self.writer.write(text)

        return tell


def _named(line: Line, move: str) -> int:
    """The legal action of a text; -1: none."""
    try:
        return line.game.text_to_action(line.state, move)
    except AzcoreError as error:
        if isinstance(error, IllegalActionError) or move.lower() == "resign":
            return -1
        raise Refusal(f"syntax error: {error}") from error
