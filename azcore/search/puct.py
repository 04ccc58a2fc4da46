"""PUCT: the rule by which a search selects an edge. Letters are the papers': N, W, Q, P, C(s).

Begin at `exploration`, the formula of U, and `best_edge`, which applies it to a node's edges.

In azcore, Q is -1 for a loss and 1 for a win. A paper's constants refer to the scale of its own Q,
which `search.value_range` gives; `value_unit` and `value_from` convert them to ours. AlphaZero's
pseudocode has Q from 0 to 1 (it backs up `1 - value` for the opponent), AlphaGo Zero from -1 to 1.

Everything except `exploration` and `best_edge` is a plain function that kernels may call.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.proofs import LOST
from azcore.search.tree import InFlight, Tree, mean_value, precedes
from azcore.search.variants import Variants


class Selection(NamedTuple):
    """The constants of the rule."""

    c_init: float
    c_base: float
    unit: float  # one unit of the scale that c_init refers to, in our Q
    count_parent: bool
    first_play: float  # constant Q of an untried action, or the reduction if relative; in our Q
    first_play_relative: bool
    first_play_by_mass: bool  # the reduction grows with the policy of the tried actions
    virtual_loss: int  # n_vl, added to N for each simulation in flight
    virtual_loss_is_loss: bool  # also subtract it from W; false: Q counts evaluated ones only
    spread: float  # how far C(s) follows the spread of values, see `spread_factor`
    spread_prior: float
    spread_visits: float


class Shared(NamedTuple):
    """The shared terms in the scores of a node's edges."""

    rate: float  # C(s), in our Q
    visits: float  # N(s) under the root in U
    scale: float  # C(s) sqrt(N(s)), in our Q
    first_play: float  # Q of an untried action
    is_root: bool


class Edge(NamedTuple):
    """The inputs of an action's score, including simulations in flight."""

    q: float  # Q(s, a); `first_play_value` for an untried action
    prior: float  # P(s, a)
    visits: float  # N(s, a)
    bonus: float  # P(s, a) / (1 + N(s, a)), which a tree stores next to N


@register_jitable(forceinline=True)
def exploration(edge: Edge, shared: Shared, formula: Callable[..., float] | None) -> float:
    """U(s, a), which the score of an action adds to its Q (AlphaGo Zero, Silver 2017; AlphaZero).

        U(s, a) = C(s) P(s, a) sqrt(N(s)) / (1 + N(s, a))

    Args:
        formula: a package's formula in place of this one, see `rules.py`; None: none.
    """
    if formula is None:
        return shared.scale * edge.bonus
    return formula(edge.q, edge.prior, edge.visits, shared.visits, shared.rate, shared.is_root)


@register_jitable(forceinline=True)
def puct(edge: Edge, shared: Shared, formula: Callable[..., float] | None) -> float:
    """Q(s, a) + U(s, a), the score of an action."""
    return edge.q + exploration(edge, shared, formula)


@register_jitable(forceinline=True)
def shared_terms(tree: Tree, b: int, n: int, rule: Selection, variants: Variants) -> Shared:
    """The terms of a node, simulations in flight included."""
    node = tree.nodes[b, n]
    visits = float(node.visits) + visits_in_flight(b, n, rule, variants.in_flight)
    visits = counted_visits(visits, rule.count_parent)
    rate, root = exploration_rate(visits, rule.c_init, rule.c_base), math.sqrt(visits)
    spread = spread_factor(tree, b, n, rule, variants.squares)
    reduction = rule.first_play
    if rule.first_play_by_mass:
        reduction *= math.sqrt(tried_mass(tree, b, n))
    return Shared(
        rate=rule.unit * rate * spread,
        visits=visits,
        scale=rule.unit * (rate * root) * spread,
        first_play=first_play_value(
            float(node.value), reduction, rule.first_play, rule.first_play_relative
        ),
        is_root=n == 0,
    )


@register_jitable(forceinline=True)
def best_edge(tree: Tree, b: int, n: int, rule: Selection, variants: Variants) -> int:
    """argmax over a of `puct`, as i; ties go to the higher prior, then the lower action.

    Untried edges share their Q and N = 0, so the one of highest prior stands for all.
    """
    shared = shared_terms(tree, b, n, rule, variants)
    node = tree.nodes[b, n]
    tried = node.num_tried
    best = 0  # valid even if the network returned NaN
    best_score = -np.inf
    for i in range(tried):
        edge = tried_edge(tree, b, n, i, rule, variants.in_flight, shared.first_play)
        score = puct(edge, shared, variants.formula)
        if score > best_score or (score == best_score and precedes(tree, b, n, i, best)):
            best = i
            best_score = score
    if tried < node.num_edges:
        edge = untried_edge(tree, b, n, tried, shared.first_play)
        score = puct(edge, shared, variants.formula)
        if score > best_score or (score == best_score and precedes(tree, b, n, tried, best)):
            best = tried
    return best


@register_jitable
def spread_factor(
    tree: Tree, b: int, n: int, rule: Selection, squares: npt.NDArray[np.float64] | None
) -> float:
    """How far the values below a node raise or lower its C(s): 1 + k (sigma / sigma_0 - 1).

    KataGo, docs/KataGoMethods.md, "Dynamic Variance-Scaled cPUCT", with k 0.85: high variance of
    values rewards exploration. sigma is their standard deviation, in which w visits (2) have the
    prior spread sigma_0 (0.4).

    Args:
        rule: its k, sigma_0 and w.
        squares: float64 [B, M], the sum of squares of the values of each node's visits, its own
            evaluation included; None: the factor is 1.
    """
    if squares is None:
        return 1.0
    node = tree.nodes[b, n]
    visits = float(node.visits)
    if visits <= 1.0:
        return 1.0
    mean = mean_value(tree, b, n)
    square, prior = mean * mean, rule.spread_prior * rule.spread_prior
    total = max(squares[b, n], square * visits) + (square + prior) * rule.spread_visits
    variance = max(0.0, total / (rule.spread_visits + visits - 1.0) - square)
    return 1.0 + rule.spread * (math.sqrt(variance) / rule.spread_prior - 1.0)


@register_jitable(forceinline=True)
def tried_mass(tree: Tree, b: int, n: int) -> float:
    """The sum of P(s, a) over the tried actions of a node."""
    node, mass = tree.nodes[b, n], 0.0
    for e in range(node.first_edge, node.first_edge + node.num_tried):
        mass += float(tree.edge_prior[b, e])
    return mass


@register_jitable
def forced_visits(prior: float, simulations: float, factor: float) -> float:
    """Visits that a tried action of a root gets regardless of its Q: sqrt(k P(a) sum N(b)).

    Wu 2019 (arXiv 1902.10565), section 3.2, with k = 2.
    """
    return math.sqrt(factor * prior * simulations)


@register_jitable
def forced_edge(tree: Tree, b: int, n: int, factors: npt.NDArray[np.float64] | None) -> int:
    """The tried edge of a root that has fewer visits than `forced_visits`, as i; or -1.

    Of several, that of the highest prior, then the lower action. No simulation is in flight.

    Args:
        n: the node; there are no forced visits below the root, 0.
        factors: float64 [B], of `forced_visits`, 0: none; None: all 0.
    """
    if factors is None:
        return -1
    factor = factors[b]
    if n > 0 or factor == 0.0:
        return -1
    root = tree.nodes[b, 0]
    forced = -1
    for i in range(root.num_tried):
        prior = float(tree.edge_prior[b, root.first_edge + i])
        wanted = forced_visits(prior, root.visits - 1.0, factor)
        edge = tree.tried[b, root.first_tried + i]
        lacks = edge.visits < wanted and edge.q != LOST
        if lacks and (forced < 0 or precedes(tree, b, 0, i, forced)):
            forced = i
    return forced


@register_jitable(forceinline=True)
def visits_in_flight(b: int, n: int, rule: Selection, in_flight: InFlight | None) -> float:
    """The visits that simulations in flight add to a node's N."""
    if in_flight is None:
        return 0.0
    return float(rule.virtual_loss * in_flight.nodes[b, n])


@register_jitable(forceinline=True)
def untried_edge(tree: Tree, b: int, n: int, i: int, first_play: float) -> Edge:
    """Edge i of a node, which has no visits and waits for none."""
    prior = float(tree.edge_prior[b, tree.nodes[b, n].first_edge + i])
    return Edge(first_play, prior, 0.0, prior)


@register_jitable(forceinline=True)
def tried_edge(
    tree: Tree,
    b: int,
    n: int,
    i: int,
    rule: Selection,
    in_flight: InFlight | None,
    first_play: float,
) -> Edge:
    """Edge i of a node, which is tried.

    A simulation in flight counts as n_vl visits. They are either lost (AlphaGo: Silver 2016, Nature
    16961, Methods "Searching with policy and value networks") or have no value, so that they raise
    only N in U (WU-UCT: Liu et al. 2020, "Watch the Unobserved", ICLR, eq. 4).
    """
    node = tree.nodes[b, n]
    edge = tree.tried[b, node.first_tried + i]
    q, bonus, visits = edge.q, edge.bonus, float(edge.visits)
    prior = float(tree.edge_prior[b, node.first_edge + i])
    if in_flight is not None and in_flight.tried[b, node.first_tried + i] > 0:
        waiting = rule.virtual_loss * in_flight.tried[b, node.first_tried + i]
        evaluated, total = edge.visits, edge.total
        if rule.virtual_loss_is_loss:
            evaluated += waiting
            total -= waiting
        q = total / evaluated if evaluated > 0 else first_play
        visits += waiting
        bonus = prior / (1.0 + visits)
    return Edge(q, prior, visits, bonus)


@register_jitable
def exploration_rate(parent_visits: float, c_init: float, c_base: float) -> float:
    """C(s) = log((1 + N(s) + c_base) / c_base) + c_init.

    AlphaZero (Silver 2018, Science 362:1140, Methods "Search"): c_base 19652, c_init 1.25. With
    c_base infinite it is the constant c_puct = c_init of AlphaGo Zero.
    """
    return math.log((1.0 + parent_visits + c_base) / c_base) + c_init if c_base < 1e18 else c_init


@register_jitable(forceinline=True)
def counted_visits(parent_visits: float, count_parent: bool) -> float:
    """N(s), with which the exploration of all actions of a node grows.

    AlphaZero's N(s) counts the visit in which s itself was evaluated (`count_parent`); AlphaGo
    Zero's sum over N(s, b) does not (Silver 2017, Nature 24270, Methods "Search algorithm"). Only
    at a root does the pseudocode omit it: N(s) begins at 0 there, so the first simulation takes the
    last action whatever P is. Here a root is a node like any other.

    Args:
        parent_visits: 1 + the sum of N(s, b).
        count_parent: whether that 1 counts.
    """
    return parent_visits if count_parent else parent_visits - 1.0


@register_jitable
def first_play_value(node_value: float, reduction: float, constant: float, relative: bool) -> float:
    """Q of an untried action, view of the player to move.

    Both papers start at Q = 0: in AlphaGo Zero a draw (`constant` 0), on the scale of AlphaZero's
    pseudocode a loss (`constant` -1). The relative form is the node's own value minus a reduction;
    later programs found that it searches deeper with few simulations. KataGo and lc0 multiply the
    reduction by the square root of the policy of the tried actions (`first_play_by_mass`): where
    most of the policy is tried, the rest are unlikely to be better.
    """
    return node_value - reduction if relative else constant


def value_unit(value_range: tuple[float, float]) -> float:
    """One unit of a scale from `value_range[0]` (lost) to `value_range[1]` (won), in our Q."""
    low, high = value_range
    return 2.0 / (high - low)


def value_from(value: float, value_range: tuple[float, float]) -> float:
    """Convert a value of that scale to our Q: the ends become -1 and 1."""
    return (value - value_range[0]) * value_unit(value_range) - 1.0
