"""Wins that the rules alone prove at the roots of a search (`search.proof_plies`)."""

from collections.abc import Iterable

import numpy as np

from azcore.game.batch import GameBatch
from azcore.game.exhaustive_search import nothing_decided
from azcore.game.positions import only_roots


class ForcedWins:
    """The forced wins at the roots of a batch; it searches each root once, until the root moves.

    Args:
        states: the roots.
        plies: the longest win to search for; 0: none.
    """

    def __init__(self, states: GameBatch, plies: int) -> None:
        self._states, self.plies = states, plies
        self._actions: dict[int, int] = {}  # by row; -1: no win

    def action(self, row: int) -> int:
        """The action by which the player to move wins soonest within `plies`, or -1."""
        if not self.plies:
            return -1
        if row not in self._actions:
            found = nothing_decided(1)
            self._states.decide(only_roots(np.array([row], np.int32)), self.plies, found)
            self._actions[row] = int(found.action[0]) if found.result[0] > 0 else -1
        return self._actions[row]

    def forget(self, rows: Iterable[int]) -> None:
        """Forget these roots, which have moved."""
        for row in rows:
            self._actions.pop(row, None)
