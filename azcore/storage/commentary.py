"""Search results as comments on the moves of a transcript.

    value +0.312 visits 800 played 510 top D4 510, C3 200, E5 90 pv D4 C3 E5

The value is in the view of the player who moves. `visits` is the number of simulations of the
position, `played` those of the move that was played, `top` the moves with the most. A Gumbel search
has an improved policy instead of visits, and its shares are written as `top D4 64%`. All parts are
optional.
"""

from dataclasses import dataclass

TOP = 3  # moves that a comment lists


@dataclass(frozen=True, kw_only=True)
class Remark:
    """The search result for one move; moves are texts without spaces or commas."""

    value: float | None = None  # in [-1, 1], view of the player who moves; rounded to 0.001
    visits: int | None = None  # simulations of the position
    played: int | None = None  # those of the move played, or its share in percent
    top: tuple[tuple[str, int], ...] = ()  # moves and their simulations or shares, best first
    line: tuple[str, ...] = ()  # the principal variation
    shares: bool = False  # `played` and `top` are percentages of the policy


def write_remark(remark: Remark) -> str:
    """The remark as one line; empty if the remark is empty."""
    sign = "%" if remark.shares else ""
    parts = []
    if remark.value is not None:
        parts.append(f"value {remark.value + 0.0:+.3f}")
    if remark.visits is not None:
        parts.append(f"visits {remark.visits}")
    if remark.played is not None:
        parts.append(f"played {remark.played}{sign}")
    if remark.top:
        parts.append("top " + ", ".join(f"{move} {count}{sign}" for move, count in remark.top))
    if remark.line:
        parts.append("pv " + " ".join(remark.line))
    return " ".join(parts)
