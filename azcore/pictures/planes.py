"""Draws a plane of an observation as the network gets it: row 0 on top, values as shades."""

import numpy as np
import numpy.typing as npt

from azcore.game import FloatArray
from azcore.pictures.picture import FONT, XMLNS
from azcore.pictures.svg import escaped, tag, text

CELL = 20
MOST_DIGITS = 3  # of a value written into its cell

Whole = npt.NDArray[np.int64]


def draw_plane(values: FloatArray, maximum: float, name: str) -> str:
    """A plane in the surrounding text's colour; it loads and runs nothing.

    Args:
        values: [H, W], whole numbers.
        maximum: the plane's largest possible value, drawn darkest.
        name: the plane's content.
    """
    whole = values.astype(np.int64)
    height, width = whole.shape
    body = tag("title", escaped(f"{name}: {describe_plane(whole)}"))
    body += _shades(whole, maximum) + _lines(width, height)
    if whole.min() == whole.max() > 1:  # one number for the whole plane
        body += _number(int(whole[0, 0]), CELL * width / 2, CELL * height / 2, 0.3 * CELL * height)
    elif whole.max() > 1:
        for y, x in np.argwhere(whole > 1).tolist():
            body += _number(int(whole[y, x]), CELL * (x + 0.5), CELL * (y + 0.5), 0.6 * CELL)
    return tag(
        "svg",
        body,
        xmlns=XMLNS,
        viewBox=f"-1 -1 {CELL * width + 2} {CELL * height + 2}",
        class_="az-plane",
        role="img",
        font_family=FONT,
    )


def describe_plane(values: Whole) -> str:
    """Describe a plane."""
    if (values == values.flat[0]).all():
        return f"{int(values.flat[0])} in every cell"
    count = int(np.count_nonzero(values))
    largest = f", the largest {int(values.max())}" if values.max() > 1 else ""
    return f"{count} of {values.size} cells{largest}"


def _shades(values: Whole, maximum: float) -> str:
    parts = ""
    for value in np.unique(values[values > 0]).tolist():
        cells = np.argwhere(values == value).tolist()
        path = "".join(f"M{CELL * x} {CELL * y}h{CELL}v{CELL}h-{CELL}z" for y, x in cells)
        # Never so faint that it looks empty.
        share = f"{0.2 + 0.65 * min(1.0, value / maximum):.2f}"
        parts += tag("path", d=path, fill="currentColor", fill_opacity=share)
    return parts


def _lines(width: int, height: int) -> str:
    path = "".join(f"M{CELL * x} 0V{CELL * height}" for x in range(width + 1))
    path += "".join(f"M0 {CELL * y}H{CELL * width}" for y in range(height + 1))
    return tag("path", d=path, stroke="currentColor", stroke_opacity="0.25", fill="none")


def _number(value: int, x: float, y: float, size: float) -> str:
    digits = str(value)
    if len(digits) > MOST_DIGITS:
        return ""
    size = min(size, 1.5 * size / len(digits))
    return text(digits, x, y, size, fill="currentColor", font_weight=700)
