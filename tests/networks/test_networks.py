"""The network is the papers', and search sees the same network as training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import azcore
from azcore.networks import NetworkSettings, build_network
from azcore.networks.evaluator import NetworkEvaluator

GAME = azcore.make("go", board_size=5)
SETTINGS = NetworkSettings(name="dual_res", blocks=2, channels=8, value_hidden=4)
CPU = torch.device("cpu")


def trained_a_little() -> torch.nn.Module:
    """A network whose batch norms have seen data, so that folding them matters."""
    network = build_network(GAME, SETTINGS, seed=1)
    torch.manual_seed(1)
    for _ in range(5):
        network(torch.randint(0, 9, (16, 17, 5, 5)))
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return network.eval()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_evaluator_agrees_with_the_network(dtype: torch.dtype, tolerance: float) -> None:
    network = trained_a_little()
    evaluator = NetworkEvaluator(network=network, game=GAME, device=CPU, dtype=dtype)
    observations = np.random.default_rng(1).integers(0, 9, (9, 17, 5, 5), np.uint8)
    policy_logits, values = evaluator.evaluate(observations)
    with torch.inference_mode():
        expected_logits, expected_values = network(torch.from_numpy(observations))
    assert policy_logits.shape == (9, 26)
    assert values.shape == (9,)
    scale = expected_logits.abs().max().item()
    np.testing.assert_allclose(policy_logits / scale, expected_logits / scale, atol=tolerance)
    np.testing.assert_allclose(values, expected_values, atol=tolerance)


def test_a_row_depends_on_its_observation_alone() -> None:
    evaluator = NetworkEvaluator(
        network=trained_a_little(), game=GAME, device=CPU, dtype=torch.float32
    )
    rng = np.random.default_rng(1)
    observations = rng.integers(0, 9, (64, 17, 5, 5), np.uint8)
    policy_logits, values = (array.copy() for array in evaluator.evaluate(observations))
    order = rng.permutation(64)
    other_logits, other_values = (a.copy() for a in evaluator.evaluate(observations[order]))
    # The place in a batch decides how sums are rounded, nothing more.
    np.testing.assert_allclose(other_logits, policy_logits[order], atol=1e-5)
    np.testing.assert_allclose(other_values, values[order], atol=1e-6)
    again_logits, again_values = evaluator.evaluate(observations)
    np.testing.assert_array_equal(again_logits, policy_logits)
    np.testing.assert_array_equal(again_values, values)


def test_evaluator_keeps_its_own_weights() -> None:
    network = trained_a_little()
    evaluator = NetworkEvaluator(network=network, game=GAME, device=CPU, dtype=torch.float32)
    observations = np.ones((2, 17, 5, 5), np.uint8)
    before = evaluator.evaluate(observations)[1].copy()
    for parameter in network.parameters():
        parameter.data.zero_()
    np.testing.assert_array_equal(evaluator.evaluate(observations)[1], before)


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    first = build_network(GAME, SETTINGS, seed=1).state_dict()
    again = build_network(GAME, SETTINGS, seed=1).state_dict()
    other = build_network(GAME, SETTINGS, seed=2).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)
