"""The material of two games with the same rules."""

from __future__ import annotations

import numpy as np

from azcore.game import Game
from azcore.testing import random_states


def assert_material_agrees(game: Game, oracle: Game) -> None:
    """In 300 states of random games, of which more than 20 differ in material."""
    seen = set()
    for state in random_states(game, 300, np.random.default_rng(3)):
        seen.add(game.material(state))
        assert game.material(state) == oracle.material(
            oracle.state_from_text(game.state_to_text(state))
        )
    assert len(seen) > 20
