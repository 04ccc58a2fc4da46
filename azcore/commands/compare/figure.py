"""The figure of a comparison: Elo over cost, one colour per variant.

It needs matplotlib, which comes with the extra `plot`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from azcore.commands.compare.means import MeanPoint, Rated
from azcore.commands.compare.runs import Run, labels
from azcore.commands.compare.settings import CompareSettings
from azcore.errors import SettingError

# Colour-blind people can distinguish these colours (Okabe and Ito 2008, without the yellow, which
# is too light on white); markers and dashes distinguish the lines in print without colours.
STYLES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#E69F00", "v", (0, (5, 1))),
    ("#56B4E9", "P", (0, (3, 1, 1, 1))),
    ("#000000", "X", (0, (1, 1))),
)
LABELS = {
    "evaluations": "positions that a network judged, in self-play and gate matches",
    "steps": "optimizer steps",
    "seconds": "time of the run with its matches (minutes)",
}


def draw(
    folder: Path,
    rated: Sequence[Rated],
    curves: Mapping[str, Sequence[MeanPoint]],
    search: float,
    options: CompareSettings,
) -> list[Path]:
    """Write figure.png and figure.svg; returns their paths.

    Raises:
        SettingError: a file cannot be written.
    """
    scale = 1 / 60 if options.x == "seconds" else 1.0
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.add_subplot()
    names = labels(curves)
    for (variant, points), (colour, marker, dash) in zip(
        curves.items(), STYLES * (1 + len(curves) // len(STYLES)), strict=False
    ):
        own = [entry for entry in rated if entry.run.variant == variant]
        for name in dict.fromkeys(entry.run.name for entry in own):
            of_run = [entry for entry in own if entry.run.name == name]
            axes.plot(
                [(entry.kept.cost(options.x) or 0.0) * scale for entry in of_run],
                [entry.rating for entry in of_run],
                color=colour,
                linewidth=0.7,
                alpha=0.6,
            )
        x = [point.x * scale for point in points]
        if len(points) > 1:
            axes.fill_between(
                x,
                [point.low for point in points],
                [point.high for point in points],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        else:  # a single point has no band
            axes.errorbar(
                x,
                [point.value for point in points],
                yerr=[
                    [point.value - point.low for point in points],
                    [point.high - point.value for point in points],
                ],
                color=colour,
                capsize=5,
            )
        count = len({entry.run.seed for entry in own})
        axes.plot(
            x,
            [point.value for point in points],
            color=colour,
            marker=marker,
            linestyle=dash,
            linewidth=2.2,
            markersize=6,
            label=f"{names[variant]} ({count} seed{'s' if count > 1 else ''})",
        )
    axes.axhline(
        search, color="0.45", linewidth=1, linestyle=(0, (4, 4)), label="search, no network"
    )
    axes.axhline(0, color="0.45", linewidth=1, linestyle=(0, (1, 4)), label="random play")
    axes.set_xlim(left=0)
    axes.set_xlabel(LABELS[options.x])
    axes.set_ylabel("rating (Elo above random play)")
    if options.x != "seconds":
        axes.xaxis.set_major_formatter(EngFormatter())
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    axes.set_title(title([entry.run for entry in rated], options), fontsize=9)
    paths = [folder / "figure.png", folder / "figure.svg"]
    try:
        # The same ratings give the same files byte for byte.
        with matplotlib.rc_context({"svg.hashsalt": "azcore"}):
            figure.savefig(paths[0], dpi=160)
            figure.savefig(paths[1], metadata={"Date": None})
    except OSError as error:
        raise SettingError(f"{folder} cannot be written to: {error.strerror}") from error
    return paths


def title(runs: Sequence[Run], options: CompareSettings) -> str:
    """The title: game, networks, simulations, matches and seeds."""

    def together(values: Sequence[str]) -> str:
        return " or ".join(dict.fromkeys(values))

    settings = [run.settings for run in runs]
    facts = ", ".join(f"{key} {value}" for key, value in settings[0].game.settings.items())
    networks = together([str(s.network) for s in settings])
    simulations = together([str(s.search.num_simulations) for s in settings])
    seeds = ", ".join(map(str, sorted({run.seed for run in runs})))
    lines = (
        f"{settings[0].game.name}{', ' if facts else ''}{facts}; {networks}; {simulations} "
        "simulations a move in self-play",
        f"matches of {options.games} games, {options.num_simulations} simulations a move; "
        f"thin: seeds {seeds}; thick: their mean and its 95 % interval",
    )
    return "\n".join(
        part for line in lines for part in textwrap.wrap(line, 110, break_on_hyphens=False)
    )
