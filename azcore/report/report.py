"""One page about one run: `report.html`, which opens anywhere and needs no network.

The page is `template.html` with `report.css` and `report.js` put into it and the run's numbers as
JSON beside them. Everything is read from the run directory; what is not there is named on the page
in the place where it would have been, so a report can be written at any moment of a run.

Letters: R rows of a table, T plies of the sample game.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from azcore.arena.elo import MatchScore, Rating, fit_ratings
from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.records import GameRecord, RecordFile, require_same_game
from azcore.registry import make
from azcore.run_directory import RunDirectory, read_config

ANCHOR = "random"  # the player rated 0, the same for every game and run
# Bounds of the page; a curve of more points looks no different.
MAX_POINTS = 1000
MAX_MATCHES = 200
MAX_PLIES = 1000
MAX_SETTINGS = 20_000  # characters
TOP_ACTIONS = 5
TAIL_BYTES = 16 << 20  # where the last record is looked for; records are far smaller


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a chart."""

    column: str  # of metrics.csv
    label: str
    dashed: bool = False  # something to compare with, rather than the matter itself


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What to draw, and what to tell a reader who sees such a chart for the first time."""

    section: str
    name: str
    title: str
    unit: str
    explanation: str
    series: tuple[Series, ...]
    percent: bool = False
    from_zero: bool = True


CHARTS = (
    Chart(
        section="learning",
        name="policy_loss",
        title="Policy loss",
        unit="nats",
        explanation="How far the network's move probabilities are from what the search chose; the "
        "dashed line, the entropy of the search's own choice, is as low as it can get.",
        series=(
            Series(column="policy_loss", label="policy loss"),
            Series(column="target_entropy", label="lowest possible", dashed=True),
        ),
        from_zero=False,
    ),
    Chart(
        section="learning",
        name="value_loss",
        title="Value loss",
        unit="squared error",
        explanation="How far the predicted result, −1 to +1, is from the real one; below the "
        "dashed line the network knows more than one that always says the average.",
        series=(
            Series(column="value_loss", label="value loss"),
            Series(column="value_target_variance", label="always the average", dashed=True),
        ),
    ),
    Chart(
        section="learning",
        name="entropy",
        title="Policy entropy",
        unit="nats",
        explanation="How undecided the choice of a move is, 0 meaning certain: the search settles "
        "on good moves first, and the network follows it.",
        series=(
            Series(column="policy_entropy", label="network"),
            Series(column="target_entropy", label="search (target)"),
        ),
    ),
    Chart(
        section="learning",
        name="accuracy",
        title="Policy accuracy",
        unit="% of positions",
        explanation="How often the network's favourite move is the one that the search visited "
        "most, in positions drawn for learning.",
        series=(Series(column="policy_accuracy", label="accuracy"),),
        percent=True,
    ),
    Chart(
        section="games",
        name="length",
        title="Game length",
        unit="plies",
        explanation="Moves of both players in an average game of self-play; a sudden change shows "
        "that play has found, or forgotten, an idea.",
        series=(Series(column="game_length", label="length"),),
    ),
    Chart(
        section="games",
        name="balance",
        title="Wins of the first player, and draws",
        unit="% of games",
        explanation="How the games of self-play end; a balance far from even needs a reason, such "
        "as an advantage of the first move, or it hints at an error.",
        series=(
            Series(column="seat0_win_rate", label="first player wins"),
            Series(column="draw_rate", label="draws"),
        ),
        percent=True,
    ),
    Chart(
        section="speed",
        name="evaluations",
        title="Evaluations",
        unit="per second",
        explanation="Positions that the network judges in a second of self-play: each simulation "
        "of the search waits for one of them.",
        series=(Series(column="evaluations_per_s", label="evaluations"),),
    ),
    Chart(
        section="speed",
        name="shares",
        title="Where the time goes",
        unit="% of the time",
        explanation="Shares of search, network and learning; where the search takes most of the "
        "time, a faster device for the network would not help.",
        series=(
            Series(column="search_share", label="search"),
            Series(column="network_share", label="network"),
            Series(column="learner_share", label="learning"),
        ),
        percent=True,
    ),
)

SECTIONS = {
    "learning": "What does it learn?",
    "games": "What are its games like?",
    "speed": "Speed",
}


def write_report(run_dir: Path) -> Path:
    """Write `report.html` into a run directory, in place of an older one.

    The page grows to a few megabytes at most, whatever the length of the run.

    Args:
        run_dir: holds any of config.yaml, metrics.csv, matches.csv and games/records.azg.

    Returns:
        The page's path. It appears whole or not at all.

    Raises:
        OSError: the page cannot be written.
    """
    run = RunDirectory(run_dir)
    page = render_report(run)
    part = run.report.with_name(run.report.name + ".part")
    part.write_text(page, encoding="utf-8")
    os.replace(part, run.report)
    return run.report


def render_report(run: RunDirectory) -> str:
    """The page as text."""
    try:
        config, config_note = read_config(run), ""
    except AzcoreError:
        config, config_note = {}, "config.yaml is missing or is no settings file."
    metrics = last_of_each(read_rows(run.metrics), ("generation",))
    matches = last_of_each(read_rows(run.matches), ("generation", "player", "opponent"))
    ratings = fit_ratings(scores(matches), ANCHOR)
    game, game_note = sample_game(run.records)
    if game:  # Gumbel's counts are parts of the improved policy
        search = config.get("search")
        game["counts_visits"] = not (isinstance(search, dict) and search.get("rule") == "gumbel")
    curve = rating_curve(matches, metrics, ratings)

    drawn = [metrics[i] for i in thinned(len(metrics))]
    columns = {series.column for chart in CHARTS for series in chart.series}
    data = {
        "x": {name: [cell(row, name) for row in drawn] for name in ("step", "games", "seconds")},
        "columns": {name: [cell(row, name) for row in drawn] for name in sorted(columns)},
        "charts": [chart_data(chart) for chart in CHARTS],
        "rating": curve,
        "game": game,
    }
    name, settings = game_settings(config, game)
    folder = Path(__file__).parent
    parts = {
        "title": html.escape(f"{title_of(name)} – {run.path.absolute().name}"),
        "css": (folder / "report.css").read_text(encoding="utf-8"),
        "heading": html.escape(title_of(name)),
        "run": html.escape(run.path.absolute().name),
        "settings": settings_html(settings),
        "facts": facts_html(metrics, curve),
        "rating": rating_html(curve, matches),
        "sections": "\n".join(section_html(key, metrics) for key in SECTIONS),
        "game": note_html(game_note),
        "game_hidden": "" if game else "hidden",
        "matches": matches_html(matches, ratings),
        "config": config_html(config, config_note),
        "data": json_for_script(data),
        "js": (folder / "report.js").read_text(encoding="utf-8"),
    }
    template = (folder / "template.html").read_text(encoding="utf-8")
    # In one pass: braces in what is put in are not looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


# -- tables -------------------------------------------------------------------------------------


def read_rows(path: Path) -> list[dict[str, str]]:
    """Whole rows of a CSV file; none if there is no file.

    A last line without its end is left out: its writer was stopped, or is still at it.
    """
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = io.StringIO(text[: text.rfind("\n") + 1])
    rows = []
    try:
        for row in csv.DictReader(lines):
            if None not in row and None not in row.values():
                rows.append(row)
    except csv.Error:  # not CSV from here on
        pass
    return rows


def last_of_each(rows: list[dict[str, str]], key: Sequence[str]) -> list[dict[str, str]]:
    """Rows with the same key replace each other: a resumed run repeats its last generations."""
    return list({tuple(row.get(name, "") for name in key): row for row in rows}.values())


def cell(row: dict[str, str], column: str) -> float | None:
    """A number of six digits, or None where there is none."""
    try:
        value = float(row.get(column, ""))
    except ValueError:
        return None
    return float(f"{value:.6g}") if math.isfinite(value) else None


def count(row: dict[str, str], column: str) -> int:
    """A whole number, 0 where there is none."""
    value = cell(row, column)
    return 0 if value is None else max(0, int(float(row[column])))


def thinned(size: int, limit: int = MAX_POINTS) -> list[int]:
    """At most `limit` of the indices below `size`, evenly spread, first and last included."""
    if size <= limit:
        return list(range(size))
    return [int(i) for i in np.linspace(0, size - 1, limit).round()]


# -- ratings ------------------------------------------------------------------------------------


def scores(matches: list[dict[str, str]]) -> list[MatchScore]:
    """The results that can be rated."""
    return [
        MatchScore(
            player=row["player"],
            opponent=row["opponent"],
            wins=count(row, "wins"),
            draws=count(row, "draws"),
            losses=count(row, "losses"),
        )
        for row in matches
        if row.get("player") and row.get("opponent") and row["player"] != row["opponent"]
    ]


def rating_curve(
    matches: list[dict[str, str]], metrics: list[dict[str, str]], ratings: dict[str, Rating]
) -> dict[str, Any]:
    """Ratings of the run's players over its course, and those of the fixed opponents."""
    rows = {row.get("generation"): row for row in metrics}
    players = {row["player"]: row for row in matches if row.get("player") in ratings}
    points = sorted(players.items(), key=lambda item: cell(item[1], "step") or 0.0)
    kept = [points[i] for i in thinned(len(points))]
    opponents = {row.get("opponent", "") for row in matches}
    return {
        "x": {
            "step": [cell(row, "step") for _, row in kept],
            # The table of matches does not know these two; the table of generations does.
            "games": [cell(rows.get(row.get("generation"), {}), "games") for _, row in kept],
            "seconds": [cell(rows.get(row.get("generation"), {}), "seconds") for _, row in kept],
        },
        "names": [name for name, _ in kept],
        "value": [round(ratings[name].value, 1) for name, _ in kept],
        "low": [round(ratings[name].low, 1) for name, _ in kept],
        "high": [round(ratings[name].high, 1) for name, _ in kept],
        "lines": [
            {"label": name, "value": round(ratings[name].value, 1)}
            for name in sorted(opponents & set(ratings) - set(players))[:5]
        ],
    }


# -- sample game --------------------------------------------------------------------------------


def last_record(path: Path) -> GameRecord | None:
    """The last whole record of a file whose tail may be cut; None if there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        magic = file.read(4)  # every record begins as the file does
        start = max(0, path.stat().st_size - TAIL_BYTES)
        file.seek(start)
        tail = file.read()
    place = len(tail)
    # Walking backwards finds it at once in a file of any size; the checksum tells a record from
    # bytes that look like the beginning of one.
    while magic and (place := tail.rfind(magic, 0, place)) >= 0:
        try:
            for record in RecordFile(path).read(start + place):
                return record
        except AzcoreError:
            continue
    return None


def sample_game(path: Path) -> tuple[dict[str, Any] | None, str]:
    """The last game as plain values for the page, or None and why not."""
    record = last_record(path)
    if record is None:
        return None, "games/records.azg holds no finished game yet."
    try:
        return replayed(record), ""
    except (AzcoreError, LookupError, TypeError) as error:
        return None, f"The last game cannot be shown: {error}"


def replayed(record: GameRecord) -> dict[str, Any]:
    """A record with its boards and texts, up to `MAX_PLIES` plies.

    Raises:
        AzcoreError: the game is not installed, is another version, or forbids an action.
    """
    game = make(record.game["name"], **record.game["settings"])
    require_same_game(record, game, "the last game")
    state = game.initial_state()
    boards, plies = [game.render(state)], []
    for ply in range(min(len(record), MAX_PLIES)):
        played = int(record.actions[ply])
        part = slice(record.visit_offsets[ply], record.visit_offsets[ply + 1])
        visits = sorted(
            zip(record.visit_actions[part], record.visit_counts[part], strict=True),
            key=lambda visit: (-int(visit[1]), int(visit[0])),
        )
        shown = [v for i, v in enumerate(visits) if i < TOP_ACTIONS or int(v[0]) == played]
        plies.append(
            {
                "seat": game.current_player(state),
                "action": game.action_to_text(state, played),
                "value": round(float(np.nan_to_num(record.root_values[ply])), 4),
                "visits": sum(int(number) for _, number in visits),
                "top": [
                    [game.action_to_text(state, int(a)), int(n), int(a) == played] for a, n in shown
                ],
            }
        )
        state = game.step(state, played)
        boards.append(game.render(state))
    return {
        "name": record.game["name"],
        "boards": boards,  # [T + 1], before each ply and at the end
        "plies": plies,  # [T]; values as the player to move sees them
        "length": len(record),
        "outcome": record.outcome,
        "ended_by": ended_by(game, state, record),
        "index": record.game_index,
        "step": record.weights_version,
    }


def ended_by(game: Game, state: Any, record: GameRecord) -> str:
    """How the game came to its end, in a few words; nothing of one that is cut short."""
    if record.resigned_by is not None:
        return "resignation"
    return game.termination(state) if game.is_terminal(state) else ""


# -- HTML ---------------------------------------------------------------------------------------


def json_for_script(data: Any) -> str:
    """JSON that cannot end the script element it stands in, nor begin a comment there."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def note_html(note: str) -> str:
    return f'<p class="missing">{html.escape(note)}</p>' if note else ""


def title_of(name: str) -> str:
    """`a_game` as people write it: `A game`."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:] or "Unknown game"


def game_settings(
    config: dict[str, Any], game: dict[str, Any] | None
) -> tuple[str, list[tuple[str, str]]]:
    """The game's name, and the settings that tell one run from another."""
    chosen = config.get("game")
    chosen = dict(chosen) if isinstance(chosen, dict) else {"name": chosen or ""}
    name = str(chosen.pop("name", "") or (game or {}).get("name", ""))
    settings = [(str(key).replace("_", " "), str(value)) for key, value in chosen.items()]
    for key, label in (
        ("algorithm.name", "algorithm"),
        ("network.name", "network"),
        ("network.blocks", "blocks"),
        ("network.channels", "channels"),
        ("search.num_simulations", "simulations a move"),
        ("seed", "seed"),
    ):
        value: Any = config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, dict | list):
            settings.append((label, str(value)))
    return name, settings


def settings_html(settings: list[tuple[str, str]]) -> str:
    return "".join(
        f"<li>{html.escape(label)} <b>{html.escape(value)}</b></li>" for label, value in settings
    )


def facts_html(metrics: list[dict[str, str]], curve: dict[str, Any]) -> str:
    """The numbers one asks for first."""
    last = metrics[-1] if metrics else {}

    def whole(column: str) -> str:
        return f"{count(last, column):,}" if cell(last, column) is not None else "–"

    seconds = cell(last, "seconds")
    facts = [
        ("Games", whole("games")),
        ("Positions", whole("positions")),
        ("Optimizer steps", whole("step")),
        ("Time", "–" if seconds is None else duration(seconds)),
    ]
    if curve["value"]:
        half = (curve["high"][-1] - curve["low"][-1]) / 2
        facts.append(("Rating, Elo", f"{curve['value'][-1]:+.0f} ± {half:.0f}"))
    return "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in facts)


def duration(seconds: float) -> str:
    """`3 h 07 min`, `12 min 05 s`, `40 s`."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours:,} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def chart_data(chart: Chart) -> dict[str, Any]:
    """What report.js needs of a chart."""
    return {
        "name": chart.name,
        "title": chart.title,
        "unit": chart.unit,
        "percent": chart.percent,
        "from_zero": chart.from_zero,
        "series": [
            {"column": series.column, "label": series.label, "dashed": series.dashed}
            for series in chart.series
        ],
    }


def figure_html(name: str, title: str, explanation: str, note: str) -> str:
    """A chart's frame; report.js draws into it."""
    body = note_html(note) or f'<div class="plot" data-chart="{name}"></div>'
    return (
        f'<figure class="card"><figcaption><h3>{html.escape(title)}</h3>'
        f"<p>{html.escape(explanation)}</p></figcaption>{body}</figure>"
    )


def rating_html(curve: dict[str, Any], matches: list[dict[str, str]]) -> str:
    note = ""
    if not matches:
        note = "matches.csv holds no match yet."
    elif not curve["value"]:
        note = f"No match joins a player of this run to {ANCHOR}, whose rating is 0."
    return figure_html(
        "rating",
        "Rating",
        "Strength from all matches taken together, random play being 0: 200 points more mean 76 % "
        "of the points in a match, and the true rating lies in the band 95 times of 100.",
        note,
    )


def section_html(key: str, metrics: list[dict[str, str]]) -> str:
    """The charts of one section."""
    figures = []
    for chart in CHARTS:
        if chart.section == key:
            columns = [series.column for series in chart.series]
            found = any(cell(row, column) is not None for row in metrics for column in columns)
            note = f"metrics.csv has no numbers for {' and '.join(columns)} yet."
            figures.append(
                figure_html(chart.name, chart.title, chart.explanation, "" if found else note)
            )
    return f'<section><h2>{SECTIONS[key]}</h2><div class="grid">{"".join(figures)}</div></section>'


def matches_html(matches: list[dict[str, str]], ratings: dict[str, Rating]) -> str:
    """The latest matches, newest first."""
    if not matches:
        return note_html("matches.csv holds no match yet.")
    heads = ("Step", "Player", "Opponent", "Games", "Distinct", "Won", "Drawn", "Lost", "Score")
    rows = []
    for row in matches[: -MAX_MATCHES - 1 : -1]:
        wins, draws, losses = (count(row, column) for column in ("wins", "draws", "losses"))
        games, distinct = wins + draws + losses, cell(row, "distinct_games")
        repeats = distinct is not None and distinct < 0.5 * games
        cells = [
            f"{count(row, 'step'):,}",
            html.escape(row.get("player", "")),
            html.escape(row.get("opponent", "")),
            f"{games:,}",
            "–"
            if distinct is None
            else f"{distinct:,.0f}" + (" <b>repeats</b>" if repeats else ""),
            f"{wins:,}",
            f"{draws:,}",
            f"{losses:,}",
            f"{100 * (wins + 0.5 * draws) / games:.0f} %" if games else "–",
        ]
        rating = ratings.get(row.get("player", ""))
        cells.append("–" if rating is None else f"{rating.value:+.0f}")
        rows.append("<tr>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>")
    head = "".join(f'<th scope="col">{text}</th>' for text in (*heads, "Rating"))
    left_out = len(matches) - len(rows)
    note = f"<p>{left_out:,} earlier matches are in matches.csv.</p>" if left_out else ""
    return (
        '<div class="card scroll" tabindex="0" role="region" aria-label="Matches, newest first">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{note}"
    )


def config_html(config: dict[str, Any], note: str) -> str:
    if note:
        return note_html(note)
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    if len(text) > MAX_SETTINGS:
        text = text[:MAX_SETTINGS] + "\n… the rest is in config.yaml"
    return (
        '<details class="card"><summary>Every setting of this run</summary>'
        f'<pre class="scroll" tabindex="0">{html.escape(text)}</pre></details>'
    )
