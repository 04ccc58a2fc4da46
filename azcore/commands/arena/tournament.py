"""`command=arena`: matches between any players, and the resulting rating list.

Every pairing is a match of `azcore.arena.match`; `azcore.arena.elo.rating_list` rates all matches
together. The command prints the results and saves them in a folder:

    ratings.csv   the list             matches.csv   one row per pairing
    ratings.png   the list as a plot   games.csv     every game, move by move

After Ctrl-C, it rates the matches played so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from azcore import interrupts
from azcore.arena.elo import rating_list
from azcore.arena.match import (
    ArenaSettings,
    MatchResult,
    derived_seed,
    play_match,
    random_openings,
)
from azcore.arena.players import Player
from azcore.arena.spread import play_in_parts
from azcore.assembly.entrants import entrants_of, players_of, two_at_least
from azcore.assembly.parts import Config, MatchSettings, settings_from
from azcore.commands.arena.files import draw_ratings, write_games, write_matches, write_ratings
from azcore.commands.arena.printed import plural, print_tournament
from azcore.commands.arena.spread import EntrantsPart, workplaces_of
from azcore.commands.arena.standings import standings_of
from azcore.commands.console import table_console
from azcore.errors import SettingError
from azcore.game import Book, Game, Tablebase
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.jobs import Workplaces
from azcore.settings import build, require
from azcore.storage.books import read_book
from azcore.storage.run_directory import RUNS, dated
from azcore.storage.starts import Starts
from azcore.storage.transcripts import OPENING, format_named, write_transcripts

SECONDS_A_LINE = 60.0  # between two lines about a match, where they are all there is

# Plays a match of two players with a seed, and tells how many of its games have ended.
PlayMatch = Callable[[Player, Player, int, Callable[[int], None]], MatchResult]


def tournament(config: Config) -> int:
    """Play the matches, print and save the results; 0, or 130 when interrupted.

    Raises:
        AzcoreError: a setting or a player cannot be used; nothing was written.
    """
    texts, gauntlet = wanted_players(config, "arena"), config["players"] is None
    backend = build(BackendSettings, config["backend"], "backend")
    settings = settings_from(config, MatchSettings)
    arena, game = settings.arena, settings.game
    entrants = entrants_of(texts, settings.programs)
    players = two_at_least(players_of(settings, entrants))
    gauntlet = gauntlet or arena.format == "gauntlet"
    names = [player.name for player in players]
    anchors = anchors_of(arena, names)
    require_two_for_sprt(arena, names)
    # Checked before files are made.
    starts = settings.arena_starts()
    book, tablebase = known_of(arena, game)
    random_openings(game, 1, arena.opening_plies, settings.seed, starts, book)
    require_positions(players, starts)
    if arena.export is not None:
        form = format_named(game, arena.export)
        if starts is not None:
            starts.require_transcripts(form)
    console = table_console()
    pairings = [pair for pair in combinations(players, 2) if not gauntlet or pair[0] is players[0]]
    ends = (starts, book, tablebase)
    with ExitStack() as stack:
        workplaces = None
        if backend.name != "inline":
            workplaces = workplaces_of(settings, backend, entrants, console.print)
            stack.callback(workplaces.close)
        folder = _new_folder(config["arena_dir"], game.name)
        play = _player_of_matches(settings, ends, players, workplaces)
        results, interrupted = _play_all(settings, pairings, ends, play, folder, console)
    if results:
        anchors = anchors_met(anchors, results)
        rated = rating_list([result.distinct for result in results], anchors)
        standings = standings_of(results, rated, arena.teaching_k)
        write_ratings(folder / "ratings.csv", standings)
        write_matches(folder / "matches.csv", results, rated, settings.sprt if arena.sprt else None)
        print_tournament(console, settings, results, rated, standings, anchors)
        console.print(escape(draw_ratings(folder / "ratings.png", standings)))
        console.print(f"written to {escape(str(folder))}")
    if interrupted:
        played = f"after {len(results)} of {len(pairings)} matches"
        console.print(f"interrupted {played}" if results else "interrupted: no match is over")
    return interrupts.STATUS if interrupted else 0


def wanted_players(config: Mapping[str, Any], command: str) -> list[str]:
    """The texts of `players`, or `checkpoint` and the players that every checkpoint should beat.

    Args:
        config: that may hold them.
        command: for errors.

    Raises:
        SettingError: neither is given.
    """
    players, checkpoint = config.get("players"), config["checkpoint"]
    if players is None:
        if checkpoint is None:
            raise SettingError(
                f"command={command} needs players=[...], such as "
                "players=[RUN,random,search:64], or checkpoint=PATH, such as a run's "
                "checkpoints/last.ckpt"
            )
        return [str(checkpoint), "random", "search"]
    if checkpoint is not None:
        raise SettingError(f"command={command} takes players or checkpoint, got both")
    return [str(text) for text in (players if isinstance(players, list) else [players])]


def require_positions(players: Sequence[Player], starts: Starts | None) -> None:
    """Refuse starts that are positions where a player has no words for them.

    Raises:
        SettingError: naming the player and the position.
    """
    if starts is not None and (place := starts.set_up()):
        for player in players:
            if not player.takes_positions:
                raise SettingError(
                    f"arena.starts must be games from the initial position for {player.name}, "
                    f"whose protocol has no words for a position to begin from, got {place}"
                )


def known_of(arena: ArenaSettings, game: Game) -> tuple[Book | None, Tablebase | None]:
    """The book and the tablebase that settings name.

    Raises:
        AzcoreError: one of them cannot be used.
    """
    book = tablebase = None
    if arena.book is not None:
        require(arena.opening_plies > 0, "arena.opening_plies", "1 or more with arena.book", 0)
        book = read_book(game, arena.book, "arena.book", plies=arena.opening_plies)
    if arena.tablebase is not None:
        tablebase = game.tablebase(arena.tablebase)
        wanted = f"null for {game.name}, which knows no tablebases"
        require(tablebase is not None, "arena.tablebase", wanted, arena.tablebase)
    return book, tablebase


def require_two_for_sprt(arena: ArenaSettings, names: Sequence[str]) -> None:
    """Refuse a sequential test of several players.

    Raises:
        SettingError: naming them.
    """
    if arena.sprt and len(names) != 2:
        raise SettingError(
            f"arena.sprt is a test between two players, got {len(names)}: {', '.join(names)}"
        )


def anchors_of(arena: ArenaSettings, names: Sequence[str]) -> dict[str, float]:
    """The players with a given rating, and their ratings.

    Raises:
        SettingError: a setting names somebody else.
    """
    ratings = arena.anchors or {}
    for name in ratings:
        require(name in names, "arena.anchors", f"ratings of players ({', '.join(names)})", name)
    return dict(ratings) or _default_anchor(names)


def anchors_met(anchors: Mapping[str, float], results: Sequence[MatchResult]) -> dict[str, float]:
    """The anchors that have played; the default one of those who have, where none has yet."""
    met = [name for result in results for name in (result.first, result.second)]
    return {name: anchors[name] for name in anchors if name in met} or _default_anchor(met)


def _default_anchor(names: Sequence[str]) -> dict[str, float]:
    return {"random" if "random" in names else names[0]: 0.0}


def _new_folder(arena_dir: str | None, game: str) -> Path:
    """Create the folder for the results.

    Raises:
        SettingError: it holds a rating list, or cannot be written to.
    """
    path = Path(arena_dir) if arena_dir else dated(RUNS / "arena" / game)
    kept = path / "matches.csv"
    if kept.exists() and kept.stat().st_size:
        raise SettingError(f"arena_dir {path} already holds matches: name another folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name in ("matches.csv", "games.csv"):
            (path / name).touch()
    except OSError as error:
        raise SettingError(f"arena_dir {path} cannot be written to: {error.strerror}") from error
    return path


def _play_all(
    settings: MatchSettings,
    pairings: Sequence[tuple[Player, Player]],
    ends: tuple[Starts | None, Book | None, Tablebase | None],
    play: PlayMatch,
    folder: Path,
    console: Console,
) -> tuple[list[MatchResult], bool]:
    """The finished matches, and whether Ctrl-C prevented the others.

    Args:
        settings: of the matches.
        pairings: who meets whom.
        ends: where games begin, the book of their openings, and what knows how they end.
        play: plays a match.
        folder: for the results.
        console: to print on.
    """
    arena, (starts, book, tablebase) = settings.arena, ends
    sprt = settings.sprt if arena.sprt else None
    results: list[MatchResult] = []
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    console.print(
        f"{len(pairings)} {plural(len(pairings), 'match', 'matches')} of {arena.games} games, "
        f"{arena.num_simulations} simulations a move unless a player says otherwise"
        + (f", from {starts.in_words()}" if starts else "")
        + (f", openings of {escape(str(arena.book))}" if book else "")
        + (f", ended by {escape(str(arena.tablebase))}" if tablebase else "")
    )
    games_written = 0
    try:
        with bar:
            task = bar.add_task("", total=arena.games * len(pairings))
            for number, (first, second) in enumerate(pairings):
                before = arena.games * number
                title = escape(f"{first.name} – {second.name}")
                bar.update(task, description=title)
                began = time.perf_counter()
                seed = derived_seed(settings.seed, number)
                result = play(first, second, seed, _counter(bar, task, before, title, arena.games))
                results.append(result)
                write_matches(folder / "matches.csv", results, None, sprt)
                write_games(folder / "games.csv", settings.game, [result], first=number + 1)
                if arena.export is not None:
                    write_transcripts(
                        folder / "games",
                        settings.game,
                        result.games,
                        arena.export,
                        (first.name, second.name),
                        headers={"event": f"match {number + 1}"},
                        first_number=games_written,
                        opening=OPENING if book is None else "from the book",
                    )
                games_written += len(result.games)
                console.print(
                    f"{title}: {result.score:.1%} of the points in {len(result.games)} games "
                    f"({result.wins} won, {result.draws} drawn, {result.losses} lost), "
                    f"{time.perf_counter() - began:.0f} s"
                )
    except KeyboardInterrupt:
        return results, True
    return results, False


def _player_of_matches(
    settings: MatchSettings,
    ends: tuple[Starts | None, Book | None, Tablebase | None],
    players: Sequence[Player],
    workplaces: Workplaces | None,
) -> PlayMatch:
    """What plays the matches.

    Args:
        settings: of the matches.
        ends: see `_play_all`.
        players: all of them.
        workplaces: where to play; None: in this process.
    """
    arena, (starts, book, tablebase) = settings.arena, ends
    given: dict[str, Any] = {
        "num_games": arena.games,
        "opening_plies": arena.opening_plies,
        "sprt": settings.sprt if arena.sprt else None,
        "starts": starts,
        "book": book,
    }

    def play_here(
        first: Player, second: Player, seed: int, progress: Callable[[int], None]
    ) -> MatchResult:
        try:
            return play_match(
                settings.game,
                first,
                second,
                seed=seed,
                progress=progress,
                tablebase=tablebase,
                **given,
            )
        finally:
            for player in (first, second):
                player.end()

    def play_there(
        first: Player, second: Player, seed: int, progress: Callable[[int], None]
    ) -> MatchResult:
        assert workplaces is not None
        pair = players.index(first), players.index(second)
        return play_in_parts(
            workplaces,
            settings.game,
            (first.name, second.name),
            lambda openings, seed: EntrantsPart(players=pair, openings=openings, seed=seed),
            seed=seed,
            progress=lambda done, plies: progress(done),
            **given,
        ).result

    return play_here if workplaces is None else play_there


def _counter(
    bar: Progress, task: Any, before: int, title: str, games: int
) -> Callable[[int], None]:
    """What is told how many games of a match have ended: moves the bar.

    Where the output is no terminal and there is no bar, such as in a log, a line a minute.
    """
    told = time.monotonic()

    def count(done: int) -> None:
        nonlocal told
        bar.update(task, completed=before + done)
        if (
            not bar.console.is_terminal
            and time.monotonic() - told >= SECONDS_A_LINE
            and done < games
        ):
            told = time.monotonic()
            bar.console.print(f"{title}: {done:,} of {games:,} games")

    return count
