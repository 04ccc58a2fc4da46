"""Two to four runs in columns, of one game or of several: one page, which opens offline too.

The page is `side_by_side.html` with scripts, styles and the runs' numbers as JSON inserted, like
`report.html`. All data comes from the run directories. Ratings of different games have no common
scale: each is measured against random play of its own game, and as a share of its own range.
"""

import html
import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from azcore.arena.elo import fit_ratings
from azcore.atomic import replacing
from azcore.errors import AzcoreError, SettingError
from azcore.game import Game
from azcore.game.registry import received
from azcore.pictures import shared, title_of
from azcore.report import probes
from azcore.report.columns import COURSE, CURVES, PLAY, RULES, UNKNOWN, Column, Rows
from azcore.report.films import Films
from azcore.report.games import Shown
from azcore.report.report import duration, filled, json_for_script, read
from azcore.report.rules_facts import RulesFacts, facts_of
from azcore.report.tables import (
    ANCHOR,
    cell,
    last_of_each,
    rating_curve,
    read_rows,
    scores,
    thinned,
)
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import own_settings
from azcore.storage.untrusted import require_no_link

SIDE_BY_SIDE = "side_by_side.html"  # the page as a file
FEWEST, MOST = 2, 4  # runs on a page
POINTS = 300  # of a curve
AXES = ("seconds", "step", "games", "evaluations")


def write_side_by_side(
    path: Path, runs: Sequence[tuple[str, RunDirectory]], seconds: float = math.inf
) -> None:
    """Write the page, atomically, so that a browser may load it at any time.

    Args:
        path: the file's path.
        runs, seconds: as for `render_side_by_side`.

    Raises:
        SettingError: there are too few or too many, or the path is a link.
        OSError: it cannot be written.
    """
    page = render_side_by_side(runs, seconds)
    require_no_link(path)
    with replacing(path) as file:
        file.write(page)


def render_side_by_side(runs: Sequence[tuple[str, RunDirectory]], seconds: float = math.inf) -> str:
    """The page as text.

    Args:
        runs: each with its name on the page.
        seconds: for the probes of each run, see `azcore.report.probes.update`.

    Raises:
        SettingError: there are too few or too many.
    """
    if not FEWEST <= len(runs) <= MOST:
        raise SettingError(f"runs side by side must be {FEWEST} to {MOST}, got {len(runs)}")
    columns = [_column(name, run, seconds) for name, run in runs]
    films = [game.film for column in columns for game in column.films if game.film is not None]
    data = {
        "runs": [
            {
                "name": column.name,
                "title": column.title,
                "x": column.x,
                "curves": column.curves,
                "rating": column.rating,
                "games": [_game_data(column, game) for game in column.films],
                "known": [_known_data(column, known) for known in column.known],
            }
            for column in columns
        ]
    }
    heading = html.escape(" · ".join(dict.fromkeys(column.title for column in columns)))
    parts = {
        "title": f"{heading} – side by side",
        "heading": heading,
        "css": read("report.css", "chart.css", "films.css", "side_by_side.css"),
        "games": html.escape(", ".join(dict.fromkeys(column.title for column in columns))),
        "known": _knowledge(columns),
        "rules": _table(columns, RULES),
        "play": _table(columns, PLAY),
        "course": _table(columns, COURSE),
        "definitions": shared(films) if films else "",
        "boards": "".join(_boards(number, column) for number, column in enumerate(columns)),
        "data": json_for_script(data),
        "js": read("chart.js", "films.js", "side_by_side.js"),
    }
    return filled("side_by_side.html", parts)


def _column(name: str, run: RunDirectory, seconds: float) -> Column:
    try:
        config = own_settings(run)
    except AzcoreError:
        config = {}
    rows = last_of_each(read_rows(run.metrics), ("generation",))
    matches = last_of_each(read_rows(run.matches), ("generation", "player", "opponent"))
    drawn = [rows[i] for i in thinned(len(rows), POINTS)]
    game = _game(config)
    try:
        facts = None if game is None else _facts(json.dumps(config["game"], sort_keys=True))
    except AzcoreError:
        facts = None
    known: list[probes.Known] = []
    with suppress(AzcoreError):
        probes.update(run, seconds=seconds)
        known = probes.probes_of(run)
    films = Films(run)
    return Column(
        name=name,
        title=_title(config),
        rows=rows,
        config=config,
        game=game,
        facts=facts,
        rating=rating_curve(matches, rows, fit_ratings(scores(matches), ANCHOR)),
        films=films.course(),
        legal=films.legal_actions(),
        known=known,
        curves={curve: [of(row) for row in drawn] for curve, of in CURVES.items()},
        x={axis: [cell(row, axis) for row in drawn] for axis in AXES},
    )


def _game(config: Mapping[str, Any]) -> Game | None:
    given = config.get("game")
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        return None
    settings = {key: value for key, value in given.items() if key != "name"}
    try:
        return received(given["name"], settings)
    except (AzcoreError, TypeError):
        return None


@lru_cache(maxsize=32)
def _facts(config: str) -> RulesFacts | None:
    """The facts of a game with these settings, which are JSON, so that a page takes them once."""
    game = _game({"game": json.loads(config)})
    return None if game is None else facts_of(game)


def _title(config: Mapping[str, Any]) -> str:
    given = config.get("game")
    if not isinstance(given, dict):
        return title_of("")
    size = given.get("board_size")
    title = title_of(str(given.get("name", "")))
    return f"{title} {size}×{size}" if isinstance(size, int) else title


def _table(columns: Sequence[Column], rows: Rows) -> str:
    return _card(
        columns,
        "".join(
            _row(
                label,
                meaning,
                "".join(f"<td>{html.escape(describe(column))}</td>" for column in columns),
            )
            for label, meaning, describe in rows
        ),
    )


def _row(label: str, meaning: str, cells: str) -> str:
    small = f"<small>{meaning}</small>" if meaning else ""
    return f'<tr><th scope="row">{label}{small}</th>{cells}</tr>'


def _card(columns: Sequence[Column], body: str) -> str:
    heads = "".join(
        f'<th scope="col"><span class="run s{i}">{html.escape(column.title)}</span>'
        f"<small>{html.escape(column.name)}</small></th>"
        for i, column in enumerate(columns)
    )
    return (
        '<div class="card scroll" tabindex="0"><table class="facts-table"><thead><tr><td></td>'
        f"{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _knowledge(columns: Sequence[Column]) -> str:
    """What the networks know, as of their latest checkpoint; the script follows the slider."""
    if not any(column.known for column in columns):
        return ""
    rows = [("when", "Network", "the checkpoint nearest to the game above")]
    for name, measure in probes.MEASURES.items():
        if any(name in known.probes for column in columns for known in column.known):
            rows.append((name, measure.title, measure.meaning))
    body = "".join(
        _row(label, meaning, "".join(_known_cell(column, name) for column in columns))
        for name, label, meaning in rows
    )
    return _card(columns, body)


def _known_cell(column: Column, name: str) -> str:
    texts = _known_data(column, column.known[-1])["texts"] if column.known else {}
    since = ""
    if name in texts and name != "when":
        since = f"<small>{probes.since_in_words(column.known, name)}</small>"
    return (
        f'<td><span data-known="{name}">{html.escape(texts.get(name, UNKNOWN))}</span>{since}</td>'
    )


def _known_data(column: Column, known: probes.Known) -> dict[str, Any]:
    """A checkpoint's results in words, by measure."""
    when = f"step {known.step:,}"
    trained = _trained(column, known.step)
    if known.step and trained is not None:
        when += f", after {trained}"
    texts = {name: probes.in_words(name, probe) for name, probe in known.probes.items()}
    return {"step": known.step, "texts": {"when": when if known.step else "untrained", **texts}}


def _boards(number: int, column: Column) -> str:
    return "".join(
        f'<div id="film-{number}-{place}" hidden>'
        + ("" if game.film is None else game.film.svg)
        + "</div>"
        for place, game in enumerate(column.films)
    )


def _game_data(column: Column, game: Shown) -> dict[str, Any]:
    """A game with the time that its player had trained."""
    return {**game.data, "trained": _trained(column, game.data["step"])}


def _trained(column: Column, step: int) -> str | None:
    """How long a network had trained after so many steps; None: not in the run's table."""
    steps, seconds = (
        [cell(row, name) or 0.0 for row in column.rows] for name in ("step", "seconds")
    )
    there = bisect_left(steps, step)
    trained = 0.0 if not step else (seconds[there] if there < len(seconds) else None)
    return None if trained is None else duration(trained)
