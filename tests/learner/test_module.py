"""The loss is the papers', from numbers worked out apart from the code."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import azcore
from azcore.learner.module import LearnerModule
from azcore.learner.settings import LearnerSettings
from azcore.networks import build_network, network_settings

POOLED = {
    "name": "pooled_res",
    "blocks": 2,
    "channels": 8,
    "value_hidden": 8,
    "activation": "relu",
    "preactivation": False,
    "squeeze_excite": 0,
    "bottleneck": 0,
    "pooling_every": 2,
    "head_channels": 4,
    "value": "scalar",
    "auxiliary": {
        "ownership": False,
        "score": True,
        "reply": False,
        "soft_policy": False,
        "later_values": False,
        "plies_left": False,
    },
}


class Fixed(nn.Module):
    """Gives the logits and values it was made with."""

    def __init__(self, policy_logits: Tensor, values: Tensor) -> None:
        super().__init__()
        self.policy_logits = nn.Parameter(policy_logits)
        self.values = nn.Parameter(values)

    def forward(self, _observations: Tensor) -> tuple[Tensor, Tensor]:
        return self.policy_logits, self.values


def module(network: nn.Module, **changes: object) -> LearnerModule:
    settings: dict[str, object] = {
        "optimizer": "sgd",
        "batch_size": 2,
        "steps_per_generation": 1,
        "learning_rates": (0.5, 0.25),
        "learning_rate_batch": 2,
        "schedule": "steps",
        "milestones": (0.5,),
        "cosine_end": 0.05,
        "warmup_steps": 0,
        "value_weight": 1.0,
        "auxiliary_weights": {},
        "mask_illegal_actions": True,
        "momentum": 0.0,
        "l2": 0.0,
        "weight_averaging": None,
        "sync_batch_norm": True,
        "compile": False,
    }
    return LearnerModule(
        network=network,
        settings=LearnerSettings(**{**settings, **changes}),  # type: ignore[arg-type]
        max_steps=10,
        description={},
    )


def batch() -> dict[str, Tensor]:
    return {
        "observations": torch.zeros(2, 1, 1, 1),
        "legal_action_mask": torch.tensor([[True, True, False], [True, True, True]]),
        "policy_targets": torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]),
        "value_targets": torch.tensor([1.0, -1.0]),
    }


def test_loss_by_hand() -> None:
    # Row 1: two legal actions with logits ln 1 and ln 3: p = 1/4, 3/4; the third is illegal and its
    # logit of 50 counts nothing. Row 2: three equal logits: p = 1/3 each.
    logits = torch.tensor([[math.log(1.0), math.log(3.0), 50.0], [2.0, 2.0, 2.0]])
    values = torch.tensor([0.5, 0.0])
    loss, metrics = module(Fixed(logits, values)).loss(batch())
    policy = (-(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) - math.log(1 / 3)) / 2
    value = ((1 - 0.5) ** 2 + (-1 - 0.0) ** 2) / 2
    assert metrics["policy_loss"].item() == pytest.approx(policy)
    assert metrics["value_loss"].item() == pytest.approx(value)
    assert loss.item() == pytest.approx(policy + value)
    assert metrics["policy_accuracy"].item() == pytest.approx(0.5)
    assert metrics["value_target_variance"].item() == pytest.approx(1.0)
    target_entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / 2
    assert metrics["target_entropy"].item() == pytest.approx(target_entropy)
    weighted, metrics = module(Fixed(logits, values), value_weight=0.01).loss(batch())
    assert weighted.item() == pytest.approx(policy + 0.01 * value)
    assert metrics["value_loss"].item() == pytest.approx(value)


@pytest.mark.parametrize(
    ("weights", "value"),
    [([1.0, 0.0], (1 - 0.5) ** 2), ([1.0, 1.0], (0.25 + 1.0) / 2), ([0.0, 0.0], 0.0)],
)
def test_value_weights(weights: list[float], value: float) -> None:
    """The weighted mean is learned from; the metric stays the mean of all."""
    learner = module(Fixed(torch.zeros(2, 3), torch.tensor([0.5, 0.0])))
    loss, metrics = learner.loss({**batch(), "value_weights": torch.tensor(weights)})
    assert loss.item() == pytest.approx(metrics["policy_loss"].item() + value)
    assert metrics["value_loss"].item() == pytest.approx((0.25 + 1.0) / 2)


def test_loss_over_all_actions_by_hand() -> None:
    """Row 1: logits ln 1, ln 3 and ln 4, of which the third is illegal: p = 1/8, 3/8, 4/8."""
    logits = torch.tensor([[math.log(1.0), math.log(3.0), math.log(4.0)], [2.0, 2.0, 2.0]])
    values = torch.tensor([1.0, -1.0])
    expected = -(0.25 * math.log(1 / 8) + 0.75 * math.log(3 / 8) + math.log(1 / 3)) / 2
    for masked, wanted in ((False, expected), (True, expected + math.log(4 / 8) / 2)):
        learner = module(Fixed(logits, values), mask_illegal_actions=masked)
        assert learner.loss(batch())[0].item() == pytest.approx(wanted)


@pytest.mark.long(short="tests/algorithms/test_ranks.py::test_two_ranks_compile_in_half_precision")
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.jit")  # as torch compiles
def test_a_compiled_network_learns_the_same() -> None:
    """Losses and gradients of a network with auxiliary targets; and its code was compiled."""
    game = azcore.make("go", board_size=5)
    network = network_settings({**POOLED, "blocks": 1, "pooling_every": 1})
    rng = np.random.default_rng(1)
    given = {
        "observations": torch.from_numpy(
            rng.integers(0, 2, (8, *game.observation_shape), np.uint8)
        ),
        "legal_action_mask": torch.ones(8, game.num_actions, dtype=torch.bool),
        "policy_targets": torch.full((8, game.num_actions), 1 / game.num_actions),
        "value_targets": torch.from_numpy(rng.choice([-1.0, 1.0], 8).astype(np.float32)),
        "score": torch.from_numpy(rng.random(8).astype(np.float32)),
    }
    found = []
    torch._dynamo.reset()
    counted = torch._dynamo.utils.counters["stats"]
    for is_compiled in (False, True):
        learner = module(build_network(game, network, seed=1), compile=is_compiled)
        before = counted["calls_captured"]
        loss, _ = learner.loss(given)
        loss.backward()
        assert (counted["calls_captured"] > before) == is_compiled
        found.append([loss.detach(), *(p.grad for p in learner.network.parameters())])
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(plain, compiled, rtol=1e-4, atol=1e-5)


def test_l2_is_c_times_the_square_of_the_weights() -> None:
    # One step of SGD on loss + c |theta|^2 without momentum: theta - rate (gradient + 2 c theta).
    logits, values = torch.zeros(2, 3), torch.tensor([0.5, 0.25])
    learner = module(Fixed(logits, values), l2=0.1)
    optimizer = learner.configure_optimizers()["optimizer"]
    loss, _ = learner.loss(batch())
    loss.backward()
    gradient = (2 * (0.5 - 1.0) / 2, 2 * (0.25 + 1.0) / 2)
    optimizer.step()
    expected = [v - 0.5 * (g + 2 * 0.1 * v) for v, g in zip((0.5, 0.25), gradient, strict=True)]
    assert learner.network.values.detach().tolist() == pytest.approx(expected)


def test_learning_rate_falls_at_its_milestones() -> None:
    learner = module(nn.Linear(1, 1))
    schedule = learner.configure_optimizers()
    optimizer, scheduler = schedule["optimizer"], schedule["lr_scheduler"]["scheduler"]
    rates = []
    for _ in range(10):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert rates == [0.5] * 5 + [0.25] * 5


def test_learning_rate_rises_in_the_first_steps() -> None:
    settings = module(nn.Linear(1, 1), warmup_steps=4, milestones=(0.2,)).settings
    rates = [settings.learning_rate(step, 10) for step in range(6)]
    assert rates == [0.125, 0.25, 0.1875, 0.25, 0.25, 0.25]  # the rate itself falls at step 2
    words = settings.describe_schedule(10)
    assert words == "learning rate rising for 4 steps, 0.5 until step 2, 0.25 to the end"


def test_learning_rate_falls_as_a_cosine() -> None:
    """From 0.5 to a tenth, by the larger share of steps and time: 0.5 (0.1 + 0.9 (1 + cos) / 2)."""
    settings = module(nn.Linear(1, 1), schedule="cosine", cosine_end=0.1, warmup_steps=2).settings
    half = 0.5 * (0.1 + 0.9 / 2)
    quarter = 0.5 * (0.1 + 0.9 * (1 + math.sqrt(0.5)) / 2)
    found = [settings.learning_rate(step, 8) for step in (0, 2, 4, 8, 9)]
    assert found == pytest.approx([0.25, quarter, half, 0.05, 0.05])
    timed = [settings.learning_rate(2, 8, share) for share in (0.1, 0.25, 0.5, 1.0, 1.5)]
    assert timed == pytest.approx([quarter, quarter, half, 0.05, 0.05])
    rising = "learning rate rising for 2 steps, 0.5, falling as a cosine to 0.05 at step "
    assert settings.describe_schedule(8000) == rising + "8,000"
    assert settings.describe_schedule(8000, 600.0) == rising + "8,000 or 0:10:00"


def test_three_steps_of_sgd_by_hand() -> None:
    # v <- momentum v + gradient, theta <- theta - rate v; the rate falls before the third step.
    learner = module(
        Fixed(torch.zeros(2, 3), torch.tensor([0.5, 0.25])), momentum=0.9, milestones=(0.2,)
    )
    schedule = learner.configure_optimizers()
    optimizer, scheduler = schedule["optimizer"], schedule["lr_scheduler"]["scheduler"]
    theta, velocity = [0.5, 0.25], [0.0, 0.0]
    for rate in (0.5, 0.5, 0.25):
        gradient = [theta[0] - 1.0, theta[1] + 1.0]  # of ((z - v)^2 + (z' - v')^2) / 2
        velocity = [0.9 * v + g for v, g in zip(velocity, gradient, strict=True)]
        theta = [t - rate * v for t, v in zip(theta, velocity, strict=True)]
        optimizer.zero_grad()
        learner.loss(batch())[0].backward()
        optimizer.step()
        scheduler.step()
    assert learner.network.values.detach().tolist() == pytest.approx(theta)


def test_a_resumed_run_may_change_its_rates() -> None:
    def schedule(*rates: float) -> tuple[Any, Any]:
        made = module(nn.Linear(1, 1), learning_rates=rates).configure_optimizers()
        return made["optimizer"], made["lr_scheduler"]["scheduler"]

    before, after = schedule(0.5, 0.25), schedule(0.4, 0.3)
    for old, new in zip(before, after, strict=True):
        new.load_state_dict(old.state_dict())
    optimizer, scheduler = after
    rates = []
    for _ in range(6):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [0.4] * 4 + [0.3] * 2


def test_weights_are_saved_to_a_path_given_as_text(tmp_path: Path) -> None:
    """Without more arguments, those that play."""
    learner = module(nn.Linear(2, 1), weight_averaging=0.9)
    learner.save_weights(str(tmp_path / "x.ckpt"))
    saved = torch.load(tmp_path / "x.ckpt", weights_only=True)
    assert saved["global_step"] == 0
    played = learner.playing.state_dict(prefix="network.")
    assert {name: weights.tolist() for name, weights in saved["state_dict"].items()} == {
        name: weights.tolist() for name, weights in played.items()
    }
