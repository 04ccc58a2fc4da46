"""The optimizers that settings name, and their state in a checkpoint."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from azcore.errors import CheckpointError
from azcore.learner.optimizers import checked_state, make_optimizer
from learner.test_module import module


def parameters() -> list[nn.Parameter]:
    return [nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(3))]


def state_after_a_step(name: str, some: list[nn.Parameter]) -> dict[Any, Any]:
    settings = module(nn.Linear(1, 1), optimizer=name, momentum=0.9).settings
    optimizer = make_optimizer(settings, some)
    for parameter in some:
        parameter.grad = torch.full_like(parameter, 0.5)
    optimizer.step()
    return dict(optimizer.state_dict()["state"])


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_its_own_state_is_taken_back(name: str) -> None:
    some = parameters()
    state = state_after_a_step(name, some)
    assert checked_state(name, state, some).keys() == state.keys()
    for index, kept in checked_state(name, state, some).items():
        for part, value in kept.items():
            assert value.equal(state[index][part])


def test_steps_of_each_by_hand() -> None:
    """SGD goes rate x gradient; AdamW's first step is the rate, whatever the gradient's scale."""
    for name, moved in (("sgd", 0.5), ("adamw", 1.0)):
        some = parameters()
        state_after_a_step(name, some)
        torch.testing.assert_close(some[0].detach(), torch.full((2, 3), 1 - moved))


def test_decay_of_adamw_is_apart_from_the_gradient() -> None:
    settings = module(nn.Linear(1, 1), optimizer="adamw", momentum=0.9, l2=0.05).settings
    (one,) = some = [nn.Parameter(torch.full((1,), 3.0))]
    optimizer = make_optimizer(settings, some)
    one.grad = torch.zeros(1)
    optimizer.step()
    assert float(one.detach()) == pytest.approx(3.0 * (1 - 2 * 0.05))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.update({7: s[0]}), "momentum 7 does not belong to a tensor of this network"),
        (lambda s: s[0].update(exp_avg=torch.zeros(5)), r"must be torch.float32 \[2, 3\]"),
        (lambda s: s[0].update(step=torch.zeros(2)), r"must be torch.float32 \[\], got"),
        (lambda s: s[0].pop("exp_avg_sq"), "must hold exp_avg, exp_avg_sq, step"),
        (lambda s: s[1].update(more=torch.zeros(3)), "learner.optimizer=adamw, got"),
        (lambda s: s[1].update(exp_avg=torch.full((3,), torch.nan)), "must be finite"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change: Any, words: str) -> None:
    some = parameters()
    state = state_after_a_step("adamw", some)
    change(state)
    with pytest.raises(CheckpointError, match=words):
        checked_state("adamw", state, some)


def kernels(channels_last: bool) -> list[nn.Parameter]:
    """A kernel [2, 3, 2, 2] whose gradient has a known nearest matrix of equal singular values."""
    layout = torch.channels_last if channels_last else torch.contiguous_format
    kernel = torch.arange(24.0).reshape(2, 3, 2, 2).contiguous(memory_format=layout)
    return [nn.Parameter(kernel), nn.Parameter(torch.ones(3))]


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_step_of_muon_by_singular_values(channels_last: bool) -> None:
    """U S V^T becomes U V^T, to the accuracy of five steps, times 0.2 sqrt(12) as AdamW's is 1."""
    generator = torch.Generator().manual_seed(1)
    kernel, rest = some = kernels(channels_last)
    before = kernel.detach().clone()
    gradient = torch.randn(2, 12, generator=generator)
    kernel.grad, rest.grad = gradient.reshape(2, 3, 2, 2), torch.full((3,), 0.5)
    settings = module(nn.Linear(1, 1), optimizer="muon", momentum=0.9).settings
    make_optimizer(settings, some).step()
    u, _, v = torch.linalg.svd(gradient, full_matrices=False)
    moved = (before - kernel.detach()).reshape(2, 12) / (0.2 * 12**0.5)
    found = torch.linalg.svdvals(moved)
    assert ((found > 0.6) & (found < 1.3)).all()
    # In the basis of the gradient it is diagonal: only the singular values are changed.
    basis = u.T @ moved @ v.T
    assert float((basis - basis.diag().diag()).abs().max()) < 0.02  # bfloat16
    assert float((u @ basis @ v - moved).abs().max()) < 0.02
    torch.testing.assert_close(rest.detach(), torch.zeros(3))  # AdamW's first step is the rate


def test_muon_resumes_from_its_state() -> None:
    """Three steps at once, and with a stop after the first: the same weights, bit for bit."""
    settings = module(nn.Linear(1, 1), optimizer="muon", momentum=0.9, l2=0.01).settings

    def steps(some: list[nn.Parameter], optimizer: torch.optim.Optimizer, *at: int) -> None:
        for step in at:
            generator = torch.Generator().manual_seed(step)
            for parameter in some:
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + step)
            optimizer.step()

    whole = kernels(True)
    steps(whole, make_optimizer(settings, whole), 0, 1, 2)
    halves = kernels(True)
    first = make_optimizer(settings, halves)
    steps(halves, first, 0)
    saved = first.state_dict()
    state = checked_state("muon", saved["state"], halves)
    assert {part for kept in state.values() for part in kept} == {
        "momentum_buffer",
        "exp_avg",
        "exp_avg_sq",
        "step",
    }
    second = make_optimizer(settings, halves)
    second.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
    steps(halves, second, 1, 2)
    for one, other in zip(whole, halves, strict=True):
        assert one.detach().equal(other.detach())
    for wrong in (None, torch.zeros(3, 2, 2, 2), torch.full((2, 12), torch.nan)):
        with pytest.raises(CheckpointError, match="momentum 0 must be"):
            checked_state("muon", {0: {"momentum_buffer": wrong}}, halves)


def test_the_state_of_another_optimizer_is_refused() -> None:
    some = parameters()
    with pytest.raises(CheckpointError, match="must hold momentum_buffer for learner"):
        checked_state("sgd", state_after_a_step("adamw", some), some)
