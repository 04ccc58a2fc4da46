"""Compiled operations at the root of one tree: read it, mix in noise, move it, report its plan.

These functions trust their arguments, which `mcts.py` checks. Letters as in `tree.py`, and: K legal
actions of a root; n node, e edge, i index of an edge within its node (first_edge + i is e).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.bits import lowest_bit
from azcore.search.compiling import kernel
from azcore.search.gumbel import (
    TINIEST_PRIOR,
    Gumbel,
    best_considered_edge,
    considered_visits,
    improved_weight,
    q_transform,
)
from azcore.search.proofs import LOST, Proofs, best_of, keep_by_proofs, proof_of_edge
from azcore.search.puct import Selection, exploration_scale, forced_visits, puct, spread_factor
from azcore.search.transpositions import Transpositions, place_of
from azcore.search.tree import (
    NO_NODE,
    PENDING,
    Tree,
    Wave,
    bonus,
    bring_next_candidate,
    clear,
    precedes,
    room_for,
    swap_edges,
)

ONE = np.uint64(1)


class Root(NamedTuple):
    """Buffers for the K legal actions of a root, in ascending order; a game has A actions."""

    place: npt.NDArray[np.int64]  # [A], i of the edge of each action; scratch
    marks: npt.NDArray[np.uint64]  # a bit for each action; scratch
    order: npt.NDArray[np.int64]  # [A], i of each edge
    actions: npt.NDArray[np.int32]  # [A]
    visits: npt.NDArray[np.int32]  # [A], N(s, a)
    kept: npt.NDArray[np.int32]  # [A], as `SearchResult.kept_counts`
    proven: npt.NDArray[np.int32]  # [A], 1 won, -1 lost, 0 unknown
    q: npt.NDArray[np.float32]  # [A], Q(s, a); 0 where never visited, the outcome where proven
    priors: npt.NDArray[np.float32]  # [A], P(s, a)
    weights: npt.NDArray[np.float64]  # [A], pi' of a Gumbel search, in the order of the edges
    policy: npt.NDArray[np.float32]  # [A], the same


class Trees(NamedTuple):
    """B trees, with all that a search keeps of them besides simulations in flight."""

    tree: Tree
    wave: Wave
    rule: Selection
    forced: npt.NDArray[np.float64] | None  # [B], factor of `forced_visits`
    gumbel: Gumbel | None
    transpositions: Transpositions | None
    proofs: Proofs | None
    squares: npt.NDArray[np.float64] | None  # as for `spread_factor`
    most_kept: int  # the largest `size_of` a subtree that a move keeps; 0: none
    root: Root
    new_id: npt.NDArray[np.int32]  # [M], scratch
    new_tried: npt.NDArray[Any]  # TRIED [R], scratch


def make_root(num_actions: int) -> Root:
    """Buffers for any root."""
    whole, real = np.zeros((4, num_actions), np.int32), np.zeros((3, num_actions), np.float32)
    return Root(
        place=np.zeros(num_actions, np.int64),
        marks=np.zeros((num_actions + 63) // 64, np.uint64),
        order=np.zeros(num_actions, np.int64),
        actions=whole[0],
        visits=whole[1],
        kept=whole[2],
        proven=whole[3],
        q=real[0],
        priors=real[1],
        weights=np.zeros(num_actions, np.float64),
        policy=real[2],
    )


@register_jitable
def size_of(tree: Tree, b: int) -> int:
    """One more than the tried edges of a tree, for which it has as much room as for nodes.

    This is the number of its nodes, unless positions are shared: then several edges may lead to one
    node.
    """
    return int(1 + tree.num_tried[b])


@register_jitable
def clear_all(
    tree: Tree, b: int, transpositions: Transpositions | None, proofs: Proofs | None
) -> None:
    """Reset tree b to a root that waits for its evaluation."""
    clear(tree, b)
    if transpositions is not None:
        transpositions.table[b] = NO_NODE
    if proofs is not None:
        proofs.nodes[b, 0] = 0


@register_jitable
def begin_search(trees: Trees, b: int, simulations: int) -> None:
    """Request simulations in tree b; a Gumbel tree and one with too little room is cleared."""
    room = trees.tree.nodes.shape[1] - trees.wave.leaves_per_tree - simulations
    if trees.gumbel is not None or size_of(trees.tree, b) > room:
        clear_all(trees.tree, b, trees.transpositions, trees.proofs)
    trees.wave.budget[b] = simulations
    trees.wave.active[b] = True


@register_jitable
def move_root(trees: Trees, b: int, action: int) -> None:
    """Move the root of tree b along a legal action; keep the subtree there if it is small."""
    is_kept = trees.most_kept > 0 and reroot(
        trees.tree,
        b,
        action,
        trees.transpositions,
        trees.proofs,
        trees.squares,
        trees.new_id,
        trees.new_tried,
    )
    if not is_kept or size_of(trees.tree, b) > trees.most_kept:
        clear_all(trees.tree, b, trees.transpositions, trees.proofs)
    count_ply(b, trees.transpositions)
    trees.wave.active[b] = False


@register_jitable
def count_ply(b: int, transpositions: Transpositions | None) -> None:
    """Note that the root of tree b is one ply further."""
    if transpositions is not None:
        transpositions.root_ply[b] += 1


@register_jitable
def sort_root(tree: Tree, b: int, root: Root) -> int:
    """Write the order of the edges at the root of tree b, and return K; 0 while the root waits."""
    node = tree.nodes[b, 0]
    if node.num_edges == PENDING:
        return 0
    marks = root.marks
    marks[:] = np.uint64(0)
    for i in range(node.num_edges):
        action = np.int64(tree.edge_action[b, node.first_edge + i])
        root.place[action] = i
        marks[action >> 6] |= ONE << np.uint64(action & 63)
    rank = 0
    for word in range(marks.shape[0]):
        left = marks[word]
        while left != 0:
            root.order[rank] = root.place[64 * word + lowest_bit(left)]
            left &= left - ONE
            rank += 1
    return rank


@register_jitable
def read_result(
    tree: Tree,
    b: int,
    rule: Selection,
    forced: npt.NDArray[np.float64] | None,
    gumbel: Gumbel | None,
    proofs: Proofs | None,
    squares: npt.NDArray[np.float64] | None,
    root: Root,
) -> tuple[int, int, float]:
    """Read the result of searching tree b so far.

    Args:
        tree: only read.
        b: the tree.
        rule: the constants of PUCT.
        forced: float64 [B], the factor of `forced_visits` in each tree, or None.
        gumbel: the rule of a Gumbel search, or None.
        proofs: of trees that prove wins and losses, or None.
        squares: as for `spread_factor`, or None.
        root: written.

    Returns:
        K, 0 while the root waits; the index of the best action, that of a Gumbel search its choice;
        the value of the root, as in `SearchResult`.
    """
    count, best, value = sort_root(tree, b, root), -1, float(tree.nodes[b, 0].value)
    if count == 0:
        return count, best, value
    order, visits = root.order[:count], root.visits[:count]
    kept, proven = root.kept[:count], root.proven[:count]
    total = read_root(tree, b, order, root)
    simulations = visits.sum()
    kept[:] = visits
    proven[:] = 0
    if gumbel is not None:
        edge, value = improve(tree, b, gumbel, root.weights[:count])
        for rank in range(count):
            root.policy[rank] = root.weights[order[rank]]
            if order[rank] == edge:
                best = rank
        return count, best, value
    if simulations > 0:
        value = total / simulations
    if forced is not None and forced[b] > 0 and simulations > 0:
        prune_forced(tree, b, order, rule, forced[b], squares, kept)
    if proofs is not None:
        read_proofs(tree, b, order, proofs, proven)
        for rank in range(count):
            if proven[rank] != 0:
                root.q[rank] = proven[rank]
        if proofs.nodes[b, 0] != 0:
            value = float(proofs.nodes[b, 0])
    best = best_of(visits, root.priors, proven)
    if proofs is not None:
        keep_by_proofs(best, visits, proven, kept)
    return count, best, value


clear_tree, begin = kernel(clear_all), kernel(begin_search)
advance, read = kernel(move_root), kernel(read_result)


@register_jitable
def read_root(tree: Tree, b: int, order: npt.NDArray[np.int64], root: Root) -> float:
    """Read the statistics at the root of tree b.

    Args:
        tree: only read.
        b: the tree.
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
    tree: Tree,
    b: int,
    order: npt.NDArray[np.int64],
    proofs: Proofs,
    proven: npt.NDArray[np.int32],
) -> None:
    """Read what is proven of the edges at the root of tree b.

    Args:
        tree: only read.
        b: the tree.
        order: as for `read_root`.
        proofs: only read.
        proven: int32 [K], filled, in ascending order of actions: 1 won, -1 lost, 0 unknown.
    """
    root = tree.nodes[b, 0]
    for rank in range(order.shape[0]):
        i = order[rank]
        proven[rank] = 0
        if i < root.num_tried:
            child = tree.tried[b, root.first_tried + i].child
            proven[rank] = proof_of_edge(tree, b, 0, child, proofs)


@kernel
def mix_root_noise(
    tree: Tree,
    b: int,
    root: Root,
    noise: npt.NDArray[np.float32],
    fraction: float,
    temperature: float,
) -> None:
    """P = (1 - fraction) P^(1/temperature) / sum + fraction noise at the root of tree b.

    Args:
        tree: changed.
        b: the tree.
        root: scratch.
        noise: float32 [K], one entry per legal action, ascending.
        fraction: epsilon of the papers.
        temperature: above 1, it flattens P (KataGo, root policy softmax temperature); papers 1.
    """
    sort_root(tree, b, root)
    order = root.order
    node = tree.nodes[b, 0]
    total = highest = 1.0
    if temperature != 1.0:
        total = highest = 0.0
        for rank in range(node.num_edges):
            highest = max(highest, float(tree.edge_prior[b, node.first_edge + order[rank]]))
        for rank in range(node.num_edges):
            prior = float(tree.edge_prior[b, node.first_edge + order[rank]])
            total += (prior / highest) ** (1.0 / temperature)  # by the highest: no underflow to 0
    for rank in range(node.num_edges):
        i = order[rank]
        e = node.first_edge + i
        prior = float(tree.edge_prior[b, e])
        if temperature != 1.0:
            prior = (prior / highest) ** (1.0 / temperature) / total
        tree.edge_prior[b, e] = (1.0 - fraction) * prior + fraction * float(noise[rank])
        if i < node.num_tried:
            edge = tree.tried[b, node.first_tried + i]
            edge.bonus = bonus(float(tree.edge_prior[b, e]), edge.visits)
    bring_next_candidate(tree, b, 0)


@register_jitable
def prune_forced(
    tree: Tree,
    b: int,
    order: npt.NDArray[np.int64],
    rule: Selection,
    factor: float,
    squares: npt.NDArray[np.float64] | None,
    kept: npt.NDArray[np.int32],
) -> None:
    """The visits of the root of tree b without those that only `forced_edge` explains.

    Wu 2019, section 3.2: from each action but the most visited one, up to its `forced_visits` are
    taken, as long as PUCT, with Q as it is, does not come to prefer it to the most visited one;
    those left with a single visit lose that too.

    Args:
        tree: only read.
        b: the tree.
        order: as for `read_root`.
        rule: the constants of PUCT.
        factor: of `forced_visits`.
        squares: as for `spread_factor`, or None.
        kept: int32 [K], filled, in ascending order of actions.
    """
    root = tree.nodes[b, 0]
    scale = rule.unit * exploration_scale(
        float(root.visits), rule.count_parent, rule.c_init, rule.c_base
    )
    if squares is not None:
        scale *= spread_factor(tree, b, 0, rule, squares)
    best, most = 0, -1
    for i in range(root.num_tried):
        edge = tree.tried[b, root.first_tried + i]
        first = edge.visits > most or (edge.visits == most and precedes(tree, b, 0, i, best))
        if first and edge.q != LOST:
            best, most = i, edge.visits
    of_best = tree.tried[b, root.first_tried + best]
    highest = puct(of_best.q, of_best.bonus, scale)
    for rank in range(order.shape[0]):
        i = order[rank]
        kept[rank] = 0
        if i >= root.num_tried:
            continue
        edge = tree.tried[b, root.first_tried + i]
        visits = edge.visits
        if i != best:
            prior = float(tree.edge_prior[b, root.first_edge + i])
            least = visits - int(forced_visits(prior, root.visits - 1.0, factor))
            while visits > max(0, least) and puct(edge.q, prior / visits, scale) < highest:
                visits -= 1
            if visits == 1:
                visits = 0
        kept[rank] = visits


@register_jitable
def deal(
    tree: Tree,
    b: int,
    simulations: int,
    root: Root,
    noise: npt.NDArray[np.float32],
    scale: float,
    gumbel: Gumbel,
) -> None:
    """Put the m edges of highest g + log P first at the root of tree b, best first.

    By the Gumbel-Top-k trick, this draws m actions without replacement from P (equations 3 to 5 of
    the paper of `gumbel.py`); without noise, it takes the m of highest prior. Ties go to the lower
    action.

    Args:
        tree: changed.
        b: the tree; its root is evaluated and none of its edges is tried.
        simulations: of the search that begins.
        root: scratch.
        noise: float32 [K], one draw of the standard Gumbel distribution per legal action,
            ascending.
        scale: factor of the noise; 0: none.
        gumbel: what it says of the tree is written.
    """
    first, count = tree.nodes[b, 0].first_edge, sort_root(tree, b, root)
    considered = min(gumbel.root_scores.shape[1], count)
    gumbel.num_considered[b] = considered
    gumbel.considered_visits[b, :simulations] = considered_visits(considered, simulations)
    scores = root.weights
    for rank in range(count):
        i = root.order[rank]
        prior = max(float(tree.edge_prior[b, first + i]), TINIEST_PRIOR)
        scores[i] = scale * float(noise[rank]) + math.log(prior)
    for i in range(considered):
        best = i
        for j in range(i + 1, count):
            lower = tree.edge_action[b, first + j] < tree.edge_action[b, first + best]
            if scores[j] > scores[best] or (scores[j] == scores[best] and lower):
                best = j
        gumbel.root_scores[b, i] = scores[best]
        scores[best] = scores[i]
        swap_edges(tree, b, first + i, first + best)


consider = kernel(deal)


@register_jitable
def improve(
    tree: Tree, b: int, gumbel: Gumbel, policy: npt.NDArray[np.float64]
) -> tuple[int, float]:
    """Compute the improved policy of the root of tree b, the edge to play and the root's value.

    The value is that of the improved policy: the sum of pi'(a) completedQ(a). The mean over the
    simulations would not do: sequential halving gives worse actions most of them, by design.

    Args:
        tree: not changed.
        b: the tree; its root is evaluated.
        gumbel: the rule.
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


@register_jitable
def mark_subtree(tree: Tree, b: int, top: int, new_id: npt.NDArray[np.int32]) -> None:
    """Set new_id to 0 for `top` and all nodes below it; a node comes after its parent."""
    new_id[top] = 0
    for n in range(top, tree.num_nodes[b]):
        if new_id[n] != NO_NODE:
            node = tree.nodes[b, n]
            for i in range(node.num_tried):
                new_id[tree.tried[b, node.first_tried + i].child] = 0


@register_jitable
def mark_subgraph(
    tree: Tree, b: int, top: int, new_id: npt.NDArray[np.int32], waiting: npt.NDArray[np.int32]
) -> None:
    """`mark_subtree` where an edge may lead to an older node, even one older than `top`."""
    new_id[top] = 0
    waiting[0] = top
    count = 1
    while count > 0:
        count -= 1
        n = waiting[count]
        node = tree.nodes[b, n]
        for i in range(node.num_tried):
            child = tree.tried[b, node.first_tried + i].child
            if new_id[child] == NO_NODE:
                new_id[child] = 0
                waiting[count] = child
                count += 1


@register_jitable
def reroot(
    tree: Tree,
    b: int,
    action: int,
    transpositions: Transpositions | None,
    proofs: Proofs | None,
    squares: npt.NDArray[np.float64] | None,
    new_id: npt.NDArray[np.int32],
    new_tried: npt.NDArray[Any],
) -> bool:
    """Make the child behind `action` the root of tree b and move all below it to the front.

    Nodes and their edges lie in the order of creation, except for the root, which comes first
    whatever its age and is the one node that no later root keeps. So both move towards the front in
    their order, and nothing is overwritten before it is read. Tried edges are few and lie in the
    order in which their nodes last moved them, so they move through a copy.

    Args:
        tree: changed.
        b: the tree; no simulation in flight.
        action: a legal action of the root.
        transpositions: of trees that share positions, or None; changed. The caller updates the ply
            of the root.
        proofs: of trees that prove wins and losses, or None; changed.
        squares: as for `spread_factor`, or None; changed.
        new_id: int32 [M], scratch.
        new_tried: TRIED [R], scratch.

    Returns:
        False if that child was never visited; the tree is then unchanged.
    """
    top = NO_NODE
    root = tree.nodes[b, 0]
    for i in range(root.num_tried):
        if tree.edge_action[b, root.first_edge + i] == action:
            top = tree.tried[b, root.first_tried + i].child
    if top == NO_NODE:
        return False
    new_id[: tree.num_nodes[b]] = NO_NODE
    oldest = top
    if transpositions is None:
        mark_subtree(tree, b, top, new_id)
    else:
        mark_subgraph(tree, b, top, new_id, transpositions.scratch)
        oldest = 1
    nodes = 1
    for n in range(oldest, tree.num_nodes[b]):
        if new_id[n] != NO_NODE and n != top:
            new_id[n] = nodes
            nodes += 1
    edges, tried, places = 0, 0, 0
    for n in range(oldest, tree.num_nodes[b]):
        m = new_id[n]
        if m == NO_NODE:
            continue
        tree.nodes[b, m] = tree.nodes[b, n]
        node = tree.nodes[b, m]
        if transpositions is not None:
            transpositions.node_key[b, m] = transpositions.node_key[b, n]
            transpositions.node_shared[b, m] = transpositions.node_shared[b, n]
        if proofs is not None:
            proofs.nodes[b, m] = proofs.nodes[b, n]
        if squares is not None:
            squares[b, m] = squares[b, n]
        for e in range(node.first_edge, node.first_edge + node.num_edges):
            tree.edge_action[b, edges] = tree.edge_action[b, e]
            tree.edge_prior[b, edges] = tree.edge_prior[b, e]
            edges += 1
        node.first_edge = edges - node.num_edges
        for i in range(node.num_tried):
            new_tried[places + i] = tree.tried[b, node.first_tried + i]
            new_tried[places + i].child = new_id[new_tried[places + i].child]
        node.first_tried = places
        tried += node.num_tried
        places += room_for(node.num_tried)
    for place in range(places):
        tree.tried[b, place] = new_tried[place]
    tree.num_tried[b] = tried
    tree.num_places[b] = places
    tree.num_nodes[b] = nodes
    tree.num_edges[b] = edges
    if transpositions is not None:
        transpositions.table[b] = NO_NODE
        for n in range(1, nodes):
            place = place_of(transpositions, b, transpositions.node_key[b, n])
            transpositions.table[b, place] = n
    return True


@kernel
def principal_variation(
    tree: Tree, b: int, action: int, proofs: Proofs | None, line: npt.NDArray[np.int32]
) -> int:
    """Write the root's `action` and then the most visited action of each node to `line`.

    Ties go to the higher prior, then the lower action. Won actions precede all, others lost ones.

    Args:
        tree: only read.
        b: the tree.
        action: a legal action of the root.
        proofs: of trees that prove wins and losses, or None.
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
            proof = 0
            if proofs is not None:
                child = tree.tried[b, node.first_tried + i].child
                proof = proof_of_edge(tree, b, n, child, proofs)
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
