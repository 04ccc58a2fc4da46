"""Networks rewritten with fused convolutions compute what they computed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from azcore.assembly.parts import LearningSettings, settings_from
from azcore.library.settings import compose
from azcore.networks import build_network
from azcore.networks.folding import folded
from azcore.networks.fusing import (
    MULTIPLE,
    FusedConvolution,
    FusedPooledNetwork,
    FusedPooling,
    fused,
    planes_taken,
)
from azcore.networks.heads import ConvBlock

# Settings of a network, how many of its convolutions are fused, and how many are left; several that
# read the same count as one.
NETWORKS = [
    (["network=dual_res"], 2 * 4 + 1 + 2, 0),
    (["network=sep_conv"], 2 * (1 + 4) + 2, 0),
    (["network=pooled_res"], 2 * 4 + 1 - 2, 2 + 1 + 1),  # two blocks pool; the heads, the cells
    (
        ["network=pooled_res", "network.squeeze_excite=4", "network.pooling_every=0"],
        1 + 4,
        4 + 1 + 1,
    ),
    (["network=pooled_res", "network.bottleneck=2"], 1 + 4 * (1 + 4 + 1) - 2, 2 + 1 + 1),
    (["network=pooled_res", "network.activation=mish", "network.pooling_every=0"], 0, 1 + 8 + 4),
    (["network=dual_res", "game=shogi"], 2 * 4 + 1 + 2, 1),
]


def with_random_norms(network: nn.Module) -> nn.Module:
    """Batch norms that have seen data, so that folding gives each convolution a bias."""
    torch.manual_seed(1)
    for name, buffer in network.named_buffers():
        if "running" in name:
            buffer += 0.3 * torch.rand_like(buffer)
    return folded(network)


def padded(observations: Tensor, planes: int) -> Tensor:
    size, given, *board = observations.shape
    return torch.cat([observations, torch.zeros(size, planes - given, *board)], 1)


@pytest.mark.parametrize(("words", "wanted"), [row[:2] for row in NETWORKS])
def test_results_are_the_same(words: list[str], wanted: int) -> None:
    settings = settings_from(compose("game=go", *words), LearningSettings)
    network = with_random_norms(build_network(settings.game, settings.network, 1))
    observations = torch.randint(0, 2, (4, *settings.game.observation_shape)).float()
    rewritten = fused(network)
    layers = list(rewritten.modules())
    assert sum(isinstance(layer, FusedConvolution) for layer in layers) == wanted
    assert not any(isinstance(layer, FusedConvolution) for layer in network.modules())
    with torch.inference_mode():
        planes = planes_taken(network, rewritten, observations)
        assert planes is not None
        assert planes % MULTIPLE == 0 or not wanted
        assert 0 <= planes - observations.shape[1] < MULTIPLE
        expected = network(observations)
        for given in (padded(observations, planes), observations):
            got = rewritten(given)
            for one, other in zip(expected, got, strict=True):
                torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("words", [row[0] for row in NETWORKS])
def test_a_network_is_rewritten_in_its_precision(words: list[str]) -> None:
    settings = settings_from(compose("game=go", *words), LearningSettings)
    network = with_random_norms(build_network(settings.game, settings.network, 1))
    network = network.to(torch.bfloat16)
    observations = torch.randint(0, 2, (4, *settings.game.observation_shape)).to(torch.bfloat16)
    with torch.inference_mode():
        assert planes_taken(network, fused(network), observations) is not None


@pytest.mark.parametrize(("words", "wanted", "left"), NETWORKS)
def test_each_convolution_is_done_once(words: list[str], wanted: int, left: int) -> None:
    """Those fused, and those left, which have a bias but no ReLU of their own."""
    settings = settings_from(compose("game=go", *words), LearningSettings)
    rewritten = fused(folded(build_network(settings.game, settings.network, 1)))
    called: list[nn.Module] = []
    for layer in rewritten.modules():
        if isinstance(layer, nn.Conv2d | FusedConvolution | FusedPooling | FusedPooledNetwork):
            layer.register_forward_hook(lambda layer, *_: called.append(layer))
    rewritten(torch.zeros(2, *settings.game.observation_shape))
    assert len(called) == len(set(called)) == wanted + left


def test_what_computes_something_else_is_not_used() -> None:
    settings = settings_from(compose("game=go", "network=dual_res"), LearningSettings)
    network = with_random_norms(build_network(settings.game, settings.network, 1))
    rewritten = fused(network)
    observations = torch.randint(0, 2, (4, *settings.game.observation_shape)).float()
    with torch.inference_mode():
        assert planes_taken(network, rewritten, observations) == 24
        first = next(one for one in rewritten.modules() if isinstance(one, FusedConvolution))
        first.bias.data += 10
        assert planes_taken(network, rewritten, observations) is None

        def missing(*_: object) -> Tensor:
            raise RuntimeError("no kernel image is available")

        first.forward = missing  # type: ignore[method-assign]
        assert planes_taken(network, rewritten, observations) is None


def test_planes_beside_the_pattern_are_not_padded() -> None:
    """A network that reads its planes in another way as well, such as one of a plugin."""

    class Mean(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = ConvBlock(3, 8, 3)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.one(x).flatten(1), x.mean((1, 2, 3)) * 100

    network = folded(Mean())
    with torch.inference_mode():
        assert planes_taken(network, fused(network), torch.ones(2, 3, 5, 5)) == 3
