"""Draws the empty board: its surface, lines, stars and labels.

Labels lie on the board's own frame, so a picture is legible on a page of any colour.
"""

from azcore.pictures.geometry import BORDER, PLACE, STAND, Geometry
from azcore.pictures.palette import BODIES, Palette
from azcore.pictures.svg import number, tag, text

INKS = {"wood": "ink", "checkered": "frame-ink", "paper": "paper-ink", "rack": "rack-ink"}
FRAMES = {"wood": "wood", "checkered": "frame", "paper": "paper", "rack": "rack"}


def surface(prefix: str, geometry: Geometry, palette: Palette) -> str:
    layout = geometry.layout
    columns, rows = len(layout.columns), len(layout.rows)
    x, y = geometry.left, geometry.upper
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
        width, height = geometry.size
        parts.append(tag("rect", x=x, y=y, width=width, height=height, fill=palette("light-cell")))
        parts.append(tag("path", d=dark, fill=palette("dark-cell")))
    elif layout.surface == "rack":
        holes = "".join(tag("circle", cx=x, cy=y, r=43) for x, y in geometry.centres.values())
        edge = palette("rack-edge")
        parts.append(tag("g", holes, fill=palette("hole"), stroke=edge, stroke_width=4))
    elif layout.kind == "hexagons" or layout.has_between:
        parts += _places(geometry, palette)
    else:
        parts += _lines(geometry, palette)
    parts += _borders(geometry, palette)
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
    across = layout.across - points
    down = layout.down - points
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
        cx, cy = geometry.centres[star]
        if not points:
            corner = -PLACE // 2 if geometry.flip else PLACE // 2
            cx, cy = cx + corner, cy + corner
        dots += tag("circle", cx=cx, cy=cy, r=9 if points else 7)
    if dots:
        parts.append(tag("g", dots, fill=colour))
    return parts


def _places(geometry: Geometry, palette: Palette) -> list[str]:
    """Hexagons; cells with gaps between them; or points, with faint lines between them."""
    layout = geometry.layout
    colour = palette("paper-grid" if layout.surface == "paper" else "grid")
    if layout.kind == "lines":
        points = [at for place, at in geometry.centres.items() if geometry.is_crossing(place)]
        (x0, y0), (x1, y1) = points[0], points[-1]
        path = "".join(f"M{x} {y0}V{y1}" for x, y in points if y == y0)
        path += "".join(f"M{x0} {y}H{x1}" for x, y in points if x == x0)
        dots = "".join(tag("circle", cx=x, cy=y, r=13) for x, y in points)
        lines = tag("path", d=path, stroke=colour, stroke_width=2.5, stroke_dasharray="4 8")
        return [lines, tag("g", dots, fill=colour)]
    wide = [box for place, box in geometry.boxes.items() if geometry.bar(place) is None]
    outline = "".join(map(geometry.outline, wide))
    stars = [geometry.centres[star] for star in layout.stars]
    dots = "".join(tag("circle", cx=x, cy=y, r=9) for x, y in stars)
    cells = tag(
        "path", d=outline, fill="none", stroke=colour, stroke_width=3, stroke_linejoin="round"
    )
    return [cells, tag("g", dots, fill=colour)]


def _borders(geometry: Geometry, palette: Palette) -> list[str]:
    """The sides that belong to a seat, around the board."""
    parts = []
    for side, seat in geometry.layout.borders.items():
        points = "L".join(f"{x:g} {y:g}" for x, y in geometry.border(side))
        body, edge, _ = BODIES[geometry.layout.colours[seat]]
        for colour, wide in ((edge, BORDER + 3), (body, BORDER)):
            parts.append(
                tag(
                    "path",
                    d=f"M{points}",
                    fill="none",
                    stroke=colour,
                    stroke_width=wide,
                    stroke_linejoin="round",
                )
            )
    return parts


def _labels(geometry: Geometry, palette: Palette) -> str:
    layout = geometry.layout
    away = 0.8 * geometry.label + (BORDER if layout.borders else 0)
    step = 2 if layout.has_between else 1
    parts = ""
    for side in layout.labelled:
        is_row = side in ("left", "right")
        for at, label in enumerate(layout.rows if is_row else layout.columns):
            column, row = geometry.seen(step * at, step * at)
            if is_row:
                column = 0 if side == "left" else layout.across - 1
            else:
                row = 0 if side == "above" else layout.down - 1
            left, top, width, height = geometry.box(column, row)
            x, y = {
                "left": (left - away, top + height / 2),
                "right": (left + width + away, top + height / 2),
                "above": (left + width / 2, top - away),
                "below": (left + width / 2, top + height + away),
            }[side]
            parts += text(label, x, y, geometry.label)
    return tag("g", parts, fill=palette(INKS[layout.surface])) if parts else ""
