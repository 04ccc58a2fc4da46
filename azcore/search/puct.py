"""The formulas of selection, one equation each. Letters here are the papers': N, W, Q, P, C(s).

Q is -1 for a loss and 1 for a win in azcore. A paper's constants belong to the scale that its own Q
has, so `search.value_range` says what they are stated for, and `value_unit` and `value_from` turn
them into ours. AlphaZero's pseudocode has Q from 0 to 1 (it backs up `1 - value` for the opponent),
AlphaGo Zero from -1 to 1.

All but those two are plain functions that compiled kernels may call.
"""

from __future__ import annotations

import math

from numba.extending import register_jitable


def value_unit(value_range: tuple[float, float]) -> float:
    """What is in our Q a unit of the scale from `value_range[0]`, lost, to the other end, won."""
    low, high = value_range
    return 2.0 / (high - low)


def value_from(value: float, value_range: tuple[float, float]) -> float:
    """A value of that scale as our Q: its ends become -1 and 1."""
    return (value - value_range[0]) * value_unit(value_range) - 1.0


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
    Zero's sum over N(s, b) does not (Silver 2017, Nature 24270, Methods "Search algorithm"). The
    pseudocode does not count it at a root alone, where it begins with N(s) = 0, so that its first
    simulation takes the last action whatever P says; here a root is a node like any other.

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

    Both papers start at Q = 0: in AlphaGo Zero a draw (`constant` 0), on the scale of AlphaZero's
    pseudocode a loss (`constant` -1). The relative form, the node's own value less a
    reduction, is what later programs found to search deeper with few simulations.
    """
    return node_value - reduction if relative else constant
