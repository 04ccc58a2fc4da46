"""Compiled reading of one tree's root: the result of a search, and its expected line.

Begin at `read_result`: each rule has a function of its own. Letters as in `roots.py`.
"""

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.compiling import kernel
from azcore.search.gumbel import Gumbel, best_considered_edge, improved_weight, q_transform
from azcore.search.proofs import LOST, Proofs, best_of, keep_by_proofs, proof_of, proof_of_edge
from azcore.search.puct import Edge, Selection, forced_visits, puct, shared_terms, tried_edge
from azcore.search.roots import Root, sort_root
from azcore.search.tree import Tree, precedes
from azcore.search.variants import Variants


@register_jitable
def read_result(
    tree: Tree, b: int, rule: Selection, variants: Variants, root: Root
) -> tuple[int, int, float]:
    """Read the result of searching tree b so far.

    Args:
        root: written.

    Returns:
        K, 0 while the root waits; the index of the best action, that of a Gumbel search its choice;
        the value of the root, as in `SearchResult`.
    """
    count = sort_root(tree, b, root)
    if count == 0:
        return 0, -1, float(tree.nodes[b, 0].value)
    total = read_root(tree, b, root.order[:count], root)
    root.kept[:count] = root.visits[:count]
    root.proven[:count] = 0
    if variants.gumbel is None:
        best, value = read_puct(tree, b, rule, variants, root, count, total)
    else:
        best, value = read_gumbel(tree, b, variants.gumbel, root, count)
    return count, best, value


@register_jitable
def read_gumbel(
    tree: Tree, b: int, gumbel: Gumbel | None, root: Root, count: int
) -> tuple[int, float]:
    """The choice of a Gumbel search, as an index, and its value; writes the improved policy."""
    if gumbel is None:
        return -1, 0.0
    edge, value = improve(tree, b, gumbel, root.weights[:count])
    best = -1
    for rank in range(count):
        root.policy[rank] = root.weights[root.order[rank]]
        if root.order[rank] == edge:
            best = rank
    return best, value


@register_jitable
def read_puct(
    tree: Tree, b: int, rule: Selection, variants: Variants, root: Root, count: int, total: float
) -> tuple[int, float]:
    """The best action of PUCT, as an index, and its value; removes forced visits, applies proofs.

    `total` is the sum of W(s, a).
    """
    order, visits = root.order[:count], root.visits[:count]
    kept, proven = root.kept[:count], root.proven[:count]
    value, simulations = float(tree.nodes[b, 0].value), visits.sum()
    if simulations > 0:
        value = total / simulations
    prune_forced(tree, b, order, rule, variants, variants.forced, kept)
    read_proofs(tree, b, order, variants.proofs, root)
    if proof_of(b, 0, variants.proofs) != 0:
        value = float(proof_of(b, 0, variants.proofs))
    best = best_of(visits, root.priors, proven)
    keep_by_proofs(best, visits, proven, kept, variants.proofs)
    return best, value


read = kernel(read_result)


@register_jitable
def read_root(tree: Tree, b: int, order: npt.NDArray[np.int64], root: Root) -> float:
    """Read the statistics at the root of tree b.

    Args:
        order: int64 [K], i of each edge, in ascending order of actions.
        root: written.

    Returns:
        The sum of W(s, a).
    """
    node = tree.nodes[b, 0]
    total = 0.0
    for rank in range(order.shape[0]):
        i = order[rank]
        root.actions[rank] = tree.edge_action[b, node.first_edge + i]
        root.priors[rank] = tree.edge_prior[b, node.first_edge + i]
        root.visits[rank] = 0
        root.q[rank] = 0.0
        if i < node.num_tried:
            edge = tree.tried[b, node.first_tried + i]
            root.visits[rank] = edge.visits
            root.q[rank] = edge.q
            total += edge.total
    return total


@register_jitable
def read_proofs(
    tree: Tree, b: int, order: npt.NDArray[np.int64], proofs: Proofs | None, root: Root
) -> None:
    """Read the proofs of the edges at the root of tree b; a proven outcome becomes the edge's Q.

    Args:
        order: as for `read_root`.
        proofs: only read; None: nothing is proven.
        root: written.
    """
    if proofs is None:
        return
    for rank in range(order.shape[0]):
        if order[rank] < tree.nodes[b, 0].num_tried:
            root.proven[rank] = proof_of_edge(tree, b, 0, order[rank], proofs)
            if root.proven[rank] != 0:
                root.q[rank] = root.proven[rank]


@register_jitable
def prune_forced(
    tree: Tree,
    b: int,
    order: npt.NDArray[np.int64],
    rule: Selection,
    variants: Variants,
    factors: npt.NDArray[np.float64] | None,
    kept: npt.NDArray[np.int32],
) -> None:
    """The visits of the root of tree b without those that only `forced_edge` explains.

    Wu 2019, section 3.2: from each action but the most visited one, up to its `forced_visits` are
    taken, as long as PUCT, with Q as it is, does not come to prefer it to the most visited one;
    those left with a single visit lose that too.

    Args:
        order: as for `read_root`.
        factors: float64 [B], of `forced_visits`; where it is 0 or None, nothing changes.
        kept: int32 [K], changed, in ascending order of actions.
    """
    if factors is None:
        return
    root = tree.nodes[b, 0]
    if factors[b] == 0.0 or root.num_tried == 0:
        return
    shared = shared_terms(tree, b, 0, rule, variants)
    best, most = 0, -1
    for i in range(root.num_tried):
        edge = tree.tried[b, root.first_tried + i]
        first = edge.visits > most or (edge.visits == most and precedes(tree, b, 0, i, best))
        if first and edge.q != LOST:
            best, most = i, edge.visits
    of_best = tried_edge(tree, b, 0, best, rule, None, shared.first_play)
    highest = puct(of_best, shared, variants.formula)
    for rank in range(order.shape[0]):
        i = order[rank]
        kept[rank] = 0
        if i >= root.num_tried:
            continue
        q, prior, _, _ = tried_edge(tree, b, 0, i, rule, None, shared.first_play)
        visits = tree.tried[b, root.first_tried + i].visits
        if i != best:
            least = visits - int(forced_visits(prior, root.visits - 1.0, factors[b]))
            while visits > max(0, least):
                with_less = Edge(q, prior, visits - 1.0, prior / visits)
                if puct(with_less, shared, variants.formula) >= highest:
                    break
                visits -= 1
            if visits == 1:
                visits = 0
        kept[rank] = visits


@register_jitable
def improve(
    tree: Tree, b: int, gumbel: Gumbel, policy: npt.NDArray[np.float64]
) -> tuple[int, float]:
    """Compute the improved policy of the root of tree b, the edge to play and the root's value.

    The value is that of the improved policy: the sum of pi'(a) completedQ(a). The mean over the
    simulations would be wrong: by design, sequential halving gives worse actions most of them.

    Args:
        b: the tree; its root is evaluated.
        policy: float64 [K], filled in the order of the edges: pi' of all legal actions.

    Returns:
        i of the best g + log P + sigma(completedQ) among the edges with the most visits, and the
        value in the view of the player to move.
    """
    completion, _, slope, highest = q_transform(tree, b, 0, gumbel)
    root = tree.nodes[b, 0]
    total, value, most = 0.0, 0.0, 0
    for i in range(policy.shape[0]):
        q = completion
        if i < root.num_tried:
            edge = tree.tried[b, root.first_tried + i]
            most = max(most, edge.visits)
            if edge.visits > 0:
                q = edge.q
        prior = float(tree.edge_prior[b, root.first_edge + i])
        policy[i] = improved_weight(prior, q, slope, highest)
        total += policy[i]
        value += policy[i] * q
    for i in range(policy.shape[0]):
        policy[i] /= total
    return int(best_considered_edge(tree, b, most, gumbel)), value / total


@kernel
def principal_variation(
    tree: Tree, b: int, action: int, proofs: Proofs | None, line: npt.NDArray[np.int32]
) -> int:
    """Write the root's `action` and then the most visited action of each node to `line`.

    Ties go to the higher prior, then the lower action. Won actions precede all, others lost ones.

    Args:
        action: a legal action of the root.
        line: int32, room for one more than the tree has nodes.

    Returns:
        The number of actions written.
    """
    line[0] = action
    length, n = 1, 0
    while True:
        best, node, highest = -1, tree.nodes[b, n], 0
        for i in range(node.num_tried):
            if n == 0:
                if tree.edge_action[b, node.first_edge + i] == action:
                    best = i
                continue
            visits = tree.tried[b, node.first_tried + i].visits
            if visits == 0:
                continue
            proof = proof_of_edge(tree, b, n, i, proofs)
            most = tree.tried[b, node.first_tried + best].visits if best >= 0 else 0
            first = visits > most or (visits == most and precedes(tree, b, n, i, best))
            if best < 0 or proof > highest or (proof == highest and first):
                best, highest = i, proof
        if best < 0:
            return length
        if n != 0:
            line[length] = tree.edge_action[b, node.first_edge + best]
            length += 1
        n = tree.tried[b, node.first_tried + best].child
        if tree.nodes[b, n].num_edges <= 0:  # not evaluated yet, or over
            return length
