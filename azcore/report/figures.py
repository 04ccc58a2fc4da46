"""The charts that the page draws from metrics.csv, explained for a first-time reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a chart."""

    column: str  # of metrics.csv
    label: str
    dashed: bool = False  # a reference to compare with, not the measured quantity
    of: str | None = (
        None  # for a share: the column of its sample size, from which its interval follows
    )


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What to draw, and the explanation for a first-time reader."""

    section: str
    name: str
    title: str
    unit: str
    explanation: str
    series: tuple[Series, ...]
    percent: bool = False
    to_hundred: bool = True  # where percent: the axis goes up to 100 %
    from_zero: bool = True
    bound: tuple[str, str] | None = None  # a dotted line: the setting with its value, its label


CHARTS = (
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
        section="games",
        name="repeats",
        title="Repeated games",
        unit="% of games",
        explanation="Games that are the same, move by move, as another of their generation: they "
        "teach nothing new.",
        series=(Series(column="duplicate_rate", label="repeated"),),
        percent=True,
        to_hundred=False,
    ),
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
        name="explained",
        title="Outcomes foreseen in new games",
        unit="share of the variance",
        explanation="How much of the results of new games the search foresees on the way, before "
        "any of them is learned from: 1 is everything, 0 or less nothing. Low beside a low value "
        "loss, it says that results are learned by heart.",
        series=(Series(column="explained_variance", label="foreseen"),),
        from_zero=False,  # it may be below
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
        section="learning",
        name="reuse",
        title="Samples of a position",
        unit="samples",
        explanation="How often each position of self-play has been drawn for learning so far, on "
        "average (the replay ratio): more make more of few games, too many learn them by heart.",
        series=(Series(column="samples_per_position", label="samples"),),
    ),
    Chart(
        section="targets",
        name="ownership_loss",
        title="Ownership loss",
        unit="nats a cell",
        explanation="How far the predicted owner of each cell is from the owner at the end of the "
        "game: ln 2 = 0.69 is a guess, 0 certain and right.",
        series=(Series(column="ownership_loss", label="ownership loss"),),
    ),
    Chart(
        section="targets",
        name="score_loss",
        title="Score loss",
        unit="squared share",
        explanation="How far the predicted score is from the real one, as a share of the largest "
        "score that the game can have, squared.",
        series=(Series(column="score_loss", label="score loss"),),
    ),
    Chart(
        section="targets",
        name="material_loss",
        title="Material loss",
        unit="squared share",
        explanation="How far the predicted lead in pieces at the end is from the real one, as a "
        "share of all pieces, squared.",
        series=(Series(column="material_loss", label="material loss"),),
    ),
    Chart(
        section="targets",
        name="reply_loss",
        title="Reply loss",
        unit="nats",
        explanation="How far the predicted reply of the opponent is from what the search chose on "
        "the next ply.",
        series=(Series(column="reply_loss", label="reply loss"),),
        from_zero=False,
    ),
    Chart(
        section="targets",
        name="soft_policy_loss",
        title="Soft policy loss",
        unit="nats",
        explanation="As the policy loss, for the search's choice made flatter, so that second-best "
        "moves count.",
        series=(Series(column="soft_policy_loss", label="soft policy loss"),),
        from_zero=False,
    ),
    Chart(
        section="targets",
        name="later_values_loss",
        title="Later values loss",
        unit="squared error",
        explanation="How far the predicted values of the next plies are from those of the search; "
        "the sum over several spans of plies.",
        series=(Series(column="later_values_loss", label="later values loss"),),
    ),
    Chart(
        section="targets",
        name="plies_left_loss",
        title="Plies left loss",
        unit="Huber loss, 20 plies",
        explanation="How far the predicted rest of the game is from the real one; errors beyond 10 "
        "plies count linearly.",
        series=(Series(column="plies_left_loss", label="plies left loss"),),
    ),
    Chart(
        section="resignation",
        name="resigned",
        title="Games given up",
        unit="% of games",
        explanation="Games of self-play that ended because a player resigned; the time they would "
        "have taken goes into other games.",
        series=(Series(column="resigned_rate", label="given up"),),
        percent=True,
    ),
    Chart(
        section="resignation",
        name="false_positives",
        title="Given up wrongly",
        unit="% of resignations",
        explanation="Some games are played to their end whatever their values. Of the latest of "
        "those in which a player would have resigned, so many were won or drawn by that player; "
        "the true share lies in the band 95 times of 100.",
        series=(Series(column="resign_false_positives", label="wrong", of="resign_measured"),),
        percent=True,
        to_hundred=False,
        bound=("selfplay.resignation_false_positives", "promised: at most"),
    ),
    Chart(
        section="resignation",
        name="threshold",
        title="Threshold of resignation",
        unit="value",
        explanation="A player resigns when the position and its best move are both worth less than "
        "this to it, −1 being a sure loss. It is computed again in each generation, from the games "
        "played to their end.",
        series=(Series(column="resign_threshold", label="threshold"),),
        from_zero=False,
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
    "games": "What are its games like?",
    "learning": "What does it learn?",
    "targets": "What else does it learn?",
    "resignation": "When does it give up?",
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
    """The value of a dotted key such as `network.blocks`; None where there is none."""
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def share_of(config: dict[str, Any], key: str) -> float | None:
    """A setting that is a share from 0 to 1; None if it is not."""
    value = setting(config, key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None
