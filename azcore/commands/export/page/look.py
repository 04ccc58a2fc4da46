"""What the page needs to draw a game and take clicks, derived from random games and the planes.

A game's board code is Python, which browsers do not run. But the network's planes hold the same
pieces, and compiled rules compute them. So the export finds in random games which plane shows each
role of each seat, and in which order its cells are; for hands, which plane holds the count.
`static/view.mjs` reads positions this way, and `verification.py` compares its result with
`Game.board`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azcore.errors import GameError
from azcore.game import Board, ByteArray, CompiledGame
from azcore.game.board import HAND, Layout
from azcore.pictures.picture import Pencil, title_of

Plain = dict[str, Any]


class Position(NamedTuple):
    """A position of a game, and its description by Python."""

    state: Any
    player: int
    planes: ByteArray
    board: Board


def look_of(game: CompiledGame, positions: Sequence[Position]) -> Plain:
    """How to draw and click a game, without exceptions; plain data for `static/view.mjs`.

    Raises:
        GameError: the planes do not show the board in a way that the page can read.
    """
    layout = positions[0].board.layout
    shape = game.observation_shape[1:]
    if (
        layout.has_between
        or shape != (layout.down, layout.across)
        or any(
            position.board.layout is not layout and position.board.layout != layout
            for position in positions
        )
    ):
        raise GameError(
            f"{game.name}: what=page needs planes of the size of the board, and one board for all "
            f"positions, without places between others; got {layout.kind} and planes of "
            f"{shape[0]} × {shape[1]}"
        )
    used = {(piece.seat, piece.role) for each in positions for piece in each.board.pieces}
    return {
        "kind": layout.kind,
        "places": list(layout.places),
        "roles": {name: role.name for name, role in layout.roles.items()},
        "choices": {name: choice.words for name, choice in layout.choices.items()},
        "planes": [
            _planes_of(game, used, layout, [each for each in positions if each.player == seat])
            for seat in (0, 1)
        ],
        "leaders": [],
        "exceptions": [{}, {}],
        "sides": [_side(game, layout, flip) for flip in (False, True)],
    }


def _planes_of(
    game: CompiledGame, used: set[tuple[int, str]], layout: Layout, positions: Sequence[Position]
) -> Plain:
    """Which planes show each role of each seat, in positions with one seat to move."""
    rows, columns = len(layout.rows), len(layout.columns)
    pieces = sorted(used)
    wanted = np.zeros((len(positions), len(pieces), rows, columns), np.bool_)
    for shown, position in zip(wanted, positions, strict=True):
        for piece in position.board.pieces:
            x, y = layout.places[piece.place]
            shown[pieces.index((piece.seat, piece.role)), y, x] = True
    is_known = wanted.any(axis=(0, 2, 3))
    missing = [pieces[i] for i in np.flatnonzero(~is_known)]
    for order in _orders(rows, columns):
        shown = np.stack([position.planes for position in positions]).astype(np.bool_)
        cells = shown.reshape(*shown.shape[:2], -1)[:, :, order]
        found = _matching(cells, wanted.reshape(*wanted.shape[:2], -1)[:, is_known])
        if all(plane >= 0 for plane in found) and not missing:
            return {
                "cells": order.tolist(),
                "pieces": [[plane, *piece] for plane, piece in zip(found, pieces, strict=True)],
                "hands": _hands_of(game, layout, positions),
            }
    seat, role = missing[0] if missing else pieces[0]
    reason = "seen too rarely in random games" if missing else "without a plane of its own"
    raise GameError(
        f"{game.name}: what=page reads pieces from the planes, but {layout.roles[role].name} of "
        f"{game.seat_names[seat]} is {reason}"
    )


def _orders(rows: int, columns: int) -> Iterable[npt.NDArray[np.int64]]:
    """Ways to rotate or mirror planes: the cell of each place, int64 [H * W]."""
    grid = np.arange(rows * columns).reshape(rows, columns)
    for mirrored in (grid, grid[:, ::-1]):
        for quarters in range(4):
            turned = np.rot90(mirrored, quarters)
            if turned.shape == grid.shape:
                yield turned.ravel()


def _matching(cells: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_]) -> list[int]:
    """The first plane that always shows exactly this piece; -1 for none."""
    alive = np.ones((wanted.shape[1], cells.shape[1]), np.bool_)
    for shown, pieces in zip(cells, wanted, strict=True):
        alive &= (pieces[:, None] == shown[None]).all(axis=2)
        if not alive.any(axis=1).all():
            break
    return [int(row.argmax()) if row.any() else -1 for row in alive]


def _hands_of(
    game: CompiledGame, layout: Layout, positions: Sequence[Position]
) -> list[tuple[int, int, str]]:
    corners = np.stack([position.planes[:, 0, 0] for position in positions])
    found = []
    for seat in (0, 1):
        for role in layout.hand:
            held = np.array([position.board.hands[seat].get(role, 0) for position in positions])
            fitting = np.flatnonzero((corners == held[:, None]).all(axis=0))
            if not held.any() or not len(fitting):
                raise GameError(
                    f"{game.name}: what=page reads hands from the planes, but "
                    f"{layout.roles[role].name} in the hand of {game.seat_names[seat]} is in none"
                )
            found.append((int(fitting[0]), seat, role))
    return found


def _side(game: CompiledGame, layout: Layout, flip: bool) -> Plain:
    """The empty board seen from one side, and all pieces that it can show."""
    empty = Board(layout=layout, pieces=(), to_move=0, actions={})
    pencil = Pencil(empty, game.seat_names, title_of(game.name), flip, False, "auto", "az")
    pieces = pencil.set
    return {
        "names": [
            {role: [pieces.piece(seat, role), pieces.shadow(seat, role)] for role in layout.roles}
            for seat in (0, 1)
        ],
        "boxes": pencil.geometry.boxes,
        "hands": [
            {role: pencil.geometry.in_hand(seat, role) for role in layout.hand} for seat in (0, 1)
        ],
        "svg": pencil.whole("", ""),
    }


def clicks_of(position: Position) -> dict[int, list[str]]:
    """The clicks of each legal action, excluding the choice after a question, and with buttons."""
    layout = position.board.layout
    found = {}
    for action, path in position.board.actions.items():
        clicks = [click for click in path if click in layout.places or click.startswith(HAND)]
        found[action] = clicks or list(path)
    return found
