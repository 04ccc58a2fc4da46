"""`command=puzzles`: measures how many positions of a file each player solves, with an interval."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.markup import escape

from azcore import interrupts
from azcore.arena.elo import score_interval
from azcore.arena.match import derived_seed
from azcore.arena.players import Player
from azcore.assembly.entrants import players_named
from azcore.assembly.parts import Config, MatchSettings, settings_from
from azcore.chance import Purpose, generator
from azcore.commands.arena.tournament import wanted_players
from azcore.commands.console import plain_table, table_console
from azcore.commands.result import write_result
from azcore.errors import GameFileError, SettingError, os_errors_as
from azcore.game import Game
from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, Checked, build, or_null, require
from azcore.storage.puzzles import Puzzle, read_puzzles

RESULTS = ("player", "solved", "of", "low", "high")  # of the table that `out` names
AT_ONCE = 64  # puzzles searched together, so that batches are full


@dataclass(frozen=True, kw_only=True)
class PuzzleSettings(Checked, group="puzzles"):
    """Which puzzles; the comments are in `conf/puzzles`."""

    files: Annotated[tuple[str, ...], (bool, "files of positions with `bm` or `am`")]
    count: Annotated[int | None, or_null(ONE_OR_MORE)]
    show: Annotated[int, NOT_NEGATIVE]


def puzzles(config: Config) -> int:
    """Let each player choose a move in each position, and print the shares; 0, or 130."""
    options = build(PuzzleSettings, config["puzzles"], "puzzles")
    settings = settings_from(config, MatchSettings)
    game = settings.game
    every, left_out = list[Puzzle](), list[GameFileError]()
    for file in options.files:
        for puzzle in read_puzzles(Path(file), game):
            if isinstance(puzzle, GameFileError):
                left_out.append(puzzle)
            else:
                every.append(puzzle)
    if left_out and not every:
        raise left_out[0]
    require(bool(every), "puzzles.files", "files that hold puzzles", list(options.files))
    if options.count is not None and options.count < len(every):
        order = generator(Purpose.START, settings.seed, 0).permutation(len(every))
        every = [every[int(i)] for i in sorted(order[: options.count])]
    players = players_named(settings, wanted_players(config, "puzzles"))
    for player in players:
        if not player.takes_positions:
            raise SettingError(f"{player.name}: its protocol cannot set up a position")
    out = None if config["out"] is None else Path(config["out"])
    if out is not None and out.exists():
        raise SettingError(f"out={out} already exists; choose another file")
    console = table_console()
    rows: list[tuple[str, int, int, float, float]] = []
    table = plain_table("player", numbers=("solved", "of", "share", "95 % interval"))
    wrong: list[tuple[Puzzle, int]] = []
    played = ""
    try:
        for player in players:
            wrong, played = _unsolved(player, every, settings.seed, console), player.name
            solved = len(every) - len(wrong)
            low, high = score_interval(solved, 0, len(wrong))
            rows.append((player.name, solved, len(every), round(low, 4), round(high, 4)))
            table.add_row(
                escape(player.name),
                f"{solved:,}",
                f"{len(every):,}",
                f"{solved / len(every):.1%}",
                f"{low:.1%} to {high:.1%}",
            )
    except KeyboardInterrupt:
        console.print(table)
        return interrupts.STATUS
    console.print(
        f"{settings.arena.num_simulations} simulations a move unless a player sets another number"
    )
    console.print(table)
    if left_out:
        console.print(f"{len(left_out):,} lines left out: {escape(str(left_out[0]))}")
    _show(console, game, played, wrong[: options.show])
    if out is not None:
        _write(out, rows)
        console.print(f"written to {escape(str(out))}")
    write_result(config, players=[dict(zip(RESULTS, row, strict=True)) for row in rows])
    return 0


def _write(out: Path, rows: Sequence[tuple[str, int, int, float, float]]) -> None:
    with os_errors_as(SettingError, f"out={out} cannot be written"):
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("w", newline="") as file:
            csv.writer(file).writerows([RESULTS, *rows])


def _unsolved(
    player: Player, puzzles: Sequence[Puzzle], seed: int, console: Console
) -> list[tuple[Puzzle, int]]:
    """The puzzles that a player fails, and its moves there; -1: no choice."""
    wrong: list[tuple[Puzzle, int]] = []
    with console.status("") as status:
        for at in range(0, len(puzzles), AT_ONCE):
            status.update(
                f"{escape(player.name)}: {at:,} of {len(puzzles):,}, {len(wrong):,} wrong"
            )
            some = puzzles[at : at + AT_ONCE]
            player.begin(len(some), derived_seed(seed, at))
            for row, puzzle in enumerate(some):
                player.start(row, puzzle.state)
            chosen = player.choose(list(range(len(some))))
            for puzzle, choice in zip(some, chosen, strict=True):
                action = choice if isinstance(choice, int) else -1
                if action not in puzzle.solutions:
                    wrong.append((puzzle, action))
    player.end()
    return wrong


def _show(console: Console, game: Game, player: str, wrong: Sequence[tuple[Puzzle, int]]) -> None:
    for puzzle, action in wrong:
        right = sorted(game.action_to_text(puzzle.state, each) for each in puzzle.solutions)
        played = "nothing" if action < 0 else game.action_to_text(puzzle.state, action)
        console.print(
            escape(
                f"unsolved by {player}: {puzzle.text}: played {played}, not "
                f"{' or '.join(right[:6])}{' ...' if len(right) > 6 else ''} ({puzzle.name})"
            )
        )
