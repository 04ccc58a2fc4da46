"""Where everything lies in a picture. A place is 100 × 100, whatever the board."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from azcore.game.board import HAND, Layout

PLACE = 100
MARGIN = 54  # around the places, for labels
STAND = 118  # height of a row of pieces in hand
GAP = 12  # between the board and a stand


@dataclass(frozen=True)
class Geometry:
    """The picture of a layout, seen from the first seat or, flipped, from the second."""

    layout: Layout
    flip: bool

    @property
    def columns(self) -> int:
        return len(self.layout.columns)

    @property
    def rows(self) -> int:
        return len(self.layout.rows)

    @property
    def width(self) -> int:
        return max(self.columns * PLACE, len(self.layout.hand) * PLACE) + 2 * MARGIN

    @property
    def height(self) -> int:
        return self.rows * PLACE + 2 * MARGIN + 2 * self.top

    @property
    def top(self) -> int:
        """Height of what lies above the board, and below it: the stands of games with hands."""
        return STAND + GAP if self.layout.hand else 0

    @property
    def left(self) -> int:
        """The left edge of the first column."""
        return (self.width - self.columns * PLACE) // 2

    @property
    def upper(self) -> int:
        """The upper edge of the first row."""
        return self.top + MARGIN

    @cached_property
    def centres(self) -> dict[str, tuple[int, int]]:
        """The centre of each place."""
        found = {}
        for place, (column, row) in self.layout.places.items():
            x, y = self.seen(column, row)
            found[place] = self.left + PLACE * x + PLACE // 2, self.upper + PLACE * y + PLACE // 2
        return found

    def seen(self, column: int, row: int) -> tuple[int, int]:
        """Column and row of the picture where those of the layout lie."""
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
        """The centre of what a click of a seat names; None: a choice, which is not in the picture."""
        role = click.removeprefix(HAND)
        if click in self.centres:
            return self.centres[click]
        if click.startswith(HAND) and seat is not None and role in self.layout.hand:
            return self.in_hand(seat, role)
        return None
