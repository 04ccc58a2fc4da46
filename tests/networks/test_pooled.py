"""The network with global pooling and auxiliary heads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import azcore
from azcore.errors import SettingError
from azcore.networks import build_network, network_cost
from azcore.networks.blocks import GlobalPool, SqueezeExcite, Style
from azcore.networks.pooled import PooledNetwork, PooledRes, PooledSettings
from azcore.storage.targets import TARGETS

GO = azcore.make("go", board_size=5)
SETTINGS = PooledRes(
    name="pooled_res",
    blocks=2,
    channels=8,
    value_hidden=4,
    history=None,
    activation="relu",
    preactivation=False,
    squeeze_excite=0,
    bottleneck=0,
    pooling_every=2,
    head_channels=3,
    value="scalar",
    auxiliary=dict.fromkeys(TARGETS, True),
)
WDL = replace(SETTINGS, value="wdl", auxiliary={"reply": True, "score": False, "plies_left": True})

EVERY = replace(
    SETTINGS, activation="mish", preactivation=True, squeeze_excite=2, bottleneck=2, auxiliary={}
)
BODIES = {
    "plain": SETTINGS,
    "wdl": WDL,
    "mish": replace(SETTINGS, activation="mish"),
    "preactivation": replace(SETTINGS, preactivation=True),
    "squeeze_excite": replace(SETTINGS, squeeze_excite=2),
    "bottleneck": replace(SETTINGS, bottleneck=2),
    "history": replace(SETTINGS, history=1),
    "every": EVERY,
}


def trained_a_little(game: azcore.Game, settings: PooledSettings) -> PooledNetwork:
    network = build_network(game, settings, seed=1)
    assert isinstance(network, PooledNetwork)
    torch.manual_seed(1)
    for _ in range(5):
        network(torch.randint(0, 2, (16, *game.observation_shape)))
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return network.eval()


def some(game: azcore.Game, size: int = 6) -> torch.Tensor:
    rng = np.random.default_rng(1)
    return torch.from_numpy(rng.integers(0, 2, (size, *game.observation_shape), np.uint8))


GAMES = {
    "go": GO,  # a plane of actions and a pass
    "chess": azcore.make("chess"),  # planes alone
    "tic_tac_toe": azcore.make("tic_tac_toe"),
}


@pytest.mark.parametrize("settings", [SETTINGS, WDL, EVERY], ids=["scalar", "wdl", "every"])
@pytest.mark.parametrize("name", GAMES)
def test_all_predictions_have_their_shapes(name: str, settings: PooledRes) -> None:
    game = GAMES[name]
    network, seen = trained_a_little(game, settings), some(game)
    with torch.inference_mode():
        logits, values = network(seen)
        outputs = network.outputs(seen)
    _, height, width = game.observation_shape
    wanted = {
        "policy_logits": (6, game.num_actions),
        "values": (6,),
        "wdl_logits": (6, 3),
        "reply": (6, game.num_actions),
        "soft_policy": (6, game.num_actions),
        "ownership": (6, height, width),
        "score": (6,),
        "material": (6,),
        "later_values": (6, 3),
        "plies_left": (6,),
    }
    found = {key: tuple(value.shape) for key, value in outputs.items()}
    has = {"policy_logits", "values", *network.targets}
    has |= {"wdl_logits"} if settings.value == "wdl" else set()
    assert found == {key: wanted[key] for key in has}
    assert ("ownership" in found) == (name == "go" and settings is SETTINGS)
    torch.testing.assert_close(outputs["policy_logits"], logits)
    torch.testing.assert_close(outputs["values"], values)
    assert values.abs().max() <= 1
    if settings.value == "wdl":
        win, _, loss = outputs["wdl_logits"].softmax(1).T
        torch.testing.assert_close(values, win - loss)


def test_costs_are_those_counted_by_hand() -> None:
    """As for the other networks; 25 cells, and a pooled block pools 2 of its 8 channels."""
    convolutions = [17 * 8 * 9, *[8 * 8 * 9] * 2, 8 * 6 * 9, 8 * 2 * 9, 6 * 8 * 9]
    norms = 2 * (8 + 8 + 8 + 6 + 2 + 8)
    tower = sum(convolutions) + norms + (4 + 1) * 6
    policy_features = 2 * (8 * 3 + 6) + (6 + 1) * 3  # local, pooled, and the bias of the pooled
    policy = (3 + 1) + (6 + 1)  # of the points, and of the pass
    value = (8 * 3 + 6) + (6 + 1) * 4 + (4 + 1)
    auxiliary = (3 + 1) + 5 * (1 + 3 + 1)  # of each point; score, later values, plies left
    cost = network_cost(build_network(GO, SETTINGS, seed=1), GO)
    assert cost.parameters == tower + policy_features + 3 * policy + value + auxiliary
    flops = 50 * sum(convolutions) + 2 * 4 * 6
    flops += 50 * 2 * 8 * 3 + 2 * 6 * 3 + 50 * 3 + 2 * 6
    flops += 50 * 8 * 3 + 2 * 6 * 4 + 2 * 4
    assert cost.flops == flops  # those of an evaluation in search: one policy, and the value


@pytest.mark.parametrize(
    ("change", "parameters", "flops"),
    [
        ({"activation": "mish"}, 0, 0),
        ({"preactivation": True}, 0, 0),  # as many norms, in other places
        # In each of two blocks: 8 means to 4 hidden units to 8 scales and 8 shifts.
        ({"squeeze_excite": 2}, 2 * ((8 + 1) * 4 + (4 + 1) * 16), 2 * 2 * (8 * 4 + 4 * 16)),
    ],
)
def test_what_each_change_of_a_block_costs(
    change: dict[str, object], parameters: int, flops: int
) -> None:
    plain = network_cost(build_network(GO, SETTINGS, seed=1), GO)
    changed = replace(SETTINGS, **change)  # type: ignore[arg-type]
    cost = network_cost(build_network(GO, changed, seed=1), GO)
    assert cost.parameters - plain.parameters == parameters
    assert cost.flops - plain.flops == flops


def test_a_nested_bottleneck_costs_what_was_counted_by_hand() -> None:
    """A block is 8 to 4 channels, two blocks of 4 of which one pools 1, and 4 to 8 channels."""
    plain = replace(SETTINGS, blocks=1, pooling_every=1)
    none = [8 * 6 * 9, 8 * 2 * 9, 6 * 8 * 9]
    convolutions = [8 * 4, 4 * 3 * 9, 4 * 1 * 9, 3 * 4 * 9, 4 * 4 * 9, 4 * 4 * 9, 4 * 8]
    norms = (4 + 3 + 1 + 4 + 4 + 4 + 8) - (6 + 2 + 8)
    linear = (2 + 1) * 3 - (4 + 1) * 6
    one, other = (
        network_cost(build_network(GO, settings, seed=1), GO)
        for settings in (plain, replace(plain, bottleneck=2))
    )
    difference = sum(convolutions) - sum(none)
    assert other.parameters - one.parameters == difference + 2 * norms + linear
    assert other.flops - one.flops == 50 * difference + 2 * (2 * 3 - 4 * 6)


def test_squeeze_and_excitation_by_hand() -> None:
    style = Style(activation=torch.nn.ReLU, preactivation=False, squeeze_excite=2)
    layer = SqueezeExcite(2, style)  # with one hidden unit
    first, _, last = layer.excitation
    first.weight.data, first.bias.data = torch.tensor([[1.0, 2.0]]), torch.tensor([-1.0])
    last.weight.data = torch.tensor([[1.0], [-1.0], [3.0], [0.0]])
    last.bias.data = torch.tensor([0.0, 0.5, 0.0, 7.0])
    x = torch.tensor([[[[1.0, 3.0]], [[0.0, 1.0]]]])  # of means 2 and 0.5, so the unit is 2
    scales = 1 / (1 + np.exp(-np.array([2.0, -1.5])))
    expected = [[[scales[0] + 6, 3 * scales[0] + 6]], [[7, scales[1] + 7]]]
    np.testing.assert_allclose(layer(x).detach()[0], expected, rtol=1e-6)
    unlike = layer(torch.stack([x[0], -x[0]])).detach()
    torch.testing.assert_close(unlike[0], layer(x).detach()[0])
    np.testing.assert_allclose(unlike[1], [[[-0.5, -1.5]], [[7, 7 - 1 / (1 + np.exp(-0.5))]]])


class Operations(TorchDispatchMode):
    """Counts the operations that torch executes."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("settings", [SETTINGS, EVERY, replace(EVERY, bottleneck=0)])
def test_one_activation_is_everywhere(name: str, settings: PooledRes) -> None:
    counts = []
    for activation in ("relu", "mish"):
        game = GAMES[name]
        network = build_network(game, replace(settings, activation=activation), seed=1)
        with torch.no_grad(), Operations() as seen:
            network(some(game))
        counts.append(seen.counts)
    assert counts[0]["relu"] == counts[1]["mish"] > 5
    assert counts[0]["mish"] == counts[1]["relu"] == 0


def test_preactivation_by_hand() -> None:
    """Norm, activation, convolution, twice, are added to x; norm and activation end the tower."""
    network = trained_a_little(GO, replace(SETTINGS, blocks=1, pooling_every=0, preactivation=True))
    seen = some(GO)
    state = network.tower.state_dict()

    def normed(x: torch.Tensor, at: str) -> torch.Tensor:
        of = [state[f"{at}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return torch.relu(torch.nn.functional.batch_norm(x, *of))

    def convolved(x: torch.Tensor, at: str) -> torch.Tensor:
        return torch.nn.functional.conv2d(x, state[f"{at}.weight"], padding=1)

    x = convolved(seen.float(), "1")  # Go's planes have a maximum of 1
    first = normed(convolved(normed(x, "2.before.0"), "2.first.0"), "2.first.1")
    expected = normed(x + convolved(first, "2.second.0"), "3.0")
    with torch.inference_mode():
        torch.testing.assert_close(network.tower(seen), expected, atol=1e-5, rtol=1e-5)


def test_a_pool_by_hand() -> None:
    x = torch.tensor([[[[1.0, 2.0], [3.0, 10.0]], [[-4.0, 0.0], [0.0, 0.0]]]])
    torch.testing.assert_close(GlobalPool()(x), torch.tensor([[4.0, -1.0, 10.0, 0.0]]))


def test_a_pooled_block_sees_the_whole_board() -> None:
    """A stone in a far corner reaches the other one in one block; without pooling it cannot."""
    game = azcore.make("go", board_size=9)
    far = torch.zeros(2, *game.observation_shape)
    far[1, 0, 0, 0] = 1
    pooled: list[tuple[dict[str, Any], bool]] = [
        ({"pooling_every": 1}, True),
        ({"pooling_every": 1, "bottleneck": 1}, True),
        ({"pooling_every": 0, "squeeze_excite": 2}, True),
        ({"pooling_every": 0, "bottleneck": 1}, False),
        ({"pooling_every": 0}, False),
    ]
    for change, reaches in pooled:
        settings = replace(SETTINGS, blocks=1, activation="mish", **change)  # no dead ReLU
        network = trained_a_little(game, settings)
        with torch.inference_mode():
            one, other = network.tower(far)
        difference = (one - other)[:, 8, 8].abs().max().item()
        assert (difference > 1e-5) == reaches


def test_same_weights_serve_every_place() -> None:
    """What is learned of one corner holds in the others: logits turn with the board."""
    network = trained_a_little(GO, replace(EVERY, pooling_every=1))
    for convolution in network.modules():
        if isinstance(convolution, torch.nn.Conv2d):
            kernel = convolution.weight.data
            turns = [torch.rot90(kernel, quarters, (2, 3)) for quarters in range(4)]
            convolution.weight.data = torch.stack(turns).mean(0)
    seen = some(GO)
    with torch.inference_mode():
        logits, values = network(seen)
        turned, same = network(torch.rot90(seen, 1, (2, 3)))
    board = torch.rot90(logits[:, :25].reshape(-1, 5, 5), 1, (1, 2)).reshape(-1, 25)
    torch.testing.assert_close(turned[:, :25], board, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(turned[:, 25], logits[:, 25], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(same, values, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pooling_every": -1}, "network.pooling_every must be 0 or more, got -1"),
        ({"channels": 3}, "network.channels must be 4 or more with network.pooling_every, got 3"),
        (
            {"channels": 7, "bottleneck": 1},
            "network.channels must be 8 or more with network.pooling_every, got 7",
        ),
        (
            {"channels": 1, "bottleneck": 1, "pooling_every": 0},
            "network.channels must be 2 or more with network.bottleneck, got 1",
        ),
        ({"bottleneck": -1}, "network.bottleneck must be 0 or more, got -1"),
        ({"squeeze_excite": -1}, "network.squeeze_excite must be 0 to network.channels=8, got -1"),
        ({"squeeze_excite": 9}, "network.squeeze_excite must be 0 to network.channels=8, got 9"),
        ({"activation": "gelu"}, "network.activation must be one of relu, mish, got 'gelu'"),
        ({"head_channels": 0}, "network.head_channels must be 1 or more"),
        ({"value": "odds"}, "network.value must be one of scalar, wdl, got 'odds'"),
        ({"auxiliary": {"owner": False}}, "network.auxiliary must be of ownership, score"),
    ],
)
def test_impossible_settings_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        replace(SETTINGS, **change)  # type: ignore[arg-type]
