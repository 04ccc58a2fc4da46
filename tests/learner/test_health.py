"""Gradients that do not arrive are seen, and values that hold nowhere but in the window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from azcore.learner.health import dead_channels, explained_variance, gradient_norm
from azcore.storage.game_record import GameRecord
from selfplay_kit import record_of_values


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


def searched(values: list[float], outcome: int, opening: int = 0) -> GameRecord:
    """A record whose plies were all searched; the first one looks even."""
    record = record_of_values(values, outcome, opening_plies=opening)
    ends = np.arange(len(record) + 1, dtype=np.uint32)
    return replace(record, visit_offsets=ends, visit_counts=np.full(len(record), 9, np.uint32))


def test_the_share_of_outcomes_that_values_explain_by_hand() -> None:
    # z = 1, -1, 1 and z - v = 1, -1/2, 1/2: variances 8/9 and 7/18.
    game = searched([-0.5, 0.5], 1)
    assert explained_variance([game]) == pytest.approx(0.5625)
    # Always too sure of oneself by as much: nothing is lost by that.
    sure = replace(game, root_values=game.root_values + np.float32(0.25))
    assert explained_variance([sure]) == pytest.approx(0.5625)
    # A proof, which has a single visit, explains nothing.
    ended = searched([-0.5, 0.5, -0.5, 1.0], 1)
    proven = replace(ended, visit_counts=np.array([9, 9, 9, 9, 1], np.uint32))
    assert explained_variance([ended]) == pytest.approx(0.6458, abs=1e-4)
    assert explained_variance([proven]) == pytest.approx(0.5781, abs=1e-4)
    # The other way round in the game that the second seat wins, z = -1, 1, -1: certain, and wrong.
    assert explained_variance([searched([-1.0, 1.0], -1)]) < -1
    assert explained_variance([game, searched([0.5, -0.5], -1)]) == pytest.approx(0.5)


def test_what_no_search_valued_explains_nothing() -> None:
    assert explained_variance([]) is None
    assert explained_variance([searched([0.4, -0.4], 0)]) is None  # all outcomes the same
    assert explained_variance([searched([0.0, 0.0], 1)]) is None  # given games
    assert explained_variance([record_of_values([-1.0, 1.0], 1)]) is None  # no visits
    # The first ply was drawn at random, so the second seat is the first to choose, and wins.
    assert explained_variance([searched([-0.5, 0.5], -1, opening=1)]) == pytest.approx(0.5625)
