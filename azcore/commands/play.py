"""`command=play`: play against a checkpoint, or against a search without a network, in a terminal.

The game draws the board. A person types a move in the game's notation or one of the words that
`help` lists. The input can also come from a file or another program.
"""

import contextlib
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from azcore import interrupts
from azcore.commands.engine import loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.engine.thinker import Thinker
from azcore.engine.thought import Limits, Line, Thought, Variation
from azcore.errors import AzcoreError, GameError, GameFileError
from azcore.game import Game, Transcript, texts_along
from azcore.settings import ONE_OR_MORE, POSITIVE, Checked, build_group, or_null, require
from azcore.storage.commentary import TOP, Remark, write_remark
from azcore.storage.transcripts import format_named, format_of_path, formats_of, write_transcript

SEATS = {"first": (0,), "second": (1,), "both": (0, 1), "none": ()}  # those of people
ROWS = 5  # moves in the table of `opinion`
PLIES = 8  # of a line that is shown
DEGREES = ((0.1, "about even"), (0.3, "slightly better"), (0.6, "better"), (0.9, "much better"))

HELP = """\
Type a move such as {example}, or a command:
  hint        the best move, and what may follow
  opinion     who is better, and a table of the best moves
  undo        take back to your last decision
  flip        change seats; `side first`, `second`, `both` or `none` sets the seats that people play
  board       draw the board again
  moves       every legal move
  new         begin a new game
  save FILE   write the game to a file{formats}
  resign      resign the game
  quit        leave"""


@dataclass(frozen=True, kw_only=True)
class PlaySettings(Checked, group="play"):
    """Who plays, and how long the engine thinks; the numbers are in `conf/play`."""

    seat: str
    num_simulations: Annotated[int | None, or_null(ONE_OR_MORE), "search"]
    seconds: Annotated[float | None, or_null(POSITIVE)]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.num_simulations is not None or self.seconds is not None,
            "search.num_simulations",
            "a number, or play.seconds one",
            None,
        )

    @property
    def limits(self) -> Limits:
        return Limits(simulations=self.num_simulations, seconds=self.seconds)

    @property
    def words(self) -> str:
        parts = []
        if self.num_simulations is not None:
            parts.append(f"{self.num_simulations} simulations")
        if self.seconds is not None:
            parts.append(f"{self.seconds:g} seconds")
        return " or ".join(parts)


def play_settings(config: Mapping[str, Any]) -> PlaySettings:
    """The group `play`, with the simulations of `search`."""
    return build_group(PlaySettings, config, "play", of_search=["num_simulations"])


def play(config: Mapping[str, Any]) -> int:
    """Play until `quit` or the end of the input. Returns 0, or 130 after an interrupt."""
    settings = play_settings(config)
    engine = engine_settings(config)
    search = thinking_search(config)
    if settings.num_simulations is not None:  # the tree must have room for them
        room = max(engine.max_simulations, settings.num_simulations)
        engine = replace(engine, max_simulations=room)
    terminal = Terminal()
    try:
        with terminal.busy("loading"):
            game, evaluator, _ = loaded(config)
            people = seats_named(settings.seat, game)
            require(people is not None, "play.seat", f"one of {sides(game)}", settings.seat)
            thinker = Thinker(game=game, evaluator=evaluator, search=search, settings=engine)
        with contextlib.ExitStack() as stack:
            stack.callback(thinker.stop)
            path = config["checkpoint"]
            judge = "no network; set checkpoint=PATH" if path is None else str(path)
            Session(game, thinker, settings, terminal, judge).run()
    except KeyboardInterrupt:
        terminal.say("")
        return interrupts.STATUS
    return 0


class Terminal:
    """Reads and prints lines; shows progress of long tasks on an interactive terminal."""

    def __init__(self) -> None:
        self.is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._console = Console()
        for stream in (sys.stdin, sys.stdout):  # no input or name must raise an encoding error
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        if self.is_interactive:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 (arrow keys and earlier lines)

    def say(self, text: str) -> None:
        print(text, flush=True)

    def ask(self, prompt: str) -> str | None:
        """The next line; None at the end of the input."""
        if self.is_interactive:
            try:
                return input(prompt)
            except EOFError:
                print()
                return None
        print(prompt, end="", flush=True)
        line = sys.stdin.readline()
        print(line.rstrip("\n"), flush=True)  # echo it, since no terminal did
        return line if line else None

    def busy(self, text: str) -> AbstractContextManager[Any]:
        return self._console.status(text) if self.is_interactive else contextlib.nullcontext()


class Session:
    """One session: consecutive games with the same engine."""

    def __init__(
        self, game: Game, thinker: Thinker, settings: PlaySettings, terminal: Terminal, judge: str
    ) -> None:
        self._game, self._thinker, self._settings = game, thinker, settings
        self._terminal, self._judge = terminal, judge
        self._people = seats_named(settings.seat, game) or ()
        self._commands: dict[str, Callable[[str], None]] = {
            "help": self._help,
            "hint": self._hint,
            "opinion": self._opinion,
            "undo": self._undo,
            "flip": self._flip,
            "side": self._side,
            "board": self._board,
            "moves": self._moves,
            "new": self._new,
            "save": self._save,
            "resign": self._resign,
        }
        self._written: set[Path] = set()
        self._begin()

    def _begin(self) -> None:
        self._line = Line(self._game)
        self._remarks: list[str] = []  # by ply: the engine's evaluations of its own moves
        self._resigned: int | None = None

    @property
    def _is_over(self) -> bool:
        return self._resigned is not None or self._line.is_over

    def run(self) -> None:
        """Play until `quit` or the end of the input."""
        self._introduce()
        self._board("")
        while True:
            while not self._is_over and self._line.player not in self._people:
                self._engine_moves()
            line = self._terminal.ask(self._prompt())
            if line is None or line.strip().lower() in ("quit", "exit"):
                return
            if not line.strip():
                continue
            try:
                self._answer(line.strip())
            except AzcoreError as error:
                self._terminal.say(str(error).removeprefix(f"{self._game.name}: "))

    def _answer(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        command = self._commands.get(word.lower())
        if command is not None:
            command(rest.strip())
        elif self._is_over:
            raise GameError("the game is over: new starts another, undo takes back, quit exits")
        else:
            self._person_moves(line)

    # -- output ---------------------------------------------------------------------------------

    def _introduce(self) -> None:
        values = ", ".join(f"{key} {value}" for key, value in self._game.settings.items())
        name = f"{self._game.name} ({values})" if values else self._game.name
        first, second = self._game.seat_names
        who = {
            (0,): f"You are {first} and move first",
            (1,): f"You are {second} and move second",
            (0, 1): "Two people play",
            (): "The engine plays itself",
        }[self._people]
        self._terminal.say(f"{name}. {who}.")
        self._terminal.say(
            f"The engine thinks for {self._settings.words} a move, with {self._judge}."
        )
        self._terminal.say("Type a move, or help.")

    def _prompt(self) -> str:
        if self._is_over:
            return "game over> "
        return f"{self._game.seat_names[self._line.player]}> "

    def _board(self, _: str) -> None:
        self._terminal.say(f"\n{self._game.render(self._line.state)}\n")
        if self._is_over:
            self._terminal.say(self._ending())

    def _ending(self) -> str:
        first, second = self._game.seat_names
        if self._resigned is not None:
            names = (first, second)
            winner: int | None = 1 - self._resigned
            result = f"{names[self._resigned]} resigns, {names[1 - self._resigned]} wins"
        else:
            state = self._line.state
            outcome = self._game.outcome(state)
            winner = {1: 0, 0: None, -1: 1}[outcome]
            result = f"{self._game.result_text(state)}, {self._game.termination(state)}"
        you = ""
        if len(self._people) == 1:
            if winner is None:
                you = " It is a draw."
            else:
                you = " You win." if winner in self._people else " You lose."
        return f"Game over: {result}.{you}"

    def _text_of_line(self, actions: list[int]) -> str:
        return " ".join(texts_along(self._game, self._line.state, actions[:PLIES]))

    # -- thinking -------------------------------------------------------------------------------

    def _think(self, forced_wins: bool = True) -> Thought:
        with self._terminal.busy("thinking; Ctrl-C leaves"):
            self._thinker.set_line(self._line)
            limits = replace(self._settings.limits, forced_wins=forced_wins)
            return self._thinker.think(limits)

    def _engine_moves(self) -> None:
        thought = self._think()
        best = thought.best
        assert best is not None, "the game is not over"
        seat = self._line.player
        name = self._game.seat_names[seat]
        if thought.should_resign(self._thinker.settings.resign_below):
            self._resigned = seat
            self._terminal.say(self._ending())
            return
        text = self._game.action_to_text(self._line.state, best.action)
        self._play(best.action, self._remark_of(thought, best))
        self._terminal.say(f"{name} plays {text}: {describe_value(best.value, self._game, seat)}")
        self._board("")

    def _remark_of(self, thought: Thought, best: Variation) -> str:
        state = self._line.state
        return write_remark(
            Remark(
                value=thought.value,
                visits=thought.simulations,
                played=best.visits,
                top=tuple(
                    (self._game.action_to_notation(state, v.action), v.visits)
                    for v in thought.variations[:TOP]
                    if v.visits
                ),
                line=tuple(texts_along(self._game, state, best.actions[:PLIES], notation=True)),
            )
        )

    def _play(self, action: int, remark: str) -> None:
        self._line.play(action)
        self._remarks.append(remark)

    # -- commands of a person ---------------------------------------------------------------------

    def _person_moves(self, line: str) -> None:
        try:
            action = self._game.text_to_action(self._line.state, line)
        except AzcoreError as error:
            why = str(error).removeprefix(f"{self._game.name}: ")
            raise GameError(f"{why} (type help for a list)") from error
        self._play(action, "")
        if self._is_over or self._line.player in self._people:  # else after the engine's move
            self._board("")

    def _help(self, _: str) -> None:
        forms = formats_of(self._game).values()
        formats = f" ({', '.join(form.suffix for form in forms)})" if forms else ""
        state = self._line.states[0]
        actions = self._game.legal_action_mask(state).nonzero()[0]
        example = self._game.action_to_text(state, int(actions[len(actions) // 2]))
        self._terminal.say(HELP.format(example=example, formats=formats))

    def _hint(self, _: str) -> None:
        thought = self._think()
        if self._is_over or thought.best is None:
            raise GameError("no hint: the game is over")
        best = thought.best
        follow = self._text_of_line(best.actions)
        seat = self._line.player
        self._terminal.say(f"{follow.split()[0]}: {describe_value(best.value, self._game, seat)}")
        self._terminal.say(f"expected: {follow}")

    def _opinion(self, _: str) -> None:
        if self._is_over:
            self._terminal.say(self._ending())
            return
        thought = self._think(forced_wins=False)
        seat = self._line.player
        opinion = describe_value(thought.value, self._game, seat)
        opinion = f"{opinion[0].upper()}{opinion[1:]}"
        self._terminal.say(f"{opinion}, after {thought.simulations} simulations.")
        rows = [("move", "visits", "value", "prior", "expected")]
        for variation in thought.variations[:ROWS]:
            line = self._text_of_line(variation.actions)
            value = f"{variation.value:+.2f}" if variation.visits else ""
            numbers = (f"{variation.visits}", value, f"{variation.prior:.1%}")
            rows.append((line.split()[0], *numbers, line))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        for row in rows:
            cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in (1, 2, 3)]
            self._terminal.say("  " + "  ".join([*cells, row[4]]).rstrip())

    def _undo(self, _: str) -> None:
        people = self._people or (0, 1)
        last = None
        for ply in range(len(self._line.actions) - 1, -1, -1):
            if self._game.current_player(self._line.states[ply]) in people:
                last = ply
                break
        if self._resigned is not None and self._line.player in people:
            last = len(self._line.actions)  # resigning was the last decision
        if last is None:
            raise GameError("there is no move to take back")
        self._resigned = None
        while len(self._line.actions) > last:
            self._line.undo()
            self._remarks.pop()
        self._board("")

    def _flip(self, rest: str) -> None:
        if rest:
            raise GameError("flip takes no argument; type side first, second, both or none")
        if len(self._people) != 1:
            raise GameError("flip needs one seat of yours; type side to choose others")
        self._sit((1 - self._people[0],))

    def _side(self, rest: str) -> None:
        people = seats_named(rest, self._game)
        if not rest:
            self._flip("")
        elif people is not None:
            self._sit(people)
        else:
            raise GameError(f"a side is one of {sides(self._game)}, got {rest[:20]!r}")

    def _sit(self, people: tuple[int, ...]) -> None:
        self._people = people
        seats = {0: "The engine plays both sides.", 2: "Two people play."}
        name = self._game.seat_names[people[0]] if people else ""
        self._terminal.say(seats.get(len(people), f"You are {name} now."))

    def _moves(self, _: str) -> None:
        state = self._line.state
        legal = [] if self._is_over else self._game.legal_action_mask(state).nonzero()[0].tolist()
        texts = [self._game.action_to_text(state, action) for action in legal]
        self._terminal.say(" ".join(texts) or "none: the game is over")

    def _new(self, _: str) -> None:
        self._begin()
        self._board("")

    def _resign(self, _: str) -> None:
        if self._is_over:
            raise GameError("the game is over already")
        self._resigned = self._line.player
        self._terminal.say(self._ending())

    def _save(self, rest: str) -> None:
        form = format_named(self._game, None)
        if not rest:
            raise GameError(f"save needs the name of a file, such as save game{form.suffix}")
        path = Path(rest).expanduser() if rest != "~" else Path(rest)
        if not path.suffix:
            path = path.with_name(path.name + form.suffix)
        form = format_of_path(self._game, path)
        if path.exists() and path.absolute() not in self._written:
            raise GameFileError(f"{path} already exists; choose another file")
        names = ["a person" if seat in self._people else "azcore" for seat in (0, 1)]
        resigned = self._resigned
        transcript = Transcript(
            actions=self._line.actions,
            comments=self._remarks,
            players=(names[0], names[1]),
            result=None if resigned is None else form.resignation(resigned),
        )
        write_transcript(path, form, transcript)
        self._written.add(path.absolute())
        self._terminal.say(f"saved to {path}")


def seats_named(word: str, game: Game) -> tuple[int, ...] | None:
    """The seats that a word assigns to people, by number or name; None: not such a word."""
    names = {name.lower(): (seat,) for seat, name in enumerate(game.seat_names)}
    return {**SEATS, **names}.get(word.lower())


def sides(game: Game) -> str:
    """The words for sides."""
    return ", ".join([*SEATS, *game.seat_names])


def describe_value(value: float, game: Game, seat: int) -> str:
    """Describe a value in [-1, 1], view of `seat`: which side is better, and its expected score."""
    value = round(value, 2) + 0.0  # no minus before a zero
    better = seat if value >= 0 else 1 - seat
    name = game.seat_names[better]
    score = 50 + 50 * abs(value)
    for limit, words in DEGREES:
        if abs(value) < limit:
            degree = words if limit == DEGREES[0][0] else f"{name} is {words}"
            break
    else:
        degree = f"{name} is winning"
    return f"{degree} (value {value:+.2f} for {game.seat_names[seat]}; {name} scores {score:.0f} %)"
