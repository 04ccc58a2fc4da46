"""Compiled code that looks up samples in the arrays of the replay window.

Letters: N samples, A actions, T plies of a game, D later values.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.game import FloatArray, IntArray
from azcore.game.compilation import compiled

GAME = np.dtype(
    [
        # Numbers of earlier entries since the buffer was created: see `Ring`.
        ("first_sample", np.int64),
        ("first_ply", np.int64),
        ("first_named", np.int64),
        ("opening_plies", np.int32),
        ("outcome", np.int32),  # view of seat 0
        ("start", np.int64),  # see `WindowStarts`
    ]
)
NARROW = np.dtype(  # `NAMED` in half the space, until a count needs more
    [("visit_actions", np.uint16), ("visit_counts", np.uint16)]
)


class WindowArrays(NamedTuple):
    """The games of the window in three rings: entry i of one is at i % its length."""

    games: npt.NDArray[Any]  # `GAME` [room], of which `first_game` to `games_end` - 1 are stored
    first_game: int
    games_end: int
    plies: npt.NDArray[Any]  # `PLY` [room]
    plies_end: int  # number of the ply after the last in `plies`
    named: npt.NDArray[Any]  # `NARROW` or `NAMED` [room]


class Found(NamedTuple):
    """The data for N samples."""

    paths: IntArray  # int32 [N, at least T], filled up to each ply
    plies: IntArray  # int32 [N], before the position
    policy_targets: FloatArray  # float32 [N, A], zeros before
    outcomes: FloatArray  # float32 [N], view of seat 0
    root_values: FloatArray  # float32 [N], view of the player to move
    games: npt.NDArray[np.int64]  # [N], numbers of the games
    reply: FloatArray  # float32 [N, A], zeros before, the policy target of the next ply; or empty
    later: FloatArray  # float32 [N, D], view of the player to move; or empty
    plies_left: FloatArray  # float32 [N], to the end of the game


@cache
def look_up_kernel() -> Any:
    """`_look_up`, compiled."""
    return compiled(_look_up, sources=[__file__])


def _look_up(chosen: Any, window: Any, discounts: Any, out: Any) -> None:
    """Look up samples: the path to the position, its game, and its targets.

    Args:
        chosen: int64 [N], numbered like `first_sample`.
        window: `WindowArrays`.
        discounts: float64 [D], lambda of each later value.
        out: `Found`, to fill.
    """
    games, plies, named = window.games, window.plies, window.named
    for row in range(chosen.shape[0]):
        # The last game that begins at or before the sample; it cannot be one without samples.
        low, high = window.first_game, window.games_end
        while high - low > 1:
            middle = (low + high) // 2
            if games[middle % games.shape[0]]["first_sample"] <= chosen[row]:
                low = middle
            else:
                high = middle
        game = games[low % games.shape[0]]
        out.outcomes[row] = game["outcome"]
        at = game["first_ply"] % plies.shape[0]
        skipped = chosen[row] - game["first_sample"]  # earlier plies to learn from
        ply, begin = np.int64(0), np.int64(0)
        while True:
            end = np.int64(plies[at]["named_ends"])
            if ply >= game["opening_plies"] and end > begin:
                if skipped == 0:
                    break
                skipped -= 1
            out.paths[row, ply] = plies[at]["actions"]
            ply, begin = ply + 1, end
            at = at + 1 if at + 1 < plies.shape[0] else 0
        out.plies[row] = ply
        out.root_values[row] = plies[at]["root_values"]
        first_named = np.int64(game["first_named"])
        _write_policy(named, first_named + begin, first_named + end, out.policy_targets[row])
        out.games[row] = low
        last = window.plies_end
        if low + 1 < window.games_end:
            last = games[(low + 1) % games.shape[0]]["first_ply"]
        left = last - game["first_ply"] - ply
        out.plies_left[row] = left
        if out.reply.shape[0] > 0 and left > 1:
            after = np.int64(plies[(at + 1) % plies.shape[0]]["named_ends"])
            _write_policy(named, first_named + end, first_named + after, out.reply[row])
        if out.later.shape[0] > 0:
            player = plies[at]["players"]
            outcome = out.outcomes[row] if player == 0 else -out.outcomes[row]
            for d in range(discounts.shape[0]):
                weight, mean = 1.0, 0.0
                for i in range(left):
                    there = plies[(at + i) % plies.shape[0]]
                    value = min(1.0, max(-1.0, np.float64(there["root_values"])))
                    if there["players"] != player:
                        value = -value
                    mean += weight * (1 - discounts[d]) * value
                    weight *= discounts[d]
                out.later[row, d] = mean + weight * outcome


@register_jitable
def _write_policy(named: Any, begin: Any, end: Any, out: Any) -> None:
    """Write one ply's visits, entries `begin` to `end` - 1 of a ring, as shares of their sum.

    Bit for bit as in `GameRecord.policy_target`: counts add up exactly in float32 too.
    """
    total = np.int64(0)
    for i in range(begin, end):
        total += named[i % named.shape[0]]["visit_counts"]
    for i in range(begin, end):
        visit = named[i % named.shape[0]]
        out[visit["visit_actions"]] = np.float32(visit["visit_counts"]) / np.float32(total)
