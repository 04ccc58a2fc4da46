"""Games as files for other programs: SGF, PGN or other formats that the game supports.

    format = format_named(game, "sgf")             # None: the game's default format
    write_transcript(path, format, transcript_of(game, record, format))
    for transcript in read_transcripts(path, game): ...  # of a file; an error for each bad one

A game record of self-play becomes a transcript with search results as comments. Any other game
becomes a transcript of its actions and its players. `azcore.storage.imported_records` converts in
the other direction.
"""

import codecs
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from azcore.atomic import replacing
from azcore.errors import AzcoreError, GameError, GameFileError, InvalidTextError, TranscriptError
from azcore.game import Game, Transcript, TranscriptFormat
from azcore.game.transcript import LONGEST_GAME
from azcore.storage.commentary import TOP, Remark, write_remark
from azcore.storage.game_record import GameRecord
from azcore.storage.moves_format import NAME as MOVES_FORMAT
from azcore.storage.moves_format import moves_format
from azcore.storage.start_states import StartStates

OPENING = "drawn at random"  # the comment on a move of an opening
GUESSED = "an encoding that was guessed"
_PIECE = 1 << 16  # characters of a line that are read at once
_CONTROLS = re.compile("[\x80-\x9f]")
UTF_8 = "utf-8-sig"  # with or without a byte order mark


class PlayedGame(Protocol):
    """A game between two players, as a match provides it."""

    @property
    def first_seat(self) -> int:
        """The seat of the match's first player."""

    @property
    def start(self) -> str | None:
        """The position before the first action; None: the initial state."""

    @property
    def opening_plies(self) -> int:
        """How many actions belong to the opening."""

    @property
    def actions(self) -> Sequence[int]:
        """[T], the opening included."""

    @property
    def forfeit(self) -> str | None:
        """Why the loser forfeits, if the game did not end by its rules."""

    @property
    def adjudicated(self) -> str | None:
        """The source of the outcome, if the game was not played to its end."""

    @property
    def outcome(self) -> int:
        """z, view of seat 0."""

    @property
    def loser(self) -> int:
        """The seat that lost; read only for a decided game."""


def formats_of(game: Game) -> Mapping[str, TranscriptFormat]:
    """The formats of a game by name, the usual one first; moves in JSON if it states none."""
    return game.transcript_formats() or {MOVES_FORMAT: moves_format(game)}


def format_named(game: Game, name: str | None) -> TranscriptFormat:
    """A transcript format of the game; None: its default format.

    Raises:
        GameError: the game has no format of this name.
    """
    formats = formats_of(game)
    if name is None:
        return next(iter(formats.values()))
    if name not in formats:
        raise GameError(
            f"{game.name}: the format of transcripts must be one of {', '.join(formats)}, "
            f"got {name!r}"
        )
    return formats[name]


def format_of_path(game: Game, path: Path, *, by_others: bool = False) -> TranscriptFormat:
    """The transcript format for a file's suffix.

    Args:
        by_others: the file may have a suffix that azcore reads but does not write.

    Raises:
        GameError: the game has no format with this suffix.
    """
    suffixes = formats_by_suffix(game)
    if not by_others:
        suffixes = {form.suffix: form for form in suffixes.values()}
    if path.suffix.lower() not in suffixes:
        raise GameError(
            f"{game.name}: a transcript must end in {' or '.join(suffixes)}, got {path.name!r}"
        )
    return suffixes[path.suffix.lower()]


def formats_by_suffix(game: Game) -> dict[str, TranscriptFormat]:
    """The formats of a game by the suffixes of their files, in lower case."""
    return {
        suffix: form
        for form in formats_of(game).values()
        for suffix in (form.suffix, *form.other_suffixes)
    }


def write_transcript(path: Path, form: TranscriptFormat, transcript: Transcript) -> None:
    """Write one file atomically, replacing an older one.

    Raises:
        AzcoreError: the format cannot express this game; nothing was written.
        GameFileError: writing fails; an older file is unchanged.
    """
    data = form.write(transcript).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, "wb") as file:
            file.write(data)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        why = error.strerror if isinstance(error, OSError) else error
        raise GameFileError(f"{path}: could not write a transcript: {why}") from error


def read_transcripts(path: Path, game: Game) -> Iterator[Transcript | TranscriptError]:
    """The games of a file in the format of its suffix; see `read_games`.

    Raises:
        GameError: there is no such format, or its library is not installed.
        GameFileError: the file cannot be read.
    """
    return read_games(path, format_of_path(game, path, by_others=True))


def read_games(
    path: Path, form: TranscriptFormat, progress: Callable[[int], None] = lambda read: None
) -> Iterator[Transcript | TranscriptError]:
    """The games of a file one after another, with an error in place of each unreadable one.

    The file may be of any length: one game at a time is in memory.

    Args:
        progress: called with the bytes read so far, for each game.

    Raises:
        GameError: the format's library is not installed.
        GameFileError: the file cannot be read.
    """
    number = 0
    try:
        if path.exists() and not path.is_file():  # reading a pipe could block
            raise GameFileError(f"{path}: could not read transcripts: not a regular file")
        with path.open("rb") as file:
            encoding = _encoding_of(file.read(_PIECE), form)
            file.seek(0)
            errors = "surrogateescape" if encoding == UTF_8 else "replace"
            text = io.TextIOWrapper(file, encoding, errors)
            for number, one in enumerate(form.games(iter(lambda: text.readline(_PIECE), "")), 1):
                yield _read_one(one, form, f"{path}, game {number}")
                progress(file.tell())
    except AzcoreError:
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise GameFileError(f"{path}: could not read transcripts: {why}") from error
    if number == 0:
        yield TranscriptError(f"{path} holds no game", "no game in the file")


def _read_one(text: str, form: TranscriptFormat, where: str) -> Transcript | TranscriptError:
    """The game in a text where bytes that are not UTF-8 are escaped."""
    if len(text) > LONGEST_GAME:
        return TranscriptError(
            f"{where}: a game must have at most {LONGEST_GAME:,} characters", "too long"
        )
    first: InvalidTextError | None = None
    for each, is_guess in _readings(text, form):
        try:
            found = form.read(each)
        except InvalidTextError as error:
            first = first or error
        else:
            return replace(found, ignored=[*found.ignored, *[GUESSED] * is_guess])
    assert first is not None
    reason, before = "not readable", None
    if isinstance(first, TranscriptError):
        reason, before = first.reason, first.before
    return TranscriptError(f"{where}: {first}", reason, before)


def _encoding_of(head: bytes, form: TranscriptFormat) -> str:
    """The encoding of a file, from its byte order mark or declaration; UTF-8 by default."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head[:2]:  # a sign of UTF-16 without a mark
        return "utf-16-be" if head[0] == 0 else "utf-16-le"
    return form.declared(head) or UTF_8


def _readings(text: str, form: TranscriptFormat) -> Iterator[tuple[str, bool]]:
    """The text in each possible encoding, without those that yield control characters.

    With each, whether it is a guess: neither UTF-8 nor the format's usual encoding.
    """
    try:
        text.encode()
        yield text, False
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogateescape")
        for encoding in form.encodings:
            with suppress(UnicodeDecodeError):
                decoded = data.decode(encoding)
                if _CONTROLS.search(decoded) is None:
                    yield decoded, encoding != form.encodings[0]
        yield data.decode(form.encodings[0], "replace"), True


def write_transcripts(
    folder: Path,
    game: Game,
    games: Iterable[PlayedGame],
    format_name: str | None,
    players: tuple[str, str],
    *,
    headers: Mapping[str, str] | None = None,
    first_number: int = 0,
    opening: str = OPENING,
) -> list[Path]:
    """Write the games of a match as files `000000.sgf` and so on, in the given order.

    Args:
        folder: created if needed; files of these names are replaced.
        games: each played to its end.
        format_name: such as `sgf`; None: the game's default format.
        players: names of the match's first and second player, whatever their seats.
        headers: event, site and date of all games; see `azcore.game.transcript.HEADERS`.
        opening: the comment of each action that belongs to the opening.

    Raises:
        GameError: the game has no such format.
        GameFileError: writing fails.

    Returns:
        The files.
    """
    form = format_named(game, format_name)
    paths = []
    for number, played in enumerate(games, first_number):
        path = folder / file_name(number, form)
        names = players if played.first_seat == 0 else (players[1], players[0])
        write_transcript(
            path,
            form,
            Transcript(
                actions=played.actions,
                comments=[opening] * played.opening_plies,
                players=names,
                result=_result_of(played, form),
                headers=headers or {},
                start_text=played.start,
            ),
        )
        paths.append(path)
    return paths


def _result_of(played: PlayedGame, form: TranscriptFormat) -> str | None:
    """The result of a game that did not end by its rules, else None."""
    if played.forfeit is None and played.adjudicated is None:
        return None
    return form.draw if played.outcome == 0 else form.resignation(played.loser)


def conceded(form: TranscriptFormat, seat: int, to_move: int) -> str | None:
    """The result of a game that a seat has resigned, whoever was to move.

    None, as for a game that is not over, if the format can express it only for the player to move
    and that is the other one.
    """
    words = form.resignation(seat)
    names_the_seat = words != form.resignation(1 - seat)
    return words if names_the_seat or seat == to_move else None


def file_name(number: int, form: TranscriptFormat) -> str:
    """`000012.sgf`."""
    return f"{number:06}{form.suffix}"


def transcript_of(game: Game, record: GameRecord, form: TranscriptFormat) -> Transcript:
    """The transcript of a finished self-play game, with search results as comments on the moves."""
    name = f"azcore, step {record.weights_version}"
    resigned = record.resigned_by
    result = form.draw if record.agreed else None
    if resigned is not None:
        state = StartStates(game).of(record.start)
        for action in record.actions.tolist():
            state = game.step(state, action)
        result = conceded(form, resigned, game.current_player(state))
    if not len(record.visit_actions) and not record.root_values.any():  # it was not searched
        return Transcript(actions=record.actions.tolist(), result=result)
    return Transcript(
        actions=record.actions.tolist(),
        comments=_comments(game, record),
        players=(name, name),
        result=result,
        headers={"event": f"self-play, seed {record.seed}, game {record.game_index}"},
        start_text=record.start,
    )


def _comments(game: Game, record: GameRecord) -> list[str]:
    comments = []
    shares = record.counts != "visits"  # also for old records, which may hold either
    state = StartStates(game).of(record.start)
    for ply, action in enumerate(record.actions.tolist()):
        if ply < record.opening_plies:
            comments.append(OPENING)
        else:
            part = slice(int(record.visit_offsets[ply]), int(record.visit_offsets[ply + 1]))
            actions, counts = record.visit_actions[part], record.visit_counts[part].astype(int)
            total = int(counts.sum())
            if shares:
                counts = np.rint(100 * counts / max(1, total)).astype(int)
            order = np.lexsort((actions, -counts))[:TOP]
            remark = Remark(
                value=float(record.root_values[ply]),
                visits=None if shares or not total else total,
                played=int(counts[actions == action].sum()) if total else None,
                top=tuple(
                    (game.action_to_notation(state, int(actions[i])), int(counts[i])) for i in order
                ),
                shares=shares,
            )
            comments.append(write_remark(remark))
        state = game.step(state, action)
    return comments
