"""Random games and their states, for tests."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from azcore.game import Game
from azcore.testing.contract import ContractError, Identity


def random_game(game: Game, rng: np.random.Generator) -> list[int]:
    """The actions of one game of uniformly random play, to its end.

    Raises:
        ContractError: the game does not end within `max_game_length`.
    """
    return [action for action, _ in random_plies(game, rng, game.initial_state())]


def random_states(game: Game, count: int, rng: np.random.Generator) -> list[Any]:
    """`count` states in the order in which random games reach them, terminal ones included."""
    states: list[Any] = []
    while len(states) < count:
        states.append(game.initial_state())
        states.extend(state for _, state in random_plies(game, rng, states[-1]))
    return states[:count]


def random_plies(game: Game, rng: np.random.Generator, state: Any) -> Iterator[tuple[int, Any]]:
    """Random actions from a state, each with the resulting state, until the game ends."""
    for _ in range(game.max_game_length):
        if game.is_terminal(state):
            return
        action = int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
        state = game.step(state, action)
        yield action, state
    if not game.is_terminal(state):
        raise ContractError(
            Identity.LENGTH, f"{game.name}: no end after {game.max_game_length} plies"
        )
