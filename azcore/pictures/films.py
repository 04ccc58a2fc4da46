"""Draws a whole game in one picture; a script steps through it by showing and hiding elements.

Each element states when it is visible: the attribute `data-on` holds the positions as `first-last`,
separated by spaces, and a single one as `first`. The elements of the first position are visible,
except for the groups `az-owner` and `az-heat`, which start hidden. `data-what` and `data-where`
describe the position. So a script draws nothing, and a piece that stands still for a hundred plies
appears once in the file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from azcore.errors import GameError
from azcore.game import FloatArray, Game
from azcore.game.board import Board
from azcore.pictures.layers import ends_of, heat_mark, heat_of, owner_square, owners_of
from azcore.pictures.palette import Palette
from azcore.pictures.picture import (
    PARTS,
    XMLNS,
    Fragment,
    Pencil,
    Picture,
    group,
    head_of,
    title_of,
    use,
)
from azcore.pictures.svg import tag
from azcore.pictures.words import describe_board

HEAT = 6  # steps of heat, so that many plies share an element
SURE = 5  # steps of ownership, for the same reason


def film(
    game: Game,
    states: Sequence[Any],
    *,
    heat: Sequence[Mapping[int, float]] = (),
    owners: Sequence[FloatArray | None] = (),
    letters: bool = False,
    bare: bool = False,
    prefix: str = "az",
) -> Picture | None:
    """The positions of a game in one picture.

    Args:
        states: the positions, in display order.
        heat: shares of actions in the first positions, see `heat_of`; the group `az-heat`.
        owners: cells of the first positions, see `owners_of`; the group `az-owner`. Both are
            rounded to a few steps and have no texts.
        letters: letters instead of drawings that not everybody knows.
        bare: without colours and definitions, for pages with several films; see `shared`.
        prefix: the prefix of the identifiers inside.

    Returns:
        None if the game has no board.

    Raises:
        GameError: the layout changes during the game.
    """
    boards = [game.board(state) for state in states]
    shown = [board for board in boards if board is not None]
    if not shown or len(shown) < len(boards):
        return None
    first = shown[0]
    pencil = Pencil(first, game.seat_names, title_of(game.name), False, letters, "auto", prefix)
    seen: dict[str, dict[Fragment, list[int]]] = {name: {} for name in (*PARTS, "owner", "heat")}
    squares: dict[tuple[str, float], Fragment | None] = {}
    for number, board in enumerate(shown):
        if board.layout != first.layout:
            raise GameError(f"{game.name}: board: the layout must stay the same through a game")
        parts = pencil.parts(board)
        if number < len(heat):
            parts["heat"] = _heat(pencil, board, heat[number])
        if number < len(owners) and (cells := owners[number]) is not None:
            parts["owner"] = _owner(pencil, board, cells, squares)
        for name, fragments in parts.items():
            for fragment in fragments:
                seen[name].setdefault(fragment, []).append(number)
    body = "".join(
        group(name, (_timed(fragment, plies) for fragment, plies in seen[name].items()))
        for name in PARTS
    )
    for name in ("owner", "heat"):
        elements = (_timed(fragment, plies, hides=False) for fragment, plies in seen[name].items())
        if marks := "".join(elements):
            body += tag("g", marks, class_=f"az-{name}", visibility="hidden")
    svg = pencil.whole(body, describe_board(first, game.seat_names), bare=bare)
    made = pencil.definitions()
    return Picture(svg, pencil.geometry.width, pencil.geometry.height, definitions=made)


def shared(films: Sequence[Picture]) -> str:
    """An element without size that holds what several bare films use, each definition once."""
    made: dict[str, str] = {}
    for one in films:
        made |= one.definitions
    return tag(
        "svg",
        head_of(Palette("auto"), made),
        xmlns=XMLNS,
        class_="az-board az-shared",
        width="0",
        height="0",
        style="position:absolute",
        aria_hidden="true",
    )


def _heat(pencil: Pencil, board: Board, shares: Mapping[int, float]) -> list[Fragment]:
    """Marks of actions; equal ones share a definition, since there are few steps and many plies."""
    fill, ink = pencil.palette("hint"), pencil.palette("hint-ink")
    fragments = []
    for hint in reversed(heat_of(board, shares)):
        ends = ends_of(board, pencil.geometry, hint)
        if ends is not None:
            (x, y), (right, down) = ends
            weight = _rounded(hint.weight, HEAT)
            mark = heat_mark((0, 0), (right - x, down - y), weight, fill, ink)
            fragments.append(Fragment(use(pencil.set.named(mark), x, y)))
    return fragments


def _owner(
    pencil: Pencil, board: Board, cells: FloatArray, known: dict[tuple[str, float], Fragment | None]
) -> list[Fragment]:
    """The owners of places; `known` holds those already drawn."""
    fragments = []
    for place, share in owners_of(board, cells).items():
        key = place, _rounded(share, SURE)
        if key not in known:
            square = owner_square(board, key[1])
            centre = pencil.geometry.centres[place]
            known[key] = Fragment(use(pencil.set.named(square), *centre)) if square else None
        if (fragment := known[key]) is not None:
            fragments.append(fragment)
    return fragments


def _rounded(share: float, steps: int) -> float:
    return round(share * steps) / steps


def _timed(fragment: Fragment, plies: Sequence[int], *, hides: bool = True) -> str:
    """A fragment with the ascending positions where it is visible, or in a hidden group."""
    spans: list[list[int]] = []
    for ply in plies:
        if spans and ply == spans[-1][1] + 1:
            spans[-1][1] = ply
        else:
            spans.append([ply, ply])
    end = min(fragment.svg.index(mark) for mark in " >" if mark in fragment.svg)  # of its name
    description: Mapping[str, str | None] = {
        "data_what": fragment.what or None,
        "data_where": fragment.where or None,
    }
    attributes = tag(
        "a",
        data_on=" ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans),
        visibility="hidden" if hides and plies[0] > 0 else None,
        **description,
    )
    written = attributes.removeprefix("<a").removesuffix("/>")
    return fragment.svg[:end] + written + fragment.svg[end:]
