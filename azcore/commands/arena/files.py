"""The files that `command=arena` writes: ratings.csv, matches.csv, games.csv and the figure."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from azcore.arena.elo import RatingList
from azcore.arena.match import MatchResult
from azcore.arena.sprt import SprtSettings
from azcore.commands.arena.standings import Standing
from azcore.game import Game
from azcore.storage.start_states import StartStates

LETTERS = 36  # of a player's name in a line of the figure
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


GAMES = [
    "match",
    "game",
    "first",
    "second",
    "opening_plies",
    "actions",
    "outcome",
    "termination",
    "start",  # the position before the first action; empty: the initial one
]


def write_ratings(path: Path, standings: Sequence[Standing]) -> None:
    """Write ratings.csv: the rating list, with Elo to a tenth of a point."""
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
    """Write matches.csv: one row per pairing; `rated` None: the ratings are not known yet."""
    rows = []
    for result in results:
        distinct = result.distinct
        los: float | str = ""  # of a player whom no match connects to an anchor, too
        if rated is not None and {result.first, result.second} <= set(rated.ratings):
            los = round(rated.superiority(result.first, result.second), 4)
        rows.append(
            {
                **result.counted(),
                "distinct_pairs": distinct.pairs,
                **dict(zip(MATCHES[8:13], distinct.pentanomial, strict=True)),
                "los": los,
                "verdict": sprt.verdict(distinct.pentanomial) if sprt else "",
            }
        )
    _write(path, MATCHES, rows)


def write_games(path: Path, game: Game, results: Sequence[MatchResult], *, first: int = 1) -> None:
    """Append every game of these matches to games.csv.

    The player in the column `first` has seat 0, `outcome` is in its view, and `actions` are texts
    separated by spaces, including the opening.

    Args:
        path: the file.
        game: the game played.
        results: finished matches.
        first: number of the first of them.
    """
    rows, states = [], StartStates(game)
    for number, result in enumerate(results, first):
        for index, played in enumerate(result.games, 1):
            texts, state = [], states.of(played.start)
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
                    "termination": played.forfeit or played.adjudicated or game.termination(state),
                    "start": played.start or "",
                }
            )
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, GAMES)
        if file.tell() == 0:
            writer.writeheader()
        writer.writerows(rows)


def _write(path: Path, columns: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a table atomically, so that no reader sees half of it."""
    new = path.with_name(path.name + ".tmp")
    with new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    new.replace(path)


def draw_ratings(path: Path, standings: Sequence[Standing]) -> str:
    """Draw ratings.png; returns a sentence that names the file, or the missing package."""
    try:
        from matplotlib.figure import Figure  # of the optional extra `plot`
    except ImportError:
        return "ratings.png needs matplotlib: pip install -e '.[plot]'"
    names = [wrap(line.player, LETTERS) or [""] for line in standings]
    lines = max(map(len, names))
    height = 1.2 + (0.2 + 0.15 * lines) * len(standings)
    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.add_subplot()
    below = [line.elo - line.low for line in standings]
    above = [line.high - line.elo for line in standings]
    places = range(len(standings), 0, -1)
    axes.errorbar([line.elo for line in standings], places, xerr=(below, above), fmt="o", capsize=4)
    axes.set_ylim(0.4, len(standings) + 0.6)
    axes.set_yticks(list(places), ["\n".join(name) for name in names])
    axes.set_xlabel("Elo, with 95 % intervals")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=120)
    return f"drawn in {path}"
