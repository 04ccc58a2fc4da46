"""Games as transcripts in one call: what the formats of a game write and read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from azcore.errors import TranscriptError
from azcore.game import Game, Transcript
from azcore.storage.transcripts import formats_of, read_transcripts


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
