"""Compiled changes of the root of one tree: start a search, mix in noise, deal, and move the root.

These functions trust their arguments, which `mcts.py` checks; `results.py` reads a root. Letters as
in `tree.py`, and: K legal actions of a root; n node, e edge, i index of an edge within its node
(first_edge + i is e).
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.bits import lowest_bit
from azcore.search.compiling import kernel
from azcore.search.gumbel import TINIEST_PRIOR, considered_visits
from azcore.search.proofs import Proofs, set_proof
from azcore.search.puct import Selection
from azcore.search.transpositions import Transpositions, forget_positions, list_positions
from azcore.search.tree import (
    NO_NODE,
    PENDING,
    Tree,
    Wave,
    bonus,
    bring_next_candidate,
    clear,
    room_for,
    swap_edges,
)
from azcore.search.variants import Variants

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
    """B trees, with everything that a search keeps of them besides its paths."""

    tree: Tree
    wave: Wave
    rule: Selection
    variants: Variants
    most_kept: int  # the largest subtree that a move keeps, by `size_of`; 0: none
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
def clear_tree(tree: Tree, b: int, variants: Variants) -> None:
    """Reset tree b to a root that waits for its evaluation."""
    clear(tree, b)
    forget_positions(b, variants.transpositions)
    set_proof(b, 0, 0, variants.proofs)


@register_jitable
def begin_search(trees: Trees, b: int, simulations: int, forced: float) -> None:
    """Request simulations in tree b; a Gumbel tree and one with too little room is cleared.

    Args:
        trees: changed.
        forced: factor of `forced_visits`, if the search has any.
    """
    room = trees.tree.nodes.shape[1] - trees.wave.leaves_per_tree - simulations
    if trees.variants.gumbel is not None or size_of(trees.tree, b) > room:
        clear_tree(trees.tree, b, trees.variants)
    set_forced(b, forced, trees.variants.forced)
    trees.wave.budget[b] = simulations
    trees.wave.active[b] = True


@register_jitable
def set_forced(b: int, factor: float, factors: npt.NDArray[np.float64] | None) -> None:
    """Set the factor of `forced_visits` in tree b."""
    if factors is not None:
        factors[b] = factor


@register_jitable
def move_root(trees: Trees, b: int, action: int) -> None:
    """Move the root of tree b along a legal action; keep the subtree there if it is small."""
    is_kept = trees.most_kept > 0 and reroot(trees, b, action)
    if not is_kept or size_of(trees.tree, b) > trees.most_kept:
        clear_tree(trees.tree, b, trees.variants)
    count_ply(b, trees.variants.transpositions)
    trees.wave.active[b] = False


clear_one, begin, advance = kernel(clear_tree), kernel(begin_search), kernel(move_root)


@register_jitable
def count_ply(b: int, transpositions: Transpositions | None) -> None:
    """Record that the root of tree b is one ply further."""
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
            # Relative to the highest: no underflow.
            total += (prior / highest) ** (1.0 / temperature)
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
def deal(trees: Trees, b: int, noise: npt.NDArray[np.float32], scale: float) -> None:
    """Put the m edges of highest g + log P first at the root of tree b, best first.

    By the Gumbel-Top-k trick, this draws m actions without replacement from P (equations 3 to 5 of
    the paper of `gumbel.py`); without noise, it takes the m of highest prior. Ties go to the lower
    action.

    Args:
        trees: changed, of a Gumbel search.
        b: the tree; its root is evaluated and none of its edges is tried.
        noise: float32 [K], one draw of the standard Gumbel distribution per legal action,
            ascending.
        scale: factor of the noise; 0: none.
    """
    tree, root, simulations = trees.tree, trees.root, trees.wave.budget[b]
    gumbel = trees.variants.gumbel
    assert gumbel is not None
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
def mark(
    tree: Tree,
    b: int,
    top: int,
    new_id: npt.NDArray[np.int32],
    transpositions: Transpositions | None,
) -> int:
    """Set new_id to 0 for `top` and all below it; returns the oldest node that may be there."""
    if transpositions is None:
        mark_subtree(tree, b, top, new_id)
        return top
    mark_subgraph(tree, b, top, new_id, transpositions.scratch)
    return 1


@register_jitable
def reroot(trees: Trees, b: int, action: int) -> bool:
    """Make the child behind `action` the root of tree b and move all below it to the front.

    Nodes and their edges lie in the order of creation, except for the root, which comes first
    whatever its age and is the one node that no later root keeps. So both move towards the front in
    their order, and nothing is overwritten before it is read. Tried edges are few and lie in the
    order in which their nodes last moved them, so they move through a copy.

    Args:
        trees: changed; the caller updates the ply of the root.
        b: the tree; no simulation in flight.
        action: a legal action of the root.

    Returns:
        False if that child was never visited; the tree is then unchanged.
    """
    tree, new_id, new_tried = trees.tree, trees.new_id, trees.new_tried
    variants = trees.variants
    top = NO_NODE
    root = tree.nodes[b, 0]
    for i in range(root.num_tried):
        if tree.edge_action[b, root.first_edge + i] == action:
            top = tree.tried[b, root.first_tried + i].child
    if top == NO_NODE:
        return False
    new_id[: tree.num_nodes[b]] = NO_NODE
    oldest = mark(tree, b, top, new_id, variants.transpositions)
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
        move_node(b, n, m, variants.transpositions, variants.proofs, variants.squares)
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
    list_positions(b, nodes, variants.transpositions)
    return True


@register_jitable
def move_node(
    b: int,
    n: int,
    m: int,
    transpositions: Transpositions | None,
    proofs: Proofs | None,
    squares: npt.NDArray[np.float64] | None,
) -> None:
    """Copy the search methods' data of node n to node m."""
    if transpositions is not None:
        transpositions.node_key[b, m] = transpositions.node_key[b, n]
        transpositions.node_shared[b, m] = transpositions.node_shared[b, n]
    if proofs is not None:
        proofs.nodes[b, m] = proofs.nodes[b, n]
    if squares is not None:
        squares[b, m] = squares[b, n]
