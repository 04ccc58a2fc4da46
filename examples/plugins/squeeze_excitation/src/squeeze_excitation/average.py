"""`evaluator.backend=average`: torch's evaluation, averaged over the game's symmetries.

A position takes as many evaluations as the game has symmetries, the identity included: eight in Go.
Letters: S positions, D symmetries, A actions.
"""

from __future__ import annotations

import numpy as np
from torch import nn

from azcore.game import ByteArray, FloatArray, Game
from azcore.game.symmetries import SymmetryTables
from azcore.networks.backends import Conditions, TorchBackend
from azcore.search.evaluators import Evaluator


class AverageEvaluator(Evaluator):
    """The mean of another evaluator's logits and values over all symmetries."""

    def __init__(self, evaluator: Evaluator, game: Game) -> None:
        self._evaluator, self._game = evaluator, game
        self._tables = SymmetryTables(game)
        self._back = np.argsort(self._tables.actions, axis=1)  # [D, A], the mapped action of each

    def for_another_thread(self) -> Evaluator:
        return AverageEvaluator(self._evaluator.for_another_thread(), self._game)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        count, size = len(self._tables), len(observations)
        chosen = np.repeat(np.arange(count), size)  # [D * S], the symmetry of each row
        mapped = self._tables.map_observations(np.tile(observations, (count, 1, 1, 1)), chosen)
        logits, values = self._evaluator.evaluate(mapped)
        logits = np.take_along_axis(logits, self._back[chosen], 1)
        return logits.reshape(count, size, -1).mean(0), values.reshape(count, size).mean(0)


class AverageBackend(TorchBackend):
    """Wraps the evaluator that torch makes."""

    def evaluator(self, network: nn.Module, conditions: Conditions) -> Evaluator:
        return AverageEvaluator(super().evaluator(network, conditions), conditions.game)
