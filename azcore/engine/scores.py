"""How UCI and USI show the value of a position."""

import math
from typing import Any

from azcore.game import Game

MOST_CENTIPAWNS = 10_000  # shown for a value of -1 or 1


def centipawns(value: float, per_logit: float) -> int:
    """A value as a score that GUIs can show: the logit of the expected score.

    E = (1 + value) / 2 is the expected share of the points; the score is
    per_logit * ln(E / (1 - E)), at most `MOST_CENTIPAWNS` either way.
    """
    if abs(value) >= 1:
        return round(math.copysign(MOST_CENTIPAWNS, value))
    score = per_logit * (math.log1p(value) - math.log1p(-value))
    return round(max(-MOST_CENTIPAWNS, min(MOST_CENTIPAWNS, score)))


def wins_at_once(game: Game, state: Any, action: int) -> bool:
    """Whether an action wins the game at once for the player to move."""
    after = game.step(state, action)
    sign = 1 if game.current_player(state) == 0 else -1
    return game.is_terminal(after) and sign * game.outcome(after) == 1
