"""Predictions for people: whose view, which cells, which unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import azcore
from azcore.networks import build_network
from azcore.networks.contract import AuxiliaryNetwork
from azcore.networks.predictor import BATCH, NetworkPredictor
from azcore.networks.towers import DualRes
from azcore.search.predictions import Chances, Prediction, chances_of

GO = azcore.make("go", board_size=3, komi=0.5)
CPU = torch.device("cpu")
WDL = np.array([0.5, 0.3, 0.2])


class Known(AuxiliaryNetwork):
    """Owns its stones, gives the others away, and thinks to win by a tenth of `score_maximum`."""

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        outputs = self.outputs(observations)
        return outputs["policy_logits"], outputs["values"]

    def for_play(self) -> None:
        raise AssertionError("a predictor needs all outputs")

    def outputs(self, observations: Tensor) -> dict[str, Tensor]:
        assert not self.training
        size = len(observations)
        own, other = observations[:, 0], observations[:, 8]
        # Silver 2017: eight planes of the player's own stones, eight of the opponent's.
        stones = own.sum((1, 2))
        return {
            "policy_logits": torch.arange(10.0).repeat(size, 1),
            "values": stones / 10,
            "wdl_logits": torch.tensor(WDL).log().repeat(size, 1),
            "ownership": own - other,
            "score": torch.full((size,), 0.1),
            "material": torch.full((size,), 0.25),
            "later_values": torch.zeros(size, 3),
            "plies_left": 30 - stones,
        }


def after(*texts: str) -> Any:
    state = GO.initial_state()
    for text in texts:
        state = GO.step(state, GO.text_to_action(state, text))
    return state


def test_a_prediction_is_in_the_view_of_the_player_to_move() -> None:
    predictor = NetworkPredictor(Known().train(), GO, CPU)
    ends = {"ownership", "score", "material"}
    assert predictor.predicts == {"policy", "value", "chances", *ends, "plies_left"}
    black, white = predictor.predict(GO, [after("A3", "B1"), after("A3", "B1", "C3")])
    assert black.ownership is not None
    assert black.ownership.tolist() == [[1, 0, 0], [0, 0, 0], [0, -1, 0]]  # the top row first
    assert white.ownership is not None
    assert white.ownership.tolist() == [[-1, 0, -1], [0, 0, 0], [0, 1, 0]]
    assert (black.value, white.value) == pytest.approx((0.1, 0.1))
    assert black.chances == pytest.approx(WDL, abs=1e-6)
    assert black.score == pytest.approx(0.95)  # 0.1 of 9 points and half a point of komi
    assert black.material == 0.25
    assert (black.plies_left, white.plies_left) == (29, 29)
    # Softmax over the legal actions 1 to 6, 8 and 9, since 0 and 7 are taken.
    powers = np.exp([-np.inf, 1, 2, 3, 4, 5, 6, -np.inf, 8, 9])
    assert black.policy == pytest.approx(powers / powers.sum(), abs=1e-6)


def test_the_other_player_sees_the_opposite() -> None:
    (seen,) = NetworkPredictor(Known(), GO, CPU).predict(GO, [after("A3", "B1")])
    other = seen.of_other_player()
    assert other.value == pytest.approx(-0.1)
    assert other.chances == pytest.approx(WDL[::-1], abs=1e-6)
    assert other.ownership is not None
    assert other.ownership.tolist() == [[-1, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert other.score == pytest.approx(-0.95)
    assert other.material == -0.25
    assert other.plies_left == 29
    assert other.policy is seen.policy


def test_a_network_of_the_papers_predicts_policy_and_value() -> None:
    settings = DualRes(
        name="dual_res", blocks=1, channels=4, value_hidden=4, history=None, policy_head="linear"
    )
    network = build_network(GO, settings, seed=1).eval()
    states = [after("A3"), *[after()] * BATCH, after("B2")]
    predictor = NetworkPredictor(network, GO, CPU)
    assert predictor.predicts == {"policy", "value"}
    found = predictor.predict(GO, states)
    assert len(found) == len(states)
    with torch.inference_mode():
        _, values = network(torch.from_numpy(np.stack([GO.observation(s) for s in states])))
    assert [one.value for one in found] == pytest.approx(values.tolist(), abs=1e-6)
    assert found[0].chances is found[0].ownership is found[0].score is found[0].plies_left is None
    assert found[0].of_other_player().value == -found[0].value
    assert isinstance(found[-1], Prediction)
    assert isinstance(network, nn.Module)


@pytest.mark.parametrize(
    ("value", "draw", "wanted"),
    [
        (0.0, 0.4, (0.3, 0.4, 0.3)),
        (0.5, 0.2, (0.65, 0.2, 0.15)),
        (-0.5, 0.2, (0.15, 0.2, 0.65)),
        (0.5, 0.9, (0.5, 0.5, 0.0)),  # half the points and more leave no more draws than this
        (1.0, 0.3, (1.0, 0.0, 0.0)),
        (-1.0000001, 0.3, (0.0, 0.0, 1.0)),
    ],
)
def test_win_and_loss_follow_from_value_and_draw(
    value: float, draw: float, wanted: tuple[float, ...]
) -> None:
    found = chances_of(value, draw)
    assert found == pytest.approx(wanted)
    assert isinstance(found, Chances)
