"""The charts that the page draws from metrics.csv, explained for a first-time reader."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Series:
    column: str  # of metrics.csv
    label: str
    dashed: bool = False  # a reference, not the measured quantity
    of: str | None = (
        None  # for a share: the column of its sample size, from which its interval follows
    )


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The data of a chart, and its explanation for a first-time reader."""

    section: str
    name: str
    title: str
    unit: str
    explanation: str
    series: tuple[Series, ...]
    percent: bool = False
    to_hundred: bool = True  # if percent: the axis extends to 100 %
    from_zero: bool = True
    bound: tuple[str, str] | None = None  # a dotted line: the setting with its value, and its label


CHARTS = (
    Chart(
        section="games",
        name="length",
        title="Game length",
        unit="plies",
        explanation="Moves of both players in an average game of self-play; after a sudden "
        "change, the network has found or forgotten an idea.",
        series=(Series(column="game_length", label="length"),),
    ),
    Chart(
        section="games",
        name="balance",
        title="Wins of the first player, and draws",
        unit="% of games",
        explanation="Results of self-play; a balance far from even needs a reason, such as a "
        "first-move advantage, or indicates an error.",
        series=(
            Series(column="seat0_win_rate", label="first player wins"),
            Series(column="draw_rate", label="draws"),
        ),
        percent=True,
    ),
    Chart(
        section="games",
        name="repeats",
        title="Repeated games",
        unit="% of games",
        explanation="Games that repeat another game of their generation, move by move: they add "
        "no information.",
        series=(Series(column="duplicate_rate", label="repeated"),),
        percent=True,
        to_hundred=False,
    ),
    Chart(
        section="learning",
        name="policy_loss",
        title="Policy loss",
        unit="nats",
        explanation="Distance between the network's move probabilities and the search's; the "
        "dashed line, the entropy of the search policy, is the minimum.",
        series=(
            Series(column="policy_loss", label="policy loss"),
            Series(column="target_entropy", label="minimum", dashed=True),
        ),
        from_zero=False,
    ),
    Chart(
        section="learning",
        name="value_loss",
        title="Value loss",
        unit="squared error",
        explanation="Distance between the predicted result, −1 to +1, and the real one; below the "
        "dashed line, the network beats a constant prediction of the mean.",
        series=(
            Series(column="value_loss", label="value loss"),
            Series(column="value_target_variance", label="constant prediction", dashed=True),
        ),
    ),
    Chart(
        section="learning",
        name="explained",
        title="Explained variance in new games",
        unit="share of the variance",
        explanation="How much of the results of new games the search predicts during the games, "
        "before training on them: 1 is everything, 0 or less nothing. A low number with a low "
        "value loss means that the value head overfits.",
        series=(Series(column="explained_variance", label="foreseen"),),
        from_zero=False,  # the axis may extend below 0
    ),
    Chart(
        section="learning",
        name="entropy",
        title="Policy entropy",
        unit="nats",
        explanation="Uncertainty of the move choice; 0 is certain. The search settles on good "
        "moves first, and the network follows.",
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
        explanation="How often the network's top move is also the search's most visited one, in "
        "training positions.",
        series=(Series(column="policy_accuracy", label="accuracy"),),
        percent=True,
    ),
    Chart(
        section="learning",
        name="reuse",
        title="Samples of a position",
        unit="samples",
        explanation="How often training has used each self-play position so far, on average (the "
        "replay ratio): more samples get more from few games, too many overfit.",
        series=(Series(column="samples_per_position", label="samples"),),
    ),
    Chart(
        section="targets",
        name="ownership_loss",
        title="Ownership loss",
        unit="nats a cell",
        explanation="Error of the predicted owner of each cell at the end of the game: ln 2 = "
        "0.69 is a guess, 0 is certain and correct.",
        series=(Series(column="ownership_loss", label="ownership loss"),),
    ),
    Chart(
        section="targets",
        name="score_loss",
        title="Score loss",
        unit="squared share",
        explanation="Squared error of the predicted score, as a share of the game's largest "
        "possible score.",
        series=(Series(column="score_loss", label="score loss"),),
    ),
    Chart(
        section="targets",
        name="material_loss",
        title="Material loss",
        unit="squared share",
        explanation="Squared error of the predicted material lead at the end, as a share of all "
        "material.",
        series=(Series(column="material_loss", label="material loss"),),
    ),
    Chart(
        section="targets",
        name="reply_loss",
        title="Reply loss",
        unit="nats",
        explanation="Distance between the predicted reply of the opponent and the search's policy "
        "on the next ply.",
        series=(Series(column="reply_loss", label="reply loss"),),
        from_zero=False,
    ),
    Chart(
        section="targets",
        name="soft_policy_loss",
        title="Soft policy loss",
        unit="nats",
        explanation="Like the policy loss, for a flattened search policy, so that second-best "
        "moves count.",
        series=(Series(column="soft_policy_loss", label="soft policy loss"),),
        from_zero=False,
    ),
    Chart(
        section="targets",
        name="later_values_loss",
        title="Later values loss",
        unit="squared error",
        explanation="Squared error of the predicted search values over the next plies, summed "
        "over several horizons.",
        series=(Series(column="later_values_loss", label="later values loss"),),
    ),
    Chart(
        section="targets",
        name="plies_left_loss",
        title="Plies left loss",
        unit="Huber loss, 20 plies",
        explanation="Error of the predicted number of remaining plies; errors beyond 10 plies "
        "count linearly.",
        series=(Series(column="plies_left_loss", label="plies left loss"),),
    ),
    Chart(
        section="resignation",
        name="resigned",
        title="Resigned games",
        unit="% of games",
        explanation="Self-play games that ended by resignation, which saves time for other games.",
        series=(Series(column="resigned_rate", label="resigned"),),
        percent=True,
    ),
    Chart(
        section="resignation",
        name="false_positives",
        title="False resignations",
        unit="% of resignations",
        explanation="Self-play plays some games to their end regardless of values. This share of "
        "the latest of them, in which a player would have resigned, that player won or drew. The "
        "band is a 95 % interval.",
        series=(Series(column="resign_false_positives", label="wrong", of="resign_measured"),),
        percent=True,
        to_hundred=False,
        bound=("selfplay.resignation_false_positives", "limit:"),
    ),
    Chart(
        section="resignation",
        name="threshold",
        title="Resignation threshold",
        unit="value",
        explanation="A player resigns when the values of the position and of its best move are "
        "both below this threshold; −1 is a certain loss. Each generation recomputes it from the "
        "games played to their end.",
        series=(Series(column="resign_threshold", label="threshold"),),
        from_zero=False,
    ),
    Chart(
        section="speed",
        name="evaluations",
        title="Evaluations",
        unit="per second",
        explanation="Positions that the network evaluates per second of self-play: each "
        "simulation of the search needs one.",
        series=(Series(column="evaluations_per_s", label="evaluations"),),
    ),
    Chart(
        section="speed",
        name="shares",
        title="Where the time goes",
        unit="% of the time",
        explanation="Shares of search, network and training; if search takes most of the time, a "
        "faster device for the network would not help.",
        series=(
            Series(column="search_share", label="search"),
            Series(column="network_share", label="network"),
            Series(column="learner_share", label="learning"),
        ),
        percent=True,
    ),
)

SECTIONS = {
    "games": "What are its games like?",
    "learning": "What does it learn?",
    "targets": "What else does it learn?",
    "resignation": "When does it resign?",
    "speed": "Speed",
}


def chart_data(chart: Chart, config: dict[str, Any]) -> dict[str, Any]:
    """The description of a chart for charts.js."""
    lines = []
    if chart.bound is not None and (value := share_of(config, chart.bound[0])) is not None:
        lines.append({"label": chart.bound[1], "value": value})
    return {
        "name": chart.name,
        "title": chart.title,
        "unit": chart.unit,
        "percent": chart.percent,
        "to_hundred": chart.to_hundred,
        "from_zero": chart.from_zero,
        "lines": lines,
        "series": [
            {
                "column": series.column,
                "label": series.label,
                "dashed": series.dashed,
                "of": series.of,
            }
            for series in chart.series
        ],
    }


def setting(config: dict[str, Any], key: str) -> Any:
    """The value of a dotted key such as `network.blocks`; None if missing."""
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def share_of(config: dict[str, Any], key: str) -> float | None:
    """A setting that is a share from 0 to 1; None otherwise."""
    value = setting(config, key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None
