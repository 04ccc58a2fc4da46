"""The transformer is the papers', plays every game, and search sees what is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import azcore
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.networks import build_network, network_cost
from azcore.networks.transformer import Attention, Transformer
from azcore.storage.targets import TARGETS
from conftest import compose
from networks.test_pooled import some, trained_a_little

GO = azcore.make("go", board_size=5)
SETTINGS = Transformer(
    name="transformer",
    blocks=2,
    channels=8,
    value_hidden=4,
    history=None,
    activation="relu",
    attention_heads=2,
    feed_forward=3,
    head_channels=3,
    value="scalar",
    auxiliary=dict.fromkeys(TARGETS, True),
)
WDL = replace(SETTINGS, activation="mish", value="wdl", auxiliary={"reply": True})


@pytest.mark.parametrize("settings", [SETTINGS, WDL], ids=["scalar", "wdl"])
@pytest.mark.parametrize("name", ["go", "chess", "shogi", "tic_tac_toe"])
def test_every_game_has_its_predictions(name: str, settings: Transformer) -> None:
    network, seen = build_network(azcore.make(name), settings, seed=1), some(azcore.make(name))
    with torch.inference_mode():
        outputs = network.eval().outputs(seen)
    assert outputs["policy_logits"].shape == (6, azcore.make(name).num_actions)
    assert {"policy_logits", "values", *network.targets} <= outputs.keys()
    assert "reply" in network.targets


def test_costs_are_those_counted_by_hand() -> None:
    """25 cells of 8 channels, 2 attention heads, 3 x 8 hidden units; norms have no weights."""
    block = (8 + 1) * 24 + (8 + 1) * 8 + (8 + 1) * 24 + (24 + 1) * 8
    tower = (17 + 1) * 8 + 25 * 8 + 2 * block
    policy = 2 * (8 * 3 + 6) + (6 + 1) * 3 + (3 + 1) + (6 + 1)
    value = (8 * 3 + 6) + (6 + 1) * 4 + (4 + 1)
    cost = network_cost(build_network(GO, replace(SETTINGS, auxiliary={}), seed=1), GO)
    assert cost.parameters == tower + policy + value
    linear = 17 * 8 + 2 * (8 * 24 + 8 * 8 + 8 * 24 + 24 * 8)
    attention = 2 * 2 * 2 * 25 * 25 * 4  # blocks, heads, queries by keys and weights by values
    heads = 50 * 2 * 8 * 3 + 2 * 6 * 3 + 50 * 3 + 2 * 6 + 50 * 8 * 3 + 2 * 6 * 4 + 2 * 4
    assert cost.flops == 50 * linear + 2 * attention + heads


def test_attention_by_hand() -> None:
    layer = Attention(4, 2)
    torch.manual_seed(1)
    x = torch.randn(3, 5, 4)
    taken = x @ layer.queries_keys_values.weight.T + layer.queries_keys_values.bias
    queries, keys, values = taken.split(4, 2)
    means = []
    for head in (slice(0, 2), slice(2, 4)):
        scores = torch.einsum("ntd,nsd->nts", queries[..., head], keys[..., head]) / 2**0.5
        means.append(torch.softmax(scores, 2) @ values[..., head])
    expected = torch.cat(means, 2) @ layer.out.weight.T + layer.out.bias
    torch.testing.assert_close(layer(x), expected)


def test_a_block_by_hand() -> None:
    """Two sums: norm and attention, then norm, linear layer, activation, linear layer."""
    network = trained_a_little(GO, replace(SETTINGS, blocks=1))
    first, encoder = network.tower[1], network.tower[2]
    block = encoder.blocks[0]

    def normed(x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(2, keepdim=True)
        return centred / (centred.square().mean(2, keepdim=True) + 1e-5).sqrt()

    cells = some(GO).float().flatten(2).transpose(1, 2)
    with torch.inference_mode():
        x = cells @ first.weight[:, :, 0, 0].T + first.bias + encoder.places
        x = x + block.attention[1](normed(x))
        _, inner, _, outer = block.feed_forward
        x = x + torch.relu(normed(x) @ inner.weight.T + inner.bias) @ outer.weight.T + outer.bias
        expected = normed(x).transpose(1, 2).reshape(6, 8, 5, 5)
        torch.testing.assert_close(network.tower(some(GO)), expected, atol=1e-5, rtol=1e-5)


def test_a_cell_knows_its_place_and_sees_all_others() -> None:
    network = trained_a_little(GO, replace(SETTINGS, blocks=1))
    one = torch.zeros(2, *GO.observation_shape)
    one[1, 0, 0, 0] = 1
    with torch.inference_mode():
        empty, stone = network.tower(one)
        assert (empty - stone).abs().amax(0).min() > 1e-5
        assert len({cell.item() for cell in empty[0].flatten()}) == 25
        network.tower[2].places.zero_()
        (empty,) = network.tower(one[:1])
        assert (empty - empty[:, :1, :1]).abs().max() < 1e-6


def test_a_row_depends_on_its_observation_alone() -> None:
    network, seen = trained_a_little(GO, SETTINGS), some(GO, 64)
    with torch.inference_mode():
        for all_rows, some_rows in zip(network(seen), network(seen[10:20]), strict=True):
            torch.testing.assert_close(all_rows[10:20], some_rows, atol=1e-5, rtol=1e-5)


def test_methods_of_heads_leave_the_network_that_was_asked_for() -> None:
    network = compose("game=go", "network=transformer", "method=[ownership,wdl]")["network"]
    assert (network["name"], network["value"]) == ("transformer", "wdl")
    assert network["auxiliary"]["ownership"]


@pytest.mark.parametrize("game", ["go", "tic_tac_toe"])
def test_it_trains(tiny: Callable[..., dict[str, Any]], game: str) -> None:
    config = tiny(
        *(f"game={game}", "network=transformer", "network.channels=8", "network.value=wdl"),
        *("network.auxiliary.reply=true", "learner.optimizer=adamw", "trainer.max_steps=4"),
        *(["game.board_size=3"] if game == "go" else []),
    )
    assert train({**config, "run_dir": "run"}) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attention_heads": 3}, "network.attention_heads must be a divisor of .*=8, got 3"),
        ({"attention_heads": 0}, "network.attention_heads must be a divisor of .*=8, got 0"),
        ({"feed_forward": 0}, "network.feed_forward must be 1 or more, got 0"),
        ({"value": "odds"}, "network.value must be one of scalar, wdl, got 'odds'"),
    ],
)
def test_impossible_settings_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        replace(SETTINGS, **change)  # type: ignore[arg-type]
