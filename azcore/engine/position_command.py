"""The game of `position` commands in UCI and USI, each continued from the previous one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from azcore.engine.thought import Line, shared_plies
from azcore.errors import AzcoreError, IllegalActionError, InvalidTextError
from azcore.game import Game


@dataclass
class GivenGame:
    """A game as sent by a GUI."""

    start: str | None  # as written; None: the initial position
    words: list[str]  # the actions as written
    line: Line
    forgotten: int = 0  # words before the beginning of `line` if its history was dropped

    def cut(self, length: int) -> "GivenGame":
        """A copy with the first `length` words, which must be at least `forgotten`."""
        line = self.line.copy()
        for _ in range(len(self.words) - length):
            line.undo()
        return GivenGame(self.start, self.words[:length], line, self.forgotten)


def read_position(words: list[str], position_word: str) -> tuple[str | None, list[str]]:
    """The starting position of a game and its actions, both as written after `position`.

    Raises:
        InvalidTextError: the words have another form.
    """
    end = words.index("moves") if "moves" in words else len(words)
    place, actions = words[:end], words[end + 1 :]
    if place == ["startpos"]:
        return None, actions
    if place[:1] == [position_word]:
        return " ".join(place[1:]), actions
    raise InvalidTextError(
        f"position is startpos or {position_word} and a position, then moves and a list, "
        f"got {' '.join(place)[:40]!r}"
    )


@dataclass(frozen=True)
class Follower:
    """Plays the games of `position` commands, even beyond the point where our rules end them."""

    game: Game
    without_counters: Callable[[str], str | None]  # a position's text; None if it has no counters
    note: Callable[[str], None]

    def begin(self, start: str | None) -> GivenGame:
        """A game without actions.

        Raises:
            InvalidTextError: `start` is not a position.
        """
        try:
            return GivenGame(start, [], Line(self.game, start))
        except InvalidTextError as error:
            # Do not refuse a position for move counters beyond the game's range.
            bare = None if start is None else self.without_counters(start)
            if bare is None:
                raise
            try:
                line = Line(self.game, bare)
            except InvalidTextError:
                raise error from None
            self.note(f"position accepted without its counters: {error}")
            return GivenGame(start, [], line)

    def follow(self, old: GivenGame | None, start: str | None, words: list[str]) -> GivenGame:
        """The new game; actions shared with `old` are not played again.

        Raises:
            AzcoreError: the position or an action is invalid.
        """
        same = 0
        if old is not None and old.start == start:
            same = shared_plies(old.words, words)
        if old is not None and old.start == start and same >= old.forgotten:
            given = old.cut(same)
        else:
            same, given = 0, self.begin(start)
        for number, word in enumerate(words[same:], same + 1):
            try:
                self._play(given, word)
            except AzcoreError as error:
                raise IllegalActionError(f"move {number} cannot be played: {error}") from error
        return given

    def play_on(self, given: GivenGame) -> GivenGame:
        """Continue without the history when our rules end the game but the GUI wants an action."""
        reason = self.game.termination(given.line.state)
        line = self._without_past(given.line)
        if line.is_over:
            return given
        self.note(f"the game is over here ({reason}); continuing from the position alone")
        return replace(given, line=line, forgotten=len(given.words))

    def _play(self, given: GivenGame, word: str) -> None:
        if given.line.is_over:
            given.line = self._without_past(given.line)
            given.forgotten = len(given.words)
        state = given.line.state
        if given.line.is_over:
            raise IllegalActionError(f"the game is over ({self.game.termination(state)})")
        given.line.play(self.game.text_to_action(state, word))
        given.words.append(word)

    def _without_past(self, line: Line) -> Line:
        """A finished game's last position as a starting position, where play can continue."""
        text = self.without_counters(self.game.state_to_text(line.state))
        return line if text is None else Line(self.game, text)
