"""Draws the empty board: its surface, lines, stars and labels.

Labels lie on the board's own frame, so a picture is legible on a page of any colour.
"""

from azcore.pictures.geometry import PLACE, STAND, Geometry
from azcore.pictures.palette import Palette
from azcore.pictures.svg import number, tag, text

INKS = {"wood": "ink", "checkered": "frame-ink", "paper": "paper-ink", "rack": "rack-ink"}
FRAMES = {"wood": "wood", "checkered": "frame", "paper": "paper", "rack": "rack"}


def surface(prefix: str, geometry: Geometry, palette: Palette) -> str:
    layout = geometry.layout
    columns, rows = geometry.columns, geometry.rows
    x, y = geometry.left, geometry.upper
    width, height = columns * PLACE, rows * PLACE
    frame = palette(FRAMES[layout.surface])
    if layout.surface == "wood":
        frame = f"url(#{prefix}-wood)"
    left, top, wide, high = geometry.board
    parts = [tag("rect", x=left, y=top, width=wide, height=high, rx=10, fill=frame)]
    if layout.hand:
        for top in (0, geometry.height - STAND):
            parts.append(
                tag("rect", y=top, width=geometry.width, height=STAND, rx=12, fill=palette("stand"))
            )
    if layout.surface == "checkered":
        # The corner at the first player's left is dark, by convention.
        dark = "".join(
            f"M{x + PLACE * c} {y + PLACE * r}h{PLACE}v{PLACE}h-{PLACE}z"
            for r in range(rows)
            for c in range(columns)
            if (c + rows - 1 - r) % 2 == 0
        )
        parts.append(tag("rect", x=x, y=y, width=width, height=height, fill=palette("light-cell")))
        parts.append(tag("path", d=dark, fill=palette("dark-cell")))
    elif layout.surface == "rack":
        holes = "".join(
            tag("circle", cx=x + PLACE * c + PLACE / 2, cy=y + PLACE * r + PLACE / 2, r=43)
            for r in range(rows)
            for c in range(columns)
        )
        edge = palette("rack-edge")
        parts.append(tag("g", holes, fill=palette("hole"), stroke=edge, stroke_width=4))
    else:
        parts += _lines(geometry, palette)
    parts.append(_labels(geometry, palette))
    return "".join(parts)


def wood(prefix: str, palette: Palette) -> str:
    stops = tag("stop", offset=0, stop_color=palette("wood"))
    stops += tag("stop", offset="1", stop_color=palette("wood-edge"))
    return tag("linearGradient", stops, id=f"{prefix}-wood", x1=0, y1=0, x2=1, y2=1)


def _lines(geometry: Geometry, palette: Palette) -> list[str]:
    """Lines between cells or through points, and the stars."""
    layout = geometry.layout
    points = layout.kind == "points"
    paper = layout.surface == "paper"
    inset = PLACE / 2 if points else 0
    x0, y0 = geometry.left + inset, geometry.upper + inset
    across = geometry.columns - points
    down = geometry.rows - points
    x1, y1 = x0 + PLACE * across, y0 + PLACE * down
    # Paper has no outline: lines separate the cells.
    inner = slice(1, -1) if paper else slice(None)
    path = "".join(
        f"M{number(x0 + PLACE * c)} {number(y0)}V{number(y1)}" for c in range(across + 1)[inner]
    )
    path += "".join(
        f"M{number(x0)} {number(y0 + PLACE * r)}H{number(x1)}" for r in range(down + 1)[inner]
    )
    colour = palette("paper-grid" if paper else "grid")
    wide = 5 if paper else 2.5
    parts = [tag("path", d=path, stroke=colour, stroke_width=wide, stroke_linecap="square")]
    if not points and not paper:
        parts.append(
            tag(
                "rect",
                x=x0,
                y=y0,
                width=x1 - x0,
                height=y1 - y0,
                fill="none",
                stroke=colour,
                stroke_width=5,
            )
        )
    dots = ""
    for star in layout.stars:
        column, row = layout.places[star]
        if points:
            cx, cy = geometry.centres[star]
        else:
            vertical, horizontal = column + 1, row + 1
            if geometry.flip:
                vertical, horizontal = geometry.columns - vertical, geometry.rows - horizontal
            cx, cy = geometry.left + PLACE * vertical, geometry.upper + PLACE * horizontal
        dots += tag("circle", cx=cx, cy=cy, r=9 if points else 7)
    if dots:
        parts.append(tag("g", dots, fill=colour))
    return parts


def _labels(geometry: Geometry, palette: Palette) -> str:
    layout = geometry.layout
    right, lower = geometry.left + PLACE * geometry.columns, geometry.upper + PLACE * geometry.rows
    away = 0.8 * geometry.label
    heights = {"above": geometry.upper - away, "below": lower + away}
    edges = {"left": geometry.left - away, "right": right + away}
    parts = ""
    for side in layout.labelled:
        if side in heights:
            for column, label in enumerate(layout.columns):
                x = geometry.left + PLACE * geometry.seen(column, 0)[0] + PLACE / 2
                parts += text(label, x, heights[side], geometry.label)
        else:
            for row, label in enumerate(layout.rows):
                y = geometry.upper + PLACE * geometry.seen(0, row)[1] + PLACE / 2
                parts += text(label, edges[side], y, geometry.label)
    return tag("g", parts, fill=palette(INKS[layout.surface])) if parts else ""
