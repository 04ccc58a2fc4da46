"""A search's or network's results for a position, drawn over its board.

A layer is data separate from the board, so a page can show and hide each. Numbers in [0, 1] are
shares; ownership is in the view of seat 0, as everywhere.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from azcore.game import FloatArray, Game
from azcore.game.board import Board
from azcore.pictures.geometry import Geometry, Point, centre_of
from azcore.pictures.palette import BODIES, Palette
from azcore.pictures.svg import number, tag, text

FAINTEST = 0.004  # smaller shares are hidden
MOST_HINTS = 40


@dataclass(frozen=True, kw_only=True)
class Hint:
    """An action shown over a board: a disc on one place, or an arrow between two."""

    path: tuple[str, ...]  # its clicks, as in `Board.actions`, ignoring choices
    weight: float = 1.0  # 0 to 1, its opacity
    text: str = ""  # a few characters on it
    seat: int | None = None  # that acts; None: the player to move


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Everything that can be drawn over a board."""

    heat: Sequence[Hint] = ()  # actions with their probability or share of visits; see `heat_of`
    line: Sequence[Hint] = ()  # the first actions of an expected line, numbered; see `line_of`
    owner: Mapping[str, float] = field(default_factory=dict)  # of a place, +1 seat 0, -1 seat 1
    labels: Mapping[str, str] = field(default_factory=dict)  # texts on places


def heat_of(board: Board, shares: Mapping[int, float]) -> tuple[Hint, ...]:
    """Hints for a policy or for shares of visits, by action; the likeliest is the most visible.

    It adds up actions that differ only in a choice, and omits those without a place, such as a
    pass, which are buttons next to the picture.
    """
    summed: dict[tuple[str, ...], float] = {}
    for action, share in shares.items():
        path = tuple(c for c in board.actions.get(action, ()) if c not in board.layout.choices)
        if path:
            summed[path] = summed.get(path, 0.0) + share
    shown = sorted(summed.items(), key=lambda item: -item[1])[:MOST_HINTS]
    most = max((share for _, share in shown), default=1.0)
    return tuple(
        Hint(path=path, weight=share / most, text=f"{round(100 * share)}")
        for path, share in shown
        if share > FAINTEST
    )


def owners_of(board: Board, cells: FloatArray) -> dict[str, float]:
    """The owner of each place; empty if cells and places do not correspond.

    Args:
        cells: as `Game.ownership` has them, in [-1, 1] in the view of seat 0.
    """
    layout = board.layout
    if cells.shape != (layout.down, layout.across):
        return {}
    return {place: float(cells[y, x]) for place, (x, y) in layout.places.items()}


def line_of(game: Game, state: Any, actions: Sequence[int], most: int = 3) -> tuple[Hint, ...]:
    """Numbered hints for the first actions of a line; later ones would hide the board.

    Raises:
        IllegalActionError: an action that is not legal in its place.
    """
    hints = []
    for i, action in enumerate(actions[:most]):
        board = game.board(state)
        if board is None:
            break
        path = board.actions.get(action, ())
        hints.append(
            Hint(path=path, weight=1 / (1 + i), text=str(i + 1), seat=game.current_player(state))
        )
        state = game.step(state, action)
    return tuple(hints)


def drawn(board: Board, geometry: Geometry, layers: Layers, palette: Palette) -> Iterator[str]:
    """The layers as elements, in drawing order."""
    for place, owner in layers.owner.items():
        yield from _owner(board, geometry, place, owner)
    for hint in reversed(layers.heat):  # the strongest on top
        yield from _hint(board, geometry, hint, palette, numbered=False)
    for hint in reversed(layers.line):
        yield from _hint(board, geometry, hint, palette, numbered=True)
    for place, words in layers.labels.items():
        board.layout.require_place("the place of a label", place)
        x, y = geometry.centres[place]
        halo = palette("hint-ink")
        yield text(
            words,
            x,
            y,
            34 if len(words) < 4 else 26,
            fill=palette("hint"),
            stroke=halo,
            stroke_width=7,
            paint_order="stroke",
            font_weight=700,
        )


def _owner(board: Board, geometry: Geometry, place: str, owner: float) -> Iterator[str]:
    board.layout.require_place("the place of an owner", place)
    if square := owner_square(board, owner, geometry.centres[place]):
        yield square


def owner_square(board: Board, owner: float, centre: Point = (0, 0)) -> str:
    """A square in the owner's colour, with the certainty as its area; empty if too small."""
    side = 46 * math.sqrt(min(1.0, abs(owner)))
    if side < 6:
        return ""
    body, edge, line = BODIES[board.layout.colours[0 if owner > 0 else 1]]
    return tag(
        "rect",
        x=centre[0] - side / 2,
        y=centre[1] - side / 2,
        width=side,
        height=side,
        fill=body,
        stroke=line if line != body else edge,
        stroke_width=2,
        opacity=0.85,
    )


def heat_mark(start: Point, end: Point, weight: float, fill: str, ink: str) -> str:
    """A disc, or an arrow if it starts and ends at different places."""
    if start == end:
        radius = 18 + 26 * math.sqrt(weight)
        return tag(
            "circle", cx=end[0], cy=end[1], r=radius, fill=fill, opacity=0.35 + 0.55 * weight
        )
    return tag(
        "path",
        d=_arrow(start, end, 9 + 13 * weight),
        fill=fill,
        opacity=0.4 + 0.45 * weight,
        stroke=ink,
        stroke_width=1.5,
    )


def ends_of(board: Board, geometry: Geometry, hint: Hint) -> tuple[Point, Point] | None:
    """Where a hint starts and ends, the same place for a disc; None: not in the picture."""
    seat = board.to_move if hint.seat is None else hint.seat
    found = [geometry.target(click, seat) for click in hint.path]
    places = [centre_of(box) for box in found if box is not None]
    return (places[0], places[-1]) if places else None


def _hint(
    board: Board, geometry: Geometry, hint: Hint, palette: Palette, numbered: bool
) -> Iterator[str]:
    seat = board.to_move if hint.seat is None else hint.seat
    ends = ends_of(board, geometry, hint)
    if ends is None:
        return
    weight = min(1.0, max(0.0, hint.weight))
    (a, b), (x, y) = ends
    is_first = not numbered or seat in (0, None)
    on_rack = board.layout.surface == "rack"  # in the same colour as the first
    fill = palette("hint" if is_first and not on_rack else "hint-second")
    ink = palette("hint-ink")
    if ends[0] != ends[1]:
        yield heat_mark(*ends, weight, fill, ink)
        if hint.text and (numbered or weight > 0.12):
            x, y = (x + a) // 2, (y + b) // 2
            yield tag("circle", cx=x, cy=y, r=18, fill=fill, stroke=ink, stroke_width=1.5)
            yield text(hint.text, x, y, 24, fill=ink, font_weight=700)
    elif numbered:
        body, edge, line = BODIES[board.layout.colours[seat or 0]]
        yield tag("circle", cx=x, cy=y, r=40, fill=body, stroke=edge, stroke_width=3, opacity=0.82)
        yield text(hint.text, x, y, 46, fill=line if line != body else edge, font_weight=700)
    else:
        yield heat_mark(*ends, weight, fill, ink)
        radius = 18 + 26 * math.sqrt(weight)
        if hint.text and radius > 24:
            yield text(hint.text, x, y, 34 if radius > 34 else 26, fill=ink, font_weight=700)


def _arrow(start: Point, end: Point, wide: float) -> str:
    """An arrow as a closed path, which leaves the centres of both places free."""
    length = math.dist(start, end) or 1.0
    right, down = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    head = 22 + 0.8 * wide
    points = [
        (20, -wide / 2),
        (length - 8 - head, -wide / 2),
        (length - 8 - head, -wide / 2 - 11),
        (length - 8, 0),
        (length - 8 - head, wide / 2 + 11),
        (length - 8 - head, wide / 2),
        (20, wide / 2),
    ]
    placed = [
        f"{number(start[0] + a * right - b * down)} {number(start[1] + a * down + b * right)}"
        for a, b in points
    ]
    return f"M{'L'.join(placed)}Z"
