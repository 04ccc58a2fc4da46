"""Who judges a leaf: an `Evaluator` gives policy logits and a value for each observation.

`azcore.networks.evaluator.NetworkEvaluator` asks a network; `UniformEvaluator` knows nothing, which
makes plain search, the baseline every network should beat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from azcore.game import ByteArray, FloatArray, Game


class Evaluator(ABC):
    """Judges positions from their observations alone."""

    @abstractmethod
    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        """Policy logits and values.

        Args:
            observations: uint8 [S, C, H, W], each from the view of its player to move.

        Returns:
            policy_logits float32 [S, A], illegal actions included; values float32 [S] in [-1, 1],
            view of the player to move. Row i depends on observation i alone,
            up to rounding. The arrays may be reused by the next call.
        """


class UniformEvaluator(Evaluator):
    """Every action alike, every position even: search with it sees only ends of the game."""

    def __init__(self, game: Game) -> None:
        self._num_actions = game.num_actions

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        return np.zeros((size, self._num_actions), np.float32), np.zeros(size, np.float32)
