"""`command=compare`: rates saved checkpoints of several runs together and plots them over cost.

Each checkpoint plays against the anchors `random` (any legal action, 0 Elo) and `search` (PUCT
without a network), its neighbours in its own run, and checkpoints of other runs at about the same
step. Matches are saved as they end, so a comparison that was stopped resumes, and runs added later
cost only their own matches.

The command writes into the compared folder or `run_dir`:

comparison.csv           one row per match
ratings.csv              one row per checkpoint
figure.png, figure.svg   if matplotlib is installed

With `supervised.games=[FILE.azg]` it also measures how well each checkpoint predicts the games that
are held out, as Silver 2017, figure 3, does beside the ratings.

With `compare.side_by_side=true` it plays no match: it writes `side_by_side.html`, a page of two to
four runs in columns, of one game or of several.
"""

from __future__ import annotations

import csv
import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from azcore.arena.elo import PairScore
from azcore.arena.match import play_match
from azcore.arena.players import Player, RandomPlayer, SearchPlayer
from azcore.assembly.parts import Config, LearningSettings
from azcore.commands.compare.means import MeanPoint, Pool, Rated, mean_curves
from azcore.commands.compare.runs import DIGEST, Run, find_runs, labels, named_runs
from azcore.commands.compare.settings import CompareSettings, compare_settings
from azcore.commands.console import table_console
from azcore.errors import SettingError
from azcore.learner.given import (
    Prediction,
    SupervisedSettings,
    predict,
    read_games,
    supervised_settings,
)
from azcore.networks.saved import load_network
from azcore.report.side_by_side import render_side_by_side
from azcore.search.evaluators import UniformEvaluator
from azcore.storage.run_directory import RUNS, dated
from azcore.storage.table import Table
from azcore.storage.untrusted import require_no_link

MATCHES = [
    "player",
    "opponent",
    "player_digest",  # tells the players from others of the same name
    "opponent_digest",
    "games",
    "opening_plies",
    "num_simulations",
    "wins",
    "draws",
    "losses",
    "distinct_games",
    "pairs",  # distinct ones, see `PairScore.to_text`
]
RATINGS = ["run", "variant", "seed", "step", "evaluations", "seconds", "rating", "low", "high"]
PREDICTIONS = {"predicted": "{:.1%}", "value_error": "{:.3f}"}  # if there are games to predict
FILES = ["comparison.csv", "ratings.csv", "ratings.csv.tmp", "figure.png", "figure.svg"]
SIDE_BY_SIDE = "side_by_side.html"
RANDOM, SEARCH = "random", "search"  # the anchors; no checkpoint of a run has these names


def compare(config: Config) -> int:
    """Rate, write the tables, draw the figure and print the ratings of the last checkpoints; 0.

    Raises:
        AzcoreError: a setting or a run cannot be used; matches already played stay saved.
    """
    options = compare_settings(config)
    supervised = supervised_settings(config)
    if options.side_by_side:
        if supervised.games:
            raise SettingError("supervised.games is for comparisons that play, not side by side")
        return _write_side_by_side(config["run_dir"], options.runs)
    runs = find_runs(options.runs, config["device"], options.checkpoints)
    for run in runs:
        for kept in run.kept:
            if kept.cost(options.x) is None:
                raise SettingError(
                    f"{run.path}/metrics.csv has no {options.x} of step {kept.step}; compare.x="
                    f"steps needs none"
                )
    folder = _folder(config["run_dir"], options.runs)
    console = table_console(markup=False, soft_wrap=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"{folder} cannot be written to: {error.strerror}") from error
    for name in FILES:
        require_no_link(folder / name)
    predictions = _predict(runs, supervised, console) if supervised.games else {}
    scores = _play(runs, options, Table(folder / "comparison.csv", MATCHES), console)
    pool = Pool(scores, anchor=RANDOM)
    everyone = [kept.name for run in runs for kept in run.kept]
    rated = [
        Rated(
            run=run,
            kept=kept,
            rating=pool.values[kept.name],
            half=pool.half_width_among([kept.name], everyone),
            prediction=predictions.get(kept.name),
        )
        for run in runs
        for kept in run.kept
    ]
    curves = mean_curves(rated, pool, options.x)
    _write_ratings(folder / "ratings.csv", rated, pool.values[SEARCH])
    console.print(f"ratings {folder / 'ratings.csv'}")
    _print_last(console, rated, curves, pool, options)
    _draw(folder, rated, curves, pool.values[SEARCH], options, console)
    return 0


def _write_side_by_side(run_dir: str | None, folders: Sequence[str]) -> int:
    """Write the page of runs in columns and print its path; 0.

    Raises:
        SettingError: there are too few runs or too many, or the page cannot be written.
    """
    page = render_side_by_side([(name, run) for name, run in named_runs(folders).items()])
    folder = _folder(run_dir, folders)
    path = folder / SIDE_BY_SIDE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        require_no_link(path)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror}") from error
    print(f"side by side {path}, {path.stat().st_size / 1e3:,.0f} kB")
    return 0


def _folder(run_dir: str | None, runs: Sequence[str]) -> Path:
    """Where to write: `run_dir`, or the folder of the runs if one holds them all."""
    if run_dir is not None:
        return Path(run_dir)
    if len(runs) == 1:
        return Path(runs[0])
    return dated(RUNS / "compare")


def pairings(runs: Sequence[Run], rivals: int) -> Iterator[tuple[str, str]]:
    """The pairings by name, no pair twice.

    Every checkpoint meets both anchors and the next one of its run. At each level the runs form a
    ring, sorted by seed and variant, and each meets the next `rivals` ones. Variants meet each
    other there, and so do seeds.
    """
    yield SEARCH, RANDOM
    for run in runs:
        for kept in run.kept:
            yield kept.name, RANDOM
            yield kept.name, SEARCH
        for earlier, later in pairwise(run.kept):
            yield later.name, earlier.name
    levels: dict[int, list[str]] = {}
    for run in runs:
        for kept in run.kept:
            levels.setdefault(kept.level, []).append(kept.name)
    met: set[frozenset[str]] = set()
    for ring in levels.values():
        for distance in range(1, rivals + 1):
            for i, name in enumerate(ring):
                rival = ring[(i + distance) % len(ring)]
                if rival != name and frozenset((name, rival)) not in met:
                    met.add(frozenset((name, rival)))
                    yield name, rival


def _predict(
    runs: Sequence[Run], settings: SupervisedSettings, console: Console
) -> dict[str, Prediction]:
    """How well each checkpoint predicts the games that are held out, without search.

    Empty if none is.

    Raises:
        SettingError: the games cannot be read, or a run has learned from some of those.
    """
    for run in runs:
        its = supervised_settings(run.config)
        if its.enabled and its.held_out < settings.held_out:
            raise SettingError(
                f"supervised.held_out must be at most {its.held_out:g}, got {settings.held_out:g}: "
                f"{run.name} has learned from the other games"
            )
    game = runs[0].settings.game
    games = read_games(settings, game)
    if not games.held_out:
        console.print(
            f"nothing is predicted: supervised.held_out={settings.held_out:g} of "
            f"{len(games.learned):,} games is none"
        )
        return {}
    kept = [(run, entry) for run in runs for entry in run.kept]
    predictions = {}
    with console.status("") as status:
        for number, (run, entry) in enumerate(kept, 1):
            status.update(f"predictions of {entry.name}, checkpoint {number} of {len(kept)}")
            # Without the symmetries that a search may see positions in.
            evaluator = run.settings.evaluator(load_network(entry.path, game)[0])
            predictions[entry.name] = predict(
                evaluator, game, games.held_out, settings.held_out_positions
            )
    return predictions


def _play(
    runs: Sequence[Run], options: CompareSettings, table: Table, console: Console
) -> list[PairScore]:
    """The results of all pairings; those in the table are not played again."""
    kept = {kept.name: (run, kept) for run in runs for kept in run.kept}
    baseline = _baseline(runs, options)
    digests = {name: entry.digest for name, (_, entry) in kept.items()}
    played_by = repr((baseline.game.name, baseline.game.settings, baseline.search))
    digests[RANDOM] = ""
    digests[SEARCH] = hashlib.sha256(played_by.encode()).hexdigest()[:DIGEST]
    played = {_key(row): row for row in table.rows()}
    pairs = list(pairings(runs, options.rivals))
    rows: list[dict[str, Any]] = [
        {
            "player": player,
            "opponent": opponent,
            "player_digest": digests[player],
            "opponent_digest": digests[opponent],
            "games": options.games,
            "opening_plies": options.opening_plies,
            "num_simulations": options.num_simulations,
        }
        for player, opponent in pairs
    ]
    known = sum(_key(row) in played for row in rows)
    console.print(
        f"{len(kept)} checkpoints of {len(runs)} runs: {len(rows)} matches of {options.games} games"
        + (f", {known} of them played before" if known else "")
    )

    def player(name: str) -> Player:
        if name == RANDOM:
            return RandomPlayer(game=baseline.game)
        run, entry = kept.get(name, (None, None))
        settings = baseline if run is None else run.settings
        return SearchPlayer(
            game=settings.game,
            evaluator=UniformEvaluator(settings.game)
            if entry is None
            else settings.checkpoint_evaluator(entry.path),
            settings=settings.search,
            num_simulations=options.num_simulations,
            name=name,
        )

    scores = []
    with console.status("") as status:
        for number, row in enumerate(rows, 1):
            if _key(row) not in played:
                names = (row["player"], row["opponent"])
                status.update(f"match {number} of {len(rows)}: {names[0]} against {names[1]}")
                result = play_match(
                    baseline.game,
                    player(names[0]),
                    player(names[1]),
                    num_games=options.games,
                    opening_plies=options.opening_plies,
                    seed=zlib.crc32(" ".join(names).encode()),  # other openings in each match
                )
                row.update(
                    wins=result.wins,
                    draws=result.draws,
                    losses=result.losses,
                    distinct_games=result.distinct_games,
                    pairs=result.distinct.to_text(),
                )
                table.append(row)
                played[_key(row)] = row
            scores.append(_score(table, played[_key(row)]))
    return scores


def _baseline(runs: Sequence[Run], options: CompareSettings) -> LearningSettings:
    """The settings of `search`: those of the first run, without later methods."""
    settings = runs[0].settings
    search = replace(settings.search.baseline(), num_simulations=options.num_simulations)
    return replace(settings, search=search)


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that identify a match, which is not played again."""
    return tuple(str(row.get(column)) for column in MATCHES[:7])


def _score(table: Table, row: Mapping[str, Any]) -> PairScore:
    cells = {column: str(value) for column, value in row.items()}
    return PairScore.from_text(
        *(table.text(cells, column) for column in ("player", "opponent", "pairs"))
    )


def _write_ratings(path: Path, rated: Sequence[Rated], search: float) -> None:
    predictions = [name for name in PREDICTIONS if name in rated[0].values]
    rows: list[dict[str, Any]] = [
        {
            "run": entry.run.name,
            "variant": entry.run.variant,
            "seed": entry.run.seed,
            "step": entry.kept.step,
            "evaluations": entry.kept.evaluations,
            "seconds": entry.kept.seconds,
            "rating": round(entry.rating, 1),
            "low": round(entry.rating - entry.half, 1),
            "high": round(entry.rating + entry.half, 1),
            **{name: round(entry.values[name], 4) for name in predictions},
        }
        for entry in rated
    ]
    rows += [{"run": RANDOM, "rating": 0.0}, {"run": SEARCH, "rating": round(search, 1)}]
    new = path.with_suffix(".csv.tmp")
    try:
        with new.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*RATINGS, *predictions])
            writer.writeheader()
            writer.writerows(rows)
        new.replace(path)
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror}") from error


def _print_last(
    console: Console,
    rated: Sequence[Rated],
    curves: Mapping[str, Sequence[MeanPoint]],
    pool: Pool,
    options: CompareSettings,
) -> None:
    """Print each variant's last rating, and the error of all of them relative to random play."""
    table = RichTable(title="last checkpoints, Elo above random play")
    for column in ("variant", "seeds", "mean", "95 % interval"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    predictions = [name for name in PREDICTIONS if name in rated[0].values]
    for name in predictions:
        table.add_column(name.replace("_", " "), justify="right")
    names = labels(curves)
    for variant, points in curves.items():
        last = points[-1]
        seeds = {entry.run.seed for entry in rated if entry.run.variant == variant}
        table.add_row(
            names[variant],
            ", ".join(map(str, sorted(seeds))),
            f"{last.rating.value:+.0f}",
            f"[{last.rating.low:+.0f}, {last.rating.high:+.0f}]",
            *(PREDICTIONS[name].format(last.means[name].value) for name in predictions),
        )
    console.print(table)
    if rated[0].prediction is not None:
        console.print(
            f"predictions without search, of {rated[0].prediction.positions:,} positions of "
            f"{rated[0].prediction.games:,} games that are held out"
        )
    console.print(
        f"measured at {options.num_simulations} simulations a move, against random play, search "
        "without a network and each other"
    )
    if len(rated) == 1:
        console.print("the interval is of the distance from random play")
        return
    shift = pool.half_width_among([entry.kept.name for entry in rated], [RANDOM])
    console.print(
        "intervals are of checkpoints beside each other; all of them together may be "
        f"{shift:.0f} Elo nearer to random play, or further from it"
    )


def _draw(
    folder: Path,
    rated: Sequence[Rated],
    curves: Mapping[str, Sequence[MeanPoint]],
    search: float,
    options: CompareSettings,
    console: Console,
) -> None:
    try:
        from azcore.commands.compare.figure import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        console.print("no figure without matplotlib: pip install matplotlib")
        return
    for path in draw(folder, rated, curves, search, options):
        console.print(f"figure {path}")
