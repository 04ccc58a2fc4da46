"""Boards of OpenSpiel's games whose actions draw a line between two points.

OpenSpiel's tensor of such a game has a row for each point: the line to the right of it, the line
below it, and the box between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from azcore.game import Layout, Role

from .grid import VIEWER, letters
from .loading import load

NAMES = ("dots_and_boxes",)


@dataclass(frozen=True)
class Lines:
    """The board of a game with so many rows and columns of boxes.

    Actions are the horizontal lines, row by row from the top, then the vertical ones.
    """

    rows: int
    columns: int

    def pieces(self, state: Any) -> list[tuple[str, int, str]]:
        """The place, OpenSpiel's player and the role of each line and box that is taken."""
        shape = (-1, self.rows + 1, self.columns + 1, 3)
        tensor = np.array(state.observation_tensor(VIEWER)).reshape(shape)
        parts = ((1, 0, "line"), (0, 1, "line"), (1, 1, "box"))  # and where they are from a point
        names = list(self.layout.places)
        found = []
        for player, row, column, part in np.argwhere(tensor[1:]).tolist():
            right, down, role = parts[part]
            place = names[(2 * row + down) * self.layout.across + 2 * column + right]
            found.append((place, player, role))
        return found

    def click(self, action: int) -> str:
        """The name of the place that makes an action."""
        horizontal = (self.rows + 1) * self.columns
        if action < horizontal:
            row, column = divmod(action, self.columns)
            at = 2 * row * self.layout.across + 2 * column + 1
        else:
            row, column = divmod(action - horizontal, self.columns + 1)
            at = (2 * row + 1) * self.layout.across + 2 * column
        return list(self.layout.places)[at]

    @property
    def layout(self) -> Layout:
        return _layout(self.rows, self.columns)


@cache
def _layout(rows: int, columns: int) -> Layout:
    return Layout(
        kind="lines",
        columns=tuple(map(letters, range(columns + 1))),
        rows=tuple(str(row + 1) for row in range(rows + 1)),
        colours=("red", "yellow"),
        surface="paper",
        roles={
            "line": Role(name="line", letter="L"),
            "box": Role(name="box", letter="B", art="disc"),
        },
    )


@cache
def lines_of(spiel_id: str) -> Lines | None:
    """The board of a game that `load` accepts; None: its actions are not lines."""
    rules = load(spiel_id)
    if rules.get_type().short_name not in NAMES:
        return None
    parameters = rules.get_parameters()
    return Lines(parameters["num_rows"], parameters["num_cols"])
