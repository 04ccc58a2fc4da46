"""The formulas of Gumbel AlphaZero: another selection rule, and a policy better than the prior.

Danihelka et al. 2022, "Policy improvement by planning with Gumbel" (ICLR), called the paper below.
The root draws m actions without replacement and divides its simulations among them by sequential
halving; below the root, visits follow the improved policy. Even few simulations improve the policy,
whereas PUCT, which may never try most actions, gives no such guarantee.

Results agree with the library mctx (`gumbel_muzero_policy` of version 0.0.71) on the same inputs;
see tests/data/gumbel_mctx.py.

Letters as in `tree.py` and the papers (N, Q, P, g for Gumbel noise), and: m considered actions;
K legal actions of a root. The functions are plain ones that compiled kernels may call.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.tree import Tree

TINIEST_PRIOR = 1.1754943508222875e-38  # smallest normal float32, for a prior rounded to 0
SMALLEST_RANGE = 1e-8  # range of Q values to rescale, so that equal ones do not divide by zero


class Gumbel(NamedTuple):
    """The constants of the rule, and the random draws at each tree's root."""

    c_visit: float  # see `value_scale`
    c_scale: float
    rescale: bool  # rescale a node's Q values to 0 to 1
    mixed_value: bool  # an untried action's Q is `mixed_value`; false: the network's value
    num_actions: int  # A of the game, legal or not
    num_considered: npt.NDArray[np.int32]  # [B], min(m, K); these are the root's first edges
    root_scores: npt.NDArray[np.float64]  # [B, m], g + log P of these, descending
    considered_visits: npt.NDArray[np.int32]  # [B, simulations], see `considered_visits`
    weights: npt.NDArray[np.float64]  # [A], scratch


def make_gumbel(
    *,
    num_trees: int,
    num_considered: int,
    num_simulations: int,
    num_actions: int,
    c_visit: float,
    c_scale: float,
    rescale: bool,
    mixed_value: bool,
) -> Gumbel:
    """The constants, before any draw at a root."""
    return Gumbel(
        c_visit=c_visit,
        c_scale=c_scale,
        rescale=rescale,
        mixed_value=mixed_value,
        num_actions=num_actions,
        num_considered=np.zeros(num_trees, np.int32),
        root_scores=np.zeros((num_trees, min(num_considered, num_actions)), np.float64),
        considered_visits=np.zeros((num_trees, num_simulations), np.int32),
        weights=np.zeros(num_actions, np.float64),
    )


@register_jitable
def considered_visits(num_considered: int, num_simulations: int) -> npt.NDArray[np.int32]:
    """Sequential halving as a list: entry i is how often simulation i's action was visited before.

    The search takes the action with the best score among those with that many visits, so dropping
    the worse half needs no bookkeeping (the paper, algorithm 2 and appendix F; Karnin et al. 2013).
    Each of the ceil(log2 m) rounds has an equal share of the simulations, and each action of a
    round at least one; simulations left over after all rounds go to the last two actions.

    Args:
        num_considered: m, or the number of legal actions if that is less.
        num_simulations: n.

    Returns:
        int32 [n].
    """
    if num_considered <= 1:
        return np.arange(num_simulations).astype(np.int32)
    visits_of = np.empty(num_simulations, np.int32)
    rounds = math.ceil(math.log2(num_considered))
    done, visits, remaining = 0, 0, num_considered
    while done < num_simulations:
        for _ in range(max(1, num_simulations // (rounds * remaining))):
            visits_of[done : done + remaining] = visits
            done += remaining
            visits += 1
        remaining = max(2, remaining // 2)
    return visits_of


@register_jitable
def mixed_value(
    network_value: float, visits: float, tried_prior: float, weighted_q: float
) -> float:
    """v_mix, the Q of untried actions (the paper, appendix D, equation 33).

    v_mix = (v + sum N(b) * sum P(a) Q(a) / sum P(a)) / (1 + sum N(b)), where the sums over P are
    over tried actions.

    Args:
        network_value: v, the network's value of the position.
        visits: the sum of N(b).
        tried_prior: the sum of P(a) over tried actions; not 0 if there are any.
        weighted_q: the sum of P(a) Q(a) over tried actions.
    """
    if visits == 0:
        return network_value
    return (network_value + visits * weighted_q / tried_prior) / (1.0 + visits)


@register_jitable
def value_scale(most_visits: float, c_visit: float, c_scale: float) -> float:
    """The factor of sigma(q) = (c_visit + max N(b)) c_scale q (the paper, equation 8)."""
    return (c_visit + most_visits) * c_scale


@register_jitable
def q_transform(tree: Tree, b: int, n: int, gumbel: Gumbel) -> tuple[float, float, float, float]:
    """The parameters of sigma over a node's completed Q values: (completion, low, slope, highest).

    completedQ(a) is Q(a) where tried and `completion` elsewhere (the paper, equation 10), and
    sigma(q) = slope (q - low). With `rescale`, the node's q are first rescaled to 0 to 1. mctx also
    completes illegal actions, so that `completion` counts for the range; we do the same.

    `highest` is the largest completedQ among legal actions.
    """
    node = tree.nodes[b, n]
    tried_prior, weighted_q = 0.0, 0.0
    most, lowest, highest = 0, np.inf, -np.inf
    tried = 0
    for i in range(node.num_tried):
        edge = tree.tried[b, node.first_tried + i]
        if edge.visits == 0:
            continue
        tried += 1
        q = edge.q
        prior = max(float(tree.edge_prior[b, node.first_edge + i]), TINIEST_PRIOR)
        tried_prior += prior
        weighted_q += prior * q
        most = max(most, edge.visits)
        lowest, highest = min(lowest, q), max(highest, q)
    completion = float(node.value)
    if gumbel.mixed_value:
        visits_of_all = float(node.visits - 1)
        completion = mixed_value(completion, visits_of_all, tried_prior, weighted_q)
    slope = value_scale(float(most), gumbel.c_visit, gumbel.c_scale)
    low = 0.0
    if gumbel.rescale:
        high = highest
        low = lowest
        if tried < gumbel.num_actions:
            low, high = min(low, completion), max(high, completion)
        slope /= max(high - low, SMALLEST_RANGE)
    if tried < node.num_edges:
        highest = max(highest, completion)
    return completion, low, slope, highest


@register_jitable
def improved_weight(prior: float, q: float, slope: float, highest: float) -> float:
    """The unnormalised pi'(a): P(a) exp(sigma(completedQ(a))).

    That is pi' = softmax(logits + sigma(completedQ)) (the paper, equation 11), with everything
    divided by exp(sigma(highest)) so that nothing overflows.
    """
    return max(prior, TINIEST_PRIOR) * math.exp(slope * (q - highest))


@register_jitable
def improved_edge(tree: Tree, b: int, n: int, gumbel: Gumbel) -> int:
    """argmax over a of pi'(a) - N(a) / (1 + sum N(b)) (the paper, equation 14), as i.

    Untried actions share their Q and N = 0, so the one of highest prior is best among them, and
    their total prior is 1 minus that of the tried ones: the loop need not visit each. Ties go to
    the edge tried first, which among equal priors is the lower action.
    """
    completion, _, slope, highest = q_transform(tree, b, n, gumbel)
    node = tree.nodes[b, n]
    tried = node.num_tried
    left, whole = 1.0, 0.0
    for i in range(tried):
        edge = tree.tried[b, node.first_tried + i]
        q = edge.q if edge.visits > 0 else completion
        prior = float(tree.edge_prior[b, node.first_edge + i])
        gumbel.weights[i] = improved_weight(prior, q, slope, highest)
        left -= prior
        whole += gumbel.weights[i]
    candidates = tried
    if tried < node.num_edges:
        prior = float(tree.edge_prior[b, node.first_edge + tried])
        gumbel.weights[tried] = improved_weight(prior, completion, slope, highest)
        # Through rounding, `left` may be less than this one prior.
        whole += improved_weight(max(left, prior), completion, slope, highest)
        candidates += 1
    all_visits = float(node.visits)  # 1 + sum N(b)
    best, best_score = 0, -np.inf
    for i in range(candidates):
        visits = tree.tried[b, node.first_tried + i].visits if i < tried else 0
        score = gumbel.weights[i] / whole - visits / all_visits
        if score > best_score:
            best, best_score = i, score
    return best


@register_jitable
def best_considered_edge(tree: Tree, b: int, visits: int, gumbel: Gumbel) -> int:
    """argmax of g + log P + sigma(completedQ) over considered actions with `visits` visits.

    The paper's algorithm 2; ties go to the better g + log P, then the lower action.
    """
    completion, low, slope, _ = q_transform(tree, b, 0, gumbel)
    root = tree.nodes[b, 0]
    best, best_score = 0, -np.inf
    for i in range(gumbel.num_considered[b]):
        done, q = 0, completion
        if i < root.num_tried:
            edge = tree.tried[b, root.first_tried + i]
            done = edge.visits
            if done > 0:
                q = edge.q
        if done != visits:
            continue
        score = gumbel.root_scores[b, i] + slope * (q - low)
        if score > best_score:
            best, best_score = i, score
    return best
