"""Boards of OpenSpiel's games whose actions draw a line between two points.

OpenSpiel's tensor of such a game has a row for each point: the line to the right of it, the line
below it, and the box between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from azcore.game import Layout, Role
from azcore.game.board import MOST_PLACES_ACROSS

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
        found = []
        for player, row, column, part in np.argwhere(tensor[1:]).tolist():
            right, down, role = parts[part]
            found.append((self._place(2 * column + right, 2 * row + down), player, role))
        return found

    def click(self, action: int) -> str:
        """The name of the place that makes an action."""
        horizontal = (self.rows + 1) * self.columns
        if action < horizontal:
            row, column = divmod(action, self.columns)
            return self._place(2 * column + 1, 2 * row)
        row, column = divmod(action - horizontal, self.columns + 1)
        return self._place(2 * column, 2 * row + 1)

    def _place(self, x: int, y: int) -> str:
        return self._places[y * self.layout.across + x]

    @cached_property
    def _places(self) -> tuple[str, ...]:
        return tuple(self.layout.places)

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
    """The board of a game that `load` accepts; None: its actions are not lines, or too many."""
    rules = load(spiel_id)
    if rules.get_type().short_name not in NAMES:
        return None
    parameters = rules.get_parameters()
    lines = Lines(parameters["num_rows"], parameters["num_cols"])
    return lines if max(lines.rows, lines.columns) < MOST_PLACES_ACROSS else None
