"""Draws pieces: for each seat and role one definition, which every piece on the board uses.

Drawings are centred on (0, 0) in a place of 100 × 100. A shadow is a definition too and is used a
second time below all pieces, since a filter for every stone would make pages slow.
"""

from __future__ import annotations

from collections.abc import Iterable

from azcore.game.board import Layout, Role
from azcore.pictures.chessmen import DRAWINGS
from azcore.pictures.kanji import PATHS
from azcore.pictures.palette import BODIES, Palette
from azcore.pictures.svg import tag, text

KOMA = "M0 -45 L25 -33 L37 42 H-37 L-25 -33 Z"  # a shogi piece
# Higher pieces are larger, as in a set of wood.
SIZES = {"king": 1.0, "rook": 0.97, "bishop": 0.97, "gold": 0.94, "silver": 0.94, "pawn": 0.84}


def identifier(prefix: str, layout: Layout, seat: int, role: str) -> str:
    """The definition of a piece; roles are counted, since their names may be any text."""
    return f"{prefix}-{seat}-{list(layout.roles).index(role)}"


def shadow_of(layout: Layout, role: str) -> str | None:
    """The shape of a piece's shadow, which is its definition's name; None: it casts none."""
    art = layout.roles[role].art
    if layout.surface in ("paper", "rack"):
        return None
    if art == "stone":
        return "stone-shadow"
    return "koma-shadow" if art.startswith("shogi-") else None


def definitions(
    prefix: str,
    layout: Layout,
    used: Iterable[tuple[int, str]],
    palette: Palette,
    letters: bool,
    flip: bool,
) -> str:
    """The definitions of some (seat, role), with what they are made of."""
    used = list(used)
    arts = {layout.roles[role].art for _, role in used}
    shadows = {shadow_of(layout, role) for _, role in used}
    parts = []
    if "stone" in arts:
        parts += [_gradient(f"{prefix}-g{seat}", layout.colours[seat]) for seat in (0, 1)]
    if "stone-shadow" in shadows:
        stops = _stops([(0.78, palette("shadow"), 0.55), (1, palette("shadow"), 0)])
        parts.append(tag("radialGradient", stops, id=f"{prefix}-gs"))
        circle = tag("circle", cx=4, cy=6, r=51, fill=f"url(#{prefix}-gs)")
        parts.append(tag("g", circle, id=f"{prefix}-stone-shadow"))
    if "koma-shadow" in shadows:
        shape = tag("path", d=KOMA, transform="translate(3 4)", fill=palette("shadow"), opacity=0.35)
        parts.append(tag("g", shape, id=f"{prefix}-koma-shadow"))
    for seat, role in used:
        drawing = _piece(prefix, layout.roles[role], seat, layout.colours[seat], palette, letters)
        far = (seat == 1) != flip
        turn = "rotate(180)" if layout.facing and far else None
        name = identifier(prefix, layout, seat, role)
        parts.append(tag("g", drawing, id=name, transform=turn))
    return "".join(parts)


def _piece(
    prefix: str, role: Role, seat: int, colour: str, palette: Palette, letters: bool
) -> str:
    body, edge, line = BODIES[colour]
    family, _, name = role.art.partition("-")
    if role.art == "stone":
        return tag("circle", r=47.5, fill=f"url(#{prefix}-g{seat})")
    if family == "shogi" and (letters or name in PATHS):
        return _koma(role, name, seat, palette, letters)
    if family == "chess" and name in DRAWINGS and not letters:
        outline, lines, dots = DRAWINGS[name]
        parts = tag("path", d=outline, fill=body)
        parts += tag("path", d=lines, fill="none", stroke=line)
        for x, y, radius in dots:
            hollow = radius > 4
            parts += tag("circle", cx=x, cy=y, r=radius, fill=body if hollow else line)
        return tag("g", parts, stroke=edge, stroke_width=3, stroke_linejoin="round")
    if role.art == "disc":
        # Seats differ by shape as well as by colour.
        inner = tag("circle", r=24, fill="none", stroke=edge, stroke_width=5)
        if seat == 1:
            inner = tag("path", d="M0 -25 L25 0 L0 25 L-25 0 Z", fill="none", stroke=edge, stroke_width=5)
        return tag("circle", r=41, fill=body, stroke=edge, stroke_width=3) + inner
    stroke = palette(f"stroke-{colour}")
    if role.art == "cross":
        return tag("path", d="M-27 -27 L27 27 M27 -27 L-27 27", stroke=stroke, stroke_width=13, stroke_linecap="round")
    if role.art == "ring":
        return tag("circle", r=28, fill="none", stroke=stroke, stroke_width=13)
    size = {1: 54, 2: 40}.get(len(role.letter), 30)
    disc = tag("circle", r=40, fill=body, stroke=edge, stroke_width=4)
    if role.promoted:
        disc += tag("circle", r=34, fill="none", stroke=line, stroke_width=3)
    return disc + text(role.letter, 0, 0, size, fill=line if colour != "white" else edge, font_weight=700)


def _koma(role: Role, name: str, seat: int, palette: Palette, letters: bool) -> str:
    """A shogi piece; promoted ones are red and have another character."""
    ink = palette("promoted" if role.promoted else "koma-ink")
    shape = tag("path", d=KOMA, fill=palette("koma"), stroke=palette("koma-edge"), stroke_width=2)
    if letters:
        face = text(role.letter, 0, 8, 46 if len(role.letter) == 1 else 40, fill=ink, font_weight=700)
    else:
        character = "king-high" if name == "king" and seat == 1 else name
        face = tag("path", d=PATHS[character], fill=ink, transform="translate(0 7) scale(.58)")
    size = SIZES.get(name.removeprefix("promoted-"), 0.9)
    return tag("g", shape + face, transform=None if size == 1 else f"scale({size})")


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


def _stops(colours: list[tuple[float, str, float]]) -> str:
    return "".join(
        f'<stop offset="{offset:g}" stop-color="{colour}"'
        + (f' stop-opacity="{opacity:g}"/>' if opacity < 1 else "/>")
        for offset, colour, opacity in colours
    )
