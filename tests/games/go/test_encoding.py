"""What the network sees of a Go position; whole games are compared in test_rules.py."""

from __future__ import annotations

import numpy as np
import pytest

import azcore


@pytest.mark.rules
def test_planes_of_a_short_game() -> None:
    game = azcore.make("go", board_size=3)
    state = game.initial_state()
    for move in ("A3", "C1", "pass"):
        state = game.step(state, game.text_to_action(state, move))
    planes = game.observation(state)
    assert planes.dtype == np.float32
    white, black = np.zeros((2, 3, 3))
    white[2, 2] = black[0, 0] = 1
    assert np.array_equal(planes[0], white)  # White is to move: own stones first
    assert np.array_equal(planes[1], white)  # the pass repeated the board
    assert not planes[2:8].any()
    assert np.array_equal(planes[8:11], [black, black, black])
    assert not planes[11:].any()  # before the game, and White to move
    assert game.observation(game.initial_state())[16].all()


@pytest.mark.rules
def test_observation_forgets_after_eight_boards() -> None:
    game = azcore.make("go", board_size=3)
    state = game.initial_state()
    for move in ["A1", "pass", "A2", "pass", "A3", "pass", "B1", "pass"]:
        state = game.step(state, game.text_to_action(state, move))
    planes = game.observation(state)
    assert [int(plane.sum()) for plane in planes[:8]] == [4, 4, 3, 3, 2, 2, 1, 1]
    state = game.step(state, game.text_to_action(state, "C1"))
    assert [int(plane.sum()) for plane in game.observation(state)[8:16]] == [
        *(5, 4, 4, 3, 3, 2, 2, 1)
    ]


@pytest.mark.rules
@pytest.mark.parametrize("size", [2, 5])
def test_symmetries_map_masks_observations_and_outcomes(size: int) -> None:
    game = azcore.make("go", board_size=size, komi=0)
    rng = np.random.default_rng(size)
    for symmetry in game.symmetries:
        image_of = np.argsort(symmetry.actions)
        state, mapped = game.initial_state(), game.initial_state()
        while not game.is_terminal(state):
            mask = game.legal_action_mask(state)
            assert np.array_equal(game.legal_action_mask(mapped), mask[symmetry.actions])
            seen = game.observation(state).reshape(17, -1)
            assert np.array_equal(game.observation(mapped).reshape(17, -1), seen[:, symmetry.cells])
            action = int(rng.choice(np.flatnonzero(mask)))
            state = game.step(state, action)
            mapped = game.step(mapped, int(image_of[action]))
        assert game.outcome(mapped) == game.outcome(state)


def test_symmetries_are_seven_and_leave_passes_alone() -> None:
    game = azcore.make("go", board_size=4)
    tables = {tuple(symmetry.cells) for symmetry in game.symmetries}
    assert len(tables) == 7
    assert tuple(range(16)) not in tables
    assert all(symmetry.actions[16] == 16 for symmetry in game.symmetries)
