"""Draws pieces: for each seat and role one definition, which every piece on the board uses.

Drawings are centred on (0, 0) in a place of 100 × 100. A shadow is a definition too, drawn below
all pieces, since a filter for every stone would make pages slow. A piece that lies between points
or cells is a bar, whatever its role.
"""

from collections.abc import Sequence
from functools import cached_property
from zlib import crc32

from azcore.game.board import Layout, Role
from azcore.pictures.kanji import PATHS
from azcore.pictures.palette import BODIES, Palette
from azcore.pictures.staunton import DRAWINGS
from azcore.pictures.svg import tag, text

KOMA = "M0 -45 L25 -33 L37 42 H-37 L-25 -33 Z"  # a wedge of wood, which points away from its player
# Higher pieces are larger, as in wooden sets.
SIZES = {"king": 1.06, "rook": 1.02, "bishop": 1.02, "gold": 0.98, "silver": 0.98, "pawn": 0.9}


class Set:
    """The pieces of a layout in one picture.

    The name of a definition depends on its content, so pictures of different games can share a
    page.
    """

    def __init__(
        self, layout: Layout, palette: Palette, *, prefix: str, letters: bool, flip: bool
    ) -> None:
        self.layout = layout
        self.palette = palette
        self.prefix = prefix
        self.letters = letters
        self.flip = flip
        self._made: dict[str, str] = {}  # definitions in use by their names

    def piece(self, seat: int, role: str, bar: tuple[int, int] | None = None) -> str:
        """The name of a piece's definition; bar: its width and height if it is one."""
        return self.named(self._bar(seat, *bar) if bar else self._drawings[seat, role][0])

    def shadow(self, seat: int, role: str) -> str | None:
        """The name of the definition of its shadow; None: no shadow."""
        shadow = self._drawings[seat, role][1]
        return shadow and self.named(shadow)

    def _bar(self, seat: int, width: int, height: int) -> str:
        body, edge, _ = BODIES[self.layout.colours[seat]]
        place = {"x": -width / 2, "y": -height / 2, "width": width, "height": height}
        return tag("rect", fill=body, stroke=edge, stroke_width=2, **place)

    def definitions(self) -> dict[str, str]:
        """All definitions requested so far, by name."""
        return dict(self._made)

    @cached_property
    def _drawings(self) -> dict[tuple[int, str], tuple[str, str | None]]:
        return {
            (seat, role): self._draw(seat, role) for seat in (0, 1) for role in self.layout.roles
        }

    def _draw(self, seat: int, name: str) -> tuple[str, str | None]:
        """A piece and its shadow, which falls the same way for all pieces."""
        layout, role = self.layout, self.layout.roles[name]
        colour = layout.colours[seat]
        turned = layout.facing and (seat == 1) != self.flip
        turn = "rotate(180)" if turned else None
        if role.art == "stone":
            stone = tag("circle", r=47.5, fill=f"url(#{self.prefix}-{colour})")
            circle = tag("circle", cx=4, cy=6, r=51, fill=f"url(#{self.prefix}-shade)")
            return stone, circle if layout.surface == "wood" else None
        drawing = _piece(role, seat, colour, self.palette, self.letters)
        piece = tag("g", drawing, transform=turn)
        if not _is_koma(role):
            return piece, None
        size = f"{_size(role):g}"
        turned_by = " rotate(180)" if turned else ""
        shape = tag(
            "path",
            d=KOMA,
            transform=f"translate(3 4){turned_by} scale({size})",
            fill=self.palette("shadow"),
            opacity=0.35,
        )
        return piece, shape

    def named(self, drawing: str) -> str:
        """The name of the definition of a drawing."""
        name = f"{self.prefix}-{crc32(drawing.encode()):08x}"
        if name not in self._made:
            for colour in self.layout.colours:
                gradient = f"{self.prefix}-{colour}"
                if f"#{gradient})" in drawing:
                    self._made[gradient] = _gradient(gradient, colour)
            shade = f"{self.prefix}-shade"
            if f"#{shade})" in drawing:
                stops = [(0.78, self.palette("shadow"), 0.55), (1, self.palette("shadow"), 0)]
                self._made[shade] = tag("radialGradient", _stops(stops), id=shade)
            self._made[name] = tag("g", drawing, id=name)
        return name


def _piece(role: Role, seat: int, colour: str, palette: Palette, letters: bool) -> str:
    body, edge, line = BODIES[colour]
    family, _, name = role.art.partition("-")
    if _is_koma(role):
        return _koma(role, name, seat, palette, letters)
    if family == "staunton" and name in DRAWINGS and not letters:
        outline, lines, dots = DRAWINGS[name]
        parts = tag("path", d=outline, fill=body)
        parts += tag("path", d=lines, fill="none", stroke=line)
        for x, y, radius in dots:
            hollow = radius > 4
            parts += tag("circle", cx=x, cy=y, r=radius, fill=body if hollow else line)
        return tag(
            "g",
            parts,
            transform="scale(1.06)",
            stroke=edge,
            stroke_width=3,
            stroke_linejoin="round",
        )
    if role.art == "disc":
        # Seats differ by shape as well as by colour.
        inner = tag("circle", r=24, fill="none", stroke=edge, stroke_width=5)
        if seat == 1:
            inner = tag(
                "path", d="M0 -25 L25 0 L0 25 L-25 0 Z", fill="none", stroke=edge, stroke_width=5
            )
        return tag("circle", r=41, fill=body, stroke=edge, stroke_width=3) + inner
    stroke = palette(f"stroke-{colour}")
    if role.art == "cross":
        return tag(
            "path",
            d="M-27 -27 L27 27 M27 -27 L-27 27",
            stroke=stroke,
            stroke_width=13,
            stroke_linecap="round",
        )
    if role.art == "ring":
        return tag("circle", r=28, fill="none", stroke=stroke, stroke_width=13)
    size = {1: 54, 2: 40}.get(len(role.letter), 30)
    disc = tag("circle", r=40, fill=body, stroke=edge, stroke_width=4)
    if role.promoted:
        disc += tag("circle", r=34, fill="none", stroke=line, stroke_width=3)
    return disc + text(
        role.letter, 0, 0, size, fill=line if colour != "white" else edge, font_weight=700
    )


def _koma(role: Role, name: str, seat: int, palette: Palette, letters: bool) -> str:
    """A wedge with a character; promoted ones are red and have another character."""
    ink = palette("promoted" if role.promoted else "koma-ink")
    shape = tag("path", d=KOMA, fill=palette("koma"), stroke=palette("koma-edge"), stroke_width=2)
    if letters:
        size = 46 if len(role.letter) == 1 else 40
        face = text(role.letter, 0, 8, size, fill=ink, font_weight=700)
    else:
        character = "king-high" if name == "king" and seat == 1 else name
        face = tag("path", d=PATHS[character], fill=ink, transform="translate(0 7) scale(.58)")
    return tag("g", shape + face, transform=f"scale({_size(role):g})")


def _is_koma(role: Role) -> bool:
    """Whether a role is drawn as a wedge with a character."""
    return role.art.removeprefix("koma-") in PATHS and role.art.startswith("koma-")


def _size(role: Role) -> float:
    return SIZES.get(role.art.removeprefix("koma-").removeprefix("promoted-"), 0.94)


def _gradient(name: str, colour: str) -> str:
    """The light on a stone."""
    if colour == "black":
        colours = [(0, "#77736d", 1), (0.45, "#35312d", 1), (1, "#0b0a09", 1)]
    elif colour == "white":
        colours = [(0, "#ffffff", 1), (0.6, "#f6f3ec", 1), (0.93, "#d9d3c6", 1), (1, "#a59d8c", 1)]
    else:
        body, edge, _ = BODIES[colour]
        colours = [(0, "#ffffff", 1), (0.35, body, 1), (1, edge, 1)]
    stops = _stops(colours)
    return tag("radialGradient", stops, id=name, cx=0.36, cy=0.3, r=0.75)


def _stops(colours: Sequence[tuple[float, str, float]]) -> str:
    return "".join(
        f'<stop offset="{offset:g}" stop-color="{colour}"'
        + (f' stop-opacity="{opacity:g}"/>' if opacity < 1 else "/>")
        for offset, colour, opacity in colours
    )
