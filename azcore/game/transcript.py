"""Transcripts: the content of files such as SGF, PGN, KIF and CSA, whatever their format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from azcore.errors import (
    AmbiguousTextError,
    AzcoreError,
    IllegalActionError,
    InvalidTextError,
    TranscriptError,
)

if TYPE_CHECKING:
    from azcore.game.contract import Game

HEADERS = ("event", "site", "date")  # headers that every transcript format can hold
LONGEST_GAME = 1_000_000  # characters of one game in a file: a thousand times a game's moves
MOST_IN_VARIATIONS = 2_000  # moves outside the main line that a reader keeps


@dataclass(frozen=True)
class Branch:
    """A line of a tree of moves, stated by where it leaves the line before it.

    Lines are in the order of a walk through the tree that visits each move once, the main line
    first, so a list of branches states every move outside the main line once.
    """

    ply: int  # how many first actions it shares with the line before it
    actions: Sequence[int]  # the others, at least one


def lines_of(main: Sequence[int], branches: Iterable[Branch]) -> Iterator[Sequence[int]]:
    """The lines of a tree from their start, the main one first."""
    line = main
    yield line
    for branch in branches:
        line = [*line[: branch.ply], *branch.actions]
        yield line


def tree_of(lines: Iterable[Sequence[int]]) -> dict[int, Any]:
    """What follows each action, by action, in lines from the same start."""
    root: dict[int, Any] = {}
    for line in lines:
        below = root
        for action in line:
            below = below.setdefault(action, {})
    return root


def branches_of(main: Sequence[int], lines: Iterable[Sequence[int]]) -> list[Branch]:
    """The tree of a main line and others; those that repeat or continue the main one add nothing.

    Args:
        main: its actions.
        lines: the actions of others, from the same start, in any order. Where lines part, the
            order of the list decides.
    """
    first = list(main)
    others = (line for line in lines if len(line) <= len(first) or [*line[: len(first)]] != first)
    root = tree_of((first, *others))
    found: list[Branch] = []
    rest: list[int] = []
    ply = 0
    waiting = [(0, action, root[action]) for action in reversed(root)]
    while waiting:  # not by recursion: a line may be long
        depth, action, below = waiting.pop()
        ply = ply if rest else depth
        rest.append(action)
        waiting += [(depth + 1, following, below[following]) for following in reversed(below)]
        if not below:
            found.append(Branch(ply, tuple(rest)))
            rest = []
    return found[1:]


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """The content of a transcript, whatever its format, for writing and for reading.

    Texts are normalised to a form that survives in files: lines end with a line feed and other
    control characters become spaces; names and headers are one line without spaces around it.
    """

    actions: Sequence[int]  # [T]
    comments: Sequence[str] = ()  # by ply, empty for none; missing ones are empty
    players: tuple[str, str] = ("", "")  # names by seat, empty if unnamed
    result: str | None = None  # in the format's words; None: the rules' result, if the game is over
    headers: Mapping[str, str] = field(default_factory=dict)  # by `HEADERS`; date as 2026-01-31
    start_text: str | None = None  # as `Game.state_from_text` reads it; None: the usual start
    variations: Sequence[Branch] = ()  # the other lines; repeats of the main one are dropped
    # What a reader also finds; writers ignore it, and so does comparison.
    outcome: int | None = field(default=None, compare=False)  # from the result; view of seat 0
    ratings: tuple[float | None, float | None] = field(default=(None, None), compare=False)
    other_rules: str = field(default="", compare=False)  # its differences, such as "komi 0.5"
    off_the_board: str = field(default="", compare=False)  # what decided it other than play: "time"
    ignored: Sequence[str] = field(default=(), compare=False)  # kinds of oddities outside the moves
    left_out: Sequence[str] = field(default=(), compare=False)  # kinds of variations not read

    def __post_init__(self) -> None:
        for name in self.headers:
            if name not in HEADERS:
                raise InvalidTextError(
                    f"a header of a record must be one of {', '.join(HEADERS)}, got {name!r}"
                )
        comments = [*map(_clean, self.comments), *[""] * (len(self.actions) - len(self.comments))]
        if len(comments) > len(self.actions):
            raise InvalidTextError(
                f"a record has one comment per action, {len(self.actions)}, got {len(comments)}"
            )
        headers = {name: _one_line(self.headers.get(name, "")) for name in HEADERS}
        first, second = self.players
        for name, value in (
            ("actions", [int(action) for action in self.actions]),
            ("comments", comments),
            ("players", (_one_line(first), _one_line(second))),
            ("headers", {name: value for name, value in headers.items() if value}),
            ("variations", self._branches()),
        ):
            object.__setattr__(self, name, value)

    def _branches(self) -> list[Branch]:
        if not self.variations:
            return []
        _, *others = lines_of(self.actions, self.variations)
        return branches_of(self.actions, others)


def _clean(text: str) -> str:
    text = re.sub("\r\n?", "\n", text)
    return re.sub("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", " ", text)


def _one_line(text: str) -> str:
    return " ".join(_clean(text).split())


def dated(header: str, value: str, old: str, new: str) -> str:
    """A header's value; a whole date, such as 2026-01-31, has the sign `new` in place of `old`."""
    whole = re.fullmatch(rf"\s*\d{{4}}([{old}])\d\d\1\d\d\s*", value, re.ASCII)
    return value.strip().replace(old, new) if header == "date" and whole else value


class GameText:
    """Collects the text of one game; of a longer one, one character more than `LONGEST_GAME`."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = LONGEST_GAME + 1

    def add(self, part: str) -> None:
        if self._room > 0:
            self._parts.append(part[: self._room])
            self._room -= len(part)

    def take(self) -> str:
        """The text so far; resets it."""
        text = "".join(self._parts)
        self._parts, self._room = [], LONGEST_GAME + 1
        return text


def whole_text(lines: Iterable[str]) -> Iterator[str]:
    """The text of a file that holds one game."""
    text = GameText()
    for line in lines:
        text.add(line)
    yield text.take()


class _Path:
    """The moves that a reader has played along one line."""

    def __init__(self, actions: list[int], states: list[Any], is_broken: bool = False) -> None:
        self.actions = actions
        self.states = states  # [len(actions) + 1]
        self.is_broken = is_broken  # the next moves cannot be played


class MainLine:
    """Plays the moves of a transcript up to its end, or to the first that cannot be played.

    After `branch`, it plays the moves of a variation, until `rejoin`. A variation ends before its
    first move that cannot be played; `left_out` reports that.

    Args:
        start_text: the text of the position before them; None: the initial state.

    Raises:
        InvalidTextError: no position.
    """

    def __init__(self, game: Game, form: str, start_text: str | None = None) -> None:
        self.game, self.form, self.start_text = game, form, start_text
        start = game.initial_state() if start_text is None else game.state_from_text(start_text)
        self.actions: list[int] = []
        self.comments: list[list[str]] = []  # by ply
        self.ignored: set[str] = set()  # kinds of oddities outside the moves
        self.left_out: set[str] = set()  # kinds of variations that are not read
        self.fault: TranscriptError | None = None  # the fault in what follows the moves
        self._paths = [_Path(self.actions, [start])]  # the main line; variations in progress
        self._variations: list[list[int]] = []
        self._room = MOST_IN_VARIATIONS

    @property
    def state(self) -> Any:
        """The position of the next move."""
        return self._paths[-1].states[-1]

    @property
    def ply(self) -> int:
        """How many moves precede the next, in its line."""
        return len(self._paths[-1].actions)

    @property
    def number(self) -> int:
        return self.ply + 1

    @property
    def is_broken(self) -> bool:
        """Whether a move of the current line could not be played, so no more are."""
        return self._paths[-1].is_broken

    def branch(self, ply: int | None) -> None:
        """Begin a variation after the first `ply` moves of the current line.

        None: it follows a move that was not played, so its moves are not played either.
        """
        here = self._paths[-1]
        if ply is None or ply < 0:
            self._report_unplayed()
        elif len(self._variations) >= MOST_IN_VARIATIONS:
            self._report_full()
        else:
            path = _Path(here.actions[:ply], here.states[: ply + 1])
            self._variations.append(path.actions)
            self._paths.append(path)
            return
        self._paths.append(_Path(here.actions, here.states, is_broken=True))

    def rejoin(self) -> None:
        """End the variation: the next move belongs to the line that it left."""
        self._paths.pop()

    def _report_unplayed(self) -> None:
        self.left_out.add("a part of a variation that cannot be played")

    def _report_full(self) -> None:
        self.left_out.add(f"more than {MOST_IN_VARIATIONS:,} moves in variations")

    def play(self, read: Callable[[], int], *, move: str = "", number: str = "") -> int | None:
        """Play one more move, unless an earlier one of its line could not be played.

        Args:
            read: returns its action.
            move: its text, if errors of `read` may lack it.

        Returns:
            The action; None: it was not played.
        """
        path, in_variation = self._paths[-1], len(self._paths) > 1
        if path.is_broken:
            return None
        if in_variation and self._room == 0:
            path.is_broken = True
            self._report_full()
            return None
        try:
            action = read()
            state = self.game.step(self.state, action)
        except AzcoreError as error:
            where = f"move {number or self.number} of the {self.form} game"
            self.stop(*self._why_not(where, error, move))
            return None
        path.actions.append(action)
        path.states.append(state)
        if in_variation:
            self._room -= 1
        else:
            self.comments.append([])
        return action

    def _why_not(self, where: str, error: AzcoreError, move: str) -> tuple[str, str]:
        """The sentence and the reason of a move that cannot be played."""
        if self.game.is_terminal(self.state):
            before = move and f" before {move}"
            ending = f"({self.game.termination(self.state)})"
            return f"{where}: the game was over {ending}{before}", f"moves after the end {ending}"
        reason = "a move that cannot be read"
        if isinstance(error, IllegalActionError):
            reason = "a move that is not legal"
        elif isinstance(error, AmbiguousTextError):
            reason = "a move that is ambiguous"
        elif isinstance(error, TranscriptError):
            reason = error.reason
        return f"{where}: {str(error).removeprefix(f'{self.game.name}: ')}", reason

    def stop(self, why: str, reason: str) -> None:
        """Play no more moves of the line, because of a fault."""
        path = self._paths[-1]
        if len(self._paths) > 1:
            self._report_unplayed()
        elif self.fault is None:
            self.fault = TranscriptError(f"{self.game.name}: {why}", reason)
        path.is_broken = True

    def comment(self, text: str) -> None:
        """Add a comment on the latest move; ignores those before the first and in variations."""
        if len(self._paths) == 1 and self.actions and self.fault is None:
            self.comments[-1].append(text)

    def transcript(self, **rest: Any) -> Transcript:
        """The transcript of the game, with the rest of its content.

        Raises:
            TranscriptError: the fault, with the game before it.
        """
        transcript = Transcript(
            actions=self.actions,
            comments=["\n".join(parts) for parts in self.comments],
            start_text=self.start_text,
            variations=branches_of(self.actions, self._variations),
            ignored=sorted(self.ignored),
            left_out=sorted(self.left_out),
            **rest,
        )
        if self.fault is not None:
            self.fault.before = transcript
            raise self.fault
        return transcript


def result_of(game: Game, state: Any, stated: str | None, own: str, words: Collection[str]) -> str:
    """The result to write for a game: the stated one, or without it the rules' own.

    Args:
        stated: the transcript's result.
        own: the rules', in the format's words.
        words: the format's for results.

    Raises:
        InvalidTextError: the format has no such word, or the game is over with another result.
    """
    if stated is None:
        return own
    if stated not in words:
        raise InvalidTextError(
            f"{game.name}: the result must be one of {', '.join(words)}, got {stated[:20]!r}"
        )
    if game.is_terminal(state) and stated != own:
        raise InvalidTextError(
            f"{game.name}: the game is over by {game.termination(state)}, so its result must be "
            f"{own}, got {stated}"
        )
    return stated


@dataclass(frozen=True, kw_only=True)
class TranscriptFormat:
    """Writes a game in a format that other programs read, and reads it back.

    `read(write(t)) == t` for every transcript, except that a `result` of None reads back as the
    rules' result if the game is over, and that variations are lost without `has_variations`.

    Args:
        suffix: the suffix of such files, with its dot.
        write: returns the text of a transcript. Raises IllegalActionError for an action that is not
            legal at its ply, and InvalidTextError for what the format cannot express, such as a
            result or a start.
        read: returns the first game in a text. Raises InvalidTextError, and
            nothing else, with the place, for text that is not a game of these settings.
        resignation: returns the result of a game in which the given seat, to move, has resigned.
        draw: the result of a draw by agreement; None: the format has none.
        games: splits the lines of a file into the texts of its games, holding one at a time. A long
            line may arrive in pieces, a long game may be cut: see `GameText`.
        other_suffixes: the suffixes of other files that it reads.
        encodings: encodings to try in order, for files that are not UTF-8 and declare none.
        declared: returns the encoding that the first bytes of a file declare, by Python's name;
            None for none.
        settings: returns the settings of the game that a text states, such as the board size.
            Raises InvalidTextError.
        players_count: the players count a finished game, so their result may differ from the
            rules', which ignore such agreements.
        has_variations: it writes and reads variations; else only the main line.
    """

    suffix: str
    write: Callable[[Transcript], str]
    read: Callable[[str], Transcript]
    resignation: Callable[[int], str]
    draw: str | None = None
    games: Callable[[Iterable[str]], Iterator[str]] = whole_text
    other_suffixes: tuple[str, ...] = ()
    encodings: tuple[str, ...] = ("latin-1",)
    declared: Callable[[bytes], str | None] = lambda head: None
    settings: Callable[[str], Mapping[str, Any]] = lambda text: {}
    players_count: bool = False
    has_variations: bool = False
