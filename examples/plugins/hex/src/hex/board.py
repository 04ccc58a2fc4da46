"""Boards of Hex to be drawn and clicked: hexagons, and the sides that each player connects."""

from __future__ import annotations

from functools import cache
from typing import Any

from azcore import Game
from azcore.game import Board, Choice, Layout, Piece, Role

from .notation import LETTERS, SWAP, action_to_text, cell_name
from .rules import BOTH


@cache
def layout(size: int, swap: bool) -> Layout:
    return Layout(
        kind="hexagons",
        columns=tuple(LETTERS[:size]),
        rows=tuple(str(row + 1) for row in range(size)),
        colours=("black", "white"),
        roles={"stone": Role(name="stone", letter="S", art="disc")},
        labelled=("left", "above"),
        borders={"above": 0, "below": 0, "left": 1, "right": 1},
        choices={SWAP: Choice(words="Swap")} if swap else {},
    )


def board_of(game: Game, state: Any) -> Board:
    stones = [
        (cell_name(row, column), stone - 1, int(state.sides[row, column]))
        for row, line in enumerate(state.stones.tolist())
        for column, stone in enumerate(line)
        if stone
    ]
    last = divmod(int(state.last) - 1, len(state.stones))
    legal = game.legal_action_mask(state).nonzero()[0].tolist()
    return Board(
        layout=layout(len(state.stones), bool(state.swap)),
        pieces=tuple(Piece(place, seat, "stone") for place, seat, _ in stones),
        to_move=None if game.is_terminal(state) else int(state.player),
        actions={action: (action_to_text(state, action),) for action in legal},
        last=(cell_name(*last),) if state.last else (),
        marks=tuple(place for place, _, sides in stones if sides == BOTH),
    )
