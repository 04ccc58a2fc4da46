"""The losses of auxiliary targets, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from azcore.learner.auxiliary import auxiliary_losses, softened
from azcore.learner.module import chances
from azcore.networks.contract import AuxiliaryNetwork
from learner.test_module import batch, module

NAN = math.nan


def loss(name: str, predicted: object, wanted: object) -> float:
    outputs, targets = {name: torch.tensor(predicted)}, {name: torch.tensor(wanted)}
    return float(auxiliary_losses(outputs, targets)[name])


def test_ownership_is_a_cross_entropy_for_each_cell() -> None:
    # Cells of one position: certain and right, even and won, even and neutral; the other position
    # is of a game that was resigned.
    predicted = [[[1.0, 0.0, 0.0]], [[0.5, 0.5, 0.5]]]
    got = loss("ownership", predicted, [[[1.0, -1.0, 0.0]], [[NAN, NAN, NAN]]])
    assert got == pytest.approx(2 * math.log(2) / 6, abs=1e-5)
    half = loss("ownership", [[[0.5]]], [[[1.0]]])
    assert half == pytest.approx(-math.log(0.75))


def test_a_prediction_that_is_no_number_has_such_a_loss() -> None:
    """So that the run's guard, which looks at losses, says when and at which rate it diverged."""
    assert math.isnan(loss("ownership", [[[NAN]]], [[[1.0]]]))
    assert math.isnan(loss("score", [NAN], [1.0]))
    assert math.isnan(loss("material", [NAN], [1.0]))


def test_unknown_targets_have_no_gradient() -> None:
    for name in ("ownership", "score"):
        predicted = torch.full((2, 2, 2) if name == "ownership" else (2,), 0.5, requires_grad=True)
        wanted = torch.ones(predicted.shape)
        wanted[1] = NAN
        auxiliary_losses({name: predicted}, {name: wanted})[name].backward()
        assert predicted.grad is not None
        assert predicted.grad[0].abs().sum() > 0
        assert predicted.grad[1].abs().sum() == 0


def test_score_and_values_are_squared_errors() -> None:
    assert loss("score", [0.5, 0.1], [0.2, NAN]) == pytest.approx(0.09 / 2)
    assert loss("material", [0.5, 0.1], [-0.5, 0.1]) == pytest.approx(1 / 2)
    assert loss("later_values", [[0.5, 0.0, 1.0]], [[0.0, 0.0, -1.0]]) == pytest.approx(4.25)


def test_plies_left_count_linearly_when_far_off() -> None:
    assert loss("plies_left", [4.0], [10.0]) == pytest.approx((6 / 20) ** 2 / 2)
    assert loss("plies_left", [0.0], [100.0]) == pytest.approx(0.5 * (100 / 20 - 0.5 / 2))


def test_reply_is_a_cross_entropy_where_it_is_known() -> None:
    predicted = [[0.0, math.log(3.0)], [5.0, 0.0]]
    assert loss("reply", predicted, [[0.0, 1.0], [0.0, 0.0]]) == pytest.approx(-math.log(0.75) / 2)


def test_a_soft_policy_is_of_the_legal_actions() -> None:
    legal = torch.tensor([[True, True, False]])
    soft = softened(torch.tensor([[16 / 17, 1 / 17, 0.0]]), legal)
    torch.testing.assert_close(soft, torch.tensor([[2 / 3, 1 / 3, 0.0]]))
    outputs = {"soft_policy": torch.tensor([[0.0, 0.0, 99.0]])}
    given = {"policy_targets": torch.tensor([[16 / 17, 1 / 17, 0.0]]), "legal_action_mask": legal}
    got = float(auxiliary_losses(outputs, given)["soft_policy"])
    assert got == pytest.approx(math.log(2))


def test_chances_of_outcomes_and_of_values_between() -> None:
    got = chances(torch.tensor([1.0, 0.0, -1.0, 0.25]))
    want = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.25, 0.75, 0]]
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float32))


class Fixed(AuxiliaryNetwork):
    """Predicts the same whatever it sees."""

    def __init__(self, **outputs: Tensor) -> None:
        super().__init__()
        self.said = outputs

    def outputs(self, observations: Tensor) -> dict[str, Tensor]:
        return self.said

    def for_play(self) -> None:
        raise NotImplementedError


def test_losses_are_added_with_their_weights() -> None:
    logits, values = torch.zeros(2, 3), torch.zeros(2)
    plain = Fixed(policy_logits=logits, values=values)
    base, _ = module(plain).loss(batch())
    more = Fixed(policy_logits=logits, values=values, score=torch.zeros(2))
    given = {**batch(), "score": torch.tensor([0.5, -0.5])}
    total, metrics = module(more, auxiliary_weights={"score": 4.0}).loss(given)
    assert float(total) == pytest.approx(float(base) + 4 * 0.25)
    assert float(metrics["score_loss"]) == pytest.approx(0.25)
    unweighted, _ = module(more).loss(given)
    assert float(unweighted) == pytest.approx(float(base))


def test_win_draw_and_loss_are_a_cross_entropy() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]]))
    values = torch.tensor([0.25, -0.625])
    network = Fixed(policy_logits=torch.zeros(2, 3), values=values, wdl_logits=logits)
    squared = Fixed(policy_logits=torch.zeros(2, 3), values=values)
    total, metrics = module(network, value_weight=2.0).loss(batch())
    other, _ = module(squared, value_weight=0.0).loss(batch())
    entropy = -(math.log(0.5) + math.log(0.75)) / 2
    assert float(total) == pytest.approx(float(other) + 2 * entropy)
    assert float(metrics["value_loss"]) == pytest.approx((0.75**2 + 0.375**2) / 2)
