"""`what=games`: game records of a run as SGF, PGN or another format of the game."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from azcore.assembly.parts import Config
from azcore.assembly.pretrained import in_place_of_story
from azcore.commands.export.settings import ExportedGames, ExportedPicture, GenerationExport
from azcore.commands.result import write_result
from azcore.errors import GameFileError
from azcore.game import Game, TranscriptFormat
from azcore.game.registry import received
from azcore.settings import require
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, parse_frame
from azcore.storage.referee import Referee
from azcore.storage.run_directory import RunDirectory
from azcore.storage.transcripts import file_name, format_named, transcript_of, write_transcript
from azcore.storage.untrusted import require_no_link, require_no_links


def export_games(config: Config, settings: ExportedGames) -> int:
    """Write the games that the settings select, and print where; 0."""
    require(config["out"] is None, "out", "null for games: use export.out", config["out"])
    require(config["checkpoint"] is None, "checkpoint", "null for games", config["checkpoint"])
    wanted = "a run directory or a file of game records"
    require(settings.games is not None, "export.games", wanted, settings.games)
    records = _game_file(Path(str(settings.games)))
    written = 0
    folder = None
    numbers: set[int] = set()
    for game, record in _games(records, settings.first, settings.count):
        form = format_named(game, settings.format)
        if record.game_index in numbers:
            raise GameFileError(
                f"{records.path}: each game must have its own number, got two with "
                f"{record.game_index}: the file mixes games of several runs"
            )
        numbers.add(record.game_index)
        if folder is None and not settings.out:
            require_no_link(beside(records.path, form))
            require_no_links(beside(records.path, form))
        folder = Path(settings.out) if settings.out else beside(records.path, form)
        write_game(folder, game, record, form)
        written += 1
    total = f"{written} game" + ("s" if written != 1 else "")
    print(f"{total} written to {folder}")
    write_result(config, games=written, folder=folder)
    return 0


def write_games_of_generation(
    records: Path, game: Game, games: Iterable[GameRecord], settings: GenerationExport
) -> None:
    """Write the first games of a generation next to the records; idempotent."""
    form = format_named(game, settings.format)
    for record in islice(games, settings.per_generation):
        write_game(beside(records, form), game, record, form)


def write_game(folder: Path, game: Game, record: GameRecord, form: TranscriptFormat) -> None:
    """Write one file, named after the number of the game in its run."""
    path = folder / file_name(record.game_index, form)
    write_transcript(path, form, transcript_of(game, record, form))


def beside(records: Path, form: TranscriptFormat) -> Path:
    """The default folder for transcripts."""
    return records.parent / form.suffix.removeprefix(".")


def record_of(settings: ExportedPicture) -> tuple[Game, GameRecord]:
    """The game in the settings, as a record."""
    return next(_games(_game_file(Path(str(settings.games))), settings.first, 1))


def _game_file(path: Path) -> GameFile:
    """The records in `export.games`."""
    path = Path(in_place_of_story(str(path)))
    if (path / "games").is_dir() or (path / "config.yaml").is_file():
        path = RunDirectory(path).records
    if not path.is_file():
        raise GameFileError(
            f"export.games must be a run directory or a file of game records, got {path}"
        )
    return GameFile(path)


def _games(records: GameFile, first: int, count: int | None) -> Iterator[tuple[Game, GameRecord]]:
    """The requested games, each record with its game; only one at a time is in memory."""
    referee: Referee | None = None
    end = None if count is None else first + count
    found = 0
    for offset, frame in islice(records.frames(), end):
        found += 1
        if found <= first:
            continue
        where = f"{records.path}, byte {offset}"
        record = parse_frame(frame, where)
        if referee is None or referee.game.identity != record.game:
            referee = Referee(received(record.game["name"], record.game["settings"]))
        referee.check(record, where)
        yield referee.game, record
    require(
        found > first,
        "export.first",
        f"below the number of games in {records.path}, {found}",
        first,
    )
