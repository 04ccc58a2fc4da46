"""One page about one run: `report.html`, which opens anywhere, offline too.

The page is `template.html` in `frame.html`, with the scripts and styles next to them and the run's
numbers as JSON. All data comes from the run directory. It omits what a run does not have yet, so a
report can be written at any time.

This file writes the page. `tables.py` reads the run's tables, `figures.py` lists the charts,
`game_choice.py` chooses games, `games.py` replays them, and `predicted.py` asks the network about
them.
"""

import html
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from azcore.arena.elo import Rating, fit_ratings
from azcore.errors import AzcoreError
from azcore.pictures import shared, title_of
from azcore.report.doctor import HISTORY, findings, numbers_of
from azcore.report.figures import CHARTS, SECTIONS, chart_data, setting, share_of
from azcore.report.games import Games, Shown
from azcore.report.probes import MEASURES, Known, in_words, probes_of, since_in_words
from azcore.report.tables import (
    ANCHOR,
    cell,
    columns_of,
    count,
    gate_curve,
    last_of_each,
    measured_by,
    rating_curve,
    read_rows,
    scores,
    slowest_first,
    thinned,
)
from azcore.storage.changes import UNCHANGED, changes, describe_base
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import DEFAULT, own_settings

CPU = torch.device("cpu")
MAX_MEMBERS = 50
MAX_MATCHES = 200
NOTHING_YET = (
    "The first generation of this run has not ended yet. Its curves and games will appear here."
)
NO_GAME = "No game has ended yet."
NO_MATCH = "No matches yet."
MAX_SETTINGS = 20_000  # characters


class Report:
    """The report of one run, which can be rewritten during the run.

    Args:
        run_dir: holds any of config.yaml, metrics.csv, matches.csv, gate.csv, games/records.azg and
            checkpoints.
        device: where the network evaluates the games.
    """

    def __init__(self, run_dir: Path, device: torch.device = CPU) -> None:
        self._run = RunDirectory(run_dir)
        self._games = Games(self._run, device)

    def write(self) -> Path:
        """Write `report.html` into the run directory, replacing an older one.

        The page grows to a few megabytes at most, whatever the length of the run.

        Returns: The page's path. The replacement is atomic.

        Raises:
            OSError: the page cannot be written.
        """
        path = self._run.report
        page = self.render()
        # A unique name: two processes may write at once, and a link is never followed.
        number, part = tempfile.mkstemp(".part", "report-", path.parent)
        try:
            with open(number, "w", encoding="utf-8") as file:
                file.write(page)
            os.chmod(part, 0o644)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
        return path

    def render(self) -> str:
        metrics = last_of_each(read_rows(self._run.metrics), ("generation",))
        games, notes = self._games.shown(count(metrics[-1], "step") if metrics else 0)
        return _page(self._run, metrics, games, notes)


def write_report(run_dir: Path, device: torch.device = CPU) -> Path:
    """Write the report of a run once; see `Report`."""
    return Report(run_dir, device).write()


def _page(
    run: RunDirectory, metrics: list[dict[str, str]], games: list[Shown], notes: list[str]
) -> str:
    try:
        config, config_note = own_settings(run), ""
    except AzcoreError:
        config, config_note = {}, "The settings of this run cannot be read."
    matches = last_of_each(read_rows(run.matches), ("generation", "player", "opponent"))
    gate = last_of_each(read_rows(run.gate), ("generation",))
    ratings = fit_ratings(scores(matches), ANCHOR)
    curve = rating_curve(matches, metrics, ratings)
    plain = [game.data for game in games]

    # A sequential test decides without a threshold.
    threshold = None if setting(config, "gate.sprt") else share_of(config, "gate.threshold")
    drawn = [metrics[i] for i in thinned(len(metrics))]
    data = {
        "x": {name: [cell(row, name) for row in drawn] for name in ("step", "games", "seconds")},
        "columns": columns_of(drawn, CHARTS),
        "charts": [chart_data(chart, config) for chart in CHARTS],
        "rating": curve,
        "gate": {**gate_curve(gate, metrics), "threshold": threshold},
        "games": plain,
    }
    try:
        known = probes_of(run)
    except AzcoreError:
        known = []
    name, settings = game_settings(config, plain[0] if plain else None)
    parts = {
        "title": html.escape(f"{title_of(name)} – {run.path.absolute().name}"),
        "css": read("report.css", "chart.css"),
        "heading": html.escape(title_of(name)),
        "run": html.escape(run.path.absolute().name),
        "settings": settings_html(settings),
        "facts": facts_html(metrics, curve),
        "opening": opening_html(metrics),
        "findings": findings_html(metrics),
        "rating": rating_html(curve, matches),
        "gate": gate_html(gate, threshold),
        "sections": "\n".join(section_html(key, metrics) for key in SECTIONS),
        "known": known_html(known, metrics),
        "notes": "".join(map(note_html, notes or ([] if games else [NO_GAME]))),
        "boards": boards_html(games),
        "choices": choices_html(plain),
        "one_game": "hidden" if len(games) < 2 else "",
        "hidden": "" if games else "hidden",
        "matches": matches_html(matches, ratings),
        "members": members_html(slowest_first(read_rows(run.members))),
        "config": config_html(config, config_note),
        "data": json_for_script(data),
        "js": read("chart.js", "charts.js", "games.js"),
    }
    return filled("template.html", parts)


def read(*names: str) -> str:
    """The texts of files next to this one, joined."""
    folder = Path(__file__).parent
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A page: a template in the common frame. Braces in inserted text are not replaced again."""

    def fill(name: str, parts: Mapping[str, str]) -> str:
        return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], read(name))

    return fill("frame.html", {**parts, "body": fill(template, parts)})


# -- parts of the page --------------------------------------------------------------------------


def json_for_script(data: Any) -> str:
    """JSON that can neither end its script element nor start a comment there."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def boards_html(games: list[Shown]) -> str:
    """The boards of the games, for games.js to step through; it fills in text boards."""
    films = [game.film for game in games]
    parts = shared([film for film in films if film is not None]) if any(films) else ""
    for i, film in enumerate(films):
        if film is None:
            text = 'class="board" tabindex="0" role="img" hidden'
            parts += f'<pre id="board-{i}" {text}><span></span></pre>'
        else:
            parts += f'<div id="board-{i}" class="board drawn" hidden>{film.svg}</div>'
    return parts


def choices_html(games: list[dict[str, Any]]) -> str:
    return "".join(
        f'<button type="button" data-game="{i}">{html.escape(game["why"])}</button>'
        for i, game in enumerate(games)
    )


def opening_html(metrics: list[dict[str, str]]) -> str:
    """A preview for a page without numbers."""
    return "" if metrics else f'<p class="lead">{NOTHING_YET}</p>'


def note_html(note: str) -> str:
    return f'<p class="missing">{html.escape(note)}</p>' if note else ""


def game_settings(
    config: dict[str, Any], game: dict[str, Any] | None
) -> tuple[str, list[tuple[str, str]]]:
    """The game's name, and the settings that distinguish one run from another."""
    own = config.get("game")
    own = dict(own) if isinstance(own, dict) else {"name": own or ""}
    name = str(own.pop("name", "") or (game or {}).get("name", ""))
    settings = [(str(key).replace("_", " "), str(value)) for key, value in own.items()]
    for key, label in (
        ("algorithm", "algorithm"),
        ("network.name", "network"),
        ("network.blocks", "blocks"),
        ("network.channels", "channels"),
        ("search.num_simulations", "simulations a move"),
        ("seed", "seed"),
    ):
        value = setting(config, key)
        if value is not None and not isinstance(value, dict | list):
            settings.append((label, str(value)))
    return name, settings


def settings_html(settings: list[tuple[str, str]]) -> str:
    return "".join(
        f"<li>{html.escape(label)} <b>{html.escape(value)}</b></li>" for label, value in settings
    )


def facts_html(metrics: list[dict[str, str]], curve: dict[str, Any]) -> str:
    """The key numbers of a run."""
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


def findings_html(metrics: list[dict[str, str]]) -> str:
    """The problems at the end of the run; empty if there are none."""
    found = findings([numbers_of(row) for row in metrics[-HISTORY:]])
    if not found:
        return ""
    items = "".join(
        f"<li>{html.escape(f'{text[:1].upper()}{text[1:]}.')}</li>" for text in found.values()
    )
    return f'<section class="findings"><h2>Warnings</h2><ul>{items}</ul></section>'


def duration(seconds: float) -> str:
    """`3 h 07 min`, `12 min 05 s`, `40 s`."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours:,} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def figure_html(name: str, title: str, explanation: str, note: str) -> str:
    """A chart's frame; charts.js draws into it."""
    body = note_html(note) or f'<div class="plot" data-chart="{name}"></div>'
    return (
        f'<figure class="card"><figcaption><h3>{html.escape(title)}</h3>'
        f"<p>{html.escape(explanation)}</p></figcaption>{body}</figure>"
    )


def rating_html(curve: dict[str, Any], matches: list[dict[str, str]]) -> str:
    note = ""
    if not matches:
        note = NO_MATCH
    elif not curve["value"]:
        note = f"No match connects a player of this run to {ANCHOR}, whose rating is 0."
    return figure_html(
        "rating",
        "Rating",
        "Strength from all matches together; random play is 0. A lead of 200 means 76 % of the "
        "points in a match; the band is a 95 % interval. " + measured_by(matches),
        note,
    )


def gate_html(gate: list[dict[str, str]], threshold: float | None) -> str:
    """The candidates' matches against the best player; empty for a run without a gate."""
    if not gate:
        return ""
    passed = [row for row in gate if row.get("promoted") == "1"]
    best = count(passed[-1], "step") if passed else 0
    verb = "has" if len(passed) == 1 else "have"
    lead = (
        f"{len(passed):,} of {len(gate):,} candidates {verb} passed; the best player is that of "
        f"step {best:,}."
    )
    line = " enough" if threshold is None else f" more than {100 * threshold:g} %"
    figure = figure_html(
        "gate",
        "Candidates against the best player",
        "The best player so far plays the games. From time to time the network in training plays a "
        f"match against it, and replaces it by scoring{line}; each bar is a 95 % interval.",
        "",
    )
    return f'<section><h2>Who plays the games?</h2><p class="lead">{lead}</p>{figure}</section>'


def section_html(key: str, metrics: list[dict[str, str]]) -> str:
    """The charts of a section that have numbers; empty if none has."""
    figures = [
        figure_html(chart.name, chart.title, chart.explanation, "")
        for chart in CHARTS
        if chart.section == key
        and any(cell(row, series.column) is not None for row in metrics for series in chart.series)
    ]
    if not figures:
        return ""
    return f'<section><h2>{SECTIONS[key]}</h2><div class="grid">{"".join(figures)}</div></section>'


def known_html(course: Sequence[Known], metrics: list[dict[str, str]]) -> str:
    """What each checkpoint knew without search, latest first; empty if none is measured."""
    names = [name for name in MEASURES if any(name in known.probes for known in course)]
    if not names:
        return ""
    seconds = {count(row, "step"): cell(row, "seconds") for row in metrics}
    heads = [
        f'<abbr title="{MEASURES[name].meaning}">{MEASURES[name].title}</abbr>' for name in names
    ]
    rows = [
        [
            "",
            "<strong>Known</strong>",
            *(f"<strong>{since_in_words(course, name)}</strong>" for name in names),
        ]
    ]
    for known in reversed(course):
        at = 0.0 if known.step == 0 else seconds.get(known.step)
        probes = known.probes
        texts = [in_words(name, probes[name]) if name in probes else "–" for name in names]
        rows.append([f"{known.step:,}", "–" if at is None else duration(at), *texts])
    return (
        '<section><h2>What does it know without search?</h2><p class="lead">Each network answers '
        "the same questions in positions of random games. A measure counts as known from "
        "the first step after which it stays at least halfway between chance and its best.</p>"
        f"{table_html('What each checkpoint knew', ('Step', 'Time', *heads), rows)}</section>"
    )


def matches_html(matches: list[dict[str, str]], ratings: dict[str, Rating]) -> str:
    """The latest matches, newest first."""
    if not matches:
        return note_html(NO_MATCH)
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
        rows.append(cells)
    left_out = len(matches) - len(rows)
    note = f"<p>{left_out:,} earlier matches are in matches.csv.</p>" if left_out else ""
    return table_html("Matches, newest first", (*heads, "Rating"), rows) + note


def table_html(label: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table on a card; its cells are HTML."""
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
    return (
        f'<div class="card scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def members_html(members: list[dict[str, str]]) -> str:
    """The processes or actors of self-play, in the order given; empty for threads."""
    if not members:
        return ""
    heads = ("Where", "Games/s", "Evaluations/s", "Steps behind", "Restarted")
    rows = [
        [
            html.escape(row.get("member", "")),
            f"{cell(row, 'games_per_s') or 0.0:,.1f}",
            *(f"{count(row, name):,}" for name in ("evaluations_per_s", "version_lag", "restarts")),
        ]
        for row in members[:MAX_MEMBERS]
    ]
    left_out = len(members) - len(rows)
    note = f"<p>{left_out:,} faster ones are in members.csv.</p>" if left_out else ""
    return (
        '<section><h2>Self-play processes</h2><p class="lead">The latest generation, slowest '
        "first: the speed of each process or actor, how many learner steps its weights lag "
        "behind, and how often it was lost and restarted.</p>"
        f"{table_html('Processes and actors', heads, rows)}{note}</section>"
    )


def config_html(config: dict[str, Any], note: str) -> str:
    if note:
        return note_html(note)
    found = changes(config)
    table = ""
    if found:
        rows = [[html.escape(cell) for cell in each.cells] for each in found]
        table = (
            f"<p>Other than the defaults of <code>{html.escape(describe_base(config))}</code>:</p>"
            + table_html("Changed settings", ("Setting", "Value", "Default"), rows)
        )
    elif found is not None:
        table = f"<p>{UNCHANGED.capitalize()}.</p>"
    whole = {key: value for key, value in config.items() if key != DEFAULT}
    text = yaml.safe_dump(whole, sort_keys=False, allow_unicode=True)
    if len(text) > MAX_SETTINGS:
        text = text[:MAX_SETTINGS] + "\n… the rest is in config.yaml"
    return (
        f'{table}<details class="card"><summary>Every setting of this run</summary>'
        f'<pre class="scroll" tabindex="0">{html.escape(text)}</pre></details>'
    )
