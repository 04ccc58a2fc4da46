"""A game as a transcript: what files such as SGF, PGN, KIF and CSA hold, whatever their format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from azcore.errors import InvalidTextError

HEADERS = ("event", "site", "date")  # what every transcript format has a place for


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A game as a transcript has it, whatever its format: what is written and what is read.

    Texts are brought into the form that files keep: lines end with a line feed, other control
    characters become spaces; names and headers are one line without spaces around it.
    """

    actions: Sequence[int]  # [T]
    comments: Sequence[str] = ()  # by ply, empty for none; those left out are empty
    players: tuple[str, str] = ("", "")  # names by seat, empty if nobody is named
    result: str | None = None  # in the format's words; written None: what the rules say, if over
    headers: Mapping[str, str] = field(default_factory=dict)  # of `HEADERS`; date as 2026-01-31
    start_text: str | None = None  # as `Game.state_from_text` reads it; None: the usual start

    def __post_init__(self) -> None:
        for name in self.headers:
            if name not in HEADERS:
                raise InvalidTextError(
                    f"a header of a record must be one of {', '.join(HEADERS)}, got {name!r}"
                )
        comments = [*map(_clean, self.comments), *[""] * (len(self.actions) - len(self.comments))]
        if len(comments) > len(self.actions):
            raise InvalidTextError(
                f"a record has a comment an action, {len(self.actions)}, got {len(comments)}"
            )
        headers = {name: _one_line(self.headers.get(name, "")) for name in HEADERS}
        first, second = self.players
        for name, value in (
            ("actions", [int(action) for action in self.actions]),
            ("comments", comments),
            ("players", (_one_line(first), _one_line(second))),
            ("headers", {name: value for name, value in headers.items() if value}),
        ):
            object.__setattr__(self, name, value)


def _clean(text: str) -> str:
    text = re.sub("\r\n?", "\n", text)
    return re.sub("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", " ", text)


def _one_line(text: str) -> str:
    return " ".join(_clean(text).split())


@dataclass(frozen=True, kw_only=True)
class TranscriptFormat:
    """How a game is written to files that other programs read, and read back.

    `read(write(t)) == t` for every transcript, but for a `result` of None, which is read as what
    the rules say of a finished game.

    Args:
        suffix: of such files, with its dot.
        write: the text of a transcript. Raises IllegalActionError for an action that is not legal
            where it is played, and InvalidTextError for what the format cannot say, such as a
            result or a start that it has no words for.
        read: the main line of the first game in a text. Raises InvalidTextError, and nothing else,
            for text that is no game of these settings, with the place.
        resignation: the result of a game that a seat has given up when it was to move.
    """

    suffix: str
    write: Callable[[Transcript], str]
    read: Callable[[str], Transcript]
    resignation: Callable[[int], str]
