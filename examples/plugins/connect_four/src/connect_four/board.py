"""Boards of connect four to be drawn and clicked: an action is the cell where its stone lands."""

from __future__ import annotations

from typing import Any

from azcore import Game
from azcore.game import Board, Layout, Piece, Role

from .notation import rows_of
from .rules import COLUMNS, DIRECTIONS, ROWS, STEP

LAYOUT = Layout(
    kind="cells",
    columns=tuple("1234567"),
    rows=tuple("fedcba"),
    colours=("red", "yellow"),
    surface="rack",
    roles={"stone": Role(name="stone", letter="S", art="disc")},
)


def board_of(game: Game, state: Any) -> Board:
    rows = rows_of(state)
    cells = [(place, rows[y][x]) for place, (x, y) in LAYOUT.places.items()]
    over = game.is_terminal(state)
    actions = {}
    for column in game.legal_action_mask(state).nonzero()[0].tolist():
        height = sum(row[column] != "." for row in rows)
        actions[column] = (place_of(column, height),)
    return Board(
        layout=LAYOUT,
        pieces=tuple(
            Piece(place, "XO".index(stone), "stone") for place, stone in cells if stone != "."
        ),
        to_move=None if over else int(state.player),
        actions=actions,
        marks=winning(state),
    )


def place_of(column: int, height: int) -> str:
    return f"{column + 1}{'abcdef'[height]}"


def winning(state: Any) -> tuple[str, ...]:
    """The places of all fours in a line."""
    found = 0
    for stones in map(int, state.stones):
        for shift in DIRECTIONS:
            pairs = stones & (stones >> shift)
            first = pairs & (pairs >> 2 * shift)  # the first cell of each four
            found |= first | first << shift | first << 2 * shift | first << 3 * shift
    return tuple(
        place_of(column, height)
        for column in range(COLUMNS)
        for height in range(ROWS)
        if found >> STEP * column + height & 1
    )
