"""The output of `command=arena`: the rating list, the cross table, and sentences about both."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from azcore.arena.elo import RatingList
from azcore.arena.match import MatchResult
from azcore.assembly.parts import MatchSettings
from azcore.commands.arena.standings import Standing


def print_tournament(
    console: Console,
    settings: MatchSettings,
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
            "" if line.los_next is None else probability(line.los_next),
        ]
        if k is not None:
            cells.append(f"{line.elo_k or 0.0:+.0f}")
        table.add_row(*cells)
    return table


def _cross_table(results: Sequence[MatchResult], standings: Sequence[Standing]) -> Table:
    """The points of each row against each column in all games played."""
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


def describe_anchors(anchors: Mapping[str, float]) -> str:
    return ", ".join(f"{name} at {elo:g}" for name, elo in anchors.items())


def _sentences(
    settings: MatchSettings,
    results: Sequence[MatchResult],
    rated: RatingList,
    anchors: Mapping[str, float],
) -> Iterable[str]:
    fixed = describe_anchors(anchors)
    yield f"Elo relative to {fixed}; LOS: probability that a player is stronger than the next one."
    if rated.first_move is not None:
        move = rated.first_move
        yield f"Moving first is worth {move.value:+.0f} Elo ({move.low:+.0f} to {move.high:+.0f})."
    if rated.draws is not None:
        yield f"Between equals, {rated.draws:.0%} of games would be drawn."
    failures: Counter[str] = Counter()
    for result in results:
        failures.update(result.failures)
    for name, count in failures.items():
        games = sum(
            len(result.games) for result in results if name in (result.first, result.second)
        )
        yield (
            f"{name} failed in {count} of its {games} games, which count as lost: its rating does "
            "not measure its play. games.csv has the reasons."
        )
    for result in results:
        pairs, distinct = len(result.games) // 2, result.distinct.pairs
        if distinct < pairs:
            yield (
                f"{result.first} – {result.second}: {pairs - distinct} of {pairs} pairs of games "
                f"repeat another move by move, so {distinct} {plural(distinct, 'counts', 'count')}"
                "; a larger arena.opening_plies makes more of them differ."
            )
        test = settings.sprt
        if settings.arena.sprt and test is not None:
            yield (
                f"Test of {result.first} against {result.second}, {test.elo0:g} or {test.elo1:g} "
                f"Elo: {test.verdict(result.distinct.pentanomial)} after {len(result.games)} of "
                f"{settings.arena.games} games."
            )


def probability(share: float) -> str:
    """A probability as text, never a false 0 or 100 %."""
    if 0.001 <= share <= 0.999:
        return f"{share:.1%}"
    return ">99.9%" if share > 0.5 else "<0.1%"


def plural(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
