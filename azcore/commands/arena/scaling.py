"""How strength grows with compute and with the size of the network.

If a player's strength g, of which it scores g / (g + h) against a strength of h (Bradley and Terry
1952), is a power of compute C, then its rating is a straight line in the logarithm:

    g = k C^alpha,   Elo = 400 log10 g = 400 alpha log10 C + constant

Neumann and Gros 2022 found such laws for AlphaZero in two games: for the best network at each
compute, and for the parameters of networks that compute does not limit. Jones 2021 found the
straight line in a third, between two plateaus: at random play and at perfect play. A line through a
plateau would have too small a slope, so `between` leaves those checkpoints out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from azcore.arena.elo import Z_95, Rating, expected_score
from azcore.arena.likelihood import Floats
from azcore.commands.arena.means import Pool, Rated, mean_over_seeds

Flags = NDArray[np.bool_]
QUANTITIES = ("compute", "parameters")
WHICH = {  # the checkpoints that a line goes through
    "compute": "each stronger than all with less compute, between floor and ceiling",
    "parameters": "the last of each size, all after as many steps, below the ceiling",
}
FACTOR = 4.0  # so much more compute must make a player measurably stronger
LEAST = 3  # points of a line
DRAWS = 400  # of the ratings, for the intervals
SCALING = [
    "law",
    "exponent",
    "low",
    "high",
    "elo_tenfold",
    "points",
    "seeds",
    "off_line",
    "ceiling",
]


@dataclass(frozen=True, kw_only=True)
class Points:
    """The checkpoints of one seed, apart from their ratings."""

    numbers: list[int]  # among all checkpoints
    compute: Floats  # log10
    parameters: Floats  # log10
    last: list[int]  # the last one of each run that took as many steps as any
    apart: Floats  # by how much the ratings of two must differ to be told apart, [i, j]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A straight line through some checkpoints of one seed: Elo over log10 of a quantity."""

    slope: float
    constant: float
    through: list[int]
    ceiling: list[int]  # left out because they are at the ceiling
    off: float  # root mean square distance of those it goes through, in Elo


@dataclass(frozen=True, kw_only=True)
class Law:
    """Strength as a power of a quantity: the mean of the lines of some seeds."""

    exponent: Rating  # alpha, with its 95 % interval
    constant: float  # Elo where the quantity is 1
    through: tuple[Rated, ...]
    ceiling: tuple[Rated, ...]
    off_line: float  # root mean square of the distances from each seed's line, in Elo
    seeds: int


def laws(rated: Sequence[Rated], pool: Pool) -> dict[str, Law | None]:
    """By quantity, what the checkpoints say; None if too few of them lie between the plateaus.

    Half an interval is the square root of t^2 s^2 / n + own^2, as in `mean_over_seeds`; own comes
    from ratings drawn from the errors of the joint fit, and each draw chooses its checkpoints anew.
    """
    names = [entry.kept.name for entry in rated]
    ratings = np.array([entry.rating for entry in rated])
    draws, apart = pool.draws(names, DRAWS), pool.apart(names)
    full = last_step(rated)
    of_seed: dict[int, list[int]] = {}
    for number, entry in enumerate(rated):
        of_seed.setdefault(entry.run.seed, []).append(number)
    found: dict[str, list[tuple[Points, Line, list[float]]]] = {name: [] for name in QUANTITIES}
    for numbers in of_seed.values():
        points = Points(
            numbers=numbers,
            compute=np.log10([rated[i].kept.compute or 1.0 for i in numbers]),
            parameters=np.log10([rated[i].run.parameters or 1.0 for i in numbers]),
            last=[place for place, i in enumerate(numbers) if rated[i].kept.step == full],
            apart=apart[np.ix_(numbers, numbers)],
        )
        redrawn = [lines(draw[numbers], points) for draw in draws]
        for name, line in lines(ratings[numbers], points).items():
            if line is not None:
                slopes = [np.nan if (one := each[name]) is None else one.slope for each in redrawn]
                found[name].append((points, line, slopes))
    return {name: _law(each, rated) for name, each in found.items()}


def last_step(rated: Sequence[Rated]) -> int:
    """The step of the checkpoints that compare sizes; a run that stopped early has none."""
    return max(entry.kept.step for entry in rated)


def _law(found: Sequence[tuple[Points, Line, list[float]]], rated: Sequence[Rated]) -> Law | None:
    """The mean of some seeds' lines; None if there are none, or few draws have as many points."""
    if not found:
        return None
    drawn = np.array([slopes for _, _, slopes in found])
    drawn = drawn[:, np.isfinite(drawn).all(axis=0)]
    if drawn.shape[1] < DRAWS / 2:
        return None
    own = Z_95 * float(np.std(drawn.mean(axis=0))) / 400.0
    return Law(
        exponent=mean_over_seeds([line.slope / 400.0 for _, line, _ in found], own),
        constant=float(np.mean([line.constant for _, line, _ in found])),
        through=tuple(rated[points.numbers[i]] for points, line, _ in found for i in line.through),
        ceiling=tuple(rated[points.numbers[i]] for points, line, _ in found for i in line.ceiling),
        off_line=float(np.sqrt(np.mean([line.off**2 for _, line, _ in found]))),
        seeds=len(found),
    )


def lines(ratings: Floats, points: Points) -> dict[str, Line | None]:
    """The lines of one seed, by quantity.

    Over compute it goes through the frontier, the checkpoints that are stronger than all with less
    compute, between the plateaus; over parameters through the last checkpoint of each size.
    """
    order = np.argsort(points.compute, kind="stable")
    highest = np.maximum.accumulate(ratings[order])
    best = [int(i) for n, i in enumerate(order) if n == 0 or ratings[i] > highest[n - 1]]
    through, ceiling = between(best, ratings, points)
    at_ceiling = [
        i
        for i in points.last
        for top in ceiling[:1]
        if ratings[top] - ratings[i] <= points.apart[top, i]
    ]
    sizes = [i for i in points.last if i not in at_ceiling]
    return {
        "compute": _line(points.compute, ratings, through, ceiling),
        "parameters": _line(points.parameters, ratings, sizes, at_ceiling),
    }


def between(best: Sequence[int], ratings: Floats, points: Points) -> tuple[list[int], list[int]]:
    """Those on the frontier that lie between the plateaus, and those at the ceiling.

    The floor ends at the first checkpoint that one with up to four times its compute beats
    measurably. The ceiling begins at the first that none with four times its compute or more does.
    """

    def is_beaten(i: int, by: Flags) -> bool:
        return bool((by & (ratings - ratings[i] > points.apart[i])).any())

    more = [points.compute - points.compute[i] - np.log10(FACTOR) for i in best]
    flat = [not is_beaten(i, than <= 0.0) for i, than in zip(best, more, strict=True)]
    full = [
        bool((than >= 0.0).any()) and not is_beaten(i, than >= 0.0)
        for i, than in zip(best, more, strict=True)
    ]
    low = [*flat, False].index(False)
    high = [*full, True].index(True)
    return list(best[low:high]), list(best[high:])


def _line(x: Floats, y: Floats, through: list[int], ceiling: list[int]) -> Line | None:
    """Least squares; None without three points of different x."""
    if len(set(x[through])) < LEAST:
        return None
    slope, constant = np.polyfit(x[through], y[through], 1)
    off = y[through] - slope * x[through] - constant
    return Line(
        slope=float(slope),
        constant=float(constant),
        through=through,
        ceiling=ceiling,
        off=float(np.sqrt(np.mean(off**2))),
    )


def rows_of(found: Mapping[str, Law | None]) -> list[dict[str, Any]]:
    return [
        {
            "law": name,
            "exponent": round(law.exponent.value, 4),
            "low": round(law.exponent.low, 4),
            "high": round(law.exponent.high, 4),
            "elo_tenfold": round(400.0 * law.exponent.value, 1),
            "points": len(law.through),
            "seeds": law.seeds,
            "off_line": round(law.off_line, 1),
            "ceiling": len(law.ceiling),
        }
        for name, law in found.items()
        if law is not None
    ]


def report(found: Mapping[str, Law | None]) -> Iterator[Table | str]:
    """The table and sentences about these laws."""
    table = Table(title="strength as a power of compute and of parameters")
    table.add_column("of")
    for column in ("exponent", "95 % interval", "Elo for 10 times", "points", "off the line"):
        table.add_column(column, justify="right")
    for name, law in found.items():
        if law is not None:
            table.add_row(
                name,
                f"{law.exponent.value:.2f}",
                f"[{law.exponent.low:.2f}, {law.exponent.high:.2f}]",
                f"{400.0 * law.exponent.value:+.0f}",
                str(len(law.through)),
                f"{law.off_line:.0f} Elo",
            )
    if table.rows:
        yield table
    compute = found["compute"]
    if compute is not None:
        share = expected_score(400.0 * compute.exponent.value * float(np.log10(2.0)))
        yield f"along the frontier, twice the compute scores {share:.0%} against the half"
    for name, law in found.items():
        if law is None:
            yield (
                f"not fitted over {name}: a line takes {LEAST} checkpoints of one seed, "
                f"{WHICH[name]}"
            )
    if compute is not None and compute.ceiling:
        first = min(compute.ceiling, key=lambda entry: entry.kept.compute or 0.0)
        yield (
            f"the ceiling is at {first.rating:+.0f} Elo, reached by {first.kept.name}: "
            f"{FACTOR:g} times its compute makes no player measurably stronger; the lines leave "
            "out what is at the ceiling"
        )
