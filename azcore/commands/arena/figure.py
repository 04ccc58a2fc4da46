"""The figure of a comparison: Elo over cost, one colour per variant; next to it, predictions.

It needs matplotlib, which comes with the extra `plot`.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from azcore.commands.arena.means import MeanPoint, Rated
from azcore.commands.arena.runs import Run, labels
from azcore.commands.arena.scaling import Law, last_step
from azcore.commands.arena.settings import ComparisonSettings
from azcore.errors import SettingError, os_errors_as

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
    "evaluations": "positions that a network evaluated, in self-play and gate matches",
    "steps": "optimizer steps",
    "seconds": "time of the run with its matches (minutes)",
    "compute": "floating-point operations of self-play and learning",
}


@dataclass(frozen=True)
class Panel:
    """One panel of the figure."""

    name: str  # among `Rated.values`
    label: str
    unit: float = 1.0


PANELS = (
    Panel("rating", "rating (Elo above random play)"),
    Panel("predicted", "moves predicted in games by others (%)", 0.01),
    Panel("value_error", "squared error of the value in these games"),
)


def draw(
    folder: Path,
    rated: Sequence[Rated],
    curves: Mapping[str, Sequence[MeanPoint]],
    search: float,
    options: ComparisonSettings,
    laws: Mapping[str, Law | None],
) -> list[Path]:
    """Write figure.png and figure.svg; returns their paths.

    Args:
        search: the rating of search without a network.
        laws: the fitted laws by quantity, with `arena.x=compute`.
    """
    shown = [panel for panel in PANELS if panel.name in rated[0].values]
    columns = len(shown) + bool(laws)
    figure = Figure(figsize=(8 if columns == 1 else 14, 5.5), layout="constrained")
    names = labels(curves)
    panels = figure.subplots(1, columns, squeeze=False)[0]
    for axes, panel in zip(panels, shown, strict=False):
        for (variant, points), style in zip(
            curves.items(), STYLES * (1 + len(curves) // len(STYLES)), strict=False
        ):
            own = [entry for entry in rated if entry.run.variant == variant]
            count = len({entry.run.seed for entry in own})
            label = f"{names[variant]} ({count} seed{'s' if count > 1 else ''})"
            _curve(axes, panel, own, points, style, options.x, label)
        if laws:
            axes.set_xscale("log")
        else:
            axes.set_xlim(left=0)
        axes.set_xlabel(LABELS[options.x])
        axes.set_ylabel(panel.label)
        if options.x not in ("seconds", "compute"):
            axes.xaxis.set_major_formatter(EngFormatter())
        axes.grid(color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
    if laws:
        _sizes(panels[-1], rated, laws["parameters"])
        if (law := laws["compute"]) is not None:
            _line(panels[0], law, [entry.kept.compute or 0.0 for entry in law.through], "compute")
    panels[0].axhline(
        search, color="0.45", linewidth=1, linestyle=(0, (4, 4)), label="search, no network"
    )
    panels[0].axhline(0, color="0.45", linewidth=1, linestyle=(0, (1, 4)), label="random play")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=2 * columns,
        frameon=False,
        fontsize=9,
    )
    words = title([entry.run for entry in rated], options)
    if columns == 1:
        panels[0].set_title(words, fontsize=9)
    else:
        figure.suptitle(words, fontsize=9)
    paths = [folder / "figure.png", folder / "figure.svg"]
    reported = os_errors_as(SettingError, f"{folder} cannot be written to")
    # The same ratings give the same files byte for byte.
    with reported, matplotlib.rc_context({"svg.hashsalt": "azcore"}):
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _curve(
    axes: Axes,
    panel: Panel,
    rated: Sequence[Rated],
    points: Sequence[MeanPoint],
    style: tuple[str, str, Any],
    x: str,
    label: str,
) -> None:
    """One variant: a thin line per seed, a thick one for their mean, and its interval."""
    colour, marker, dash = style
    scale = 1 / 60 if x == "seconds" else 1.0
    for name in dict.fromkeys(entry.run.name for entry in rated):
        of_run = [entry for entry in rated if entry.run.name == name]
        axes.plot(
            [(entry.kept.cost(x) or 0.0) * scale for entry in of_run],
            [entry.values[panel.name] / panel.unit for entry in of_run],
            color=colour,
            linewidth=0.7,
            alpha=0.6,
        )
    at = [point.x * scale for point in points]
    means = [point.means[panel.name] for point in points]
    low, values, high = (
        [bound / panel.unit for bound in bounds]
        for bounds in zip(*((mean.low, mean.value, mean.high) for mean in means), strict=True)
    )
    if len(points) > 1:
        axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    else:  # a single point has no band
        axes.errorbar(
            at, values, yerr=[[values[0] - low[0]], [high[0] - values[0]]], color=colour, capsize=5
        )
    axes.plot(
        at,
        values,
        color=colour,
        marker=marker,
        linestyle=dash,
        linewidth=2.2,
        markersize=6,
        label=label,
    )


def _line(axes: Axes, law: Law, through: Sequence[float], quantity: str) -> None:
    """A law over the range of the checkpoints it was fitted to."""
    ends = [min(through), max(through)]
    axes.plot(
        ends,
        [400.0 * law.exponent.value * math.log10(x) + law.constant for x in ends],
        color="black",
        linewidth=3,
        alpha=0.5,
        solid_capstyle="butt",
        label=f"strength ~ {quantity}$^{{{law.exponent.value:.2f}}}$",
    )


def _sizes(axes: Axes, rated: Sequence[Rated], law: Law | None) -> None:
    """The last checkpoint of each run over its network's parameters, as far as they compare."""
    full = last_step(rated)
    last = [entry for entry in rated if entry.kept.step == full]
    axes.errorbar(
        [entry.run.parameters or 0.0 for entry in last],
        [entry.rating for entry in last],
        yerr=[entry.half for entry in last],
        color=STYLES[0][0],
        marker=STYLES[0][1],
        linestyle="none",
        capsize=4,
    )
    if law is not None:
        _line(axes, law, [entry.run.parameters or 0.0 for entry in law.through], "parameters")
        axes.legend(frameon=False, fontsize=9)
    axes.set_xscale("log")
    sizes = sorted({entry.run.parameters or 0 for entry in last})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("parameters of the network")
    axes.set_ylabel("rating of the last checkpoint (Elo above random play)")
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


def title(runs: Sequence[Run], options: ComparisonSettings) -> str:
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
