"""Auxiliary targets: what a network may learn to predict besides policy and value.

They come from the same games. More information from each game reaches the network's shared layers,
which therefore need fewer games; search ignores the predictions.

ownership     who owns each cell at the end (Wu 2019, section 4.1), if the game states it
score         by how much the player to move wins (section 4.1), if the game states it
material      how far the player to move is ahead in pieces in the last position, also where a
              player resigned, if the game states it
reply         the policy of the opponent's next search (Wu 2019, section 3.4)
soft_policy   the policy target to the power of 1/4, so that second-best actions count (KataGo)
later_values  the search's values over the next few plies, discounted (KataGo, short-term values)
plies_left    how long the game still lasts (lc0, moves left)
"""

from collections.abc import Iterable

from azcore.game import Game

OF_THE_END = ("ownership", "score", "material")  # from a game's last position
TARGETS = (*OF_THE_END, "reply", "soft_policy", "later_values", "plies_left")
# Of `later_values`: mean plies to the values that count, 1 / (1 - lambda). KataGo's on 9x9 are
# 15, 5.5 and 2.3.
HORIZONS = (16.0, 6.0, 2.0)


def stated(game: Game, wanted: Iterable[str]) -> tuple[str, ...]:
    """The wanted targets that a game has, in the order of `TARGETS`."""
    has = {"ownership": game.has_ownership, "score": game.has_score, "material": game.has_material}
    return tuple(name for name in TARGETS if name in set(wanted) and has.get(name, True))
