"""Boards of tic-tac-toe to draw and click: an action is its cell."""

from azcore.game import Board, Layout, Piece, Role

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
LAYOUT = Layout(
    kind="cells",
    columns=("a", "b", "c"),
    rows=("3", "2", "1"),
    colours=("blue", "red"),
    surface="paper",
    roles={
        "X": Role(name="cross", letter="X", art="cross"),
        "O": Role(name="ring", letter="O", art="ring"),
    },
)
CELLS = tuple(LAYOUT.places)  # in the order of the actions


def board_of(cells: str, player: int) -> Board:
    """The board of nine cells `.XO`, row by row from the top left, with a seat to move."""
    lines = [line for line in LINES if cells[line[0]] != "." and len({cells[i] for i in line}) == 1]
    over = bool(lines) or "." not in cells
    return Board(
        layout=LAYOUT,
        pieces=tuple(
            Piece(CELLS[i], "XO".index(stone), stone)
            for i, stone in enumerate(cells)
            if stone != "."
        ),
        to_move=None if over else player,
        actions={} if over else {i: (CELLS[i],) for i in range(9) if cells[i] == "."},
        marks=tuple(sorted({CELLS[i] for line in lines for i in line})),
    )
