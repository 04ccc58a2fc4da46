"""Compiled selection over many trees: from each root down to leaves. Independent of the game.

Begin at `walk`, which takes one simulation down a tree. `find_leaves` does so in all trees;
`backups.py` completes the simulations once the leaves are evaluated. These functions trust their
arguments, which `mcts.py` checks.

Letters as in `tree.py`, and: S slots, one per simulation in flight; T longest path; b tree, s slot,
n node, e edge, i index of an edge within its node (first_edge + i is e).
"""

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.backups import Slots, add_squares, back_up, count_in_flight
from azcore.search.compiling import kernel
from azcore.search.gumbel import Gumbel, best_considered_edge, improved_edge
from azcore.search.proofs import proof_of, set_proof
from azcore.search.puct import Selection, best_edge, forced_edge
from azcore.search.transpositions import is_behind, key_of_node, place_of
from azcore.search.tree import (
    NO_NODE,
    PENDING,
    Tree,
    Wave,
    add_node,
    bring_next_candidate,
    precedes,
    try_next_edge,
)
from azcore.search.variants import Variants

# How a walk ended: at a new leaf, at one that needs no network, or at one that another walk has
# reached.
NEW, KNOWN, WAITING = 0, 1, 2


@register_jitable(forceinline=True)
def choose_edge(tree: Tree, b: int, n: int, rule: Selection, variants: Variants) -> int:
    """The edge that a walk follows from a node, as i: by PUCT, or by Gumbel AlphaZero's rules."""
    i = forced_edge(tree, b, n, variants.forced)
    if i >= 0:
        return i
    return edge_by_rule(tree, b, n, rule, variants, variants.gumbel)


@register_jitable(forceinline=True)
def edge_by_rule(
    tree: Tree, b: int, n: int, rule: Selection, variants: Variants, gumbel: Gumbel | None
) -> int:
    """`choose_edge` where no edge is forced."""
    if gumbel is None:
        return best_edge(tree, b, n, rule, variants)
    if n > 0:
        return improved_edge(tree, b, n, gumbel)
    # The number of simulations done equals the visits of the root's edges.
    visits = gumbel.considered_visits[b, tree.nodes[b, 0].visits - 1]
    return best_considered_edge(tree, b, visits, gumbel)


@register_jitable(forceinline=True)
def walk(tree: Tree, b: int, s: int, rule: Selection, variants: Variants, slots: Slots) -> int:
    """Follow the selected edges from the root of tree b, and write path and leaf to slot s.

    Returns:
        NEW, KNOWN or WAITING.
    """
    n, length = 0, 0
    ended = WAITING
    while tree.nodes[b, n].num_edges > 0:
        node = tree.nodes[b, n]
        i = choose_edge(tree, b, n, rule, variants)
        slots.edges[s, length] = i
        slots.actions[s, length] = tree.edge_action[b, node.first_edge + i]
        length += 1
        if i == node.num_tried:
            child = add_node(tree, b)
            set_proof(b, child, 0, variants.proofs)
            try_next_edge(tree, b, n, child, variants.in_flight)
            if variants.gumbel is None or n > 0:  # a Gumbel root's edges are in order
                bring_next_candidate(tree, b, n)
            n = child
            ended = NEW
            break
        place = node.first_tried + i
        n = tree.tried[b, place].child
        if is_behind(tree, variants.transpositions, b, place):
            ended = KNOWN
            break
    if tree.nodes[b, n].terminal:
        ended = KNOWN
    slots.leaf[s], slots.length[s] = n, length
    return ended


@register_jitable
def is_settled(tree: Tree, b: int, left: int, best_only: npt.NDArray[np.bool_] | None) -> bool:
    """Whether only the most visited root action matters and `left` simulations cannot change it.

    This holds if it stays first even if another action gets all of them; lc0 calls this smart
    pruning. Ties go to the higher prior, then the lower action, as in the choice of a move.
    """
    if best_only is None:
        return False
    if left <= 0 or not best_only[b]:
        return False
    root = tree.nodes[b, 0]
    rivals = min(root.num_tried + 1, root.num_edges)  # the next candidate precedes other untried
    best, most = 0, -1
    for i in range(rivals):
        visits = tree.tried[b, root.first_tried + i].visits if i < root.num_tried else 0
        if visits > most or (visits == most and precedes(tree, b, 0, i, best)):
            best, most = i, visits
    if most == 0:
        return bool(root.num_edges == 1)
    for i in range(rivals):
        visits = tree.tried[b, root.first_tried + i].visits if i < root.num_tried else 0
        highest = visits + left
        overtakes = highest > most or (highest == most and precedes(tree, b, 0, i, best))
        if i != best and overtakes:
            return False
    return True


@kernel
def find_leaves(
    tree: Tree,
    walked: npt.NDArray[np.bool_],
    wave: Wave,
    rule: Selection,
    variants: Variants,
    slots: Slots,
) -> int:
    """Walk each tree down to leaves that need the network.

    A known terminal node needs none: the walk backs it up at once, and the next one begins;
    likewise for an edge that is behind its node, see `transpositions.py`. A simulation takes one
    from the tree's budget; the evaluation of a root does not. A search that `is_settled` or whose
    root is proven drops its budget.

    Args:
        tree: changed: new nodes, and backups of known terminal nodes.
        walked: bool [B], the trees to walk; none has a leaf in flight. May be `wave.active`.
        wave: counts down its budget, and writes `active` for the trees that it walked.
        variants: changed; each choice of methods has its own compilation.
        slots: filled; slots of these trees without a leaf stay empty.

    Returns:
        The number of slots that hold a leaf.
    """
    filled = 0
    for b in range(walked.shape[0]):
        if not walked[b]:
            continue
        used = 0
        while used < wave.leaves_per_tree:
            s = b * wave.leaves_per_tree + used
            if tree.nodes[b, 0].num_edges == PENDING:
                if used == 0:  # the root itself; further leaves wait for its evaluation
                    slots.tree[s], slots.leaf[s], slots.length[s] = b, 0, 0
                    used += 1
                break
            left = wave.budget[b] + used  # those in flight do not count yet
            if is_settled(tree, b, left, variants.best_only) or proof_of(b, 0, variants.proofs):
                wave.budget[b] = 0
            if wave.budget[b] <= 0:
                break
            ended = walk(tree, b, s, rule, variants, slots)
            if ended == WAITING:  # there is nothing more to find now
                break
            wave.budget[b] -= 1
            edges, length = slots.edges[s], slots.length[s]
            if ended == KNOWN:
                back_up(tree, b, edges, length, slots.leaf[s], variants.transpositions)
                add_squares(tree, b, edges, length, slots.leaf[s], variants.squares)
                continue
            count_in_flight(tree, b, edges, length, variants.in_flight, 1)
            slots.tree[s] = b
            used += 1
        wave.active[b] = used > 0 or wave.budget[b] > 0
        filled += used
    return filled


@kernel
def share(
    tree: Tree,
    walked: npt.NDArray[np.bool_],
    wave: Wave,
    variants: Variants,
    slots: Slots,
    keys: npt.NDArray[np.uint64],
) -> int:
    """Link leaves with known positions to the nodes of these; such leaves need no evaluation.

    It backs up such a simulation at once, or `expand_and_back_up` does so if its node waits in an
    earlier slot of this wave. The nodes that `find_leaves` made for the other leaves move up to
    close the gaps: they come last in a tree, in the order of the slots, and are still blank.

    Args:
        tree: changed.
        walked: bool [B], the trees whose slots to process. Those stay True that have simulations
            left but no leaf in flight, since all their leaves were known already.
        wave: `active` is written for the trees whose slots were processed.
        variants: changed; with transpositions.
        slots: slots whose leaf is known are emptied.
        keys: uint64 [S], `Game.position_key` of each leaf.

    Returns:
        The number of these slots that still hold a leaf.
    """
    transpositions = variants.transpositions
    assert transpositions is not None
    filled = 0
    for b in range(walked.shape[0]):
        if not walked[b]:
            continue
        first_slot, end_slot = b * wave.leaves_per_tree, (b + 1) * wave.leaves_per_tree
        waiting = 0
        nodes = tree.num_nodes[b]
        for s in range(first_slot, end_slot):
            if slots.tree[s] >= 0 and slots.length[s] > 0:
                nodes -= 1
        for s in range(first_slot, end_slot):
            if slots.tree[s] < 0:
                continue
            length = slots.length[s]
            key = key_of_node(transpositions, b, keys[s], length)
            if length == 0:
                transpositions.node_key[b, 0] = key
                transpositions.node_shared[b, 0] = False
                waiting += 1
                continue
            place = place_of(transpositions, b, key)
            n = transpositions.table[b, place]
            if n == NO_NODE:
                n = nodes
                nodes += 1
                transpositions.table[b, place] = n
                transpositions.node_key[b, n] = key
                transpositions.node_shared[b, n] = False
                waiting += 1
            else:
                transpositions.node_shared[b, n] = True
                slots.tree[s] = -1
            slots.leaf[s] = n
            tree.tried[b, place_of_last_edge(tree, b, slots.edges[s], length)].child = n
            if slots.tree[s] >= 0:
                continue
            if tree.nodes[b, n].num_edges == PENDING:
                transpositions.slot_waits[s] = True
                continue
            count_in_flight(tree, b, slots.edges[s], length, variants.in_flight, -1)
            back_up(tree, b, slots.edges[s], length, n, transpositions)
        tree.num_nodes[b] = nodes
        wave.active[b] = waiting > 0 or wave.budget[b] > 0
        walked[b] = waiting == 0 and wave.budget[b] > 0
        filled += waiting
    return filled


@register_jitable
def place_of_last_edge(tree: Tree, b: int, edges: npt.NDArray[np.int32], length: int) -> int:
    """The place in `tried` of the last edge of a path."""
    n, place = 0, -1
    for depth in range(length):
        place = tree.nodes[b, n].first_tried + edges[depth]
        n = tree.tried[b, place].child
    return place
