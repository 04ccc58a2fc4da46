"""Predictions that tests of engines can foresee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from azcore.game import Game
from azcore.search.predictions import Chances, Prediction, Predictor


class Foreseen(Predictor):
    """The same for each player to move: 30 % draws, 4.5 points ahead, and the first cell owned.

    Args:
        fields: those that it predicts besides policy and value.
    """

    def __init__(self, *fields: str) -> None:
        self._predicts = frozenset({"policy", "value", *fields})
        self.asked: list[int] = []  # positions of each call

    @property
    def predicts(self) -> frozenset[str]:
        return self._predicts

    def predict(self, game: Game, states: Sequence[Any]) -> list[Prediction]:
        self.asked.append(len(states))
        _, height, width = game.observation_shape
        cells = np.zeros((height, width), np.float32)
        cells[0, 0], cells[-1, 1] = 1, -0.5
        fields: dict[str, Any] = {
            "chances": Chances(0.4, 0.3, 0.3),
            "ownership": cells,
            "score": 4.5,
            "plies_left": 12.0,
        }
        known = {name: value for name, value in fields.items() if name in self._predicts}
        assert not any(game.is_terminal(state) for state in states)
        return [
            Prediction(policy=np.zeros(game.num_actions, np.float32), value=0.1, **known)
            for _ in states
        ]
