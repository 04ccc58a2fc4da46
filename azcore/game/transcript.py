"""Transcripts: the content of files such as SGF, PGN, KIF and CSA, whatever their format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from azcore.errors import InvalidTextError

HEADERS = ("event", "site", "date")  # those that every transcript format can hold


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """The content of a transcript, whatever its format, for writing and for reading.

    Texts are normalised to a form that survives in files: lines end with a line feed and other
    control characters become spaces; names and headers are one line without spaces around it.
    """

    actions: Sequence[int]  # [T]
    comments: Sequence[str] = ()  # by ply, empty for none; missing ones are empty
    players: tuple[str, str] = ("", "")  # names by seat, empty if unnamed
    result: str | None = None  # in the format's words; None: written as the rules' result, if over
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
    """Writes a game in a format that other programs read, and reads it back.

    `read(write(t)) == t` for every transcript, except that a `result` of None reads back as the
    rules' result if the game is over.

    Args:
        suffix: of such files, with its dot.
        write: returns the text of a transcript. Raises IllegalActionError for an action that is not
            legal at its ply, and InvalidTextError for what the format cannot express, such as a
            result or a start that it has no words for.
        read: returns the main line of the first game in a text. Raises InvalidTextError, and
            nothing else, with the place, for text that is no game of these settings.
        resignation: returns the result of a game in which the given seat, to move, has resigned.
        split: returns the texts of the games in a text, each for `read`, in their order; raises
            nothing. The default is for formats with one game a file.
    """

    suffix: str
    write: Callable[[Transcript], str]
    read: Callable[[str], Transcript]
    resignation: Callable[[int], str]
    split: Callable[[str], Sequence[str]] = lambda text: (text,)
