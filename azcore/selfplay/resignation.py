"""Resignation (Silver 2017, Methods "Self-play"): players resign clearly lost games, to save time.

A player resigns when both the root's value and its best child's are below a threshold v. The
threshold is not a setting: v is as high as possible while few resignations are false positives,
games that the resigning player would not have lost. Their share is measured on some games that are
always played to their end. `threshold` depends only on the records of these games, so a
resumed run finds the same v.

Values are in [-1, 1], view of the player to move. Letters: L new lows of a game.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.game import BoolArray, FloatArray, IntArray
from azcore.storage.game_record import GameRecord

SURENESS = 1.0  # standard deviations from the measured share to the allowed one, see `threshold`


@register_jitable
def best_child_value(visits: IntArray, q: FloatArray, best: int, value: float) -> float:
    """Q of the best action, the most visited one; the root's value if that was not visited.

    Args:
        visits: int32 [K].
        q: float32 [K].
        best: the index of the first of `rank`.
        value: the root's value.
    """
    return float(q[best]) if visits[best] > 0 else value


@register_jitable
def is_played_out(game_index: int, share: float) -> bool:
    """Whether a game is always played to its end: the first of every 1 / `share` that begin.

    A game played to its end ends later than a resigned one, so measurements of the latest weights
    would wait for it and until then count only short games. Therefore it begins before the others
    of its batch. Only its number selects one game in ten, so its course has no influence.
    """
    return math.ceil((game_index + 1) * share) > math.ceil(game_index * share)


@register_jitable
def may_resign_at(ply: int, opening_plies: int) -> bool:
    """Whether resigning is allowed: only after a searched move, so that each game has samples."""
    return ply > opening_plies


@dataclass(frozen=True)
class FalsePositives:
    """How many games would have ended by resignation, and how many of these were not lost."""

    resigned: int
    wrong: int

    @property
    def share(self) -> float:
        """Share of wrong resignations; NaN if there were no resignations."""
        return self.wrong / self.resigned if self.resigned else math.nan


def highest_threshold(false_positives: float) -> float:
    """The v that would give the allowed share if values were exact; no v exceeds it.

    A player whose true value is v wins with probability (1 + v) / 2: v = -0.9 for 5 %. A weak
    network's values are cautious, and a higher v found from them is wrong as soon as its successor
    is more confident. On a 7x7 board -0.13 met the allowed share for the first network (none wrong
    of 40 games) and exceeded it for the next (5 of 22), whose games ended after ten plies; -0.9 met
    it for both.
    """
    return 2 * false_positives - 1


def threshold(records: Iterable[GameRecord], false_positives: float) -> float | None:
    """The highest v at which the share of false positives stays below the allowed one.

    This is the share of the resigned games, which is larger than that of all games. Some hundred
    games leave it uncertain, so its upper limit at one standard deviation (Wilson 1927) must be
    below the allowed share, which takes at least 20 games for 5 %. Of the v found this way from 200
    games of known odds, three in four met the allowed share; without the margin, fewer than one in
    two did.

    Args:
        records: finished games; those not `played_out` are ignored.
        false_positives: the allowed share; Silver 2017: 0.05.

    Returns:
        v, at most `highest_threshold`; None, for no resignation, if no v meets the allowed share,
        because there are too few games or all were drawn.
    """
    games = [new_lows(record) for record in records if record.played_out]
    games = [(lows, wrong) for lows, wrong in games if len(lows)]
    if not games:
        return None
    # As v rises past a game's lowest value, the game is resigned; past each earlier low, the player
    # who had that low resigns instead. So counts below v are sums of changes.
    lows = np.concatenate([lows for lows, _ in games])
    resigned = np.concatenate([np.arange(len(wrong)) == len(wrong) - 1 for _, wrong in games])
    changes = [wrong.astype(int) - np.append(wrong[1:], False) for _, wrong in games]
    order = np.argsort(lows, kind="stable")
    total_resigned = np.concatenate([[0], np.cumsum(resigned[order])])
    total_wrong = np.concatenate([[0], np.cumsum(np.concatenate(changes)[order])])
    highest = np.float32(highest_threshold(false_positives))
    candidates = np.unique(np.append(lows[lows <= highest], highest))
    below = np.searchsorted(lows[order], candidates, side="left")
    limits = _upper_limit(total_wrong[below], total_resigned[below])
    safe = candidates[limits < false_positives]
    return float(safe.max()) if len(safe) else None


def measured(records: Iterable[GameRecord]) -> FalsePositives:
    """Apply the current thresholds to the games that were still played to their end.

    Unlike the share that `threshold` limits, this tests each v on games that did not determine it.
    """
    resigned = wrong = 0
    for record in records:
        if record.played_out and record.resign_threshold is not None:
            lows, is_wrong = new_lows(record)
            below = np.flatnonzero(lows < record.resign_threshold)
            if len(below):
                resigned += 1
                wrong += int(is_wrong[below[0]])
    return FalsePositives(resigned, wrong)


def new_lows(record: GameRecord) -> tuple[FloatArray, BoolArray]:
    """The plies with a game's lowest value so far: only there can a threshold take effect.

    For a threshold between two lows the game is resigned at the second of them.

    Args:
        record: a game that was played to its end.

    Returns:
        float32 [L], falling: the higher of the root's and the best child's value; bool [L], whether
        resigning there would have been wrong because the player to move then won or drew.
    """
    plies = np.arange(len(record)) > record.opening_plies  # those of `may_resign_at`
    plies &= ~record.proven  # nor does anyone resign there
    values = np.maximum(record.root_values, record.best_child_values)[plies]
    before = np.minimum.accumulate(np.append(np.float32(np.inf), values))[:-1]
    new = np.flatnonzero(values < before)
    return values[new], record.outcomes[plies][new] >= 0


def _upper_limit(
    wrong: npt.NDArray[np.int64], total: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Upper limit of the share `wrong` / `total` (Wilson 1927); 1 without games."""
    n, z2 = np.maximum(total, 1), SURENESS**2
    share = wrong / n
    spread = SURENESS * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return np.asarray(np.where(total > 0, (share + z2 / (2 * n) + spread) / (1 + z2 / n), 1.0))
