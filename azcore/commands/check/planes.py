"""Draws the planes of an observation as text, so that an author sees what the network sees."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from azcore.game import FloatArray

GAP = 3  # columns of text between two planes


def drawn_planes(observation: FloatArray, *, most: int | None, width: int) -> list[str]:
    """Lines of text: planes that vary as small boards side by side, then the constant ones.

    Args:
        observation: float32 [C, H, W] of whole numbers.
        most: the most boards to draw; the rest are only named. None: no limit.
        width: columns of text to use, at least one board wide.
    """
    constant: dict[int, list[int]] = {}  # value: planes that hold only this value
    varied: list[int] = []
    for plane, values in enumerate(observation.astype(np.int64)):
        if (values == values.flat[0]).all():
            constant.setdefault(int(values.flat[0]), []).append(plane)
        else:
            varied.append(plane)
    lines: list[str] = []
    row: list[list[str]] = []
    for plane in varied[:most]:
        board = _board(plane, observation[plane].astype(np.int64))
        if row and sum(len(b[0]) + GAP for b in row) + len(board[0]) > width:
            lines += _side_by_side(row)
            row = []
        row.append(board)
    if row:
        lines += _side_by_side(row)
    left = [] if most is None else varied[most:]
    if left:
        lines.append(f"not drawn: {_planes(left)}")
    lines += [f"{_planes(planes)}: all {value}" for value, planes in sorted(constant.items())]
    return lines


def named_planes(observation: FloatArray, names: Sequence[str], most: int | None) -> list[str]:
    """The meaning of planes, a line each: those drawn, and constant ones other than 0."""
    varied = [i for i, plane in enumerate(observation) if (plane != plane.flat[0]).any()][:most]
    full = [i for i, plane in enumerate(observation) if plane.all() and plane.min() == plane.max()]
    return [f"plane {plane}: {names[plane]}" for plane in sorted([*varied, *full])]


def _board(plane: int, values: npt.NDArray[np.int64]) -> list[str]:
    """A title and H rows of equal length; 0 is a dot."""
    digits = len(str(values.max()))
    gap = " " if digits > 1 else ""
    rows = [
        gap.join((str(value) if value else "·").rjust(digits) for value in row)
        for row in values.tolist()
    ]
    title = f"plane {plane}"
    wide = max(len(title), len(rows[0]))
    return [line.ljust(wide) for line in (title, *rows)]


def _side_by_side(boards: list[list[str]]) -> list[str]:
    joined = [(" " * GAP).join(parts).rstrip() for parts in zip(*boards, strict=True)]
    return [*joined, ""]


def _planes(planes: Iterable[int]) -> str:
    """`plane 7`, or `planes 1-5, 7`."""
    runs: list[list[int]] = []
    for plane in planes:
        if runs and runs[-1][-1] == plane - 1:
            runs[-1].append(plane)
        else:
            runs.append([plane])
    words = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
    return f"plane{'s' if len(runs) > 1 or len(runs[0]) > 1 else ''} {words}"
