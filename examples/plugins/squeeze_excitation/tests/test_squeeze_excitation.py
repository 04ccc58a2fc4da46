"""The network and the evaluator alone; azcore's own tests train with them."""

import numpy as np
import pytest
import torch

import azcore
from azcore.errors import SettingError
from azcore.networks import build_network, network_settings
from azcore.networks.backends import Conditions, backend_named

GAME = azcore.make("go", board_size=5)
SETTINGS = {"name": "se_res", "blocks": 2, "channels": 8, "value_hidden": 4, "reduction": 4}


def test_it_is_found_by_name_and_judges_a_batch():
    network = build_network(GAME, network_settings(SETTINGS), seed=1).eval()
    logits, values = network(torch.zeros(3, *GAME.observation_shape))
    assert logits.shape == (3, GAME.num_actions)
    assert values.shape == (3,)
    assert (values.abs() <= 1).all()


def test_a_setting_that_cannot_be_is_refused():
    with pytest.raises(SettingError, match=r"network.reduction must be 1 to .*=8, got 9"):
        network_settings({**SETTINGS, "reduction": 9})


def test_all_ways_to_turn_a_position_have_one_average():
    network = build_network(GAME, network_settings(SETTINGS), seed=1)
    conditions = Conditions(
        game=GAME, device=torch.device("cpu"), dtype=torch.float32, cores=1, callers=1
    )
    evaluator = backend_named("average").evaluator(network, conditions)
    state = GAME.step(GAME.initial_state(), GAME.text_to_action(GAME.initial_state(), "B4"))
    planes = GAME.observation(state).astype(np.uint8)
    turned = planes.reshape(len(planes), -1)[:, GAME.symmetries[0].cells].reshape(planes.shape)
    (one, other), values = evaluator.evaluate(np.stack([planes, turned]))
    np.testing.assert_allclose(values[0], values[1], atol=1e-5)
    np.testing.assert_allclose(one[GAME.symmetries[0].actions], other, atol=1e-5)
