"""Search sees the network that was trained: every network, by every way to run one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

import azcore
from azcore.game import Game
from azcore.networks import build_network
from azcore.networks.folding import folded
from networks import test_pooled, test_transformer
from networks.test_networks import GAME, NAMES, Backend, trained_a_little, with_action_planes
from networks.test_pooled import some


def every_network() -> Iterator[tuple[str, Game, torch.nn.Module]]:
    """Those of the papers with both policy heads, and each kind of block of the others."""
    for name in NAMES:
        for game in (GAME, with_action_planes()):
            yield f"{name} {game.num_actions}", game, trained_a_little(game, name)
    for name, settings in test_pooled.BODIES.items():
        yield f"pooled_res {name}", GAME, test_pooled.trained_a_little(GAME, settings)
    for settings in (test_transformer.SETTINGS, test_transformer.WDL):
        for game in (GAME, azcore.make("chess"), azcore.make("tic_tac_toe")):
            yield (
                f"transformer {settings.value} {game.name}",
                game,
                test_pooled.trained_a_little(game, settings),
            )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_evaluators_agree_with_the_network(
    dtype: torch.dtype, tolerance: float, run_by: Backend
) -> None:
    """That is the tolerance within which all ways to run a network agree."""
    wrong, rng = [], np.random.default_rng(1)
    for name, game, network in every_network():
        most = game.observation_maximum.astype(np.uint8)[:, None, None]
        planes = rng.integers(0, most, (9, *game.observation_shape), np.uint8, endpoint=True)
        seen = torch.from_numpy(planes)
        logits, values = run_by(network, game, dtype).evaluate(planes)
        with torch.inference_mode():
            expected_logits, expected_values = network(seen)
        assert logits.shape == (9, game.num_actions)
        assert values.shape == (9,)
        scale = expected_logits.abs().max().item()
        for got, expected in (
            (logits / scale, expected_logits / scale),
            (values, expected_values),
        ):
            if not np.allclose(got, expected, rtol=0, atol=tolerance):
                wrong.append(f"{name}: {np.abs(got - expected.numpy()).max()}")
    assert not wrong


def test_a_folded_copy_is_the_same_function() -> None:
    for name, game, network in every_network():
        seen = some(game).double()
        network.double()
        played = folded(network)
        with torch.inference_mode():
            for ours, theirs in zip(played(seen), network(seen), strict=True):
                torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=1e-10, msg=name)


def test_predictions_beside_policy_and_value_cost_a_search_nothing() -> None:
    for name, settings in test_pooled.BODIES.items():
        network = test_pooled.trained_a_little(GAME, settings)
        plain = build_network(GAME, replace(settings, auxiliary={}), seed=1)
        kept = sum(p.numel() for p in folded(plain).parameters())
        assert sum(p.numel() for p in folded(network).parameters()) == kept, name
        if network.targets:
            assert len(network.outputs(some(GAME))) > 2, name  # the network itself has them still
