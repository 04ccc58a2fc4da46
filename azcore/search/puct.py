"""The formulas of selection, one equation each. Letters here are the papers': N, W, Q, P, C(s).

All are plain functions that compiled kernels may call.
"""

from __future__ import annotations

import math

from numba.extending import register_jitable


@register_jitable
def exploration_rate(parent_visits: float, c_init: float, c_base: float) -> float:
    """C(s) = log((1 + N(s) + c_base) / c_base) + c_init.

    AlphaZero (Silver 2018, Science 362:1140, Methods "Search"): c_base 19652, c_init 1.25. With
    c_base infinite it is the constant c_puct = c_init of AlphaGo Zero.
    """
    return math.log((1.0 + parent_visits + c_base) / c_base) + c_init if c_base < 1e18 else c_init


@register_jitable
def exploration_scale(
    parent_visits: float, count_parent: bool, c_init: float, c_base: float
) -> float:
    """The factor of U that is common to all actions of a node: C(s) sqrt(N(s)).

    U(s, a) = C(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)).

    AlphaZero's N(s) counts the visit in which s itself was evaluated (`count_parent`); AlphaGo
    Zero's sum over N(s, b) does not (Silver 2017, Nature 24270, Methods "Search algorithm").

    Args:
        parent_visits: 1 + the sum of N(s, b).
        count_parent: whether that 1 counts.
        c_init: see `exploration_rate`.
        c_base: see `exploration_rate`.
    """
    visits = parent_visits if count_parent else parent_visits - 1.0
    return exploration_rate(visits, c_init, c_base) * math.sqrt(visits)


@register_jitable
def first_play_value(node_value: float, reduction: float, constant: float, relative: bool) -> float:
    """Q of an action never tried, as the player to move sees it.

    Both papers start at Q = 0 (`constant` 0). The relative form, the node's own value less a
    reduction, is what later programs found to search deeper with few simulations.
    """
    return node_value - reduction if relative else constant
