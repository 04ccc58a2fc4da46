"""A comparison: saved checkpoints of several runs rated together, and plotted over their cost.

Each checkpoint plays against the anchors `random` (any legal action, 0 Elo) and `search` (PUCT
without a network), its neighbours in its own run, and checkpoints of other runs at about the same
step. Matches are saved as they end, so a comparison that was stopped resumes, and runs added later
cost only their own matches.

It writes into the compared folder or `run_dir`:

comparison_matches.csv   one row per match
comparison_games.csv     every game
ratings.csv              one row per checkpoint
differences.csv          one row per two variants: how much stronger one is, and how certain that is
comparison.txt           the printed tables and sentences
scaling.csv              with `arena.x=compute`: how strength grows with compute and parameters
figure.png, figure.svg   if matplotlib is installed

With `supervised.games=[FILE.azg]` it also measures how well each checkpoint predicts the held-out
games, which Silver 2017, figure 3, plots next to the ratings.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from azcore import interrupts
from azcore.arena.elo import Rating
from azcore.arena.match import MatchResult, arena_settings
from azcore.assembly.entrants import Entrant, OfRun, identity_of, players_of
from azcore.assembly.parts import Config, MatchSettings
from azcore.commands.arena import scaling
from azcore.commands.arena.arms import identical_arms, listed, table_of_settings, unlike
from azcore.commands.arena.files import MatchFiles
from azcore.commands.arena.matches import (
    Circumstances,
    Pairing,
    match_of,
    play_all,
    player_of_matches,
)
from azcore.commands.arena.means import Difference, MeanPoint, Pool, Rated, difference, mean_curves
from azcore.commands.arena.printed import probability
from azcore.commands.arena.runs import Run, find_runs, labels
from azcore.commands.arena.settings import ComparisonSettings, comparison_settings
from azcore.commands.console import PAGE, table_console
from azcore.commands.result import write_result
from azcore.errors import SettingError, os_errors_as
from azcore.learner.imported_games import (
    Prediction,
    SupervisedSettings,
    predict,
    read_games,
    supervised_settings,
)
from azcore.networks.checkpoint import load_network
from azcore.selfplay.backend import BackendSettings
from azcore.settings import build
from azcore.storage.run_directory import RUNS, dated
from azcore.storage.table import Table
from azcore.storage.untrusted import require_no_link

RATINGS = ["run", "variant", "seed", "step", "evaluations", "seconds", "rating", "low", "high"]
PREDICTIONS = {"predicted": "{:.1%}", "value_error": "{:.3f}"}  # if there are games to predict
DIFFERENCES = ["stronger", "weaker", "elo", "low", "high", "probability"]
MOST_PAIRS = 10  # printed; of more, those of the strongest variant
SUMMARY = "comparison.txt"
FILES = [
    *("ratings.csv", "ratings.csv.tmp", "differences.csv", "differences.csv.tmp", SUMMARY),
    *("scaling.csv", "scaling.csv.tmp", "figure.png", "figure.svg"),
]
RANDOM, SEARCH = "random", "search"  # the anchors; no checkpoint of a run has these names


def comparison(config: Config) -> int:
    """Rate, write the tables, draw the figure and print the ratings of the last checkpoints.

    Returns: 0, or 130 when interrupted; matches already played stay saved.
    """
    options = comparison_settings(config["arena"])
    supervised = supervised_settings(config)
    backend = build(BackendSettings, config["backend"], "backend")
    runs = find_runs(options.runs, config["device"], options.checkpoints, options.x)
    column = "evaluations" if options.x == "compute" else options.x
    for run in runs:
        for kept in run.kept:
            if kept.cost(column) is None:
                raise SettingError(
                    f"{run.path}/metrics.csv has no {column} for step {kept.step}; "
                    f"arena.x=steps works without it"
                )
    folder = _folder(config["run_dir"], options.runs)
    console = table_console(markup=False, soft_wrap=True)
    with os_errors_as(SettingError, f"{folder} cannot be written to"):
        folder.mkdir(parents=True, exist_ok=True)
    files = MatchFiles(folder, runs[0].settings.game, "comparison_")
    for path in (*files.paths, *(folder / name for name in FILES)):
        require_no_link(path)
    predictions = _predict(runs, supervised, console) if supervised.games else {}
    results = _play(_match_settings(config, options, runs), backend, runs, options, files, console)
    if results is None:
        return interrupts.STATUS
    pool = Pool([result.distinct for result in results], anchor=RANDOM)
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
    same = identical_arms(runs)
    pairs = _pairs(curves, pool, same)
    differences = _rows_of(pairs)
    Table(folder / "differences.csv", DIFFERENCES).replace(differences)
    console.print(f"ratings {folder / 'ratings.csv'}")
    found = scaling.laws(rated, pool) if options.x == "compute" else {}
    if found:
        Table(folder / "scaling.csv", scaling.SCALING).replace(scaling.rows_of(found))
    output = [
        *_last(rated, curves, pool, options),
        *(scaling.report(found) if found else ()),
        *_between(curves, pairs, same),
        *unlike(runs, {variant: points[-1] for variant, points in curves.items()}),
        *table_of_settings(runs),
    ]
    for each in output:
        console.print(each)
    _save(folder / SUMMARY, output)
    _draw(folder, rated, curves, pool.values[SEARCH], options, found, console)
    last = {variant: vars(points[-1].rating) for variant, points in curves.items()}
    more = {"scaling": scaling.rows_of(found)} if found else {}
    write_result(
        config,
        folder=folder,
        ratings=last,
        differences=differences,
        same_weights=same,
        notes=[each for each in output if isinstance(each, str)],
        **more,
    )
    return 0


def _folder(run_dir: str | None, runs: Sequence[str]) -> Path:
    """The output folder: `run_dir`, or the folder of the runs if one holds them all."""
    if run_dir is not None:
        return Path(run_dir)
    if len(runs) == 1:
        return Path(runs[0])
    return dated(RUNS / "compare")


def pairings(runs: Sequence[Run], rivals: int) -> Iterator[tuple[str, str]]:
    """The pairings by name, without repeats.

    Every checkpoint plays both anchors and the next checkpoint of its run. At each level the runs
    form a ring, sorted by seed and variant, and each plays the next `rivals` ones. So variants and
    seeds play each other.
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
    """How well each checkpoint predicts the held-out games, without search.

    Returns an empty result if no game is held out.
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
            f"nothing to predict: supervised.held_out={settings.held_out:g} of "
            f"{len(games.learned):,} games holds out none"
        )
        return {}
    kept = [(run, entry) for run in runs for entry in run.kept]
    predictions = {}
    with console.status("") as status:
        for number, (run, entry) in enumerate(kept, 1):
            status.update(f"predictions of {entry.name}, checkpoint {number} of {len(kept)}")
            # Without the random symmetries that a search may apply to positions.
            evaluator = run.settings.evaluator(load_network(entry.path, game)[0])
            predictions[entry.name] = predict(
                evaluator, game, games.held_out, settings.held_out_positions
            )
    return predictions


def _match_settings(
    config: Config, options: ComparisonSettings, runs: Sequence[Run]
) -> MatchSettings:
    """How the matches are played; `search` plays as the first run does, without later methods."""
    first, names = runs[0].settings, ("games", "opening_plies", "num_simulations")
    return MatchSettings(
        config=config,
        game=first.game,
        seed=first.seed,
        device=first.device,
        evaluation=first.evaluation,
        search=first.search,
        arena=arena_settings({"arena": {name: getattr(options, name) for name in names}}),
        sprt=None,
        programs={},
    )


def _play(
    settings: MatchSettings,
    backend: BackendSettings,
    runs: Sequence[Run],
    options: ComparisonSettings,
    files: MatchFiles,
    console: Console,
) -> list[MatchResult] | None:
    """The results of all pairings; None when interrupted."""
    entrants: dict[str, Entrant] = {RANDOM: RANDOM, SEARCH: SEARCH}
    for run in runs:
        for kept in run.kept:
            entrants[kept.name] = OfRun(kept.name, kept.path, run.settings, kept.digest)
    names = list(entrants)
    identities = {name: identity_of(entrant, {}) for name, entrant in entrants.items()}
    identities[SEARCH] = repr(settings.search.baseline())
    conditions = (settings.game.identity, settings.arena)
    wanted = [
        Pairing(
            players=(names.index(pair[0]), names.index(pair[1])),
            seed=zlib.crc32(" ".join(pair).encode()),  # different openings in each match
            match=match_of(conditions, *((name, identities[name]) for name in pair)),
        )
        for pair in pairings(runs, options.rivals)
    ]
    console.print(
        f"{len(entrants) - 2} checkpoints of {len(runs)} runs: {len(wanted)} matches of "
        f"{options.games} games"
    )
    players = players_of(settings, list(entrants.values()))
    with player_of_matches(
        settings, backend, list(entrants.values()), players, Circumstances(), console.print
    ) as play:
        results, interrupted = play_all(
            settings, players, wanted, play, files, console, lambda *_: None
        )
    if interrupted:
        console.print(
            f"interrupted after {len(results)} of {len(wanted)} matches; the same command plays "
            "the rest"
        )
        return None
    return list(results.values())


def _write_ratings(path: Path, rated: Sequence[Rated], search: float) -> None:
    predictions = [name for name in PREDICTIONS if name in rated[0].values]
    costs = ["parameters", "compute"] if rated[0].kept.compute is not None else []
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
            **(
                {"parameters": entry.run.parameters, "compute": entry.kept.compute} if costs else {}
            ),
        }
        for entry in rated
    ]
    rows += [{"run": RANDOM, "rating": 0.0}, {"run": SEARCH, "rating": round(search, 1)}]
    Table(path, [*RATINGS, *predictions, *costs]).replace(rows)


def _pairs(
    curves: Mapping[str, Sequence[MeanPoint]], pool: Pool, same: Sequence[Sequence[str]]
) -> dict[tuple[str, str], Difference]:
    """Differences of all variants' last means, the stronger first; `same` ones do not differ."""
    found = {}
    by_strength = sorted(curves, key=lambda variant: -curves[variant][-1].rating.value)
    for pair in combinations(by_strength, 2):
        if not any(set(pair) <= set(group) for group in same):
            first, second = (curves[variant][-1] for variant in pair)
            found[pair] = difference(first, second, pool)
    return found


def _rows_of(pairs: Mapping[tuple[str, str], Difference]) -> list[dict[str, Any]]:
    return [
        {
            "stronger": first,
            "weaker": second,
            "elo": round(found.elo.value, 1),
            "low": round(found.elo.low, 1),
            "high": round(found.elo.high, 1),
            "probability": round(found.stronger, 4),
        }
        for (first, second), found in pairs.items()
    ]


def _save(path: Path, output: Sequence[RichTable | str]) -> None:
    reported = os_errors_as(SettingError, f"{path} cannot be written to")
    with reported, path.open("w", encoding="utf-8") as file:
        console = Console(file=file, markup=False, soft_wrap=True, width=PAGE)
        for each in output:
            console.print(each)


def _last(
    rated: Sequence[Rated],
    curves: Mapping[str, Sequence[MeanPoint]],
    pool: Pool,
    options: ComparisonSettings,
) -> Iterator[RichTable | str]:
    """Each variant's last rating, and the error of all of them relative to random play."""
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
            _interval(last.rating),
            *(PREDICTIONS[name].format(last.means[name].value) for name in predictions),
        )
    yield table
    if rated[0].prediction is not None:
        yield (
            f"predictions without search, on {rated[0].prediction.positions:,} positions of "
            f"{rated[0].prediction.games:,} held-out games"
        )
    yield (
        f"measured at {options.num_simulations} simulations a move, against random play, search "
        "without a network and each other"
    )
    if len(rated) == 1:
        yield "the interval is for the difference from random play"
    else:
        shift = pool.half_width_among([entry.kept.name for entry in rated], [RANDOM])
        yield (
            "intervals compare checkpoints with each other; the distance of all of them from "
            f"random play is uncertain by another {shift:.0f} Elo"
        )
    if all(len(points[-1].of) == 1 for points in curves.values()):
        yield "one seed: these intervals do not cover the variation between seeds"
    else:
        yield (
            "several seeds: intervals cover the variation between seeds (Student's t; for a "
            "difference, with the seeds of both) and in matches; without a second seed, only in "
            "matches"
        )


def _between(
    curves: Mapping[str, Sequence[MeanPoint]],
    pairs: Mapping[tuple[str, str], Difference],
    same: Sequence[Sequence[str]],
) -> Iterator[RichTable | str]:
    """The differences between variants, and which variants are equal."""
    names = labels(curves)
    if pairs:
        strongest = next(iter(pairs))[0]
        shown = [pair for pair in pairs if len(pairs) <= MOST_PAIRS or strongest in pair]
        table = RichTable(title="differences of the last checkpoints, Elo")
        table.add_column("variant")
        table.add_column("before")
        for column in ("by", "95 % interval", "likely stronger"):
            table.add_column(column, justify="right")
        for pair in shown:
            found = pairs[pair]
            table.add_row(
                *(names[variant] for variant in pair),
                f"{found.elo.value:+.0f}",
                _interval(found.elo),
                probability(found.stronger),
            )
        yield table
        if len(shown) < len(pairs):
            yield f"only pairs with the strongest variant; differences.csv has all {len(pairs)}"
    for group in same:
        yield (
            f"{listed([names[variant] for variant in group])} have the same weights: their "
            "different settings had no effect on training, so the table omits their difference"
        )


def _interval(rating: Rating) -> str:
    return f"[{rating.low:+.0f}, {rating.high:+.0f}]"


def _draw(
    folder: Path,
    rated: Sequence[Rated],
    curves: Mapping[str, Sequence[MeanPoint]],
    search: float,
    options: ComparisonSettings,
    found: Mapping[str, scaling.Law | None],
    console: Console,
) -> None:
    try:
        from azcore.commands.arena.figure import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        console.print("a figure needs matplotlib: pip install matplotlib")
        return
    for path in draw(folder, rated, curves, search, options, found):
        console.print(f"figure {path}")
