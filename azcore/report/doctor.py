"""Finds problems of a run in its metrics, and suggests remedies.

Each finding is one sentence, in the terminal when it begins and in the report. The thresholds are
wide: a healthy run should get no findings, a run that wastes its time at least one.
"""

import statistics
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from azcore.report.tables import cell

SPAN = 8  # generations that must agree
HISTORY = 30  # generations to compare with
NO_BETTER = 0.99  # of the loss of the best constant prediction
COLLAPSED = 0.05  # nats
LEARNED = 0.8  # of that loss: the network has memorised the outcomes in the window
REPEATED = 0.5  # of a generation's games
ONE_SIDED = 0.95  # of the games have one result
MIN_GAMES = 100  # before results count
DEAD = 0.3  # of the channels
STALE = 0.4  # of the run's steps: the mean age of the window; a window that drops nothing has 0.5
STALE_FROM = 50  # generations
OVERUSED = 16  # samples of a position
EXPLODED = 10  # times the usual gradient
WRONGLY_RESIGNED = 0.1  # of the resigned games; the papers allow 0.05
MIN_RESIGNED = 20  # played out, before this share counts

# Temperature and Dirichlet noise are PUCT's alone.
VARIETY = (
    "raise selfplay.opening_plies or search.gumbel.scale (search=puct: selfplay.temperature_plies "
    "or search.dirichlet_fraction)"
)

Row = Mapping[str, float]  # of metrics.csv; cells without a value are missing


class RunDoctor:
    """Watches a run; `rows` are those of the generations so far, if the run is resumed."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: deque[Row] = deque(rows, HISTORY)
        self._known = set(findings(list(self._rows)))

    def examine(self, row: Row) -> list[str]:
        """The sentences of findings that begin with this generation."""
        self._rows.append(row)
        found = findings(list(self._rows))
        new = [sentence for name, sentence in found.items() if name not in self._known]
        self._known = set(found)
        return new


def numbers_of(row: Mapping[str, str]) -> Row:
    """The numbers in a row of the file."""
    values = {column: cell(row, column) for column in row}
    return {column: value for column, value in values.items() if value is not None}


def findings(rows: Sequence[Row]) -> dict[str, str]:
    """The problems at the end of these rows: a sentence by the name of the check."""
    found = {check.__name__: check(rows[-HISTORY:]) for check in CHECKS} if rows else {}
    return {name: sentence for name, sentence in found.items() if sentence is not None}


def _last(rows: Sequence[Row], *columns: str) -> list[tuple[float, ...]]:
    """The values of the columns in the last `SPAN` rows, or none if any is missing."""
    complete = [row for row in rows[-SPAN:] if all(column in row for column in columns)]
    values = [tuple(row[column] for column in columns) for row in complete]
    return values if len(values) == SPAN else []


def value_head(rows: Sequence[Row]) -> str | None:
    """The value loss equals that of a constant prediction."""
    losses = _last(rows, "value_loss", "value_target_variance")
    if not losses or not all(loss >= NO_BETTER * v > 0.01 for loss, v in losses):
        return None
    loss, variance = losses[-1]
    return (
        f"the value head has learned nothing for {SPAN} generations (loss {loss:.2f}; constant "
        f"prediction {variance:.2f}): start again with lower learner.learning_rates or another "
        "seed"
    )


def memorised_outcomes(rows: Sequence[Row]) -> str | None:
    """The value head overfits: it knows the outcomes of the window, not those of new games."""
    found = _last(rows, "explained_variance", "value_loss", "value_target_variance")
    if not found or statistics.mean(explained for explained, _, _ in found) >= 0:
        return None
    if not all(loss < LEARNED * variance for _, loss, variance in found):
        return None
    _, loss, variance = found[-1]
    return (
        f"the value head overfits: it explains {1 - loss / variance:.0%} of the outcomes that "
        "it trained on, and its searches explain none of new games: lower "
        "replay.samples_per_position or learner.value_weight"
    )


def policy_entropy(rows: Sequence[Row]) -> str | None:
    """Network and search choose the same single action everywhere."""
    entropies = _last(rows, "policy_entropy", "target_entropy")
    if not entropies or max(max(pair) for pair in entropies) >= COLLAPSED:
        return None
    return (
        f"the policy has collapsed to one action a position (entropy {entropies[-1][0]:.3f}): "
        f"{VARIETY}"
    )


def repeated_games(rows: Sequence[Row]) -> str | None:
    """Self-play repeats itself."""
    rates = [rate for (rate,) in _last(rows, "duplicate_rate")]
    if not rates or statistics.mean(rates) < REPEATED:
        return None
    return (
        f"{statistics.mean(rates):.0%} of the games repeat another of their generation: {VARIETY}"
    )


def one_sided_results(rows: Sequence[Row]) -> str | None:
    """Nearly all games have the same result, so results teach little."""
    results = _last(rows, "seat0_win_rate", "draw_rate", "games")
    if not results or results[-1][2] < MIN_GAMES:
        return None
    first, draws = (statistics.mean(row[i] for row in results) for i in (0, 1))
    shares = {"the first player wins": first, "the second player wins": 1 - first - draws}
    shares["no one wins"] = draws
    result, share = max(shares.items(), key=lambda item: item[1])
    if share < ONE_SIDED:
        return None
    return (
        f"{result} {share:.0%} of the games, so the value head learns little: choose rules that "
        "are fair at this strength, such as another komi, or random openings"
    )


def dead_channels(rows: Sequence[Row]) -> str | None:
    """Rectified units without any gradient."""
    shares = [share for (share,) in _last(rows, "dead_channels")]
    if not shares or min(shares) < DEAD:
        return None
    return (
        f"{shares[-1]:.0%} of the network's channels get no gradient: start again with lower "
        "learner.learning_rates"
    )


def stale_window(rows: Sequence[Row]) -> str | None:
    """Most training games come from much weaker networks."""
    ages = _last(rows, "window_age", "step", "generation")
    if not ages or ages[-1][2] < STALE_FROM or ages[-1][0] < STALE * ages[-1][1]:
        return None
    return (
        f"the window's games are {ages[-1][0]:,.0f} steps old on average, of a run of "
        f"{ages[-1][1]:,.0f}: lower replay.window_games, or set replay.window_start"
    )


def starved_learner(rows: Sequence[Row]) -> str | None:
    """The learner reuses positions so often that the network overfits."""
    samples = [number for (number,) in _last(rows, "samples_per_position")]
    if not samples or min(samples) < OVERUSED:
        return None
    return (
        f"the learner uses each position {samples[-1]:.0f} times on average: lower "
        "replay.samples_per_position"
    )


def gradients(rows: Sequence[Row]) -> str | None:
    """The gradient is far larger than before."""
    norms = [row["gradient_norm"] for row in rows if "gradient_norm" in row]
    if len(norms) <= SPAN or norms[-1] < EXPLODED * statistics.median(norms[:-1]):
        return None
    return (
        f"the gradient's norm rose from {statistics.median(norms[:-1]):.3g} to {norms[-1]:.3g}: "
        "lower learner.learning_rates if that lasts"
    )


def resignation(rows: Sequence[Row]) -> str | None:
    """Players resign games that are not lost."""
    found = _last(rows, "resign_false_positives", "resign_measured")
    if not found or found[-1][1] < MIN_RESIGNED or found[-1][0] < WRONGLY_RESIGNED:
        return None
    return (
        f"{found[-1][0]:.0%} of the games that players would resign are not lost: lower "
        "selfplay.resignation_false_positives"
    )


CHECKS: tuple[Callable[[Sequence[Row]], str | None], ...] = (
    value_head,
    memorised_outcomes,
    policy_entropy,
    repeated_games,
    one_sided_results,
    dead_channels,
    stale_window,
    starved_learner,
    gradients,
    resignation,
)
