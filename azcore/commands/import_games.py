"""`command=import`: converts transcripts of games by others to one file of records to learn from.

    python -m azcore command=import games=[*.sgf] out=experts.azg
    python -m azcore algorithm=supervised supervised.games=[experts.azg]

It reads, replays and writes each game before the next, so memory does not grow with their number.
It skips unusable games and counts them by reason.
"""

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from azcore.commands.console import table_console
from azcore.commands.result import write_result
from azcore.errors import GameFileError, SettingError, TranscriptError
from azcore.game import Game, Transcript
from azcore.game.registry import make
from azcore.settings import ONE_OR_MORE, Checked, build, require
from azcore.storage.game_file import new_game_file
from azcore.storage.imported_records import RecordMaker
from azcore.storage.transcripts import (
    format_named,
    format_of_path,
    formats_by_suffix,
    read_games,
)

MOST_REASONS = 25  # counted separately; the number of reasons must stay bounded
REST = "other reasons"


@dataclass(frozen=True, kw_only=True)
class ImportSettings(Checked, group="import"):
    """Which games to take; the comments are in `conf/import`."""

    min_plies: Annotated[int, ONE_OR_MORE]
    min_rating: float | None
    other_rules: bool
    off_the_board: bool

    def require_wanted(self, transcript: Transcript) -> None:
        """Refuse a game that these settings exclude."""
        plies, lowest = len(transcript.actions), self.min_rating
        if plies < self.min_plies:
            raise TranscriptError(
                f"it must have {self.min_plies} plies, got {plies}",
                f"fewer than {self.min_plies} plies",
            )
        if transcript.other_rules and not self.other_rules:
            raise TranscriptError(
                f"it must have the game's own rules, got {transcript.other_rules}",
                f"other rules: {transcript.other_rules}",
            )
        if transcript.off_the_board and not self.off_the_board:
            raise TranscriptError(
                f"it must be decided on the board, not by {transcript.off_the_board}",
                f"decided by {transcript.off_the_board}",
            )
        if lowest is not None:
            known = [rating for rating in transcript.ratings if rating is not None]
            if len(known) < 2:
                raise TranscriptError("it must have the ratings of both players", "no rating")
            if min(known) < lowest:
                raise TranscriptError(
                    f"its players must be rated {lowest:g} or more, got {min(known):g}",
                    f"rated below {lowest:g}",
                )


@dataclass
class Tally:
    """How many games were taken, and how many skipped for each reason."""

    games: int = 0
    positions: int = 0
    left_out: dict[str, int] = field(default_factory=dict)  # counts by reason
    first: dict[str, str] = field(default_factory=dict)  # the first of each, in a sentence
    ignored: Counter[str] = field(default_factory=Counter)  # games by oddities besides the moves

    def leave_out(self, error: TranscriptError, where: str = "") -> None:
        reason = error.reason
        if reason not in self.left_out and len(self.left_out) >= MOST_REASONS:
            reason = REST
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.first.setdefault(reason, f"{where}{error}")

    @property
    def read(self) -> int:
        return self.games + sum(self.left_out.values())

    def table(self) -> Table:
        """The reasons, the most frequent first."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("left out")
        table.add_column("games", justify="right", no_wrap=True)
        table.add_column("such as", overflow="fold")
        for reason, count in sorted(self.left_out.items(), key=lambda item: -item[1]):
            table.add_row(_shown(reason), f"{count:,}", _shown(self.first[reason]))
        return table


def import_games(config: Mapping[str, Any]) -> int:
    """Write `out` from the transcripts in `games`, and print what was skipped; 0.

    Raises:
        AzcoreError: settings or files cannot be used, or no game can; then nothing is written.
    """
    settings = build(ImportSettings, config["import"], "import")
    out = config["out"]
    require(
        isinstance(out, str) and Path(out).suffix == ".azg",
        "out",
        "the file of game records to write, such as experts.azg",
        out,
    )
    game = make(**config["game"])
    paths = files_of(config["games"], game)
    console, tally = table_console(), Tally()
    bar = Progress(
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} bytes"),
        BarColumn(),
        TextColumn("{task.fields[games]:,} games, {task.fields[left_out]:,} left out"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar, new_game_file(Path(out)) as write:
        task = bar.add_task("", total=sum(_size(path) for path in paths), games=0, left_out=0)
        maker, before = RecordMaker(game), 0
        for path in paths:

            def show(read: int, before: int = before) -> None:
                taken, left_out = tally.games, tally.read - tally.games
                bar.update(task, completed=before + read, games=taken, left_out=left_out)

            _take(path, maker, settings, tally, write, show)
            before += _size(path)
        bar.stop()
        if tally.games == 0:
            console.print(tally.table())
            raise GameFileError(
                f"none of {tally.read:,} games can be used, so {out} was not written"
            )
    _conclude(console.print, tally, out, len(paths))
    write_result(
        config,
        file=out,
        games=tally.games,
        positions=tally.positions,
        read=tally.read,
        left_out=tally.left_out,
        ignored=dict(tally.ignored),
    )
    return 0


def files_of(patterns: Any, game: Game) -> list[Path]:
    """The transcripts of a game that files, folders and patterns name, each once.

    Raises:
        SettingError: one of them names none.
        GameError: the game has no format of transcripts.
    """
    patterns = [patterns] if isinstance(patterns, str) else patterns
    require(
        isinstance(patterns, list) and bool(patterns) and all(isinstance(p, str) for p in patterns),
        "games",
        "transcripts, folders of them or patterns, such as [*.sgf]",
        patterns,
    )
    format_named(game, None)
    suffixes = formats_by_suffix(game)
    found: dict[Path, Path] = {}
    for pattern in patterns:
        matches = [pattern] if Path(pattern).exists() else glob.glob(pattern, recursive=True)
        inside = [path for match in sorted(matches) for path in _files(Path(match))]
        files = [path for path in inside if path.suffix.lower() in suffixes]
        if not files:
            raise SettingError(
                f"games: {pattern} must name files of {game.name} that end in "
                f"{', '.join(suffixes)}, got {'others' if inside else 'none'}"
            )
        found |= {path.resolve(): found.get(path.resolve(), path) for path in files}
    return list(found.values())


def _files(path: Path) -> Iterable[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # deleted meanwhile; the reader reports it
        return 0


def _take(
    path: Path,
    maker: RecordMaker,
    settings: ImportSettings,
    tally: Tally,
    write: Callable[[Any], None],
    show: Callable[[int], None],
) -> None:
    """Write the records of one file's games."""
    form = format_of_path(maker.game, path, by_others=True)
    try:
        for number, transcript in enumerate(read_games(path, form, show), 1):
            if isinstance(transcript, TranscriptError):
                tally.leave_out(transcript)
                continue
            try:
                if maker.may_begin(transcript):
                    settings.require_wanted(transcript)
                record = maker.record(transcript, form, tally.games)
            except TranscriptError as error:
                tally.leave_out(error, f"{path}, game {number}: ")
                continue
            write(record)
            tally.games += 1
            tally.positions += len(record)
            tally.ignored.update(transcript.ignored)
    except GameFileError as error:
        tally.leave_out(TranscriptError(str(error), "a file that cannot be read"))


def _conclude(say: Callable[..., None], tally: Tally, out: str, files: int) -> None:
    left_out = tally.read - tally.games
    say(
        _shown(
            f"{out}: {tally.games:,} games with {tally.positions:,} positions, of {tally.read:,} "
            f"games in {files:,} {'file' if files == 1 else 'files'}"
        ),
        soft_wrap=True,
    )
    if left_out:
        say(tally.table())
    if tally.ignored:
        kinds = ", ".join(f"{kind} ({games:,})" for kind, games in tally.ignored.most_common())
        say(f"ignored in the games taken: {kinds}", soft_wrap=True)


def _shown(text: str) -> Text:
    """An untrusted text, with terminal control characters escaped."""
    return Text("".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text))
