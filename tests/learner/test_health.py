"""Gradients that do not arrive are seen."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from azcore.learner.health import dead_channels, gradient_norm


class TwoChannels(nn.Module):
    """A batch norm and a rectifier over two channels."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(x))


def test_a_dead_channel_is_counted() -> None:
    torch.manual_seed(1)
    network = TwoChannels()
    assert (gradient_norm(network), dead_channels(network)) == (0.0, 0.0)  # before any batch
    x = torch.randn(8, 2, 3, 3)
    network(x).square().sum().backward()
    assert dead_channels(network) == 0.0
    with torch.no_grad():
        network.norm.bias[1] = -100.0  # below the rectifier for any input
    network.zero_grad()
    network(x).square().sum().backward()
    assert dead_channels(network) == 0.5


def test_the_norm_is_that_of_all_gradients() -> None:
    network = nn.Linear(2, 1)
    network.weight.grad = torch.tensor([[3.0, 0.0]])
    network.bias.grad = torch.tensor([4.0])
    assert gradient_norm(network) == pytest.approx(5.0)
    assert dead_channels(network) == 0.0
