"""Starts: positions to begin games from, given by files or by the game itself.

    starts = read_starts(game, ["openings.epd", "masters.pgn"], plies=(8, 30), where="arena.starts")
    start = starts.draw(rng)      # or in_turn(seed), which uses each before any again
    start.state                   # after start.actions, which lead there from start.text

The suffix of a file determines its content:

* transcripts of the game (`.sgf`, `.pgn`, ...) or game records (`.azg`): a start is the position
  after some plies of a game. The plies before it are part of the new game, so history is right.
* anything else is text with one position a line, see `azcore.storage.positions`. Moves may
  follow (`POSITION moves M1 M2`, where `startpos` is the initial position).

Unreadable lines and games are left out and counted; of a game by others, the plies before the fault
are used.

A folder stands for all files in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from azcore.chance import Purpose, generator
from azcore.errors import (
    AzcoreError,
    GameError,
    GameFileError,
    IllegalActionError,
    InvalidTextError,
    TranscriptError,
)
from azcore.game import Game, Transcript, TranscriptFormat
from azcore.settings import require
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import require_start
from azcore.storage.positions import INITIAL, UNREADABLE, position_lines, read_position
from azcore.storage.referee import Referee
from azcore.storage.start_states import own_starts
from azcore.storage.transcripts import formats_by_suffix, read_transcripts

RECORDS = ".azg"


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where one game begins."""

    text: str | None  # of the position before the actions; None: the initial one
    before: Any  # its state
    actions: tuple[int, ...]
    state: Any  # after the actions; not terminal


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A position and actions from there, of which a start takes the first `least` to `most`."""

    where: str  # for errors
    is_game: bool
    text: str | None
    state: Any  # before the actions
    actions: tuple[int, ...]
    least: int
    most: int


class Starts:
    """Some starts; each draw is a function of its random numbers alone.

    Args:
        left_out: why lines and games of the files are left out.
    """

    def __init__(
        self, game: Game, lines: Sequence[_Line], left_out: Sequence[AzcoreError] = ()
    ) -> None:
        self._game, self._lines, self._left_out = game, lines, left_out

    def __len__(self) -> int:
        """The number of positions, and of games that have a start among their positions."""
        return len(self._lines)

    def draw(self, rng: np.random.Generator) -> Start:
        """Draw one of all lines, uniformly."""
        return self._start(self._lines[int(rng.integers(len(self._lines)))], rng)

    def in_turn(self, seed: int) -> Iterator[Start]:
        """Endless starts: all lines in random order, then all in another order, and so on."""
        turn = 0
        while True:
            rng = generator(Purpose.START, seed, turn)
            for at in rng.permutation(len(self._lines)):
                yield self._start(self._lines[int(at)], rng)
            turn += 1

    def _start(self, line: _Line, rng: np.random.Generator) -> Start:
        plies = int(rng.integers(line.least, line.most, endpoint=True))
        state = line.state
        for action in line.actions[:plies]:
            state = self._game.step(state, action)
        return Start(text=line.text, before=line.state, actions=line.actions[:plies], state=state)

    def set_up(self) -> str | None:
        """The place of a start that has to be set up, not reached by a game from the beginning."""
        return next((line.where for line in self._lines if line.text is not None), None)

    def require_transcripts(self, form: TranscriptFormat) -> None:
        """Refuse starts that a transcript format cannot express.

        Raises:
            InvalidTextError: the message names the file and the position.
        """
        for line in self._lines:
            if line.text is not None:
                try:
                    form.write(Transcript(actions=(), start_text=line.text))
                except InvalidTextError as error:
                    raise InvalidTextError(
                        f"{line.where}: no {form.suffix} file can begin there: {error}"
                    ) from error

    def describe(self) -> str:
        """`1,204 positions and 30 games`, and how much of the files was left out."""
        games = sum(line.is_game for line in self._lines)
        counts = {"position": len(self) - games, "game": games}
        found = " and ".join(
            f"{count:,} {word}{'s' if count > 1 else ''}" for word, count in counts.items() if count
        )
        left_out = self._left_out
        return found + (f" ({len(left_out):,} left out: {left_out[0]})" if left_out else "")


def require_plies(plies: Sequence[int], where: str) -> None:
    """Refuse a setting that is neither a number of plies nor a range.

    Raises:
        SettingError: the message names the setting.
    """
    fits = len(plies) in (1, 2) and plies[0] >= 0 and list(plies) == sorted(plies)
    require(fits, where, "a number of plies, 0 or more, or two in ascending order", list(plies))


def read_starts(
    game: Game,
    files: Sequence[str],
    plies: Sequence[int],
    where: str,
    *,
    variant: Game | None = None,
) -> Starts | None:
    """The starts of some files and folders; None if there are no files.

    Args:
        plies: in a game, the start is the position after this many plies; given two numbers, it
            draws one from the first to the second.
        variant: the game to play, which may forbid actions that `game` allows; None:
            `game` itself.

    Raises:
        SettingError: a file is missing, or all files are empty.
        AzcoreError: a file is unreadable, or every line and game is unusable: against the rules, or
            over where a game should begin; the message names the file and the line.
    """
    if not files:
        return None
    reader = _Reader(game, variant or game, (plies[0], plies[-1]), where)
    lines = [line for path in _paths(files, where) for line in reader.read(path)]
    if not lines and reader.left_out:
        raise reader.left_out[0]
    require(bool(lines), where, "files with positions or games", list(files))
    return Starts(variant or game, lines, reader.left_out)


def starts_of_game(game: Game, variant: Game) -> Starts | None:
    """The starts that a game itself names; None if that is only the initial state.

    Args:
        variant: the game to play, whose `start_states` they are.

    Raises:
        GameError: a start of `variant` is not a position of `game`, or the game is over there.
    """
    lines = []
    for text, state in own_starts(variant).items():
        where = f"start_states of {variant.name}, {text or INITIAL}"
        try:
            if text is not None:
                require_start(text)
                game.state_from_text(text)
        except (ValueError, *UNREADABLE) as error:
            raise GameError(f"{where}: a game cannot begin there: {error}") from error
        if variant.is_terminal(state):
            raise GameError(f"{where}: a start must not be the end of the game")
        lines.append(
            _Line(where=where, is_game=False, text=text, state=state, actions=(), least=0, most=0)
        )
    return None if [line.text for line in lines] == [None] else Starts(variant, lines)


def _paths(files: Sequence[str], where: str) -> Iterator[Path]:
    """The files, with those of folders sorted by name."""
    for name in files:
        path = Path(name)
        if path.is_dir():
            yield from sorted(
                each for each in path.iterdir() if each.is_file() and each.name[0] != "."
            )
        else:
            require(path.is_file(), where, "files or folders", name)
            yield path


def games_of(
    path: Path, game: Game, left_out: list[AzcoreError]
) -> Iterator[tuple[str, str | None, Sequence[int]]]:
    """The games of a file of records or transcripts: the place, the start and the actions of each.

    A game by others goes up to its first fault; those without any part that can be read are added
    to `left_out`.
    """
    if path.suffix.lower() == RECORDS:
        for number, record in enumerate(Referee(game).read(GameFile(path)), 1):
            yield f"{path}, game {number}", record.start, record.actions.tolist()
        return
    for number, found in enumerate(read_transcripts(path, game), 1):
        if isinstance(found, TranscriptError) and found.before is None:
            left_out.append(found)
            continue
        transcript = found.before if isinstance(found, TranscriptError) else found
        yield f"{path}, game {number}", transcript.start_text, transcript.actions


class _Reader:
    """Reads files; see `read_starts`."""

    def __init__(self, game: Game, variant: Game, plies: tuple[int, int], where: str) -> None:
        self._game, self._variant, self._plies, self._where = game, variant, plies, where
        self._initial = variant.initial_state()
        self._initial_text = variant.state_to_text(self._initial)
        self.left_out: list[AzcoreError] = []

    def read(self, path: Path) -> Iterator[_Line]:
        """The lines of one file that can be used; others are counted."""
        is_game = path.suffix.lower() in (RECORDS, *formats_by_suffix(self._game))
        for given in games_of(path, self._game, self.left_out) if is_game else position_lines(path):
            try:
                yield self._of_game(*given) if is_game else self._of_position(*given)
            except GameFileError as error:
                self.left_out.append(error)

    def _of_position(self, where: str, line: str) -> _Line:
        """A line of a file of positions."""
        try:
            given = read_position(self._variant, line)
        except UNREADABLE as error:
            raise _refused(where, line, error) from error
        text, state = self._position(where, given.text, given.before)
        self._require_open(where, line, given.state)
        plies = len(given.actions)
        return _Line(
            where=where,
            is_game=False,
            text=text,
            state=state,
            actions=tuple(given.actions),
            least=plies,
            most=plies,
        )

    def _of_game(self, where: str, start: str | None, actions: Sequence[int]) -> _Line:
        """A game with a start among its positions."""
        least, most = self._plies
        try:
            state = self._initial if start is None else self._variant.state_from_text(start)
        except UNREADABLE as error:
            raise _refused(where, str(start), error) from error
        text, state = self._position(where, start, state)
        played, plies = state, 0
        self._require_open(where, start or INITIAL, state)
        for action in actions[:most]:
            try:
                played = self._variant.step(played, action)
            except IllegalActionError as error:
                raise _refused(where, f"ply {plies}", error) from error
            if self._variant.is_terminal(played):
                break
            plies += 1
        if plies < least:
            raise GameFileError(
                f"{where}: a game must last more than {least} plies "
                f"({self._where.rpartition('.')[0]}.start_plies), got {len(actions)}"
            )
        return _Line(
            where=where,
            is_game=True,
            text=text,
            state=state,
            actions=tuple(int(action) for action in actions[:plies]),
            least=least,
            most=plies,
        )

    def _position(self, where: str, given: str | None, state: Any) -> tuple[str | None, Any]:
        """The text of a position for records, and its state; None: the initial one."""
        text = None if given is None else self._variant.state_to_text(state)
        if text in (None, self._initial_text):
            return None, self._initial
        try:
            require_start(text)
            # The text in a record must yield this position again.
            return text, state if text == given else self._variant.state_from_text(text)
        except (ValueError, *UNREADABLE) as error:
            raise GameFileError(f"{where}: {error}") from error

    def _require_open(self, where: str, line: str, state: Any) -> None:
        if self._variant.is_terminal(state):
            raise GameFileError(
                f"{where}: a start must not be the end of the game "
                f"({self._variant.termination(state)}), got {line[:200]!r}"
            )


def _refused(where: str, got: str, error: AzcoreError) -> GameFileError:
    why = str(error)
    return GameFileError(
        f"{where}: a game cannot begin there: {why}" + ("" if got in why else f", got {got[:80]!r}")
    )
