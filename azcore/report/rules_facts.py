"""Statistics of a game's rules, from random games."""

import math
from dataclasses import dataclass

import numpy as np

from azcore.errors import GameError
from azcore.game import Game

MOST_GAMES = 200
MOST_PLIES = 20_000  # of all games together; a game that has begun is played to its end


@dataclass(frozen=True, kw_only=True)
class RulesFacts:
    """Means over games of uniformly random play."""

    games: int  # their number
    legal: float  # legal actions of a position
    length: float  # plies of a game
    results: tuple[float, float, float]  # shares: won by seat 0, drawn, won by seat 1
    # The common logarithm of the number of games, estimated as the product of a game's legal
    # actions, as in Shannon (1950).
    tree: float


def facts_of(game: Game, seed: int = 1) -> RulesFacts:
    """The facts of a game; the same on every call.

    Raises:
        GameError: a game does not end within `max_game_length`.
    """
    rng = np.random.default_rng(seed)
    plies, legal, results = 0, 0, [0, 0, 0]
    trees: list[float] = []
    while len(trees) < MOST_GAMES and plies < MOST_PLIES:
        state, tree, length = game.initial_state(), 0.0, 0
        while not game.is_terminal(state):
            if length == game.max_game_length:
                raise GameError(f"{game.name}: no end after {length} plies")
            actions = np.flatnonzero(game.legal_action_mask(state))
            legal, tree = legal + len(actions), tree + math.log10(len(actions))
            state = game.step(state, int(rng.choice(actions)))
            length += 1
        plies += length
        trees.append(tree)
        results[1 - game.outcome(state)] += 1
    count = len(trees)
    won, drawn, lost = (number / count for number in results)
    return RulesFacts(
        games=count,
        legal=legal / max(1, plies),
        length=plies / count,
        results=(won, drawn, lost),
        tree=sum(trees) / count,
    )
