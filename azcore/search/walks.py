"""Compiled select, expand and backup over many trees; nothing here depends on a game.

Begin at `walk`, which takes one simulation down a tree. `find_leaves` does so in all trees, and
`expand_and_back_up` completes the simulations once the leaves are evaluated. These functions trust
their arguments, which `mcts.py` checks.

Letters as in `tree.py`, and: S slots, one per simulation in flight; T longest path; b tree, s slot,
n node, e edge, i index of an edge within its node (first_edge + i is e).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.compiling import kernel
from azcore.search.gumbel import Gumbel, best_considered_edge, improved_edge
from azcore.search.proofs import Proofs, prove
from azcore.search.puct import Selection, best_edge, forced_edge
from azcore.search.softmax import softmax
from azcore.search.transpositions import (
    Transpositions,
    is_behind,
    key_of_node,
    place_of,
)
from azcore.search.tree import (
    NO_NODE,
    PENDING,
    InFlight,
    Tree,
    Wave,
    add_node,
    bring_next_candidate,
    mean_value,
    precedes,
    set_total,
    try_next_edge,
)

DONE, NOT_FINITE = 0, -1  # how `expand_and_back_up` ended
NEW, KNOWN, WAITING = 0, 1, 2  # how a walk ended: at a new leaf, at one that needs no network,
# or at one that another walk has already reached


class Leaves(NamedTuple):
    """The results of the game and the evaluator for the leaves in the slots."""

    legal_actions: npt.NDArray[np.int32]  # [S, A], the first num_legal of a row are valid
    num_legal: npt.NDArray[np.int32]  # [S]
    current_player: npt.NDArray[np.int8]  # [S], seat to move
    is_terminal: npt.NDArray[np.bool_]  # [S]
    outcome: npt.NDArray[np.int8]  # [S], view of seat 0; read where terminal
    policy_logits: npt.NDArray[np.float32]  # [S, A], read where not terminal
    values: npt.NDArray[np.float32]  # [S], view of the player to move, read where not terminal


class Slots(NamedTuple):
    """Simulations in flight: the path of each from its root to a leaf."""

    tree: npt.NDArray[np.int32]  # [S], or -1: slot is empty
    leaf: npt.NDArray[np.int32]  # [S], node to expand
    length: npt.NDArray[np.int32]  # [S], plies from the root
    edges: npt.NDArray[np.int32]  # [S, T], i of each, which stays valid when edges move
    actions: npt.NDArray[np.int32]  # [S, T], actions of the edges, for the game to replay


def make_slots(size: int, longest_path: int) -> Slots:
    """S empty slots."""
    return Slots(
        tree=np.full(size, -1, np.int32),
        leaf=np.zeros(size, np.int32),
        length=np.zeros(size, np.int32),
        edges=np.zeros((size, longest_path), np.int32),
        actions=np.zeros((size, longest_path), np.int32),
    )


@register_jitable
def count_in_flight(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    in_flight: InFlight | None,
    change: int,
) -> None:
    """Add `change` to the simulations in flight on each edge of a path, for either player alike."""
    if in_flight is None:
        return
    n = 0
    for depth in range(length):
        place = tree.nodes[b, n].first_tried + edges[depth]
        in_flight.tried[b, place] += change
        in_flight.nodes[b, n] += change
        n = tree.tried[b, place].child


@register_jitable
def back_up(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    leaf: int,
    transpositions: Transpositions | None,
) -> None:
    """N += 1, W += v along a path.

    Only this function and `back_up_shared` flip the sign of a value: the leaf has it in the view of
    its player, an edge takes it in the view of the player who chose the edge.
    """
    if transpositions is not None:
        back_up_shared(tree, b, edges, length, leaf, transpositions)
        return
    value = float(tree.nodes[b, leaf].value)
    player = tree.nodes[b, leaf].player
    n = 0
    for depth in range(length):
        node, i = tree.nodes[b, n], edges[depth]
        edge = tree.tried[b, node.first_tried + i]
        total = edge.total + (value if node.player == player else -value)
        set_total(tree, b, n, i, edge.visits + 1, total)
        node.visits += 1
        n = edge.child


@register_jitable
def add_squares(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    leaf: int,
    squares: npt.NDArray[np.float64],
) -> None:
    """Add v^2 to the sum of squares of each node on a path."""
    value = float(tree.nodes[b, leaf].value)
    n = 0
    for depth in range(length):
        squares[b, n] += value * value
        n = tree.tried[b, tree.nodes[b, n].first_tried + edges[depth]].child


@register_jitable
def back_up_shared(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    leaf: int,
    transpositions: Transpositions,
) -> None:
    """N += 1 along a path, with W recomputed for edges to shared nodes; see `transpositions.py`.

    The loop runs from the leaf upwards, since an edge passes on the change of the one below.
    """
    path = transpositions.scratch
    n = 0
    for depth in range(length):
        path[depth] = n
        n = tree.tried[b, tree.nodes[b, n].first_tried + edges[depth]].child
    change = float(tree.nodes[b, leaf].value)  # view of the node behind the edge
    child = leaf
    for depth in range(length - 1, -1, -1):
        n, i = path[depth], edges[depth]
        node = tree.nodes[b, n]
        edge = tree.tried[b, node.first_tried + i]
        visits = edge.visits + 1
        same = node.player == tree.nodes[b, child].player
        if transpositions.node_shared[b, child]:
            mean = mean_value(tree, b, child)
            change = visits * (mean if same else -mean) - edge.total
        elif not same:
            change = -change
        set_total(tree, b, n, i, visits, edge.total + change)
        node.visits += 1
        child = n


@register_jitable
def place_of_last_edge(tree: Tree, b: int, edges: npt.NDArray[np.int32], length: int) -> int:
    """The place in `tried` of the last edge of a path."""
    n, place = 0, -1
    for depth in range(length):
        place = tree.nodes[b, n].first_tried + edges[depth]
        n = tree.tried[b, place].child
    return place


@register_jitable(forceinline=True)
def choose_edge(
    tree: Tree,
    b: int,
    n: int,
    rule: Selection,
    forced: npt.NDArray[np.float64] | None,
    gumbel: Gumbel | None,
    in_flight: InFlight | None,
    squares: npt.NDArray[np.float64] | None,
) -> int:
    """The edge that a walk follows from a node, as i: by PUCT, or by Gumbel AlphaZero's rules."""
    if forced is not None and n == 0 and forced[b] > 0.0:
        i = forced_edge(tree, b, forced[b])
        if i >= 0:
            return i
    if gumbel is None:
        return best_edge(tree, b, n, rule, in_flight, squares)
    if n > 0:
        return improved_edge(tree, b, n, gumbel)
    # The number of simulations done equals the visits of the root's edges.
    visits = gumbel.considered_visits[b, tree.nodes[b, 0].visits - 1]
    return best_considered_edge(tree, b, visits, gumbel)


@register_jitable(forceinline=True)
def walk(
    tree: Tree,
    b: int,
    s: int,
    rule: Selection,
    forced: npt.NDArray[np.float64] | None,
    gumbel: Gumbel | None,
    in_flight: InFlight | None,
    transpositions: Transpositions | None,
    proofs: Proofs | None,
    squares: npt.NDArray[np.float64] | None,
    slots: Slots,
) -> int:
    """Follow the selected edges from the root of tree b, and write path and leaf to slot s.

    Returns:
        NEW, KNOWN or WAITING.
    """
    n, length = 0, 0
    ended = WAITING
    while tree.nodes[b, n].num_edges > 0:
        node = tree.nodes[b, n]
        i = choose_edge(tree, b, n, rule, forced, gumbel, in_flight, squares)
        slots.edges[s, length] = i
        slots.actions[s, length] = tree.edge_action[b, node.first_edge + i]
        length += 1
        if i == node.num_tried:
            child = add_node(tree, b)
            if proofs is not None:
                proofs.nodes[b, child] = 0
            try_next_edge(tree, b, n, child, in_flight)
            if gumbel is None or n > 0:  # a Gumbel root's edges are in order
                bring_next_candidate(tree, b, n)
            n = child
            ended = NEW
            break
        place = node.first_tried + i
        n = tree.tried[b, place].child
        if transpositions is not None and is_behind(tree, transpositions, b, place):
            ended = KNOWN
            break
    if tree.nodes[b, n].terminal:
        ended = KNOWN
    slots.leaf[s], slots.length[s] = n, length
    return ended


@register_jitable
def is_settled(tree: Tree, b: int, left: int) -> bool:
    """Whether `left` simulations, 1 or more, cannot change which root action has the most visits.

    So it is if the most visited one stays first even if another gets all of them; lc0 calls this
    smart pruning. Ties go to the higher prior, then the lower action, as in the choice of a move.
    """
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
    best_only: npt.NDArray[np.bool_] | None,
    rule: Selection,
    forced: npt.NDArray[np.float64] | None,
    gumbel: Gumbel | None,
    in_flight: InFlight | None,
    transpositions: Transpositions | None,
    proofs: Proofs | None,
    squares: npt.NDArray[np.float64] | None,
    slots: Slots,
) -> int:
    """Walk each tree down to leaves that need the network.

    A known terminal node needs none: it is backed up at once, and the next walk begins. A
    simulation takes one from the tree's budget; the evaluation of a root does not.

    Args:
        tree: changed: new nodes, and backups of known terminal nodes.
        walked: bool [B], the trees to walk; none has a leaf in flight. May be `wave.active`.
        wave: its budget is counted down, `active` is written for the trees that were walked.
        best_only: bool [B], the trees whose budget is dropped as soon as `is_settled`; None: none.
        rule: the constants of PUCT.
        forced: float64 [B], the factor of `forced_visits` at each root, 0: none; or None.
        gumbel: those of the rule that replaces PUCT, or None; each case has its own compilation.
        in_flight: changed; None with one leaf at once, when nothing else is in flight.
        transpositions: of trees that share positions, or None. A walk over an edge that is behind
            its node is a simulation too, and backed up at once.
        proofs: of trees that prove wins and losses, or None. A proven root drops the budget.
        squares: as for `spread_factor`, changed; None: C(s) does not depend on them.
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
            if best_only is not None and best_only[b]:
                left = wave.budget[b] + used  # those in flight have not been counted yet
                if left > 0 and is_settled(tree, b, left):
                    wave.budget[b] = 0
            if proofs is not None and proofs.nodes[b, 0] != 0:
                wave.budget[b] = 0
            if wave.budget[b] <= 0:
                break
            ended = walk(
                tree, b, s, rule, forced, gumbel, in_flight, transpositions, proofs, squares, slots
            )
            if ended == WAITING:  # nothing more to find now
                break
            wave.budget[b] -= 1
            edges, length = slots.edges[s], slots.length[s]
            if ended == KNOWN:
                back_up(tree, b, edges, length, slots.leaf[s], transpositions)
                if squares is not None:
                    add_squares(tree, b, edges, length, slots.leaf[s], squares)
                continue
            count_in_flight(tree, b, edges, length, in_flight, 1)
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
    in_flight: InFlight | None,
    transpositions: Transpositions,
    slots: Slots,
    keys: npt.NDArray[np.uint64],
) -> int:
    """Link leaves with known positions to the nodes of these; such leaves need no evaluation.

    Such a simulation is backed up at once, or by `expand_and_back_up` if its node waits in an
    earlier slot of this wave. The nodes that `find_leaves` made for the other leaves move up to
    close the gaps: they come last in a tree, in the order of the slots, and are still blank.

    Args:
        tree: changed.
        walked: bool [B], the trees whose slots to process. Those stay True that have simulations
            left but no leaf in flight, since all their leaves were known already.
        wave: `active` is written for the trees whose slots were processed.
        in_flight: as for `find_leaves`.
        transpositions: changed.
        slots: slots whose leaf is known are emptied.
        keys: uint64 [S], `Game.position_key` of each leaf.

    Returns:
        The number of these slots that still hold a leaf.
    """
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
            count_in_flight(tree, b, slots.edges[s], length, in_flight, -1)
            back_up(tree, b, slots.edges[s], length, n, transpositions)
        tree.num_nodes[b] = nodes
        wave.active[b] = waiting > 0 or wave.budget[b] > 0
        walked[b] = waiting == 0 and wave.budget[b] > 0
        filled += waiting
    return filled


@kernel
def expand_and_back_up(
    tree: Tree,
    wave: Wave,
    in_flight: InFlight | None,
    transpositions: Transpositions | None,
    proofs: Proofs | None,
    squares: npt.NDArray[np.float64] | None,
    slots: Slots,
    leaves: Leaves,
) -> int:
    """Give each slot's leaf its edges and value and back the value up.

    Args:
        tree: changed.
        wave: `active` is written for trees that had a leaf in flight.
        in_flight: as for `find_leaves`.
        transpositions: as for `find_leaves`.
        proofs: as for `find_leaves`; changed.
        squares: as for `find_leaves`.
        slots: the paths; emptied.
        leaves: the results for the leaves at their ends.

    Returns:
        DONE; or NOT_FINITE if a value or logit was not finite, after which the trees must not be
        used; or the number of edges for which a tree needs room, in which case nothing has changed.
    """
    wanted = most_edges(tree, wave.leaves_per_tree, slots, leaves.num_legal)
    if wanted > tree.edge_action.shape[1]:
        return wanted
    finite = True
    for b in range(wave.active.shape[0]):
        had_leaf = False
        for s in range(b * wave.leaves_per_tree, (b + 1) * wave.leaves_per_tree):
            n = slots.leaf[s]
            if transpositions is not None and transpositions.slot_waits[s]:
                transpositions.slot_waits[s] = False  # an earlier slot has just expanded its leaf
                count_in_flight(tree, b, slots.edges[s], slots.length[s], in_flight, -1)
                back_up(tree, b, slots.edges[s], slots.length[s], n, transpositions)
            if slots.tree[s] < 0:
                continue
            had_leaf = True
            node = tree.nodes[b, n]
            node.player = leaves.current_player[s]
            node.first_edge = tree.num_edges[b]
            node.visits = 1
            if leaves.is_terminal[s]:
                node.terminal = True
                node.num_edges = 0
                result = float(leaves.outcome[s])
                node.value = result if leaves.current_player[s] == 0 else -result
                if proofs is not None:
                    proofs.nodes[b, n] = int(node.value)
            else:
                node.value = leaves.values[s]
                count = leaves.num_legal[s]
                node.num_edges = count
                first = tree.num_edges[b]
                tree.num_edges[b] = first + count
                for i in range(count):
                    tree.edge_action[b, first + i] = leaves.legal_actions[s, i]
                total = softmax(
                    leaves.policy_logits[s],
                    leaves.legal_actions[s],
                    tree.edge_prior[b, first : first + count],
                )
                finite = finite and math.isfinite(total) and math.isfinite(leaves.values[s])
                bring_next_candidate(tree, b, n)
            count_in_flight(tree, b, slots.edges[s], slots.length[s], in_flight, -1)
            back_up(tree, b, slots.edges[s], slots.length[s], n, transpositions)
            if squares is not None:
                squares[b, n] = float(node.value) * float(node.value)
                add_squares(tree, b, slots.edges[s], slots.length[s], n, squares)
            if proofs is not None:
                prove(tree, b, slots.edges[s], slots.length[s], proofs)
            slots.tree[s] = -1
        if had_leaf:
            wave.active[b] = wave.budget[b] > 0
    return DONE if finite else NOT_FINITE


@register_jitable
def most_edges(
    tree: Tree, leaves_per_tree: int, slots: Slots, num_legal: npt.NDArray[np.int32]
) -> int:
    """The number of edges of the largest tree once its leaves in flight are expanded."""
    most = np.int64(0)
    for b in range(tree.num_edges.shape[0]):
        edges = np.int64(tree.num_edges[b])
        for s in range(b * leaves_per_tree, (b + 1) * leaves_per_tree):
            if slots.tree[s] >= 0:
                edges += num_legal[s]
        most = max(most, edges)
    return int(most)
