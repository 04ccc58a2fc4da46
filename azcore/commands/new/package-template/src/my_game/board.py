"""Boards of My game for azcore to draw and click: optional, and never compiled.

A board is plain data: `azcore/game/board.py` specifies its content. An action is made by a path of
clicks on places (and on pieces in hand and buttons, in other games), here by a click on its cell.
"""

from functools import cache
from typing import Any

from azcore import Game
from azcore.game import Board, Layout, Piece, Role

from . import notation


@cache
def layout(board_size: int) -> Layout:
    """The constant part of all boards. azcore/pictures has the roles' drawings."""
    return Layout(
        kind="cells",
        columns=tuple(chr(ord("a") + column) for column in range(board_size)),
        rows=tuple(str(row) for row in range(board_size, 0, -1)),
        colours=("blue", "red"),
        surface="paper",
        roles={
            "X": Role(name="cross", letter="X", art="cross"),
            "O": Role(name="ring", letter="O", art="ring"),
        },
    )


def board_of(game: Game, state: Any) -> Board:
    size = state.board.shape[0]
    stones = state.board.ravel().tolist()
    legal = game.legal_action_mask(state).nonzero()[0].tolist()
    return Board(
        layout=layout(size),
        pieces=tuple(
            Piece(notation.action_to_text(size, cell), stone - 1, ".XO"[stone])
            for cell, stone in enumerate(stones)
            if stone
        ),
        to_move=None if game.is_terminal(state) else int(state.player),
        actions={action: (notation.action_to_text(size, action),) for action in legal},
    )
