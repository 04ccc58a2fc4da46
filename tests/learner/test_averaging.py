"""The average of the weights, from numbers worked out apart from the code."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from azcore.learner.averaging import decay_at, move_average


def test_decay_rises_from_nothing_to_its_limit() -> None:
    """0/9, 1/10, 2/11, ...; 72/81 = 8/9 is the last below 0.9, 81/90 reaches it."""
    found = [decay_at(step, 0.9) for step in (0, 1, 2, 72, 80, 81, 1000)]
    assert found == pytest.approx([0, 1 / 10, 2 / 11, 72 / 81, 80 / 89, 0.9, 0.9])
    assert decay_at(80, 0.9) < 0.9


def test_three_steps_by_hand() -> None:
    """Weights 8, 2, 6 after the steps: 8, then 0.1 8 + 0.9 2 = 2.6, then 2/11 2.6 + 9/11 6."""
    network = nn.Linear(1, 1, bias=False)
    average = copy.deepcopy(network).requires_grad_(False)  # random, and forgotten at once
    found = []
    for step, weight in enumerate((8.0, 2.0, 6.0)):
        network.weight.data.fill_(weight)
        move_average(average, network, decay_at(step, 0.9))
        found.append(float(average.weight))
    assert found == pytest.approx([8.0, 2.6, (2 * 2.6 + 9 * 6) / 11])
    assert float(network.weight.detach()) == 6.0


def test_statistics_of_batch_norm_are_averaged_and_counts_copied() -> None:
    network = nn.BatchNorm2d(1)
    average = copy.deepcopy(network)
    network.running_mean, network.running_var = torch.tensor([4.0]), torch.tensor([3.0])
    network.num_batches_tracked = torch.tensor(7)
    move_average(average, network, 0.75)
    state = average.state_dict()
    assert float(state["running_mean"]) == pytest.approx(0.25 * 4.0)
    assert float(state["running_var"]) == pytest.approx(0.75 * 1.0 + 0.25 * 3.0)
    assert int(state["num_batches_tracked"]) == 7
