"""Boards of Go to draw and click: an action is the point, or the button for a pass."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.game import Board, Choice, Game, Layout, Piece, Role

from . import rules
from .notation import COLUMNS, action_to_text

PASS = "pass"  # also the text of the action


@cache
def layout(size: int) -> Layout:
    return Layout(
        kind="points",
        columns=tuple(COLUMNS[:size]),
        rows=tuple(str(row) for row in range(size, 0, -1)),
        colours=("black", "white"),
        roles={"stone": Role(name="stone", letter="S", art="stone")},
        labelled=("left", "right", "above", "below") if size > 5 else ("left", "below"),
        stars=stars(size),
        choices={PASS: Choice(words="Pass")},
    )


def stars(size: int) -> tuple[str, ...]:
    """None on small boards; on the third line up to 12×12, on the fourth above."""
    if size < 7:
        return ()
    near = 2 if size < 13 else 3
    lines = [near, size - 1 - near]
    points = [(row, column) for row in lines for column in lines]
    if size % 2:
        middle = size // 2
        points.append((middle, middle))
        if size >= 15:
            points += [(middle, line) for line in lines] + [(line, middle) for line in lines]
    return tuple(action_to_text(size, row * size + column) for row, column in points)


def board_of(game: Game, state: Any, stones: npt.NDArray[np.int8]) -> Board:
    """The board of a state, with `stones` from `Go.stones`.

    A smaller board lies in the corner of A1, so its points have the same names.
    """
    size = len(stones)
    over = rules.is_terminal(state)
    last = int(state.last_action)
    black, white = (int(count) for count in state.prisoners)
    words = [] if last != size * size else ["the last move was a pass"]
    if black or white:
        words.append(f"prisoners: Black {black}, White {white}")
    legal = [] if over else game.legal_action_mask(state).nonzero()[0].tolist()
    return Board(
        layout=layout(int(state.size_in_play)),
        pieces=tuple(
            Piece(action_to_text(size, point), stone - 1, "stone")
            for point, stone in enumerate(stones.ravel().tolist())
            if stone
        ),
        to_move=None if over else int(state.player),
        actions={action: (action_to_text(size, action),) for action in legal},
        last=() if last in (-1, size * size) else (action_to_text(size, last),),
        note="; ".join(words),
    )
