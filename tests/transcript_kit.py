"""Games as transcripts in one call, and the remarks in their comments read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from azcore.errors import TranscriptError
from azcore.game import Game, Transcript
from azcore.storage.commentary import Remark
from azcore.storage.transcripts import formats_of, read_transcripts

_WORD = r"[^\s,]+"
_REMARK = re.compile(
    r"^(?:value (?P<value>[+-]\d\.\d{3}))?"
    r"(?: ?visits (?P<visits>\d+))?"
    r"(?: ?played (?P<played>\d+%?))?"
    rf"(?: ?top (?P<top>{_WORD} \d+%?(?:, {_WORD} \d+%?)*))?"
    rf"(?: ?pv (?P<line>{_WORD}(?: {_WORD})*))?$",
    re.ASCII | re.MULTILINE,
)


def transcript_text(
    game: Game,
    form: str,
    actions: Sequence[int],
    comments: Sequence[str] = (),
    result: str | None = None,
) -> str:
    """A game from the usual start."""
    transcript = Transcript(actions=actions, comments=comments, result=result)
    return formats_of(game)[form].write(transcript)


def actions_read(game: Game, form: str, text: str) -> list[int]:
    """The actions of a text."""
    return list(formats_of(game)[form].read(text).actions)


def read_transcript(path: Path, game: Game) -> Transcript:
    """The first game of a file."""
    found = next(read_transcripts(path, game))
    if isinstance(found, TranscriptError):
        raise found
    return found


def read_remark(comment: str) -> Remark | None:
    """The first remark in the lines of a comment; None if there is none."""
    for match in _REMARK.finditer(comment):
        if not match[0]:
            continue
        top = []
        for part in (match["top"] or "").split(", ") if match["top"] else []:
            move, _, count = part.rpartition(" ")
            top.append((move, int(count.rstrip("%"))))
        numbers = f"{match['played'] or ''}{match['top'] or ''}"
        return Remark(
            value=None if match["value"] is None else float(match["value"]),
            visits=None if match["visits"] is None else int(match["visits"]),
            played=None if match["played"] is None else int(match["played"].rstrip("%")),
            top=tuple(top),
            line=tuple((match["line"] or "").split()),
            shares=numbers.endswith("%"),
        )
    return None
