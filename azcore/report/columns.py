"""What the side-by-side page states about a run: the curves, and the rows of its tables."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from azcore.game import Game
from azcore.report import probes
from azcore.report.figures import setting
from azcore.report.games import Shown
from azcore.report.report import duration
from azcore.report.rules_facts import RulesFacts
from azcore.report.tables import cell, count
from azcore.storage.changes import describe_changes

LATELY = 5  # generations that represent current play
UNKNOWN = "–"

Row = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Column:
    """The page's data on one run."""

    name: str
    title: str
    rows: list[Row]
    config: dict[str, Any]
    game: Game | None
    facts: RulesFacts | None
    rating: dict[str, Any]
    films: list[Shown]
    legal: float | None  # mean number of legal actions in its latest games
    known: list[probes.Known]
    curves: dict[str, list[float | None]] = field(default_factory=dict)
    x: dict[str, list[float | None]] = field(default_factory=dict)


# -- curves -------------------------------------------------------------------------------------


def foreseen(row: Row) -> float | None:
    """The share of the results' variance that the network explains; below 0 it knows nothing."""
    loss, variance = cell(row, "value_loss"), cell(row, "value_target_variance")
    if loss is None or not variance:
        return None
    share = 1 - loss / variance
    return round(max(-0.25, share), 4) if math.isfinite(share) else None


def _of(column: str) -> Callable[[Row], float | None]:
    return lambda row: cell(row, column)


CURVES: dict[str, Callable[[Row], float | None]] = {
    "accuracy": _of("policy_accuracy"),
    "foreseen": foreseen,
    "length": _of("game_length"),
    "draws": _of("draw_rate"),
    "first": _of("seat0_win_rate"),
    "speed": _of("evaluations_per_s"),
}


# -- tables -------------------------------------------------------------------------------------


def _rules(describe: Callable[[Game], str]) -> Callable[[Column], str]:
    return lambda column: UNKNOWN if column.game is None else describe(column.game)


def _random(describe: Callable[[RulesFacts], str]) -> Callable[[Column], str]:
    return lambda column: UNKNOWN if column.facts is None else describe(column.facts)


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def _whole(column: str) -> Callable[[Column], str]:
    return lambda run: f"{count(run.rows[-1], column):,}" if run.rows else UNKNOWN


def _lately(row: str) -> Callable[[Column], float | None]:
    """The mean of a column over the latest generations."""

    def mean(run: Column) -> float | None:
        found = [value for each in run.rows[-LATELY:] if (value := cell(each, row)) is not None]
        return sum(found) / len(found) if found else None

    return mean


def _results(column: Column) -> str:
    first, draws = _lately("seat0_win_rate")(column), _lately("draw_rate")(column)
    if first is None or draws is None:
        return UNKNOWN
    return _shares((first, draws, 1 - first - draws))


def _shares(results: Sequence[float]) -> str:
    return " / ".join(f"{100 * share:.0f}" for share in results) + " %"


def _both(
    at_random: Callable[[RulesFacts], str], learned: Callable[[Column], str]
) -> Callable[[Column], str]:
    """Two lines: of random games, and of the run's latest."""
    of_random = _random(at_random)
    return lambda column: f"random {of_random(column)}\nlearned {learned(column)}"


def _length(column: Column) -> str:
    length = _lately("game_length")(column)
    return UNKNOWN if length is None else f"{length:.0f} plies"


def _simulations(column: Column) -> str:
    value = setting(column.config, "search.num_simulations")
    return f"{value:,}" if isinstance(value, int) else UNKNOWN


def _network(column: Column) -> str:
    found = [setting(column.config, f"network.{key}") for key in ("name", "blocks", "channels")]
    name, blocks, channels = found
    return f"{name}, {blocks} × {channels}" if all(found) else UNKNOWN


def _time(column: Column) -> str:
    seconds = cell(column.rows[-1], "seconds") if column.rows else None
    return UNKNOWN if seconds is None else duration(seconds)


def cost(rows: Sequence[Row]) -> tuple[float, float] | None:
    """Evaluations and seconds of self-play per move, over the run; None if not recorded."""
    plies, seconds, games_before, seconds_before = 0.0, 0.0, 0.0, 0.0
    for row in rows:
        games, total, length = (cell(row, name) for name in ("games", "seconds", "game_length"))
        shares = [cell(row, name) for name in ("search_share", "network_share")]
        if games is None or total is None:
            continue
        playing = sum(share for share in shares if share is not None)
        plies += (games - games_before) * (length or 0.0)
        seconds += (total - seconds_before) * playing
        games_before, seconds_before = games, total
    evaluations = cell(rows[-1], "evaluations") if rows else None
    if not plies or not evaluations:
        return None
    found = evaluations / plies, seconds / plies
    return found if all(map(math.isfinite, found)) else None


def _evaluations_a_move(column: Column) -> str:
    found = cost(column.rows)
    return UNKNOWN if found is None else f"{found[0]:,.0f}"


def _seconds_a_move(column: Column) -> str:
    found = cost(column.rows)
    return UNKNOWN if found is None else _brief(found[1])


def _rating(column: Column) -> str:
    rating = column.rating
    if not rating["value"]:
        return UNKNOWN
    half = (rating["high"][-1] - rating["low"][-1]) / 2
    return f"{rating['value'][-1]:+,.0f} ± {half:,.0f} Elo"


def _cost_of_elo(column: Column) -> str:
    """Evaluations and time per point of rating, from the first rating to the latest."""
    values, x = column.rating["value"], column.rating["x"]
    gain = values[-1] - values[0] if values else 0.0
    if not (math.isfinite(gain) and gain > 0):
        return UNKNOWN
    spent = []
    for axis in ("evaluations", "seconds"):
        first, last = x[axis][0], x[axis][-1]
        spent.append(math.nan if first is None or last is None else (last - first) / gain)
    evaluations, seconds = spent
    if not all(map(math.isfinite, spent)):
        return UNKNOWN
    return f"{evaluations:,.0f} evaluations, {_brief(seconds)}"


def _brief(seconds: float) -> str:
    """A time that may be short, such as `0.45 ms`, `12 ms` or `1.2 s`."""
    if seconds >= 1:
        return f"{seconds:,.1f} s"
    return f"{1e3 * seconds:.0f} ms" if seconds >= 0.01 else f"{1e3 * seconds:.2g} ms"


NAMED = ("", " thousand", " million", " billion", " trillion")
COMPARED = (  # orders of magnitude that pupils may have heard of
    (80, "atoms in the observable universe"),
    (50, "atoms of the Earth"),
    (28, "atoms in a human body"),
    (19, "grains of sand on all beaches"),
)


def in_words(exponent: float) -> str:
    """Describe 10**exponent as a number or by a comparison; `exponent` must be at least 0."""
    if exponent < 3 * len(NAMED):
        value = float(f"{10**exponent:.1g}")
        group = min(int(math.log10(value)) // 3, len(NAMED) - 1)
        return f"{value / 1000**group:,.0f}{NAMED[group]}"
    power = f"10^{exponent:.0f}"
    least, what = COMPARED[-1]
    if exponent < least:
        return f"{power}, fewer than the {what}"
    least, what = next(each for each in COMPARED if exponent >= each[0])
    ratio = exponent - least
    if ratio < 0.5:
        return f"{power}, as many as the {what}"
    if ratio >= 3 * len(NAMED):
        return f"{power}, a 1 with {exponent:,.0f} zeros; there are 10^{least} {what}"
    return f"{power}, {in_words(ratio)} times the {what}"


def halfway(values: Sequence[float | None], x: Sequence[float | None]) -> float | None:
    """Where a curve first reached the middle between its first value and its highest."""
    known = [(v, at) for v, at in zip(values, x, strict=True) if v is not None and at is not None]
    if len(known) < 2 or max(known)[0] <= known[0][0]:
        return None
    middle = known[0][0] / 2 + max(known)[0] / 2  # their sum may not be a number
    return next(at for value, at in known if value >= middle)


def _half(of: Callable[[Column], Sequence[float | None]]) -> Callable[[Column], str]:
    def describe(column: Column) -> str:
        values = of(column)
        x = column.rating["x"] if values is column.rating["value"] else column.x
        at, evaluations = halfway(values, x["seconds"]), halfway(values, x["evaluations"])
        if at is None or evaluations is None:
            return UNKNOWN
        return f"{duration(at)}, {evaluations:,.0f} evaluations"

    return describe


# Of a table: the name, its meaning where the name does not say it, and the text of a cell.
Rows = tuple[tuple[str, str, Callable[[Column], str]], ...]
RULES: Rows = (
    (
        "Number of actions",
        "all that any position may allow",
        _rules(lambda g: f"{g.num_actions:,}"),
    ),
    (
        "Input planes",
        "grids of numbers that describe a position to the network",
        _rules(lambda game: "{} of {} × {}".format(*game.observation_shape)),
    ),
    (
        "Symmetries",
        "turns and reflections that change nothing",
        _rules(lambda game: str(len(game.symmetries) + 1)),
    ),
    (
        "Dirichlet alpha of the root noise",
        "how widely random exploration spreads: smaller, on fewer moves",
        _rules(lambda game: f"{game.dirichlet_alpha:.3g}"),
    ),
    ("Maximum game length", "", _rules(lambda game: f"{game.max_game_length:,} plies")),
    ("Number of games, about", "", _random(lambda facts: in_words(facts.tree))),
)
PLAY: Rows = (
    (
        "Mean number of legal actions",
        "how many moves there are to choose from",
        _both(
            lambda facts: f"{facts.legal:.1f}",
            lambda column: UNKNOWN if column.legal is None else f"{column.legal:.1f}",
        ),
    ),
    (
        "Mean length",
        "a ply is one player's move",
        _both(lambda facts: f"{facts.length:.0f} plies", _length),
    ),
    (
        "First player wins / draws / loses",
        "the first player's edge",
        _both(lambda facts: _shares(facts.results), _results),
    ),
    ("Number of random games", "", _random(lambda facts: f"{facts.games}")),
)
COURSE: Rows = (
    (
        "Settings other than the defaults",
        "",
        lambda column: describe_changes(column.config) or UNKNOWN,
    ),
    ("Network, blocks × channels", "depth × width", _network),
    ("Simulations of a full search", "lines of play looked at before a move", _simulations),
    ("Time", "", _time),
    ("Games of self-play", "", _whole("games")),
    ("Evaluations", "positions that the network judged", _whole("evaluations")),
    ("Optimizer steps", "changes of the network's weights", _whole("step")),
    ("Evaluations per move", "", _evaluations_a_move),
    ("Time per move", "of self-play, with many games at once", _seconds_a_move),
    ("Rating above its own random play", "with a 95 % interval", _rating),
    ("Cost of one Elo", "from the first rating to the latest", _cost_of_elo),
    ("Half of the rating after", "", _half(lambda column: column.rating["value"])),
    (
        "Half of the policy accuracy after",
        "how often the network's first choice is the search's",
        _half(lambda column: column.curves["accuracy"]),
    ),
    (
        "Half of the explained variance after",
        "how much of the result the network predicts",
        _half(lambda column: column.curves["foreseen"]),
    ),
)
