"""Compiled expansion and backup: what happens to leaves after their evaluation.

Begin at `expand_and_back_up`. Paths, leaves and letters are those of `walks.py`.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.compiling import kernel
from azcore.search.proofs import prove, set_proof
from azcore.search.softmax import softmax
from azcore.search.transpositions import Transpositions
from azcore.search.tree import InFlight, Tree, Wave, bring_next_candidate, mean_value, set_total
from azcore.search.variants import Variants

DONE, NOT_FINITE = 0, -1  # results of `expand_and_back_up`


class Slots(NamedTuple):
    """Simulations in flight: the path of each from its root to a leaf."""

    tree: npt.NDArray[np.int32]  # [S], or -1: slot is empty
    leaf: npt.NDArray[np.int32]  # [S], node to expand
    length: npt.NDArray[np.int32]  # [S], plies from the root
    edges: npt.NDArray[np.int32]  # [S, T], i of each edge, which stays valid when edges move
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


class Leaves(NamedTuple):
    """The results of the game and the evaluator for the leaves in the slots."""

    legal_actions: npt.NDArray[np.int32]  # [S, A], the first num_legal of a row are valid
    num_legal: npt.NDArray[np.int32]  # [S]
    current_player: npt.NDArray[np.int8]  # [S], seat to move
    is_terminal: npt.NDArray[np.bool_]  # [S]
    outcome: npt.NDArray[np.int8]  # [S], view of seat 0; read where terminal
    policy_logits: npt.NDArray[np.float32]  # [S, A], read where not terminal
    values: npt.NDArray[np.float32]  # [S], view of the player to move, read where not terminal


@kernel
def expand_and_back_up(
    tree: Tree, wave: Wave, variants: Variants, slots: Slots, leaves: Leaves
) -> int:
    """Give each slot's leaf its edges and value and back the value up.

    Args:
        tree: changed.
        wave: `active` is written for trees that had a leaf in flight.
        variants: changed; as for `find_leaves`.
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
            n, edges, length = slots.leaf[s], slots.edges[s], slots.length[s]
            if stops_waiting(s, variants.transpositions):  # an earlier slot just expanded its leaf
                count_in_flight(tree, b, edges, length, variants.in_flight, -1)
                back_up(tree, b, edges, length, n, variants.transpositions)
            if slots.tree[s] < 0:
                continue
            had_leaf = True
            finite = expand(tree, b, n, s, leaves) and finite
            count_in_flight(tree, b, edges, length, variants.in_flight, -1)
            back_up(tree, b, edges, length, n, variants.transpositions)
            begin_squares(tree, b, n, variants.squares)
            add_squares(tree, b, edges, length, n, variants.squares)
            if leaves.is_terminal[s]:
                set_proof(b, n, int(tree.nodes[b, n].value), variants.proofs)
            prove(tree, b, edges, length, variants.proofs)
            slots.tree[s] = -1
        if had_leaf:
            wave.active[b] = wave.budget[b] > 0
    return DONE if finite else NOT_FINITE


@register_jitable(forceinline=True)
def expand(tree: Tree, b: int, n: int, s: int, leaves: Leaves) -> bool:
    """Give node n, the leaf of slot s, its value and edges; whether all of them are finite."""
    node = tree.nodes[b, n]
    node.player = leaves.current_player[s]
    node.first_edge = tree.num_edges[b]
    node.visits = 1
    if leaves.is_terminal[s]:
        node.terminal = True
        node.num_edges = 0
        result = float(leaves.outcome[s])
        node.value = result if leaves.current_player[s] == 0 else -result
        return True
    node.value = leaves.values[s]
    count = leaves.num_legal[s]
    node.num_edges = count
    first = tree.num_edges[b]
    tree.num_edges[b] = first + count
    for i in range(count):
        tree.edge_action[b, first + i] = leaves.legal_actions[s, i]
    total = softmax(
        leaves.policy_logits[s], leaves.legal_actions[s], tree.edge_prior[b, first : first + count]
    )
    bring_next_candidate(tree, b, n)
    return math.isfinite(total) and math.isfinite(leaves.values[s])


@register_jitable
def stops_waiting(s: int, transpositions: Transpositions | None) -> bool:
    """Whether the leaf of slot s waited for an earlier slot of its wave; clears that mark."""
    if transpositions is None:
        return False
    waited = transpositions.slot_waits[s]
    transpositions.slot_waits[s] = False
    return bool(waited)


@register_jitable
def most_edges(
    tree: Tree, leaves_per_tree: int, slots: Slots, num_legal: npt.NDArray[np.int32]
) -> int:
    """The number of edges in the largest tree after expanding its leaves in flight."""
    most = np.int64(0)
    for b in range(tree.num_edges.shape[0]):
        edges = np.int64(tree.num_edges[b])
        for s in range(b * leaves_per_tree, (b + 1) * leaves_per_tree):
            if slots.tree[s] >= 0:
                edges += num_legal[s]
        most = max(most, edges)
    return int(most)


@register_jitable
def count_in_flight(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    in_flight: InFlight | None,
    change: int,
) -> None:
    """Add `change` to the simulations in flight on each edge of a path, for both players."""
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
def begin_squares(tree: Tree, b: int, n: int, squares: npt.NDArray[np.float64] | None) -> None:
    """Initialise the sum of squares of a new node with its own value."""
    if squares is not None:
        squares[b, n] = float(tree.nodes[b, n].value) * float(tree.nodes[b, n].value)


@register_jitable
def add_squares(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    leaf: int,
    squares: npt.NDArray[np.float64] | None,
) -> None:
    """Add v^2 to the sum of squares of each node on a path, except the leaf."""
    if squares is None:
        return
    value = float(tree.nodes[b, leaf].value)
    n = 0
    for depth in range(length):
        squares[b, n] += value * value
        n = tree.tried[b, tree.nodes[b, n].first_tried + edges[depth]].child
