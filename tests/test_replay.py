"""Samples drawn from the window are the positions that were played."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import azcore
from azcore.bench import FreeEvaluator
from azcore.records import GameRecord
from azcore.replay import ReplayBuffer
from azcore.selfplay.actor import Actor
from search_kit import search_settings
from selfplay_kit import selfplay_settings


def played(game: azcore.Game, num_positions: int) -> list[GameRecord]:
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=4),
        settings=selfplay_settings(temperature_plies=100),
        seed=3,
        evaluator=FreeEvaluator(game, 4),
    )
    return actor.play(num_positions)


@pytest.mark.parametrize(
    "game",
    [azcore.make("tic_tac_toe"), azcore.make("tic_tac_toe_plain"), azcore.make("go", board_size=3)],
    ids=lambda game: game.name,
)
@pytest.mark.parametrize("augment", [False, True])
def test_samples_are_positions_of_the_records(game: azcore.Game, augment: bool) -> None:
    records = played(game, 40)
    # What a sample may be: (observation, mask, policy, value), mapped by any symmetry if augmented.
    cells = [np.arange(np.prod(game.observation_shape[1:]))]
    actions = [np.arange(game.num_actions)]
    if augment:
        cells += [symmetry.cells for symmetry in game.symmetries]
        actions += [symmetry.actions for symmetry in game.symmetries]
    known = set()
    for record in records:
        state = game.initial_state()
        for ply, action in enumerate(record.actions):
            planes = game.observation(state).astype(np.uint8).reshape(game.observation_shape[0], -1)
            mask = game.legal_action_mask(state)
            policy = record.policy_target(ply, game.num_actions)
            value = record.outcome if game.current_player(state) == 0 else -record.outcome
            for c, a in zip(cells, actions, strict=True):
                key = (planes[:, c].tobytes(), mask[a].tobytes(), policy[a].tobytes(), value)
                known.add(key)
            state = game.step(state, int(action))
        assert game.outcome(state) == record.outcome
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=augment)
    buffer.extend(records)
    samples = buffer.sample(300, np.random.default_rng(1))
    drawn = {
        (
            samples.observations[i].tobytes(),
            samples.legal_action_mask[i].tobytes(),
            samples.policy_targets[i].tobytes(),
            int(samples.value_targets[i]),
        )
        for i in range(300)
    }
    assert drawn <= known
    assert len(drawn) > 20


def test_window_holds_the_latest_games_and_is_drawn_uniformly() -> None:
    game = azcore.make("tic_tac_toe")
    records = played(game, 200)
    buffer = ReplayBuffer(game=game, window_games=10, augment=False)
    buffer.extend(records)
    assert len(buffer) == 10
    latest = records[-10:]
    assert buffer.num_positions == sum(len(record) for record in latest)
    # Every position that was played, and how often each is met in these ten games.
    played_positions: Counter[bytes] = Counter()
    for record in latest:
        state = game.initial_state()
        for action in record.actions:
            played_positions[game.observation(state).astype(np.uint8).tobytes()] += 1
            state = game.step(state, int(action))
    samples = buffer.sample(30_000, np.random.default_rng(1))
    drawn = Counter(observation.tobytes() for observation in samples.observations)
    assert set(drawn) == set(played_positions)
    for key, count in played_positions.items():
        assert drawn[key] / 30_000 == pytest.approx(count / buffer.num_positions, rel=0.25)


def test_augmented_samples_use_every_symmetry_alike() -> None:
    game = azcore.make("go", board_size=3)
    state = game.step(game.initial_state(), game.text_to_action(game.initial_state(), "A3"))
    state = game.step(state, game.text_to_action(state, "B3"))  # no symmetry leaves it as it is
    board = game.observation(state)[:, :, :]
    images = []
    for turns in range(4):  # NumPy's own turns and flips, not the game's tables
        turned = np.rot90(board, turns, axes=(1, 2))
        images += [turned, turned[:, :, ::-1]]
    keys = [image.astype(np.uint8).tobytes() for image in images]
    assert len(set(keys)) == 8
    record = next(
        r for r in played(game, 400) if len(r) > 2 and [int(a) for a in r.actions[:2]] == [0, 1]
    )
    buffer = ReplayBuffer(game=game, window_games=1, augment=True)
    buffer.extend([record])
    samples = buffer.sample(30_000, np.random.default_rng(1))
    seen = Counter(observation.tobytes() for observation in samples.observations)
    shares = np.array([seen[key] for key in keys]) / sum(seen[key] for key in keys)
    np.testing.assert_allclose(shares, 1 / 8, atol=0.03)


def test_draws_are_learned_as_zero_and_wins_as_the_mover_sees_them() -> None:
    game = azcore.make("tic_tac_toe")
    records = played(game, 400)
    for outcome in (1, 0, -1):
        record = next(r for r in records if r.outcome == outcome)
        buffer = ReplayBuffer(game=game, window_games=1, augment=False)
        buffer.extend([record])
        samples = buffer.sample(200, np.random.default_rng(1))
        stones = samples.observations.sum((1, 2, 3))  # as many as plies: even for seat 0
        expected = np.where(stones % 2 == 0, outcome, -outcome)
        assert (samples.value_targets == expected).all()
        assert len(set(stones)) == len(record)
