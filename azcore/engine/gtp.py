"""GTP 2, the Go Text Protocol, for every game that can be put into its words.

Gunnar Farnebäck's specification (version 2, draft 2, 2002) and what GUIs ask beyond it: analysis as
Leela Zero and KataGo print it, KGS's clocks, GoGui's interrupt. `docs/engines.md` lists it all.

Seats are `b` and `w`, or what the game calls them; moves are the game's own texts. Where a game has
a `pass`, one is put in for the seat that is passed over when the other moves twice.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from azcore import __version__
from azcore.engine.gtp_analysis import UNKNOWN, Question, analysis
from azcore.engine.gtp_clock import SeatClock, TimeSettings
from azcore.engine.gtp_words import (
    Refusal,
    json_value,
    number,
    read_sgf,
    sgf_settings,
    split,
    whole,
)
from azcore.engine.lines import LONGEST_LINE, Writer
from azcore.engine.server import Engine, Server
from azcore.engine.thinker import Limits, Line, Report, Thought
from azcore.errors import AzcoreError, GameError, IllegalActionError, InvalidTextError
from azcore.game import Setting
from azcore.game.faults import told

PASS = "pass"


LONGEST_ERROR = 300  # characters; an error is a sentence, whatever was sent


# The one set of rules with a name that KataGo and we have in common.
TROMP_TAYLOR = {
    "hasButton": False,
    "ko": "POSITIONAL",
    "scoring": "AREA",
    "suicide": True,
    "tax": "NONE",
    "whiteHandicapBonus": "0",
    "friendlyPassOk": False,
}


# These neither need the position nor change it, so pondering goes on.
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
        self._known: Line | None = None  # the game so far, once there is a game
        self._counts: list[int] = []  # actions of each move, to be undone together
        self._settings: TimeSettings | None = None
        self._clocks: list[SeatClock] = []  # by seat; empty: no clock
        self._id = ""
        self._is_open = False  # the head of a reply is out
        self._is_pondering = False
        self._commands: dict[str, Callable[[list[str]], str | None]] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: engine.name,
            "version": lambda _: __version__,
            "known_command": self._known_command,
            "list_commands": lambda _: "\n".join(self._commands),
            "quit": lambda _: "",
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "genmove": lambda words: self._genmove(words),
            "reg_genmove": lambda words: self._genmove(words, is_played=False),
            "undo": self._undo,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "time_settings": self._time_settings,
            "kgs-time_settings": self._kgs_time_settings,
            "time_left": self._time_left,
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "showboard": lambda _: "\n" + self._line.game.render(self._line.state),
            "loadsgf": self._loadsgf,
            "analyze": lambda words: self._analyze(words, is_kata=False),
            "lz-analyze": lambda words: self._analyze(words, is_kata=False),
            "kata-analyze": lambda words: self._analyze(words, is_kata=True),
            "genmove_analyze": lambda words: self._genmove_analyze(words, is_kata=False),
            "lz-genmove_analyze": lambda words: self._genmove_analyze(words, is_kata=False),
            "kata-genmove_analyze": lambda words: self._genmove_analyze(words, is_kata=True),
            "gogui-interrupt": lambda _: "",
            "kgs-genmove_cleanup": self._genmove_cleanup,
            "kata-get-rules": lambda _: json.dumps(self._named_rules()),
            "kata-set-rules": self._set_rules,
            "kata-set-rule": self._set_rule,
        }

    # -- the conversation -----------------------------------------------------------------------

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
            self.writer.received("(a line that was too long)")
            self._reply("?", "", f"a line may be {LONGEST_LINE} bytes long")
            return True
        self.writer.received(line)
        self._id, name, words = split(line)
        self._is_open = False
        if not name and not self._id:
            return True
        sign, text = self._run_command(name, words)
        if self._is_open:  # the head and some lines are out
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
            with told():
                return "=", command(words)
        except (Refusal, AzcoreError) as error:
            self._tell_author(error)
            return "?", str(error)
        except BrokenPipeError:  # nobody listens any more
            raise
        except Exception as error:  # a fault of ours: the game need not end
            traceback.print_exc()
            return "?", f"internal error: {error!r}"

    def _reply(self, sign: str, number: str, text: str) -> None:
        if sign == "?":
            text = " ".join(text.split())[:LONGEST_ERROR]
        first, *rest = text.rstrip().split("\n")
        rest = [line if line.strip() else " " for line in rest]  # an empty one would end the reply
        self.writer.write("\n".join([f"{sign}{number} {first}", *rest]) + "\n")

    def _open(self) -> None:
        """Begin a reply of which lines come as they are known."""
        self.writer.write(f"={self._id} ")
        self._is_open = True

    def _known_command(self, words: list[str]) -> str:
        return "true" if words and words[0] in self._commands else "false"

    # -- the game so far ------------------------------------------------------------------------

    @property
    def _line(self) -> Line:
        """Waits for the game to be loaded."""
        if self._known is None:
            self._known = Line(self.engine.game)
        return self._known

    def _clear(self) -> None:
        self._known, self._counts = Line(self.engine.game), []
        if self._settings is not None:
            self._clocks = [SeatClock(self._settings), SeatClock(self._settings)]

    def _clear_board(self, _: list[str]) -> str:
        self._clear()
        return ""

    def _boardsize(self, words: list[str]) -> str:
        size, game = whole(words, 0), self.engine.game
        if "board_size" in game.settings:
            try:
                self.engine.change_game(board_size=size)
            except GameError as error:
                raise Refusal(f"unacceptable size: {error}") from error
        elif game.observation_shape[1:] != (size, size):
            raise Refusal(f"unacceptable size: {game.name} has one board only")
        self._clear()
        return ""

    def _komi(self, words: list[str]) -> str:
        komi, line = number(words, 0), self._line
        if "komi" not in line.game.settings:
            raise Refusal(f"{line.game.name} has no komi")
        self._change_game(komi=komi)
        return ""

    def _change_game(self, **settings: Setting) -> None:
        """Other settings under the same moves.

        Raises:
            Refusal: they would not have been legal.
        """
        old, line = self.engine.game, self._line
        self.engine.change_game(**settings)
        try:
            known = Line(self.engine.game, line.start_text)
            for action in line.actions:
                known.play(action)
        except AzcoreError as error:
            self.engine.change_game(**old.settings)
            raise Refusal(f"the game so far would not be legal: {error}") from error
        self._known = known

    def _named_rules(self) -> Mapping[str, Setting]:
        """The rules in KataGo's words.

        Raises:
            Refusal: the game has none.
        """
        game = self._line.game
        if rules := game.named_rules():
            return rules
        raise Refusal(f"{game.name} has no rules that can be named or set")

    def _set_rules(self, words: list[str]) -> str:
        """`tromp-taylor`, or a JSON object of some of KataGo's rules."""
        now, text = self._named_rules(), " ".join(words)
        if text.lower() == "tromp-taylor":
            return self._agree(TROMP_TAYLOR)
        wanted = json_value(text)
        if not isinstance(wanted, dict):
            raise Refusal(
                f"rules are tromp-taylor or JSON, here {json.dumps(dict(now))}, got {text[:30]!r}"
            )
        return self._agree(wanted)

    def _set_rule(self, words: list[str]) -> str:
        self._named_rules()
        if len(words) < 2:
            raise Refusal("syntax error: a rule and its value are wanted")
        text = " ".join(words[1:])
        value = json_value(text)
        return self._agree({words[0]: text if value is None else value})

    def _agree(self, wanted: Mapping[str, Any]) -> str:
        """Play by these rules, if that is possible.

        Raises:
            Refusal: one of them cannot be what is wanted.
        """
        now, settings = self._named_rules(), self._line.game.settings
        for name, value in wanted.items():
            if name not in now:
                raise Refusal(f"there is no rule {name[:30]!r}, but {', '.join(now)}")
            if str(value).upper() != str(now[name]).upper() and name not in settings:
                raise Refusal(f"the rule {name} is always {now[name]}, got {str(value)[:30]!r}")
        changed = {name: value for name, value in wanted.items() if name in settings}
        if changed:
            self._change_game(**changed)
        return ""

    def _genmove_cleanup(self, words: list[str]) -> str:
        """A move that takes dead stones before passing, as every move does by area scoring."""
        game = self._line.game
        if game.status_of_stones(self._line.state) is None:
            raise Refusal(f"{game.name} has no dead stones to take")
        return self._genmove(words)

    def _seat(self, words: list[str]) -> int:
        """The seat that the first word names.

        Raises:
            Refusal: it names none.
        """
        seat = self._named_seat(words[0]) if words else None
        if seat is None:
            raise Refusal("syntax error: a colour is wanted, b or w")
        return seat

    def _named_seat(self, word: str) -> int | None:
        names = [name.lower() for name in self._line.game.seat_names]
        seats = {"b": 0, "black": 0, "w": 1, "white": 1}
        seats |= {name[:1]: seat for seat, name in enumerate(names)}
        seats |= {name: seat for seat, name in enumerate(names)}
        return seats.get(word.lower())

    def _has_pass(self) -> bool:
        game = self._line.game
        try:
            game.text_to_action(game.initial_state(), PASS)
        except IllegalActionError:
            return True
        except AzcoreError:
            return False
        return True

    def _with_turn_of(self, seat: int) -> Line:
        """A copy of the game in which this seat is to move, by a pass of the other if need be.

        Raises:
            Refusal: that is not possible.
        """
        line = self._line.copy()
        if line.is_over:
            raise Refusal("the game is over")
        if line.player != seat:
            mover = line.game.seat_names[line.player]
            try:
                line.play(line.game.text_to_action(line.state, PASS))
            except AzcoreError as error:
                raise Refusal(
                    f"illegal move: it is the turn of {mover}, who cannot pass"
                ) from error
            if line.is_over:
                raise Refusal(f"illegal move: it is the turn of {mover}, whose pass ends the game")
        return line

    def _keep(self, line: Line) -> None:
        """Go on from here; what was added is one move."""
        self._counts.append(len(line.actions) - len(self._line.actions))
        self._known = line

    def _play(self, words: list[str]) -> str:
        seat, text = self._seat(words), " ".join(words[1:])
        line = self._line
        if text.lower() == PASS and (line.is_over or line.player != seat) and self._has_pass():
            # It changes nothing: who is to move next is so already. To put in a pass of the
            # other before it would make two in a row.
            self._counts.append(0)
            return ""
        if line.is_over:
            raise Refusal("illegal move: the game is over")
        line = self._with_turn_of(seat)
        try:
            line.play(line.game.text_to_action(line.state, text))
        except IllegalActionError as error:
            raise Refusal(f"illegal move: {error}") from error
        except AzcoreError as error:
            raise Refusal(f"syntax error: {error}") from error
        self._keep(line)
        return ""

    def _undo(self, _: list[str]) -> str:
        if not self._counts:  # a handicap is not to be undone either
            raise Refusal("cannot undo")
        line = self._line.copy()
        for _action in range(self._counts.pop()):
            line.undo()
        self._known = line
        return ""

    def _fixed_handicap(self, words: list[str]) -> str:
        count = whole(words, 0)
        self._require_empty()
        try:
            actions = self._line.game.handicap_actions(count)
        except GameError as error:
            raise Refusal(f"invalid number of stones: {error}") from error
        return self._place(actions)

    def _place_free_handicap(self, words: list[str]) -> str:
        wanted, game = whole(words, 0), self._line.game
        self._require_empty()
        for count in range(min(wanted, game.num_actions), 1, -1):  # fewer are allowed
            try:
                return self._place(game.handicap_actions(count))
            except GameError:
                continue
        raise Refusal(f"invalid number of stones: {game.name} has no handicap of {wanted}")

    def _set_free_handicap(self, words: list[str]) -> str:
        self._require_empty()
        game = self._line.game
        try:
            actions = [game.text_to_action(game.initial_state(), word) for word in words]
        except AzcoreError as error:
            raise Refusal(f"bad vertex list: {error}") from error
        if len(words) < 2 or len(set(actions)) < len(words) or PASS in map(str.lower, words):
            raise Refusal("bad vertex list: two or more different points are wanted")
        self._place(actions)
        return ""

    def _require_empty(self) -> None:
        if self._line.actions or self._counts:
            raise Refusal("board not empty")

    def _place(self, actions: list[int]) -> str:
        """A handicap: moves of the first seat, between which the other passes."""
        line = Line(self._line.game)
        texts: list[str] = []
        for action in actions:
            try:
                if texts:
                    line.play(line.game.text_to_action(line.state, PASS))
                texts.append(line.game.action_to_text(line.state, action))
                line.play(action)
            except (IllegalActionError, InvalidTextError) as error:
                raise Refusal(f"bad vertex list: {error}") from error
        self._known = line
        return " ".join(texts)

    def _loadsgf(self, words: list[str]) -> str:
        if not words:
            raise Refusal("syntax error: the name of a file is wanted")
        before = whole(words, 1) if len(words) > 1 else None
        old, path = self.engine.game, Path(words[0])
        try:
            if not path.is_file():
                raise Refusal(f"cannot load file: there is no file {path}")
            with path.open("rb") as file:
                text = file.read(LONGEST_LINE).decode(errors="replace")
            self.engine.change_game(
                **{k: v for k, v in sgf_settings(text).items() if k in old.settings}
            )
            transcript = read_sgf(self.engine.game, text)
        except (OSError, ValueError, Refusal) as error:  # ValueError: ours too, and odd names
            self.engine.change_game(**old.settings)
            if isinstance(error, Refusal):
                raise
            raise Refusal(f"cannot load file: {error}") from error
        self._clear()
        self._known = Line(self.engine.game, transcript.start_text)
        for action in transcript.actions[: None if before is None else max(0, before - 1)]:
            line = self._line.copy()
            line.play(action)
            self._keep(line)
        return ""

    def _final_score(self, _: list[str]) -> str:
        score = self._line.game.score_text(self._line.state)
        if score is None:
            raise Refusal("cannot score: the game is not over")
        return score

    def _final_status_list(self, words: list[str]) -> str:
        game = self._line.game
        chains = game.status_of_stones(self._line.state)
        if chains is None:
            raise Refusal(f"{game.name} has no alive, dead or seki")
        if len(words) != 1 or words[0] not in chains:
            raise Refusal(f"syntax error: {' or '.join(chains)} is wanted")
        return "\n".join(chains[words[0]])

    # -- time -----------------------------------------------------------------------------------

    def _time_settings(self, words: list[str]) -> str:
        main, period, stones = number(words, 0), number(words, 1), whole(words, 2)
        if min(main, period) < 0:
            raise Refusal("syntax error: times are 0 or more")
        no_limit = period > 0 and stones == 0  # the specification's way to say so
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
            self._set_time(TimeSettings(main=main, period=period, stones=1, periods_told=True))
        else:
            raise Refusal("syntax error: none, absolute, canadian or byoyomi is wanted")
        return ""

    def _set_time(self, settings: TimeSettings | None) -> None:
        self._settings = settings
        self._clocks = [] if settings is None else [SeatClock(settings), SeatClock(settings)]

    def _time_left(self, words: list[str]) -> str:
        seat, left, stones = self._seat(words), number(words, 1), whole(words, 2)
        if not self._clocks:  # a controller may tell only this
            told = TimeSettings(main=max(left, 0.0), period=0.0, stones=0)
            self._clocks = [SeatClock(told), SeatClock(told)]
        self._clocks[seat].told(left, stones)
        return ""

    # -- thinking -------------------------------------------------------------------------------

    def _limits(self, seat: int) -> Limits:
        settings = self.engine.settings
        if not self._clocks:
            return Limits(simulations=settings.num_simulations)
        clock = self._clocks[seat].clock()
        return Limits(seconds=clock.seconds_to_think(settings.time_share, settings.move_overhead))

    def _genmove(
        self, words: list[str], question: Question | None = None, *, is_played: bool = True
    ) -> str:
        """Think, and play what comes out; its text, or `resign`."""
        began, seat = time.perf_counter(), self._seat(words)
        if self._line.is_over:
            if not self._has_pass():
                raise Refusal("the game is over")
            if is_played:
                self._counts.append(0)
            return PASS  # as a controller expects that lets both go on passing
        line = self._with_turn_of(seat)
        thinker = self.engine.thinker
        thinker.set_line(line)
        limits, tell, seconds = self._limits(seat), None, None
        if question is not None:
            actions = self._considered(question, line)
            limits = Limits(simulations=limits.simulations, seconds=limits.seconds, actions=actions)
            tell, seconds = self._teller(question, line), question.seconds
            self._open()
        thought = thinker.think(limits, tell, seconds)
        best = thought.best
        assert best is not None, "the game is not over"
        resign_below = self.engine.settings.resign_below
        # Silver 2017, Methods "Search algorithm": both the root's value and the best child's.
        if resign_below is not None and max(thought.value, best.value) < resign_below:
            return "resign"
        text = line.game.action_to_text(line.state, best.action)
        if is_played:
            if text == PASS and self._line.player != seat:
                line = self._line  # see `_play`
            else:
                line.play(best.action)
            self._keep(line)
            if self._clocks:
                self._clocks[seat].spend(time.perf_counter() - began)
            if self.engine.settings.ponder and not line.is_over:
                thinker.set_line(line)
                thinker.start(Limits())
                self._is_pondering = True
        return text

    def _rest(self) -> None:
        """End pondering; what went wrong with it is no matter of the next command."""
        if self._is_pondering:
            self._is_pondering = False
            try:
                self.engine.thinker.stop()
            except Exception:
                traceback.print_exc()

    def _genmove_analyze(self, words: list[str], *, is_kata: bool) -> str | None:
        question = self._question(words, is_kata)
        if question.seat is None:
            raise Refusal("syntax error: a colour is wanted, b or w")
        move = self._genmove(words, question)
        if not self._is_open:
            self._open()
        self.writer.write(f"play {move}")
        return None

    def _analyze(self, words: list[str], *, is_kata: bool) -> str | None:
        """Think aloud until anything arrives."""
        question = self._question(words, is_kata)
        seat = self._line.player if question.seat is None else question.seat
        line = self._with_turn_of(seat)
        limits = Limits(actions=self._considered(question, line))
        thinker = self.engine.thinker
        thinker.set_line(line)
        tell = self._teller(question, line)
        told: list[bool] = []

        def tell_until_asked(thought: Thought) -> None:
            if not self._inbox.is_waiting:
                tell(thought)
                told.append(True)

        self._open()
        thinker.start(limits, tell_until_asked, report_seconds=question.seconds)
        self._inbox.wait()
        thought = thinker.stop()
        if thought is not None and not told:  # however short it was
            tell(thought)
        return None

    def _question(self, words: list[str], is_kata: bool) -> Question:
        """`[colour] [centiseconds] [word value]...`.

        Raises:
            Refusal: it is something else.
        """
        question = Question(seconds=self.engine.settings.report_seconds, is_kata=is_kata)
        rest = list(words)
        if rest and (seat := self._named_seat(rest[0])) is not None:
            question.seat = seat
            rest.pop(0)
        if rest and rest[0].isdecimal():
            rest.insert(0, "interval")
        while rest:
            key = rest.pop(0).lower()
            if key in ("avoid", "allow"):
                whole(rest, 2)  # plies, of which we look at the first
                question.rules.append((key == "allow", self._seat(rest), rest[1].split(",")))
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
            elif is_kata and key in UNKNOWN and rest:
                if rest[0].lower() != "false":
                    raise Refusal(f"{key} is not known here, only {key} false is possible")
            else:
                raise Refusal(f"syntax error: unknown word {key[:20]}")
            del rest[0]
        return question

    def _considered(self, question: Question, line: Line) -> tuple[int, ...]:
        """The root's actions that `allow` and `avoid` leave; empty: all of them.

        They hold for the first move alone, however many plies they were given for.
        """
        rules = [(allowed, moves) for allowed, seat, moves in question.rules if seat == line.player]
        if not rules:
            return ()
        legal = np.flatnonzero(line.game.legal_action_mask(line.state))
        left = {int(action) for action in legal}
        for allowed, moves in rules:
            named = set()
            for move in moves:
                try:
                    named.add(line.game.text_to_action(line.state, move))
                except IllegalActionError:
                    pass
                except AzcoreError as error:
                    if move.lower() != "resign":
                        raise Refusal(f"syntax error: {error}") from error
            left = left & named if allowed else left - named
        if not left:
            raise Refusal("no legal move is left")
        return tuple(sorted(left))

    def _teller(self, question: Question, line: Line) -> Report:
        def tell(thought: Thought) -> None:
            if text := analysis(question, line, thought):
                self.writer.write(text)

        return tell
