"""How much a search surprised the network: by hand, and in the records of a Gumbel search."""

from __future__ import annotations

import math

import numpy as np
import pytest

import azcore
from azcore.selfplay.actor import Actor
from azcore.selfplay.surprise import policy_surprise
from reference_mcts import HashEvaluator
from search_kit import gumbel, search_settings
from selfplay_kit import selfplay_settings


def test_surprise_by_hand() -> None:
    prior = np.array([0.5, 0.125, 0.375], np.float32)
    once, twice = np.array([1, 0, 0], np.int32), np.array([3, 1, 0], np.int32)
    assert policy_surprise(once, prior) == pytest.approx(math.log(2))
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.125)
    assert policy_surprise(twice, prior) == pytest.approx(expected)
    as_expected = np.array([4, 1, 3], np.int32)
    assert policy_surprise(as_expected, prior) == pytest.approx(0, abs=1e-12)
    assert policy_surprise(as_expected, prior) >= 0
    impossible = np.array([0, 1, 0], np.float32)
    assert 80 < policy_surprise(once, impossible) < 90  # finite


def test_surprise_of_a_gumbel_search_is_measured_against_the_network() -> None:
    game = azcore.make("tic_tac_toe")
    evaluator = HashEvaluator(game)
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=10, gumbel=gumbel(actions=4, scale=1.0)),
        settings=selfplay_settings(opening_plies=2),
        seed=1,
        evaluator=evaluator,
        record_surprise=True,
    )
    met = 0
    for record in actor.play(60):
        state = game.initial_state()
        for ply, action in enumerate(record.actions):
            target = record.policy_target(ply, game.num_actions)
            legal = np.flatnonzero(game.legal_action_mask(state))
            observation = game.observation(state).astype(np.uint8)[None]
            logits = evaluator.evaluate(observation)[0][0][legal].astype(np.float64)
            prior = np.exp(logits) / np.exp(logits).sum()
            expected = 0.0
            if ply >= record.opening_plies:
                met += 1
                for p, pi in zip(prior, target[legal], strict=True):
                    expected += float(pi) * math.log(float(pi) / p) if pi > 0 else 0.0
            assert record.surprises[ply] == pytest.approx(expected, abs=1e-4)
            state = game.step(state, int(action))
    assert met >= 60
