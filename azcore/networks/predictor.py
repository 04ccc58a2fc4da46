"""Runs a whole network, for display: see `azcore.search.predictions`.

Letters: N positions, A actions, H rows, W columns.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from azcore.game import BoolArray, FloatArray, Game
from azcore.networks.contract import AuxiliaryNetwork
from azcore.search.predictions import Chances, Prediction, Predictor

BATCH = 64  # positions at once, so that a long game needs little memory

# Outputs of an `AuxiliaryNetwork` that `Prediction` has fields for, and those fields.
FIELDS = {
    "wdl_logits": "chances",
    "ownership": "ownership",
    "score": "score",
    "material": "material",
    "plies_left": "plies_left",
}


@final
class NetworkPredictor(Predictor):
    """Evaluates all outputs of a network, in float32 and without symmetries.

    Args:
        network: not in training; this object moves it to the device and keeps it, with its heads
            for auxiliary targets. (Evaluators for search use copies without those.)
        game: the game that it learned, whose `score_maximum` is the unit of its score.
    """

    def __init__(self, network: nn.Module, game: Game, device: torch.device) -> None:
        self._network = network.eval().requires_grad_(False).to(device)
        self._device = device
        self._score_maximum = game.score_maximum
        blank = np.zeros((1, *game.observation_shape), np.uint8)
        fields = {FIELDS[name] for name in self._outputs(blank) if name in FIELDS}
        self._predicts = frozenset({"policy", "value", *fields})

    @property
    def predicts(self) -> frozenset[str]:
        return self._predicts

    def predict(self, game: Game, states: Sequence[Any]) -> list[Prediction]:
        predictions = []
        for first in range(0, len(states), BATCH):
            some = states[first : first + BATCH]
            observations = np.stack([game.observation(state) for state in some]).astype(np.uint8)
            masks = np.stack([game.legal_action_mask(state) for state in some])
            outputs = self._outputs(observations)
            policies = _softmax(outputs["policy_logits"], masks)
            predictions += [self._prediction(policies[i], outputs, i) for i in range(len(some))]
        return predictions

    def _outputs(self, observations: Any) -> dict[str, FloatArray]:
        batch = torch.from_numpy(observations).to(self._device).float()
        outputs: dict[str, Tensor]
        with torch.inference_mode():
            if isinstance(self._network, AuxiliaryNetwork):
                outputs = self._network.outputs(batch)
            else:
                policy_logits, values = self._network(batch)
                outputs = {"policy_logits": policy_logits, "values": values}
            if "wdl_logits" in outputs:
                outputs = {**outputs, "wdl_logits": outputs["wdl_logits"].softmax(1)}
        return {name: output.float().cpu().numpy() for name, output in outputs.items()}

    def _prediction(self, policy: FloatArray, outputs: dict[str, FloatArray], i: int) -> Prediction:
        found: dict[str, Any] = {}
        if "wdl_logits" in outputs:
            found["chances"] = Chances(*map(float, outputs["wdl_logits"][i]))
        if "ownership" in outputs:
            found["ownership"] = outputs["ownership"][i]
        if "score" in outputs:
            assert self._score_maximum is not None
            found["score"] = float(outputs["score"][i]) * self._score_maximum
        if "material" in outputs:
            found["material"] = float(outputs["material"][i])
        if "plies_left" in outputs:
            found["plies_left"] = float(outputs["plies_left"][i])
        return Prediction(policy=policy, value=float(outputs["values"][i]), **found)


def predictor_of(network: nn.Module, game: Game, device: torch.device) -> NetworkPredictor | None:
    """A predictor of a network that predicts more than policy and value; None for any other."""
    if not isinstance(network, AuxiliaryNetwork):
        return None
    predictor = NetworkPredictor(network, game, device)
    return predictor if predictor.predicts > {"policy", "value"} else None


def _softmax(logits: FloatArray, legal: BoolArray) -> FloatArray:
    """[N, A], over the legal actions."""
    masked = np.where(legal, logits, -np.inf)
    weights = np.exp(masked - masked.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)
