"""The tables of a run directory in the form that the page needs: rows, ratings, gate matches.

It tolerates damaged tables: a cell that is not a number is None, and it skips a truncated row.

Letters: R rows of a table.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from azcore.arena.elo import MatchScore, PairScore, Rating, score_interval
from azcore.errors import SettingError
from azcore.report.figures import Chart
from azcore.storage.table import MAX_COUNT, rows_of

ANCHOR = "random"  # the player rated 0, in every game and run
MAX_POINTS = 1000  # of a chart; more would look the same
MAX_RATED = 4000  # of the latest matches; fitting as many players takes half a minute


def read_rows(path: Path) -> list[dict[str, str]]:
    """Complete rows of a CSV file; none if the file does not exist.

    It skips a last line without a line break: the writer stopped or is still writing.

    Raises:
        SettingError: it is too large for any run's, or cannot be read at all.
    """
    rows: list[dict[str, str]] = []
    if not path.is_file():
        return rows
    with suppress(csv.Error):  # no CSV from here on
        rows.extend(
            row
            for row in rows_of(path, errors="replace")
            if None not in row and None not in row.values()
        )
    return rows


def slowest_first(members: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of members.csv by their speed."""
    return sorted(members, key=lambda row: cell(row, "evaluations_per_s") or 0.0)


def last_of_each(rows: list[dict[str, str]], key: Sequence[str]) -> list[dict[str, str]]:
    """The last row of each key: a resumed run repeats its last generations."""
    return list({tuple(row.get(name, "") for name in key): row for row in rows}.values())


def cell(row: Mapping[str, str], column: str) -> float | None:
    """The number in a cell, rounded to six digits; None if there is none."""
    try:
        value = float(row.get(column, ""))
    except ValueError:
        return None
    return float(f"{value:.6g}") if math.isfinite(value) else None


def count(row: dict[str, str], column: str) -> int:
    """The count in a cell; 0 if it is not a valid count."""
    value = cell(row, column)
    return 0 if value is None or not 0 <= value < MAX_COUNT else int(float(row[column]))


def thinned(size: int, limit: int = MAX_POINTS) -> list[int]:
    """At most `limit` of the indices below `size`, evenly spread, first and last included."""
    if size <= limit:
        return list(range(size))
    return [int(i) for i in np.linspace(0, size - 1, limit).round()]


def early(size: int, limit: int) -> list[int]:
    """At most `limit` of the indices below `size`, first and last included; most of them early."""
    spread = [round((size - 1) * (i / (limit - 1)) ** 2) for i in range(limit)]
    return list(dict.fromkeys(spread)) if size else []


def scores(matches: list[dict[str, str]]) -> list[MatchScore | PairScore]:
    """The results to rate; the latest ones of a table that is longer than any run's."""
    return [
        _score(row)
        for row in matches[-MAX_RATED:]
        if row.get("player") and row.get("opponent") and row["player"] != row["opponent"]
    ]


def _score(row: dict[str, str]) -> MatchScore | PairScore:
    """The pairs of games, or the single games if the table has no pairs."""
    player, opponent = row["player"], row["opponent"]
    try:
        return PairScore.from_text(player, opponent, row.get("pairs", ""))
    except SettingError:
        wins, draws, losses = (count(row, column) for column in ("wins", "draws", "losses"))
        return MatchScore(player=player, opponent=opponent, wins=wins, draws=draws, losses=losses)


def measured_by(matches: list[dict[str, str]]) -> str:
    """Describe the simulations and opponents in these matches."""
    simulations = sorted({number for row in matches if (number := count(row, "num_simulations"))})
    fixed = sorted({row.get("opponent", "") for row in matches} & {"random", "search"})
    shown = [
        {"random": "random play", "search": "search without a network"}[name] for name in fixed
    ]
    met = ", ".join([*shown, "earlier weights of this run"])
    if not simulations:
        return f"Against {met}."
    searches = " and ".join(f"{number:,}" for number in simulations)
    return f"At {searches} simulations a move, against {met}."


FIRST = "step-0"  # the first weights of a run


def rating_curve(
    matches: list[dict[str, str]], metrics: list[dict[str, str]], ratings: dict[str, Rating]
) -> dict[str, Any]:
    """Ratings of the run's players over its course, and those of the fixed opponents."""
    rows = {row.get("generation"): row for row in metrics}
    players = {row["player"]: row for row in matches if row.get("player") in ratings}
    if FIRST in ratings:  # which are rated as an opponent
        players.setdefault(FIRST, {"step": "0"})
    points = sorted(players.items(), key=lambda item: cell(item[1], "step") or 0.0)
    sample = [points[i] for i in thinned(len(points))]
    opponents = {row.get("opponent", "") for row in matches}
    return {
        "x": {
            "step": [cell(row, "step") for _, row in sample],
            # The table of generations has these; the table of matches lacks them.
            **{
                name: [_at_the_time(rows, row, name) for _, row in sample]
                for name in ("games", "seconds", "evaluations")
            },
        },
        "names": [name for name, _ in sample],
        "value": [round(ratings[name].value, 1) for name, _ in sample],
        "low": [round(ratings[name].low, 1) for name, _ in sample],
        "high": [round(ratings[name].high, 1) for name, _ in sample],
        "lines": [
            {"label": name, "value": round(ratings[name].value, 1)}
            for name in sorted(opponents & set(ratings) - set(players))[:5]
        ],
    }


def _at_the_time(
    generations: Mapping[str | None, dict[str, str]], match: dict[str, str], column: str
) -> float | None:
    """The run's value in this column at the time of a match; 0 for the initial weights."""
    if count(match, "step") == 0:
        return 0.0
    return cell(generations.get(match.get("generation"), {}), column)


def columns_of(
    metrics: list[dict[str, str]], charts: Sequence[Chart]
) -> dict[str, list[float | None]]:
    """The columns that the charts need, [R] each.

    A share with a known sample size also has its 95 % interval, as `<column>.low` and `.high`.
    """
    columns: dict[str, list[float | None]] = {}
    for series in (series for chart in charts for series in chart.series):
        shares = columns[series.column] = [cell(row, series.column) for row in metrics]
        if series.of is None:
            continue
        numbers = columns[series.of] = [cell(row, series.of) for row in metrics]
        bands = [_interval(share, number) for share, number in zip(shares, numbers, strict=True)]
        columns[f"{series.column}.low"] = [band and band[0] for band in bands]
        columns[f"{series.column}.high"] = [band and band[1] for band in bands]
    return columns


def _interval(share: float | None, number: float | None) -> tuple[float, float] | None:
    if share is None or number is None or not (0 <= share <= 1 <= number < MAX_COUNT):
        return None
    having = round(share * number)
    low, high = score_interval(having, 0, round(number) - having)
    return round(low, 4), round(high, 4)


# -- the gate -----------------------------------------------------------------------------------


def gate_curve(gate: list[dict[str, str]], metrics: list[dict[str, str]]) -> dict[str, Any]:
    """Every candidate's score against the best player at that time, with the 95 % interval."""
    rows = {row.get("generation"): row for row in metrics}
    sample = [gate[i] for i in thinned(len(gate))]
    points = [(count(row, "wins"), count(row, "draws"), count(row, "losses")) for row in sample]
    distinct = [
        count(row, "distinct_games") if row.get("distinct_games") else None for row in sample
    ]
    bands = [score_interval(*p, differ) for p, differ in zip(points, distinct, strict=True)]
    return {
        "x": {
            "step": [cell(row, "step") for row in sample],
            "games": [cell(rows.get(row.get("generation"), {}), "games") for row in sample],
            "seconds": [cell(rows.get(row.get("generation"), {}), "seconds") for row in sample],
        },
        "names": [
            f"{row.get('player', '')} against {row.get('opponent', '')}: "
            f"{wins} won, {draws} drawn, {losses} lost"
            for row, (wins, draws, losses) in zip(sample, points, strict=True)
        ],
        "value": [
            round((wins + 0.5 * draws) / (wins + draws + losses), 4)
            if wins + draws + losses
            else None
            for wins, draws, losses in points
        ],
        "low": [round(low, 4) for low, _ in bands],
        "high": [round(high, 4) for _, high in bands],
        "promoted": [row.get("promoted") == "1" for row in sample],
    }
