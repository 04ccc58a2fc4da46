"""Networks rewritten with fused convolutions compute what they computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from azcore.assembly.parts import LearningSettings, settings_from
from azcore.library.settings import compose
from azcore.networks import build_network
from azcore.networks.folding import folded
from azcore.networks.fusing import MULTIPLE, FusedConvolution, fused

# Settings of a network, how many of its convolutions are fused, and how many are left.
NETWORKS = [
    (["network=dual_res"], 2 * 4 + 1 + 2, 0),
    (["network=sep_conv"], 2 * (1 + 4) + 2, 0),
    (["network=pooled_res"], 2 * 4 + 1 - 2 + 2 + 2, 2 + 2),  # in two blocks, one is added to
    (
        ["network=pooled_res", "network.squeeze_excite=4", "network.pooling_every=0"],
        1 + 4 + 2,
        4 + 2,
    ),
    (["network=pooled_res", "network.bottleneck=2"], 1 + 4 * (1 + 4 + 1) - 2 + 2 + 2, 2 + 2),
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


@pytest.mark.parametrize(("words", "wanted", "left"), NETWORKS)
def test_results_are_the_same(words: list[str], wanted: int, left: int) -> None:
    settings = settings_from(compose("game=go", *words), LearningSettings)
    network = with_random_norms(build_network(settings.game, settings.network, 1))
    observations = torch.randint(0, 2, (4, *settings.game.observation_shape)).float()
    rewritten, planes = fused(network, observations)
    layers = list(rewritten.modules())
    assert sum(isinstance(layer, FusedConvolution) for layer in layers) == wanted
    assert sum(isinstance(layer, nn.Conv2d) for layer in layers) == left
    assert planes % MULTIPLE == 0 or not wanted
    assert 0 <= planes - observations.shape[1] < MULTIPLE
    with torch.inference_mode():
        expected, got = network(observations), rewritten(padded(observations, planes))
    for name, one, other in zip(("logits", "values"), expected, got, strict=True):
        torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-4, msg=lambda m, n=name: n + m)


class Small(nn.Module):
    """Two convolutions and what comes after them."""

    def __init__(self, after: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(3, 3, 3, padding=1) for _ in range(2))
        self.after = after

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.one(x), self.two(x), x)


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        (lambda a, b, x: torch.relu(a) + torch.relu(b), 2),
        (lambda a, b, x: torch.relu(a + x) + torch.relu(x + b), 2),
        (lambda a, b, x: torch.relu(a + b), 1),  # the sum of two: one adds the other
        (lambda a, b, x: torch.relu(a + a) + b, 0),
        (lambda a, b, x: torch.relu(a) + a, 0),  # it is needed without ReLU too
        (lambda a, b, x: torch.relu(a + b.mean((2, 3))[:, :, None, None]), 0),  # a sum of shapes
        (lambda a, b, x: torch.relu(a + 1.0) + b, 0),
        (lambda a, b, x: torch.relu(torch.add(a, x, alpha=2)) + b, 0),
        (lambda a, b, x: torch.relu(a - x) + b, 0),
    ],
)
def test_only_the_pattern_itself_is_replaced(
    after: Callable[[Tensor, Tensor, Tensor], Tensor], wanted: int
) -> None:
    torch.manual_seed(1)
    network, x = Small(after).eval(), torch.randn(2, 3, 5, 5)
    rewritten, planes = fused(network, x)
    assert sum(isinstance(one, FusedConvolution) for one in rewritten.modules()) == wanted
    torch.testing.assert_close(rewritten(padded(x, planes)), network(x))


def test_a_network_that_cannot_be_traced_stays_what_it_is() -> None:
    class Branching(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return -x if x.sum() > 0 else x

    network = Branching()
    assert fused(network, torch.ones(2, 3, 5, 5)) == (network, 3)


def test_layers_that_run_twice_keep_their_weights() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(self.one(torch.relu(self.one(x))))

    torch.manual_seed(1)
    network, x = Twice().eval(), torch.randn(2, 3, 5, 5)
    rewritten, planes = fused(network, x)
    assert planes == 3
    torch.testing.assert_close(rewritten(x), network(x))
