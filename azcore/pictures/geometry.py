"""The positions of all parts of a picture.

A place is 100 × 100 on every board, except that a hexagon is as high as it must be, and that what
lies between points or cells is `BETWEEN` wide, high or both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from azcore.game.board import HAND, Layout

PLACE = 100
HEXAGON = 116  # height of a hexagon that is 100 wide
ROW = 87  # from a row of hexagons to the next
BETWEEN = 40
BAR = 18  # width of a piece that lies between points or cells
LABEL = 27  # size of the labels of a board nine places wide
BARE = 16  # margin on a side without labels
BORDER = 14  # width of a border that belongs to a seat, or further space for discs on a line
STAND = 118  # height of a row of pieces in hand
GAP = 12  # between the board and a stand
OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}

Point = tuple[int, int]
Box = tuple[int, int, int, int]  # left, top, width, height


@dataclass(frozen=True)
class Geometry:
    """The geometry of a layout's picture, seen from the first seat or, flipped, from the second."""

    layout: Layout
    flip: bool

    @property
    def is_hexagonal(self) -> bool:
        return self.layout.kind == "hexagons"

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of all places together, without margins."""
        across, down = self.layout.across, self.layout.down
        if self.is_hexagonal:
            return across * PLACE + (down - 1) * PLACE // 2, (down - 1) * ROW + HEXAGON
        return self._start(across), self._start(down)

    @property
    def label(self) -> int:
        """Size of the labels: about the same share of every picture, legible on phones."""
        return round(LABEL * min(1.6, max(0.6, max(self.size) / PLACE / 9)))

    def margin(self, side: str) -> int:
        label = round(1.6 * self.label) if side in self.layout.labelled else BARE
        return label + (BORDER if self.layout.borders or self.layout.kind == "lines" else 0)

    @property
    def board(self) -> Box:
        """The board with its margins."""
        left, upper = self.left - self.margin("left"), self.upper - self.margin("above")
        width = self.size[0] + self.margin("left") + self.margin("right")
        height = self.size[1] + self.margin("above") + self.margin("below")
        return left, upper, width, height

    @property
    def width(self) -> int:
        across = max(self.size[0], PLACE * len(self.layout.hand))
        return across + self.margin("left") + self.margin("right")

    @property
    def height(self) -> int:
        return self.size[1] + self.margin("above") + self.margin("below") + 2 * self.top

    @property
    def top(self) -> int:
        """Height of the part above the board, and below it: the stands of games with hands."""
        return STAND + GAP if self.layout.hand else 0

    @property
    def left(self) -> int:
        """The left edge of the first column."""
        spare = max(0, PLACE * len(self.layout.hand) - self.size[0]) // 2
        return spare + self.margin("left")

    @property
    def upper(self) -> int:
        """The upper edge of the first row."""
        return self.top + self.margin("above")

    def _start(self, lane: int) -> int:
        """Where a column of places begins, from the first one; likewise a row."""
        narrow = {"lines": (lane + 1) // 2, "gaps": lane // 2}.get(self.layout.kind, 0)
        return narrow * BETWEEN + (lane - narrow) * PLACE

    def box(self, x: int, y: int) -> Box:
        """The place in a column and row of the picture."""
        if self.is_hexagonal:
            left, top, width, height = PLACE * x + PLACE // 2 * y, ROW * y, PLACE, HEXAGON
        else:
            left, top = self._start(x), self._start(y)
            width, height = self._start(x + 1) - left, self._start(y + 1) - top
        return self.left + left, self.upper + top, width, height

    @cached_property
    def boxes(self) -> dict[str, Box]:
        """The surroundings of each place."""
        return {place: self.box(*self.seen(*at)) for place, at in self.layout.places.items()}

    @cached_property
    def centres(self) -> dict[str, Point]:
        """The centre of each place."""
        return {place: centre_of(box) for place, box in self.boxes.items()}

    def bar(self, place: str) -> tuple[int, int] | None:
        """Width and height of a piece there if it lies between points or cells; else None."""
        width, height = self.boxes[place][2:]
        if BETWEEN not in (width, height):
            return None
        long = PLACE + BETWEEN - BAR  # so that three in a row leave no gap
        return BAR if width == BETWEEN else long, BAR if height == BETWEEN else long

    def is_crossing(self, place: str) -> bool:
        """Whether a place is too small to click: a point between lines, a corner between gaps."""
        return self.boxes[place][2:] == (BETWEEN, BETWEEN)

    def outline(self, box: Box, inset: int = 0) -> str:
        """A place as a path, smaller by `inset` on all sides."""
        left, top, width, height = box
        x, y, width, height = left + inset, top + inset, width - 2 * inset, height - 2 * inset
        if not self.is_hexagonal:
            return f"M{x} {y}h{width}v{height}h-{width}z"
        return f"M{'L'.join(f'{a:g} {b:g}' for a, b in corners((x, y, width, height)))}Z"

    def border(self, side: str) -> Sequence[tuple[float, float]]:
        """The corners of the line along a side of the layout, which is opposite if flipped."""
        side = OPPOSITE[side] if self.flip else side
        last_x, last_y = self.layout.across - 1, self.layout.down - 1
        if not self.is_hexagonal:
            width, height = self.size
            x0, y0, x1, y1 = self.left, self.upper, self.left + width, self.upper + height
            return {
                "above": [(x0, y0), (x1, y0)],
                "right": [(x1, y0), (x1, y1)],
                "below": [(x1, y1), (x0, y1)],
                "left": [(x0, y1), (x0, y0)],
            }[side]
        # Of the three outer edges of a blunt corner, the sides above and below have two.
        along, edges = {
            "above": ([(x, 0) for x in range(last_x + 1)], (5, 0, 1)),
            "right": ([(last_x, y) for y in range(last_y + 1)], (1, 2)),
            "below": ([(x, last_y) for x in reversed(range(last_x + 1))], (2, 3, 4)),
            "left": ([(0, y) for y in reversed(range(last_y + 1))], (4, 5)),
        }[side]
        return [corners(self.box(*at))[edge] for at in along for edge in edges]

    def seen(self, column: int, row: int) -> Point:
        """Column and row in the picture of a column and row of the layout."""
        if self.flip:
            return self.layout.across - 1 - column, self.layout.down - 1 - row
        return column, row

    def is_far(self, seat: int) -> bool:
        """Whether a seat sits at the upper edge."""
        return (seat == 1) != self.flip

    def in_hand(self, seat: int, role: str) -> Point:
        """The centre of a role on a seat's stand; each player counts from the left."""
        at = self.layout.hand.index(role)
        far = self.is_far(seat)
        room = (self.width - PLACE * len(self.layout.hand)) // 2
        x = room + PLACE * at + PLACE // 2
        return (self.width - x, STAND // 2) if far else (x, self.height - STAND // 2)

    def target(self, click: str, seat: int | None) -> Box | None:
        """The box of a seat's click target; None: a choice, which is not in the picture."""
        role = click.removeprefix(HAND)
        if click in self.boxes:
            return self.boxes[click]
        if click.startswith(HAND) and seat is not None and role in self.layout.hand:
            x, y = self.in_hand(seat, role)
            return x - PLACE // 2, y - PLACE // 2, PLACE, PLACE
        return None


def centre_of(box: Box) -> Point:
    left, top, width, height = box
    return left + width // 2, top + height // 2


def corners(box: Box) -> list[tuple[float, float]]:
    """The corners of a hexagon from the uppermost, clockwise."""
    left, top, width, height = box
    x, right, quarter = left + width / 2, left + width, height / 4
    return [
        (x, top),
        (right, top + quarter),
        (right, top + 3 * quarter),
        (x, top + height),
        (left, top + 3 * quarter),
        (left, top + quarter),
    ]
