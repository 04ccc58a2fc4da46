"""Draws a position; `films.py` draws a whole game in one picture.

A picture is a string of SVG. It loads and runs nothing, and is sharp at any size. Its parts, from
below: the empty board; marks under the pieces (last action, check); shadows; pieces; marks over
them; hands; the layers of a search.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any, NamedTuple

from azcore.errors import GameError
from azcore.game import Game
from azcore.game.board import Board, Piece
from azcore.pictures import layers as layer_drawing
from azcore.pictures.geometry import Box, Geometry
from azcore.pictures.layers import Layers
from azcore.pictures.palette import BODIES, THEMES, Palette
from azcore.pictures.pieces import Set
from azcore.pictures.surface import surface, wood
from azcore.pictures.svg import escaped, tag, text
from azcore.pictures.words import describe_board, describe_hand, describe_piece

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONOSPACED = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
XMLNS = "http://www.w3.org/2000/svg"
WIDEST = 30  # rem, in a notebook
PARTS = ("under", "shadows", "pieces", "over", "hands")  # from below


@dataclass(frozen=True)
class Picture:
    """An SVG with its click targets.

    Attributes:
        svg: one element, without a size of its own.
        width: its view box's width; a place is 100 wide.
        height: its view box's height.
        targets: left, top, width and height of each place that can be clicked or hold a piece, and
            of each piece in the hand of the player to move, by the name of its click.
        listed: the legal actions with their texts if the game has no board to click.
        definitions: what a bare film uses but does not contain, by name; see `shared`.
    """

    svg: str
    width: float
    height: float
    targets: Mapping[str, Box] = field(default_factory=dict)
    listed: tuple[tuple[int, str], ...] = ()
    definitions: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        title = unescape("".join(re.findall("<title>(.*?)</title>", self.svg)[:1]))
        return f"Picture of {self.width:g} × {self.height:g}: {title}"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="max-width:{WIDEST}rem">{self.svg}</div>'


class Fragment(NamedTuple):
    """One element of a picture, and its description."""

    svg: str
    what: str = ""
    where: str = ""


def draw(
    game: Game,
    state: Any,
    *,
    flip: bool = False,
    letters: bool = False,
    layers: Layers | None = None,
    theme: str = "auto",
    prefix: str = "az",
) -> Picture:
    """A position as a picture; the text of `render` if the game has no board.

    Args:
        flip: draw it from the second seat's side.
        letters: letters in place of drawings that one has to know.
        layers: what to draw over the board.
        theme: `light`, `dark`, or `auto` to follow the page.
        prefix: the prefix of the identifiers inside; different pictures on one page may share it.
    """
    board = game.board(state)
    if board is None:
        return text_picture(game, state)
    return draw_board(
        board,
        game.seat_names,
        title=title_of(game.name),
        flip=flip,
        letters=letters,
        layers=layers,
        theme=theme,
        prefix=prefix,
    )


def draw_board(
    board: Board,
    seats: tuple[str, str],
    *,
    title: str = "Board",
    flip: bool = False,
    letters: bool = False,
    layers: Layers | None = None,
    theme: str = "auto",
    prefix: str = "az",
) -> Picture:
    """A board as a picture; see `draw`."""
    pencil = Pencil(board, seats, title, flip, letters, theme, prefix)
    parts = pencil.parts(board)
    body = "".join(group(name, (piece.svg for piece in parts[name])) for name in PARTS)
    body += group(
        "layers", layer_drawing.drawn(board, pencil.geometry, layers or Layers(), pencil.palette)
    )
    svg = pencil.whole(body, describe_board(board, seats))
    return Picture(svg, pencil.geometry.width, pencil.geometry.height, pencil.targets(board))


def overlay(board: Board, layers: Layers, *, flip: bool = False) -> str:
    """Layers as elements for the group `az-layers` of a picture of this board.

    For pages that change the layers but not the picture.
    """
    return "".join(
        layer_drawing.drawn(board, Geometry(board.layout, flip), layers, Palette("auto"))
    )


def loose_pieces(
    board: Board,
    pieces: Iterable[tuple[int, str, str | None]],
    *,
    flip: bool = False,
    letters: bool = False,
) -> tuple[str, list[str]]:
    """Pieces that are not on the board, such as one about to be placed.

    Args:
        pieces: the seat and the role of each, and the place to draw it for; None: any square one.

    Returns:
        Their definitions, and their names in order; both are for a picture of this board.
    """
    drawn = Set(board.layout, Palette("auto"), prefix="az", letters=letters, flip=flip)
    geometry = Geometry(board.layout, flip)
    names = [
        drawn.piece(seat, role, None if place is None else geometry.bar(place))
        for seat, role, place in pieces
    ]
    return "".join(drawn.definitions().values()), names


def text_picture(game: Game, state: Any) -> Picture:
    """The text of `render`, for games without a board."""
    shown = game.render(state)
    lines = shown.expandtabs().split("\n")
    width = 0.62 * 32 * max(len(line) for line in lines) + 64
    height = 40 * len(lines) + 56
    palette = Palette("auto")
    rows = "".join(
        tag("text", escaped(line), x=32, y=58 + 40 * i, **{"xml:space": "preserve"})
        for i, line in enumerate(lines)
        if line.strip()
    )
    body = tag("rect", width=width, height=height, rx=12, fill=palette("paper"))
    body += tag("g", rows, fill=palette("paper-text"), font_family=MONOSPACED, font_size=32)
    words = " ".join(shown.split())
    svg = _svg(width, height, title_of(game.name), words, head_of(palette, {}), body)
    legal = game.legal_action_mask(state).nonzero()[0].tolist()
    listed = tuple((action, game.action_to_text(state, action)) for action in legal)
    return Picture(svg, width, height, listed=listed)


def title_of(name: str) -> str:
    """A game's name for readers: `a_game` becomes `A game`."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:] or "Unknown game"


class Pencil:
    """Draws boards of one layout in one style."""

    def __init__(
        self,
        board: Board,
        seats: tuple[str, str],
        title: str,
        flip: bool,
        letters: bool,
        theme: str,
        prefix: str,
    ) -> None:
        if theme not in THEMES:
            raise GameError(f"theme must be one of {', '.join(THEMES)}, got {theme!r}")
        self.layout = board.layout
        self.seats = seats
        self.title = title
        self.prefix = prefix if theme == "auto" else f"{prefix}-{theme}"
        self.palette = Palette(theme)
        self.geometry = Geometry(board.layout, flip)
        self.set = Set(board.layout, self.palette, prefix=self.prefix, letters=letters, flip=flip)
        self._known: dict[Piece, tuple[Fragment | None, Fragment]] = {}

    def whole(self, body: str, words: str, *, bare: bool = False) -> str:
        """The complete picture of the drawn parts; bare: without colours and definitions."""
        geometry, palette = self.geometry, self.palette
        head = "" if bare else head_of(palette, self.definitions())
        body = surface(self.prefix, geometry, palette) + body
        return _svg(geometry.width, geometry.height, self.title, words, head, body)

    def definitions(self) -> dict[str, str]:
        """The definitions drawn so far, by name."""
        made = self.set.definitions()
        if self.layout.surface == "wood":
            made[f"{self.prefix}-wood"] = wood(self.prefix, self.palette)
        return made

    def parts(self, board: Board) -> dict[str, list[Fragment]]:
        """The parts that change from position to position."""
        return {
            "under": list(self._under(board)),
            "shadows": list(self._shadows(board)),
            "pieces": list(self._pieces(board)),
            "over": list(self._over(board)),
            "hands": list(self._hands(board)),
        }

    def targets(self, board: Board) -> dict[str, Box]:
        geometry = self.geometry
        clicks = {place for place in geometry.boxes if not geometry.is_crossing(place)}
        clicks |= {click for path in board.actions.values() for click in path}
        boxes = {click: geometry.target(click, board.to_move) for click in sorted(clicks)}
        return {click: box for click, box in boxes.items() if box is not None}

    @property
    def _on_cells(self) -> bool:
        """Whether a mark covers a whole place, rather than forming a ring on its stone."""
        return self.layout.kind != "points" and self.layout.surface != "rack"

    def _under(self, board: Board) -> Iterator[Fragment]:
        """Marked cells. Each mark has its own shape, so that no colour is needed to read it."""
        if not self._on_cells:
            return
        for i, place in enumerate(board.last):
            arrived = i == len(board.last) - 1
            dashes = None if arrived else "14 9"
            yield Fragment(self._cell(place, "last", 0.5, dashes), "last action", place)
        for place in board.check:
            yield Fragment(self._cell(place, "check", 0.55, None), "in check", place)
        for place in board.marks:
            yield Fragment(self._cell(place, "won", 0.3, None), "won by", place)

    def _cell(self, place: str, colour: str, opacity: float, dashes: str | None) -> str:
        return tag(
            "path",
            d=self.geometry.outline(self.geometry.boxes[place], 4),
            stroke_linejoin="round",
            fill=self.palette(colour),
            fill_opacity=opacity,
            stroke=self.palette(f"{colour}-line"),
            stroke_width=6 if dashes is None else 4,
            stroke_dasharray=dashes,
        )

    def _shadows(self, board: Board) -> Iterator[Fragment]:
        for piece in board.pieces:
            if (shadow := self._drawn(board, piece)[0]) is not None:
                yield shadow

    def _pieces(self, board: Board) -> Iterator[Fragment]:
        return (self._drawn(board, piece)[1] for piece in board.pieces)

    def _drawn(self, board: Board, piece: Piece) -> tuple[Fragment | None, Fragment]:
        """A piece and its shadow; most stand still from ply to ply."""
        if piece not in self._known:
            bar = self.geometry.bar(piece.place)
            shadow = None if bar else self.set.shadow(piece.seat, piece.role)
            x, y = self.geometry.centres[piece.place]
            what = describe_piece(board, self.seats, piece.seat, piece.role)
            self._known[piece] = (
                None if shadow is None else Fragment(use(shadow, x, y)),
                Fragment(use(self.set.piece(piece.seat, piece.role, bar), x, y), what, piece.place),
            )
        return self._known[piece]

    def _over(self, board: Board) -> Iterator[Fragment]:
        """Rings on stones, and the mark of check."""
        colours = {piece.place: self.layout.colours[piece.seat] for piece in board.pieces}
        for place in board.check:
            x, y = self.geometry.centres[place]
            badge = tag("circle", cx=x + 34, cy=y - 34, r=17, fill=self.palette("check"))
            sign = text("+", x + 34, y - 34, 30, fill="#fff", font_weight=700)
            yield Fragment(tag("g", badge + sign))
        if self._on_cells:
            return
        for what, places in (("last action", board.last), ("won by", board.marks)):
            for place in places:
                x, y = self.geometry.centres[place]
                line = BODIES[colours.get(place, "black")][2]
                ring = tag(
                    "circle",
                    cx=x,
                    cy=y,
                    r=17 if what == "last action" else 44,
                    fill="none",
                    stroke=self.palette("rack-ink") if what == "won by" else line,
                    stroke_width=6 if what == "last action" else 8,
                )
                yield Fragment(ring, what, place)

    def _hands(self, board: Board) -> Iterator[Fragment]:
        for seat, hand in enumerate(board.hands):
            for role in self.layout.hand:
                count = hand.get(role, 0)
                if not count:
                    continue
                x, y = self.geometry.in_hand(seat, role)
                shadow = self.set.shadow(seat, role)
                parts = "" if shadow is None else use(shadow, x, y)
                parts += use(self.set.piece(seat, role), x, y)
                if count > 1:
                    parts += tag("circle", cx=x + 34, cy=y + 32, r=20, fill=self.palette("ink"))
                    parts += text(str(count), x + 34, y + 32, 26, fill="#fff", font_weight=700)
                yield Fragment(tag("g", parts), *describe_hand(board, self.seats, seat, role))


def use(name: str, x: float, y: float) -> str:
    return tag("use", href=f"#{name}", x=x, y=y)


def head_of(palette: Palette, definitions: Mapping[str, str]) -> str:
    """The colours and definitions that pictures need."""
    head = tag("style", palette.style()) if palette.style() else ""
    return head + (tag("defs", "".join(definitions.values())) if definitions else "")


def _svg(width: float, height: float, title: str, words: str, head: str, body: str) -> str:
    return tag(
        "svg",
        tag("title", escaped(title)) + tag("desc", escaped(words)) + head + body,
        xmlns=XMLNS,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="az-board",
        role="img",
        font_family=FONT,
    )


def group(name: str, elements: Iterable[str]) -> str:
    content = "".join(elements)
    return tag("g", content, class_=f"az-{name}") if content else ""
