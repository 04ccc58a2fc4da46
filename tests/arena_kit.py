"""What the tests of ratings and of the sequential test share: games of players of known strength.

Davidson's shares come from halving here, and from a closed form in azcore.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from azcore.arena.elo import PairScore

Floats = npt.NDArray[np.float64]


def share_of_points(elo: float | Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + 10.0 ** (-np.asarray(elo, float) / 400.0)))


def davidson(mean: float | Floats, nu: float) -> Floats:
    """Shares of loss, draw and win [3, ...] as x : nu : 1/x with this mean of points."""
    mean = np.asarray(mean, float)
    low, high = np.full_like(mean, -60.0), np.full_like(mean, 60.0)
    for _ in range(70):
        middle = (low + high) / 2
        x = np.exp(middle)
        below = (x + nu / 2) / (x + nu + 1 / x) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    x = np.exp(low)
    return np.stack([1 / x, nu + 0 * x, x]) / (x + nu + 1 / x)


def played(
    rng: np.random.Generator,
    player: str,
    opponent: str,
    *,
    elo: float,
    pairs: int,
    nu: float = 0.0,
    first_move: float = 0.0,
    seat_luck: float = 0.0,
    player_luck: float = 0.0,
) -> PairScore:
    """Pairs of games between players `elo` apart.

    Args:
        rng: of outcomes and openings.
        player: name.
        opponent: name.
        elo: of the player above the opponent.
        pairs: how many.
        nu: how often games are drawn.
        first_move: advantage of the first mover, in Elo.
        seat_luck: openings favour one seat by so much, or the other, in Elo.
        player_luck: and one player by so much, or the other, in both games.
    """
    by_seat = rng.choice([-seat_luck, seat_luck], pairs)
    by_player = rng.choice([-player_luck, player_luck], pairs)
    points = []
    for sign in (1, -1):
        difference = elo + by_player + sign * (first_move + by_seat)
        loss, draw, _ = davidson(share_of_points(difference), nu)
        chance = rng.random(pairs)
        points.append((chance >= loss).astype(int) + (chance >= loss + draw))
    joint = np.zeros((3, 3), int)
    np.add.at(joint, (points[0], points[1]), 1)
    a, b, c = (tuple(row) for row in joint.tolist())
    return PairScore(player=player, opponent=opponent, joint=(a, b, c))
