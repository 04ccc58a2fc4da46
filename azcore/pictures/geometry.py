"""The positions of all parts of a picture. A place is 100 × 100 on every board."""

from dataclasses import dataclass
from functools import cached_property

from azcore.game.board import HAND, Layout

PLACE = 100
LABEL = 27  # size of the labels of a board nine places wide
BARE = 16  # margin on a side without labels
STAND = 118  # height of a row of pieces in hand
GAP = 12  # between the board and a stand


@dataclass(frozen=True)
class Geometry:
    """The geometry of a layout's picture, seen from the first seat or, flipped, from the second."""

    layout: Layout
    flip: bool

    @property
    def columns(self) -> int:
        return len(self.layout.columns)

    @property
    def rows(self) -> int:
        return len(self.layout.rows)

    @property
    def label(self) -> int:
        """Size of the labels: about the same share of every picture, legible on phones."""
        return round(LABEL * min(1.6, max(0.6, max(self.columns, self.rows) / 9)))

    def margin(self, side: str) -> int:
        return round(1.6 * self.label) if side in self.layout.labelled else BARE

    @property
    def board(self) -> tuple[int, int, int, int]:
        """Left, top, width and height of the board with its margins."""
        left, upper = self.left - self.margin("left"), self.upper - self.margin("above")
        width = self.columns * PLACE + self.margin("left") + self.margin("right")
        height = self.rows * PLACE + self.margin("above") + self.margin("below")
        return left, upper, width, height

    @property
    def width(self) -> int:
        columns = max(self.columns, len(self.layout.hand))
        return columns * PLACE + self.margin("left") + self.margin("right")

    @property
    def height(self) -> int:
        margins = self.margin("above") + self.margin("below")
        return self.rows * PLACE + margins + 2 * self.top

    @property
    def top(self) -> int:
        """Height of the part above the board, and below it: the stands of games with hands."""
        return STAND + GAP if self.layout.hand else 0

    @property
    def left(self) -> int:
        """The left edge of the first column."""
        spare = max(0, len(self.layout.hand) - self.columns) * PLACE // 2
        return spare + self.margin("left")

    @property
    def upper(self) -> int:
        """The upper edge of the first row."""
        return self.top + self.margin("above")

    @cached_property
    def centres(self) -> dict[str, tuple[int, int]]:
        """The centre of each place."""
        found = {}
        for place, (column, row) in self.layout.places.items():
            x, y = self.seen(column, row)
            found[place] = self.left + PLACE * x + PLACE // 2, self.upper + PLACE * y + PLACE // 2
        return found

    def seen(self, column: int, row: int) -> tuple[int, int]:
        """Column and row in the picture of a column and row of the layout."""
        return (self.columns - 1 - column, self.rows - 1 - row) if self.flip else (column, row)

    def is_far(self, seat: int) -> bool:
        """Whether a seat sits at the upper edge."""
        return (seat == 1) != self.flip

    def in_hand(self, seat: int, role: str) -> tuple[int, int]:
        """The centre of a role on a seat's stand; each player counts from the left."""
        at = self.layout.hand.index(role)
        far = self.is_far(seat)
        room = (self.width - PLACE * len(self.layout.hand)) // 2
        x = room + PLACE * at + PLACE // 2
        return (self.width - x, STAND // 2) if far else (x, self.height - STAND // 2)

    def target(self, click: str, seat: int | None) -> tuple[int, int] | None:
        """The centre of a seat's click target; None: a choice, which is not in the picture."""
        role = click.removeprefix(HAND)
        if click in self.centres:
            return self.centres[click]
        if click.startswith(HAND) and seat is not None and role in self.layout.hand:
            return self.in_hand(seat, role)
        return None
