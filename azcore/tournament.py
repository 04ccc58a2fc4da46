"""`command=arena`: matches between any players, and the rating list they come to.

Every pairing is a match of `azcore.arena.match`; all matches together are rated by
`azcore.arena.elo.rating_list`. What is found is printed and kept in a folder:

    ratings.csv   the list           matches.csv   a row a pairing
    ratings.png   the same drawn     games.csv     every game, move by move

Ctrl-C rates what was played until then.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from azcore.arena.elo import MatchScore, RatingList, expected_score, rating_list, updated_rating
from azcore.arena.match import MatchResult, derived_seed, play_match, random_openings
from azcore.arena.sprt import SprtSettings
from azcore.assembly import Config, Settings, settings_from
from azcore.entrants import players_from
from azcore.errors import SettingError
from azcore.game import Game
from azcore.players import Player
from azcore.record_files import format_named, write_records
from azcore.run_directory import RUNS
from azcore.settings import require

RATINGS = ["rank", "player", "elo", "low", "high", "games", "score", "draws", "los_next", "elo_k"]
MATCHES = [
    "player",
    "opponent",
    "games",
    "wins",
    "draws",
    "losses",
    "distinct_games",
    "distinct_pairs",
    "pairs_0",  # distinct pairs of games by the player's points in them
    "pairs_0.5",
    "pairs_1",
    "pairs_1.5",
    "pairs_2",
    "los",  # likelihood of superiority of the player over the opponent
    "verdict",
]
GAMES = ["match", "game", "first", "second", "opening_plies", "actions", "outcome", "termination"]
PAGE = 160  # characters a line where nobody says how many there are


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A player's line in the list."""

    player: str
    elo: float
    low: float
    high: float
    total: MatchScore  # of its distinct games
    los_next: float | None  # likelihood that it is stronger than the next in the list
    elo_k: float | None  # the rating as clubs keep it


def tournament(config: Config) -> int:
    """Play, print and keep; 0, or 130 when interrupted.

    Raises:
        AzcoreError: a setting or a player cannot be used; nothing was written.
    """
    texts, gauntlet = wanted_players(config), config["players"] is None
    settings = settings_from(config)
    arena, game = settings.arena, settings.game
    players = players_from(settings, texts)
    gauntlet = gauntlet or arena.format == "gauntlet"
    names = [player.name for player in players]
    anchors = _anchors(arena.anchors or {}, names)
    if arena.sprt and len(players) != 2:
        raise SettingError(
            f"arena.sprt is a test between two players, got {len(players)}: {', '.join(names)}"
        )
    random_openings(game, 1, arena.opening_plies, settings.seed)  # refused before anything is made
    if arena.export is not None:
        format_named(game, arena.export)  # the same
    folder = _new_folder(config["arena_dir"], game.name)
    console = Console(soft_wrap=True, highlight=False)
    if not console.is_terminal:  # a file has no edge at which to cut a name
        console.width = PAGE
    pairings = [pair for pair in combinations(players, 2) if not gauntlet or pair[0] is players[0]]
    results, interrupted = _play_all(settings, pairings, folder, console)
    if results:
        rated = rating_list([result.distinct for result in results], anchors)
        standings = standings_of(results, rated, arena.teaching_k)
        write_ratings(folder / "ratings.csv", standings)
        write_matches(folder / "matches.csv", results, rated, settings.sprt if arena.sprt else None)
        _print(console, settings, results, rated, standings, anchors)
        console.print(escape(draw_ratings(folder / "ratings.png", standings)))
        console.print(f"written to {escape(str(folder))}")
    if interrupted:
        played = f"after {len(results)} of {len(pairings)} matches"
        console.print(f"interrupted {played}" if results else "interrupted: no match is over")
    return 130 if interrupted else 0


def wanted_players(config: Mapping[str, Any]) -> list[str]:
    """The texts of `players`, or of `checkpoint` against what every checkpoint should beat.

    Raises:
        SettingError: neither is given.
    """
    players, checkpoint = config["players"], config["checkpoint"]
    if players is None:
        if checkpoint is None:
            raise SettingError(
                "command=arena needs players=[...], such as players=[RUN,random,search:64], or "
                "checkpoint=PATH, such as a run's checkpoints/last.ckpt"
            )
        return [str(checkpoint), "random", "search"]
    if checkpoint is not None:
        raise SettingError("command=arena takes players or checkpoint, got both")
    return [str(text) for text in (players if isinstance(players, list) else [players])]


def _anchors(given: Mapping[str, float], names: list[str]) -> dict[str, float]:
    for name in given:
        require(name in names, "arena.anchors", f"ratings of players ({', '.join(names)})", name)
    return dict(given) or {"random" if "random" in names else names[0]: 0.0}


def _new_folder(arena_dir: str | None, game: str) -> Path:
    """The folder for what is found, made.

    Raises:
        SettingError: it holds a rating list, or cannot be written to.
    """
    path = Path(arena_dir) if arena_dir else RUNS / "arena" / game / f"{datetime.now():%F-%H%M%S}"
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
    settings: Settings,
    pairings: Sequence[tuple[Player, Player]],
    folder: Path,
    console: Console,
) -> tuple[list[MatchResult], bool]:
    """The matches that were finished, and whether Ctrl-C left others out."""
    arena = settings.arena
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
        f"{len(pairings)} {_plural(len(pairings), 'match', 'matches')} of {arena.games} games, "
        f"{arena.num_simulations} simulations a move unless a player says otherwise"
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
                try:
                    result = play_match(
                        settings.game,
                        first,
                        second,
                        num_games=arena.games,
                        opening_plies=arena.opening_plies,
                        seed=derived_seed(settings.seed, number),
                        progress=_counter(bar, task, before),
                        sprt=sprt,
                    )
                finally:
                    for player in (first, second):
                        player.end()
                results.append(result)
                write_matches(folder / "matches.csv", results, None, sprt)
                write_games(folder / "games.csv", settings.game, [result], first=number + 1)
                if arena.export is not None:
                    write_records(
                        folder / "games",
                        settings.game,
                        result.games,
                        arena.export,
                        (first.name, second.name),
                        headers={"event": f"match {number + 1}"},
                        first_number=games_written,
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


def _counter(bar: Progress, task: Any, before: int) -> Callable[[int], None]:
    return lambda done: bar.update(task, completed=before + done)


def standings_of(
    results: Sequence[MatchResult], rated: RatingList, k: float | None
) -> list[Standing]:
    """The list, the strongest first."""
    totals: dict[str, list[MatchScore]] = {}
    for result in results:
        for seen in (result.distinct, result.distinct.turned()):
            totals.setdefault(seen.player, []).append(seen.total)
    teaching = club_ratings(results, k) if k else {}
    order = sorted(
        (name for name in rated.ratings if name in totals),
        key=lambda name: -rated.ratings[name].value,
    )
    standings = []
    for place, name in enumerate(order):
        scores, rating = totals[name], rated.ratings[name]
        standings.append(
            Standing(
                player=name,
                elo=rating.value,
                low=rating.low,
                high=rating.high,
                total=MatchScore(
                    player=name,
                    opponent="all",
                    wins=sum(score.wins for score in scores),
                    draws=sum(score.draws for score in scores),
                    losses=sum(score.losses for score in scores),
                ),
                los_next=(
                    rated.superiority(name, order[place + 1]) if place + 1 < len(order) else None
                ),
                elo_k=teaching.get(name),
            )
        )
    return standings


def club_ratings(results: Sequence[MatchResult], k: float) -> dict[str, float]:
    """R' = R + K (S - E) after each game in the order of the results; all begin at 0."""
    ratings: dict[str, float] = {}
    for result in results:
        for game in result.games:
            a, b = ratings.get(result.first, 0.0), ratings.get(result.second, 0.0)
            expected = expected_score(a - b)
            ratings[result.first] = updated_rating(a, k, game.points, expected)
            ratings[result.second] = updated_rating(b, k, 1 - game.points, 1 - expected)
    return ratings


# -- what is printed ----------------------------------------------------------------------------


def _print(
    console: Console,
    settings: Settings,
    results: Sequence[MatchResult],
    rated: RatingList,
    standings: Sequence[Standing],
    anchors: Mapping[str, float],
) -> None:
    console.print(_rating_table(standings, settings.arena.teaching_k))
    if len(standings) > 2:
        console.print(_cross_table(results, standings))
    for sentence in _sentences(settings, results, rated, anchors):
        console.print(escape(sentence))


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("player", overflow="fold")
    return table


def _rating_table(standings: Sequence[Standing], k: float | None) -> Table:
    table = _table("Ratings")
    for column in ("Elo", "95 % interval", "games", "score", "draws", "LOS"):
        table.add_column(column, justify="right", no_wrap=True)
    if k is not None:
        table.add_column(f"Elo (K={k:g})", justify="right", no_wrap=True)
    for rank, line in enumerate(standings, 1):
        fixed = line.low == line.high
        cells = [
            str(rank),
            escape(line.player),
            f"{line.elo:+.0f}" if line.elo else "0",
            "fixed" if fixed else f"{line.low:+.0f} to {line.high:+.0f}",
            str(line.total.games),
            f"{line.total.score:.1%}",
            f"{line.total.draws / max(line.total.games, 1):.1%}",
            "" if line.los_next is None else _probability(line.los_next),
        ]
        if k is not None:
            cells.append(f"{line.elo_k or 0.0:+.0f}")
        table.add_row(*cells)
    return table


def _cross_table(results: Sequence[MatchResult], standings: Sequence[Standing]) -> Table:
    """Points of row against column, of all games played."""
    points: dict[tuple[str, str], str] = {}
    sizes = {len(result.games) for result in results}
    of_all = f", of {sizes.pop()}" if len(sizes) == 1 else ""
    for result in results:
        games = len(result.games)
        made = result.wins + 0.5 * result.draws
        size = "" if of_all else f"/{games}"
        points[result.first, result.second] = f"{made:g}{size}"
        points[result.second, result.first] = f"{games - made:g}{size}"
    table = _table(f"Points of each row against each column{of_all}")
    for rank in range(1, len(standings) + 1):
        table.add_column(str(rank), justify="right", no_wrap=True)
    for rank, line in enumerate(standings, 1):
        row = [points.get((line.player, other.player), "") for other in standings]
        table.add_row(str(rank), escape(line.player), *row)
    return table


def _sentences(
    settings: Settings,
    results: Sequence[MatchResult],
    rated: RatingList,
    anchors: Mapping[str, float],
) -> Iterable[str]:
    """What a reader of the tables should know."""
    fixed = ", ".join(f"{name} at {elo:g}" for name, elo in anchors.items())
    yield f"Elo relative to {fixed}; LOS: how likely a player is stronger than the next one."
    if rated.first_move is not None:
        move = rated.first_move
        yield f"Moving first is worth {move.value:+.0f} Elo ({move.low:+.0f} to {move.high:+.0f})."
    if rated.draws is not None:
        yield f"Of games between equals {rated.draws:.0%} would be drawn."
    for result in results:
        pairs, distinct = len(result.games) // 2, result.distinct.pairs
        if distinct < pairs:
            yield (
                f"{result.first} – {result.second}: {pairs - distinct} of {pairs} pairs of games "
                f"repeat another move by move, so {distinct} {_plural(distinct, 'counts', 'count')}"
                "; a larger arena.opening_plies makes more of them differ."
            )
        if settings.arena.sprt:
            test = settings.sprt
            yield (
                f"Test of {result.first} against {result.second}, {test.elo0:g} or {test.elo1:g} "
                f"Elo: {test.verdict(result.distinct.pentanomial)} after {len(result.games)} of "
                f"{settings.arena.games} games."
            )


def _probability(share: float) -> str:
    if 0.001 <= share <= 0.999:
        return f"{share:.1%}"
    return ">99.9%" if share > 0.5 else "<0.1%"


def _plural(number: int, one: str, many: str) -> str:
    return one if number == 1 else many


# -- what is kept -------------------------------------------------------------------------------


def write_ratings(path: Path, standings: Sequence[Standing]) -> None:
    """ratings.csv: the list, with numbers of a tenth of a point."""
    rows = [
        {
            "rank": rank,
            "player": line.player,
            "elo": round(line.elo, 1),
            "low": round(line.low, 1),
            "high": round(line.high, 1),
            "games": line.total.games,
            "score": round(line.total.score, 4),
            "draws": line.total.draws,
            "los_next": "" if line.los_next is None else round(line.los_next, 4),
            "elo_k": "" if line.elo_k is None else round(line.elo_k, 1),
        }
        for rank, line in enumerate(standings, 1)
    ]
    _write(path, RATINGS, rows)


def write_matches(
    path: Path,
    results: Sequence[MatchResult],
    rated: RatingList | None,
    sprt: SprtSettings | None,
) -> None:
    """matches.csv: a row a pairing; `rated` None: the list is not known yet."""
    rows = []
    for result in results:
        distinct = result.distinct
        rows.append(
            {
                **result.counted(),
                "distinct_pairs": distinct.pairs,
                **dict(zip(MATCHES[8:13], distinct.pentanomial, strict=True)),
                "los": round(rated.superiority(result.first, result.second), 4) if rated else "",
                "verdict": sprt.verdict(distinct.pentanomial) if sprt else "",
            }
        )
    _write(path, MATCHES, rows)


def write_games(path: Path, game: Game, results: Sequence[MatchResult], *, first: int = 1) -> None:
    """games.csv: every game of these matches, behind those that the file holds already.

    `first` has seat 0, `outcome` is as it sees it, and `actions` are texts with spaces between,
    the opening included.

    Args:
        path: the file.
        game: what was played.
        results: matches that are over.
        first: number of the first of them.
    """
    rows = []
    for number, result in enumerate(results, first):
        for index, played in enumerate(result.games, 1):
            texts, state = [], game.initial_state()
            for action in played.actions:
                texts.append(game.action_to_text(state, action))
                state = game.step(state, action)
            names = [result.first, result.second]
            rows.append(
                {
                    "match": number,
                    "game": index,
                    "first": names[played.first_seat],
                    "second": names[1 - played.first_seat],
                    "opening_plies": played.opening_plies,
                    "actions": " ".join(texts),
                    "outcome": played.outcome,
                    "termination": played.forfeit or game.termination(state),
                }
            )
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, GAMES)
        if file.tell() == 0:
            writer.writeheader()
        writer.writerows(rows)


def _write(path: Path, columns: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """A whole table in place of an older one, so that no half of it is ever seen."""
    new = path.with_name(path.name + ".tmp")
    with new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    new.replace(path)


def draw_ratings(path: Path, standings: Sequence[Standing]) -> str:
    """ratings.png, and the sentence that says so, or what it would take."""
    try:
        from matplotlib.figure import Figure  # of the optional extra `plot`
    except ImportError:
        return "ratings.png needs matplotlib: pip install -e '.[plot]'"
    figure = Figure(figsize=(8, 1.2 + 0.35 * len(standings)), layout="constrained")
    axes = figure.add_subplot()
    below = [line.elo - line.low for line in standings]
    above = [line.high - line.elo for line in standings]
    places = range(len(standings), 0, -1)
    axes.errorbar([line.elo for line in standings], places, xerr=(below, above), fmt="o", capsize=4)
    axes.set_ylim(0.4, len(standings) + 0.6)
    axes.set_yticks(list(places), [line.player for line in standings])
    axes.set_xlabel("Elo, with 95 % intervals")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=120)
    return f"drawn in {path}"
