"""The result of `Game.board`: a position as plain data, to draw and click.

`Layout` is constant through a game, `Board` is one position on it. Both check themselves. azcore
draws them (`azcore/pictures`) and handles the mouse; a game ships no code for any page.

The name of a place is its column and row, as in the game's own notation: `e4`, `D4`, `7g`. Where
pieces also lie between places, `a1b1` is between `a1` and `b1`, and `a1b2` is in the middle of the
four places of which `a1` and `b2` are opposite corners; the left or upper place comes first. A
path of one or more *clicks* makes an action, and a click is the name of

* a place: `e2`;
* a kind of piece in the hand of the player to move, after a star: `*P`;
* a choice of the layout: a button such as `pass` where a path begins with it, otherwise an answer
  to the question after the clicks before it, such as what a pawn becomes.

No path is a prefix of another, so it is always clear when an action is complete:

    b2      place a stone            ("b2",)
    e7e8q   a pawn becomes a queen   ("e7", "e8", "q")
    P*5e    a pawn is dropped        ("*P", "5e")
    pass                             ("pass",)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from azcore.errors import GameError

KINDS = ("cells", "points", "hexagons", "lines", "gaps")
SURFACES = ("wood", "checkered", "paper", "rack")
COLOURS = ("black", "white", "red", "yellow", "blue", "green", "orange", "purple")
SIDES = ("left", "right", "above", "below")
MOST_PLACES_ACROSS = 64
HAND = "*"  # before a role: a click on that piece in hand


@dataclass(frozen=True, kw_only=True)
class Role:
    """A kind of piece.

    Args:
        name: a name in lower case, such as `knight`.
        letter: one to three characters, for people who prefer letters: `N`, `+P`.
        art: the name of a drawing of `azcore/pictures`, such as `stone`, `staunton-knight` and
            `koma-rook`. Empty or unknown: a disc with the letter.
        promoted: whether it is drawn as a promoted piece.
    """

    name: str
    letter: str
    art: str = ""
    promoted: bool = False

    def __post_init__(self) -> None:
        _require_text("a role's name", self.name)
        _require_text("a role's letter", self.letter, most=3)
        if not isinstance(self.art, str):
            _refuse("a role's art", "text", self.art)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A button, or an answer to a question: its text, and the role whose drawing it shows."""

    words: str
    role: str | None = None

    def __post_init__(self) -> None:
        _require_text("a choice's words", self.words)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The common part of all boards of a game, as the first player sees it.

    Args:
        kind: where pieces stand: in `cells`; on the `points` where lines cross; in `hexagons`, of
            which each row lies half a cell to the right of the row above; on the `lines` from
            point to point and in the boxes that they enclose; in cells and in the `gaps` between
            them.
        columns: labels from the left, at most 64.
        rows: labels from the top; a place is named by column and row (`e` + `4`).
        colours: the colours of the two seats' pieces, each one of `COLOURS`.
        roles: kinds of pieces by a short name, which pieces, hands and choices refer to.
        surface: one of `SURFACES`; `rack` is an upright board with holes. `checkered` and `rack`
            are for cells and points.
        labelled: the sides with labels, of `SIDES`.
        borders: the sides of the board that belong to a seat, by their name in `SIDES`.
        stars: places marked for orientation; of a cell, its lower right corner is.
        hand: roles that may be held in hand, in the order in which they are shown.
        choices: buttons and answers by the name that paths of clicks contain.
        facing: whether pieces point at the opponent, so that those of the far player are rotated.

    Raises:
        GameError: the text names the value got and the value wanted.
    """

    kind: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    colours: tuple[str, str]
    roles: Mapping[str, Role]
    surface: str = "wood"
    labelled: tuple[str, ...] = ("left", "below")
    borders: Mapping[str, int] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    hand: tuple[str, ...] = ()
    choices: Mapping[str, Choice] = field(default_factory=dict)
    facing: bool = False

    def __post_init__(self) -> None:
        _require_one_of("kind", self.kind, KINDS)
        _require_one_of("surface", self.surface, SURFACES)
        if self.kind not in ("cells", "points"):
            _require_one_of(f"the surface of {self.kind}", self.surface, ("wood", "paper"))
        for side in self.labelled:
            _require_one_of("a side of labels", side, SIDES)
        for side, seat in self.borders.items():
            _require_one_of("a border", side, SIDES)
            _require_seat("the seat of a border", seat)
        for what, labels in (("columns", self.columns), ("rows", self.rows)):
            if not 1 <= len(labels) <= MOST_PLACES_ACROSS:
                _refuse(f"the number of {what}", f"1 to {MOST_PLACES_ACROSS}", len(labels))
            for label in labels:
                _require_text(f"a label of the {what}", label, most=3)
        if len(self.places) < self.across * self.down:
            _refuse("the labels", "a different name for each place", (self.columns, self.rows))
        if len(self.colours) != 2 or self.colours[0] == self.colours[1]:
            _refuse("colours", "two different ones", self.colours)
        for colour in self.colours:
            _require_one_of("a colour", colour, COLOURS)
        for name, role in self.roles.items():
            _require_text("the key of a role", name)
            if not isinstance(role, Role):
                _refuse(f"role {name}", "a Role", role)
        for name in self.hand:
            self._require_role("a role in hand", name)
        for star in self.stars:
            self.require_place("a star", star)
        for name, choice in self.choices.items():
            _require_text("the key of a choice", name)
            if name in self.places or name.startswith(HAND):
                _refuse("the key of a choice", f"no place and without {HAND} at its front", name)
            if not isinstance(choice, Choice):
                _refuse(f"choice {name}", "a Choice", choice)
            if choice.role is not None:
                self._require_role(f"the role of choice {name}", choice.role)

    @property
    def has_between(self) -> bool:
        """Whether pieces also lie between the places that columns and rows name."""
        return self.kind in ("lines", "gaps")

    @property
    def across(self) -> int:
        """The number of places in a row."""
        return 2 * len(self.columns) - 1 if self.has_between else len(self.columns)

    @property
    def down(self) -> int:
        """The number of places in a column."""
        return 2 * len(self.rows) - 1 if self.has_between else len(self.rows)

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """(column, row) of each place, counted from the top left as the first player sees it.

        Those between columns or rows count as well: of `lines` and `gaps`, `a1` is (0, 0), `a1b1`
        (1, 0) and `b1` (2, 0).
        """
        return {self._name(x, y): (x, y) for y in range(self.down) for x in range(self.across)}

    def _name(self, x: int, y: int) -> str:
        if not self.has_between:
            return self.columns[x] + self.rows[y]
        first = self.columns[x // 2] + self.rows[y // 2]
        last = self.columns[(x + 1) // 2] + self.rows[(y + 1) // 2]
        return first if first == last else first + last

    def require_place(self, what: str, place: object) -> None:
        if place not in self.places:
            names = list(self.places)
            _refuse(what, f"a place, {names[0]} to {names[-1]}", place)

    def _require_role(self, what: str, role: object) -> None:
        _require_one_of(what, role, self.roles)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece on the board: its place, the seat it belongs to, its role."""

    place: str
    seat: int
    role: str


@dataclass(frozen=True, kw_only=True)
class Board:
    """One position.

    Args:
        layout: the same for all positions of a game.
        pieces: the pieces, at most one on a place.
        to_move: the seat to move; None: the game is over.
        actions: the path of clicks of each legal action.
        hands: for each seat, how many of each role it holds; absent roles may be missing.
        taken: for each seat, how many of each role it has taken from the other seat; pages show
            them beside the board. None: the game does not state it, for example because they go
            into a hand.
        last: places of the last action, with its end last; empty if there was none.
        check: places of attacked pieces to show to the player to move, such as a king.
        marks: places that explain the end, such as a winning line.
        note: a few words on what the board does not show, such as prisoners.

    Raises:
        GameError: the text names the value got and the value wanted.
    """

    layout: Layout
    pieces: tuple[Piece, ...]
    to_move: int | None
    actions: Mapping[int, tuple[str, ...]]
    hands: tuple[Mapping[str, int], Mapping[str, int]] = field(default_factory=lambda: ({}, {}))
    taken: tuple[Mapping[str, int], Mapping[str, int]] | None = None
    last: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.layout, Layout):
            _refuse("layout", "a Layout", self.layout)
        if self.to_move is not None:
            _require_seat("to_move", self.to_move)
        if not isinstance(self.note, str) or not (self.note.isprintable() or self.note == ""):
            _refuse("note", "one line of text", self.note)
        occupied: set[str] = set()
        for piece in self.pieces:
            if not isinstance(piece, Piece):
                _refuse("a piece", "a Piece", piece)
            self.layout.require_place("the place of a piece", piece.place)
            _require_seat("the seat of a piece", piece.seat)
            _require_one_of(
                f"the role of the piece on {piece.place}", piece.role, self.layout.roles
            )
            if piece.place in occupied:
                _refuse("the number of pieces on a place", "at most one", f"two on {piece.place}")
            occupied.add(piece.place)
        for what, places in (("last", self.last), ("check", self.check), ("marks", self.marks)):
            for place in places:
                self.layout.require_place(f"a place in {what}", place)
        _check_counts("hands", "in hand", self.hands, self.layout.hand)
        if self.taken is not None:
            _check_counts("taken", "taken", self.taken, self.layout.roles)
        self._check_paths()

    def _check_paths(self) -> None:
        owners: dict[tuple[str, ...], int] = {}
        beginnings: dict[tuple[str, ...], int] = {}
        in_hand = {} if self.to_move is None else self.hands[self.to_move]
        for action, path in self.actions.items():
            if type(action) is not int:
                _refuse("an action", "a whole number", action)
            if not isinstance(path, tuple) or not path:
                _refuse(f"the clicks of action {action}", "a tuple of one or more", path)
            for click in path:
                known = click in self.layout.places or click in self.layout.choices
                if not known and not in_hand.get(str(click).removeprefix(HAND)):
                    want = "a place, a choice, or * and a role that the player to move holds"
                    _refuse(f"a click of action {action}", want, click)
            if path in owners:
                first = owners[path]
                _refuse(
                    "a path of clicks", "that of one action", f"{path} for {first} and {action}"
                )
            owners[path] = action
            for length in range(1, len(path)):
                beginnings.setdefault(path[:length], action)
        for path, action in owners.items():
            if path in beginnings:
                longer = beginnings[path]
                _refuse(
                    f"the path of action {action}",
                    "no prefix of another",
                    f"{path}, which {self.actions[longer]} of action {longer} begins with",
                )


def _check_counts(
    what: str, where: str, counts: Sequence[Mapping[str, int]], roles: Collection[str]
) -> None:
    """Check the numbers of pieces of each role, for each seat."""
    if len(counts) != 2:
        _refuse(what, "one for each seat", counts)
    for of_seat in counts:
        for role, count in of_seat.items():
            _require_one_of(f"a role {where}", role, roles)
            if type(count) is not int or count < 0:
                _refuse(f"the number of {role} {where}", "a whole number from 0", count)


def _refuse(what: str, want: str, got: object) -> NoReturn:
    raise GameError(f"board: {what} must be {want}, got {_shown(got)}")


def _shown(value: object) -> str:
    """A value, shortened; a sentence about values as it is."""
    text = value if isinstance(value, str) and " " in value else repr(value)
    return text if len(text) <= 120 else f"{text[:110]}..."


def _require_text(what: str, value: object, most: int = 60) -> None:
    if not (
        isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= most
    ):
        _refuse(what, f"1 to {most} printable characters", value)


def _require_one_of(what: str, value: object, names: Collection[str]) -> None:
    if value not in names:
        _refuse(what, f"one of {', '.join(names) or 'none'}", value)


def _require_seat(what: str, value: object) -> None:
    if type(value) is not int or value not in (0, 1):
        _refuse(what, "0 or 1", value)
