"""Boards of OpenSpiel's games whose actions put a stone on a cell of a grid.

OpenSpiel does not describe a game's board, but its tensors show it. `grid_of` plays random games
and observes which planes become nonzero under the stones of each player; if all of them fit, the
game has a board. Flips and captures also show in the planes. Which cells are neighbours does not:
`HEXAGONAL` names the games whose cells are hexagons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

from azcore.game import BoolArray, Choice, Layout, Role
from azcore.game.board import MOST_PLACES_ACROSS

from .loading import load

PROBES = 30  # random games
MOST_PROBED = 3000  # plies of all these games
VIEWER = 0  # OpenSpiel's player whose tensors are used, whoever moves
PASS = "pass"
# The sides that each of OpenSpiel's players connects.
HEXAGONAL = {"hex": {"above": 0, "below": 0, "left": 1, "right": 1}}


@dataclass(frozen=True)
class Grid:
    """Where the stones are in the tensors of a game.

    Args:
        rows, columns: the size of the board; action `row * columns + column` puts a stone there.
        passes: whether there is one more action, which puts no stone.
        planes: for each of OpenSpiel's players, bool [C]: the planes that its stones make nonzero.
        name: OpenSpiel's name of the game.
    """

    rows: int
    columns: int
    passes: bool
    planes: tuple[BoolArray, BoolArray]
    name: str

    def pieces(self, state: Any) -> list[tuple[str, int, str]]:
        """The place, OpenSpiel's player and the role of each stone."""
        lit = _lit(state, self.rows * self.columns)
        return [
            (self.click(int(cell)), player, "stone")
            for player, planes in enumerate(self.planes)
            for cell in np.flatnonzero(np.logical_or.reduce(lit[planes], axis=0))
        ]

    def click(self, action: int) -> str:
        """The name of a cell, `a1` for the top left one; or of a pass."""
        row, column = divmod(action, self.columns)
        return PASS if row == self.rows else f"{letters(column)}{row + 1}"

    @property
    def layout(self) -> Layout:
        return _layout(self.rows, self.columns, self.passes, self.name)


@cache
def _layout(rows: int, columns: int, passes: bool, name: str) -> Layout:
    borders = HEXAGONAL.get(name, {})
    return Layout(
        kind="hexagons" if borders else "cells",
        columns=tuple(map(letters, range(columns))),
        rows=tuple(str(row + 1) for row in range(rows)),
        colours=("black", "white"),
        roles={"stone": Role(name="stone", letter="S", art="disc" if borders else "stone")},
        borders=borders,
        choices={PASS: Choice(words="Pass")} if passes else {},
    )


def letters(column: int) -> str:
    """`a` to `z`, then `aa`."""
    high, low = divmod(column, 26)
    return (chr(96 + high) if high else "") + chr(97 + low)


@cache
def grid_of(spiel_id: str) -> Grid | None:
    """The grid of a game that `load` accepts; None: its actions are not cells, or none fits."""
    rules = load(spiel_id)
    shape = rules.observation_tensor_shape()
    if len(shape) == 2 and isqrt(shape[1]) ** 2 == shape[1]:
        shape = [shape[0], isqrt(shape[1]), isqrt(shape[1])]
    if len(shape) != 3 or max(shape[1:]) > MOST_PLACES_ACROSS:
        return None
    cells = shape[1] * shape[2]
    actions = rules.num_distinct_actions()
    if actions not in (cells, cells + 1):
        return None
    probes = _probe(rules, cells)
    if actions > cells and not any(action == cells for _, action, _, _ in probes):
        return None  # the action beyond the cells never occurred, so it may not be a pass
    under = np.zeros((2, shape[0]), np.bool_)
    for before, action, player, after in probes:
        if action < cells:  # a plane that is nonzero everywhere shows the player to move
            under[player] |= after[:, action] & ~before[:, action] & ~after.all(axis=1)
    name = rules.get_type().short_name
    grid = Grid(shape[1], shape[2], actions > cells, (under[0], under[1]), name)
    return grid if probes and all(_fits(under, *probe) for probe in probes) else None


Probe = tuple[BoolArray, int, int, BoolArray]  # nonzero before, action, player, nonzero after


def _probe(rules: Any, cells: int) -> list[Probe]:
    """Each ply of some fixed random games; empty if an action does not fit."""
    rng = np.random.default_rng(1)
    probes: list[Probe] = []
    for _ in range(PROBES):
        state = rules.new_initial_state()
        lit = _lit(state, cells)
        while not state.is_terminal() and len(probes) < MOST_PROBED:
            player, action = state.current_player(), int(rng.choice(state.legal_actions()))
            if action >= cells and PASS not in state.action_to_string(player, action).lower():
                return []
            state.apply_action(action)
            before, lit = lit, _lit(state, cells)
            probes.append((before, action, player, lit))
    return probes


def _fits(under: BoolArray, before: BoolArray, action: int, player: int, after: BoolArray) -> bool:
    """Whether a ply put a stone of the player on an empty cell, or none, and no cell has two."""
    old = [before[planes].any(axis=0) for planes in under]
    new = [after[planes].any(axis=0) for planes in under]
    if (new[0] & new[1]).any():
        return False
    if action >= new[0].size:
        return bool((new[0] == old[0]).all() and (new[1] == old[1]).all())
    return bool(new[player][action] and not (old[0] | old[1])[action])


def _lit(state: Any, cells: int) -> BoolArray:
    """Bool [C, cells]: where the planes are nonzero."""
    lit: BoolArray = np.array(state.observation_tensor(VIEWER)).reshape(-1, cells) != 0
    return lit
