"""Resignation (Silver 2017, Methods "Self-play"): clearly lost games are given up, to save time.

A player resigns when both the root's value and its best child's are below a threshold v. Nobody
sets v: it is as high as it may be while few of the resignations are false positives, games that the
one who resigned would not have lost. That is measured on games played to their end, of which some
always are; `threshold` is a function of their records alone, so a resumed run finds the same v.

Values are those of the player to move, in [-1, 1]. Letters: L new lows of a game.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from azcore.game import BoolArray, FloatArray
from azcore.search.settings import SearchResult
from azcore.storage.game_record import GameRecord

SURENESS = 1.0  # standard deviations between the measured share and the promise, see `threshold`


def best_child_value(result: SearchResult) -> float:
    """Q of the most visited action, which is the one to be played; the root's value before any."""
    if not result.visit_counts.any():
        return result.value
    return float(result.q_values[result.ranked()[0]])


def is_played_out(game_index: int, share: float) -> bool:
    """Whether a game goes to its end whatever its values: the first of every 1 / `share` begun.

    A game played to its end ends later than those given up, so a measure of the latest weights
    would wait for it, and until then count short games only. Therefore it begins before the others
    of its batch. Being one game in ten by its number, it is chosen by nothing that happens in it.
    """
    return math.ceil((game_index + 1) * share) > math.ceil(game_index * share)


def may_resign_at(ply: int, opening_plies: int) -> bool:
    """Not before a first searched move, so that every game leaves something to learn from."""
    return ply > opening_plies


@dataclass(frozen=True)
class FalsePositives:
    """How many games would have been given up, and how many of them would not have been lost."""

    resigned: int
    wrong: int

    @property
    def share(self) -> float:
        """Wrong resignations among all; NaN before the first."""
        return self.wrong / self.resigned if self.resigned else math.nan


def highest_threshold(false_positives: float) -> float:
    """The v that would keep the promise if values were right; no other may be above it.

    Who truly sees v wins with probability (1 + v) / 2: v = -0.9 for 5 %. The values of a network
    that knows little are timid, and a higher v found from those is wrong as soon as its successor
    is surer. On a 7x7 board -0.13 kept the promise for the first network (none wrong of 40 games)
    and broke it for the next (5 of 22), whose games ended after ten plies; -0.9 kept it for both.
    """
    return 2 * false_positives - 1


def threshold(records: Iterable[GameRecord], false_positives: float) -> float | None:
    """The highest v by which less than a share of resignations would have been false positives.

    The share is of the games given up, which is more than of all games. Being measured on some
    hundred games it is uncertain, so what is kept below the promise is its upper limit at one
    standard deviation (Wilson 1927), which takes at least 20 games for 5 %. Of v found from 200
    games of known odds three in four then kept the promise, without it fewer than one in two.

    Args:
        records: finished games; those not `played_out` are passed over.
        false_positives: the promise; Silver 2017: 0.05.

    Returns:
        v, at most `highest_threshold`; None, so that nobody resigns, where no v keeps the promise:
        too few games, or all of them drawn.
    """
    games = [new_lows(record) for record in records if record.played_out]
    games = [(lows, wrong) for lows, wrong in games if len(lows)]
    if not games:
        return None
    # With v rising past a game's lowest value the game is given up; past each earlier low, given up
    # by whoever had that one. So counts below v are sums of changes.
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
    """What the thresholds in force did to games that were played to their end all the same.

    Unlike the share that `threshold` bounds, this judges each v by games that did not choose it.
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
    """Where a game's values fall lower than ever before: all that any threshold could act on.

    For a threshold between two lows the game is given up at the second of them.

    Args:
        record: of a game that was played to its end.

    Returns:
        float32 [L], falling: the higher of the root's and the best child's value; bool [L], whether
        resigning there would have been wrong, the player to move going on to win or draw.
    """
    plies = slice(record.opening_plies + 1, None)  # as `may_resign_at` says
    values = np.maximum(record.root_values, record.best_child_values)[plies]
    before = np.minimum.accumulate(np.append(np.float32(np.inf), values))[:-1]
    new = np.flatnonzero(values < before)
    outcomes = np.where(record.players[plies][new] == 0, record.outcome, -record.outcome)
    return values[new], outcomes >= 0


def _upper_limit(
    wrong: npt.NDArray[np.int64], total: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Upper limit of the share `wrong` / `total` (Wilson 1927); 1 where there is no game."""
    n, z2 = np.maximum(total, 1), SURENESS**2
    share = wrong / n
    spread = SURENESS * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return np.asarray(np.where(total > 0, (share + z2 / (2 * n) + spread) / (1 + z2 / n), 1.0))
