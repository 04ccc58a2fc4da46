"""A tournament: matches between any players, and the resulting rating list.

Every pairing is a match of `azcore.arena.match`; `azcore.arena.elo.rating_list` rates all matches
together. It prints the results and saves them in a folder:

    ratings.csv   the list             matches.csv   one row per pairing
    ratings.png   the list as a plot   games.csv     every game, move by move

After Ctrl-C it rates the matches played so far; the same command in the same folder plays the rest.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from azcore import interrupts
from azcore.arena.elo import rating_list
from azcore.arena.match import FORMATS, ArenaSettings, MatchResult, derived_seed, random_openings
from azcore.arena.players import Player
from azcore.assembly.entrants import entrants_of, identity_of, players_of, two_at_least
from azcore.assembly.parts import Config, MatchSettings, settings_from
from azcore.commands.arena.files import MatchFiles, draw_ratings, write_ratings
from azcore.commands.arena.matches import (
    Circumstances,
    Pairing,
    match_of,
    play_all,
    player_of_matches,
)
from azcore.commands.arena.printed import plural, print_tournament
from azcore.commands.arena.standings import standings_of
from azcore.commands.console import table_console
from azcore.commands.result import write_result
from azcore.errors import SettingError, os_errors_as
from azcore.game import Book, Game, Tablebase
from azcore.selfplay.backend import BackendSettings
from azcore.settings import build, require
from azcore.storage.books import read_book
from azcore.storage.run_directory import RUNS, dated, locked
from azcore.storage.starts import Starts
from azcore.storage.transcripts import OPENING, format_named, write_transcripts
from azcore.storage.untrusted import require_no_links


def tournament(config: Config) -> int:
    """Play the matches, and print and save the results. Returns 0, or 130 after an interrupt.

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
    conditions = _conditions(settings)
    identities = [identity_of(entrant, settings.programs) for entrant in entrants]
    pairs = [pair for pair in combinations(range(len(players)), 2) if not gauntlet or not pair[0]]
    pairings = [
        Pairing(
            players=pair,
            seed=derived_seed(settings.seed, number),
            match=match_of(conditions, *((names[each], identities[each]) for each in pair)),
        )
        for number, pair in enumerate(pairs)
    ]
    console = table_console()
    circumstances = Circumstances(starts, book, tablebase)
    with ExitStack() as stack:
        play = stack.enter_context(
            player_of_matches(settings, backend, entrants, players, circumstances, console.print)
        )
        run_dir = config["run_dir"]
        folder = Path(run_dir) if run_dir else dated(RUNS / "arena" / game.name)
        files = MatchFiles(folder, game)
        files.require_matches_of({pairing.match for pairing in pairings})
        with os_errors_as(SettingError, f"run_dir {folder} cannot be written to"):
            folder.mkdir(parents=True, exist_ok=True)
            require_no_links(folder)
            stack.enter_context(locked(folder))
        _print_what(console, settings, len(pairings), circumstances)
        shown = _Shown(settings, files, circumstances, console)
        results, interrupted = play_all(
            settings, players, pairings, play, files, console, shown.match
        )
    if results:
        played = list(results.values())
        anchors = anchors_met(anchors, played)
        rated = rating_list([result.distinct for result in played], anchors)
        standings = standings_of(played, rated, arena.teaching_k)
        write_ratings(folder / "ratings.csv", standings)
        files.write(results, rated, settings.early_stop)
        print_tournament(console, settings, played, rated, standings, anchors)
        console.print(escape(draw_ratings(folder / "ratings.png", standings)))
        console.print(f"written to {escape(str(folder))}")
        write_result(config, folder=folder, ratings=[asdict(each) for each in standings])
    if interrupted:
        number = f"after {len(results)} of {len(pairings)} matches"
        console.print(
            f"interrupted {number}" if results else "interrupted before the first match ended"
        )
    return interrupts.STATUS if interrupted else 0


def _conditions(settings: MatchSettings) -> tuple[object, ...]:
    """The conditions that determine the matches, besides their players."""
    of_matches = replace(
        settings.arena, anchors=None, export=None, teaching_k=None, format=FORMATS[0]
    )
    return (
        settings.game.identity,
        of_matches,
        settings.early_stop,
        settings.search,
        settings.evaluation.random_symmetry,
        settings.seed,
    )


def wanted_players(config: Mapping[str, Any], command: str) -> list[str]:
    """The texts of `players`, or `checkpoint` and its default opponents."""
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
    """Refuse starts that are positions if a player's protocol cannot set them up."""
    if starts is not None and (place := starts.set_up()):
        for player in players:
            if not player.takes_positions:
                raise SettingError(
                    f"arena.starts must be games from the initial position for {player.name}, "
                    f"whose protocol cannot set up a position, got {place}"
                )


def known_of(arena: ArenaSettings, game: Game) -> tuple[Book | None, Tablebase | None]:
    """The book and tablebase in the settings."""
    book = tablebase = None
    if arena.book is not None:
        require(arena.opening_plies > 0, "arena.opening_plies", "1 or more with arena.book", 0)
        book = read_book(game, arena.book, "arena.book", plies=arena.opening_plies)
    if arena.tablebase is not None:
        tablebase = game.tablebase(arena.tablebase)
        wanted = f"null for {game.name}, which has no tablebases"
        require(tablebase is not None, "arena.tablebase", wanted, arena.tablebase)
    return book, tablebase


def require_two_for_sprt(arena: ArenaSettings, names: Sequence[str]) -> None:
    """Refuse a sequential test unless there are two players.

    Raises:
        SettingError: there are more or fewer; the message names them.
    """
    if arena.sprt and len(names) != 2:
        raise SettingError(
            f"arena.sprt is a test between two players, got {len(names)}: {', '.join(names)}"
        )


def anchors_of(arena: ArenaSettings, names: Sequence[str]) -> dict[str, float]:
    """The players with fixed ratings, and these ratings.

    Raises:
        SettingError: a setting names another player.
    """
    ratings = arena.anchors or {}
    for name in ratings:
        require(name in names, "arena.anchors", f"ratings of players ({', '.join(names)})", name)
    return dict(ratings) or _default_anchor(names)


def anchors_met(anchors: Mapping[str, float], results: Sequence[MatchResult]) -> dict[str, float]:
    """The anchors among the players; if there are none, the default anchor."""
    met = [name for result in results for name in (result.first, result.second)]
    return {name: anchors[name] for name in anchors if name in met} or _default_anchor(met)


def _default_anchor(names: Sequence[str]) -> dict[str, float]:
    return {"random" if "random" in names else names[0]: 0.0}


def _print_what(
    console: Console, settings: MatchSettings, matches: int, circumstances: Circumstances
) -> None:
    arena, starts = settings.arena, circumstances.starts
    console.print(
        f"{matches} {plural(matches, 'match', 'matches')} of {arena.games} games, "
        f"{arena.num_simulations} simulations a move unless a player sets another number"
        + (f", from {starts.describe()}" if starts else "")
        + (f", openings from {escape(str(arena.book))}" if circumstances.book else "")
        + (f", ended by {escape(str(arena.tablebase))}" if circumstances.tablebase else "")
    )


class _Shown:
    """Prints each finished match, and writes its games as files if the settings ask for it."""

    def __init__(
        self,
        settings: MatchSettings,
        files: MatchFiles,
        circumstances: Circumstances,
        console: Console,
    ) -> None:
        self._settings, self._folder, self._console = settings, files.folder, console
        self._opening = OPENING if circumstances.book is None else "from the book"
        self._games = 0

    def match(self, number: int, result: MatchResult, seconds: float | None) -> None:
        if (form := self._settings.arena.export) is not None:
            write_transcripts(
                self._folder / "games",
                self._settings.game,
                result.games,
                form,
                (result.first, result.second),
                headers={"event": f"match {number}"},
                first_number=self._games,
                opening=self._opening,
            )
        self._games += len(result.games)
        took = "already saved" if seconds is None else f"{seconds:.0f} s"
        self._console.print(
            f"{escape(result.first)} – {escape(result.second)}: {result.score:.1%} of the points "
            f"in {len(result.games)} games ({result.wins} won, {result.draws} drawn, "
            f"{result.losses} lost), {took}"
        )
