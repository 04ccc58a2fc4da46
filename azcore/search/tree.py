"""The arrays that hold B search trees.

Letters: B trees, M nodes per tree, E edges per tree, R places for tried edges per tree. Node 0 is a
tree's root. A node's edges are its legal actions and lie side by side: `first_edge` to
`first_edge + num_edges - 1`. The first `num_tried` of them have been visited, in order of first
visit. The next one is the untried edge with the highest prior, the next candidate; the others are
in no particular order. So selection looks at `num_tried + 1` edges, never at all of them: among
untried edges, which share their Q and N = 0, the one with the highest prior is best.

Only tried edges have statistics, edge i of a node at place `first_tried + i` of `tried`. Few edges
are tried, as many as there are simulations, so everything a walk reads lies close together. A node
has room for a power of two of tried edges; when that is full, they move to new room behind all
others. A tree that gets a new root is compacted.

N and W count only evaluated simulations. `InFlight` counts those that wait for their evaluation
separately, and only if several leaves of one tree may wait at once.

Memory of a tree: 28 bytes per node, 32 per place for a tried edge (at most four places per node)
and 6 per edge, where the array of edges grows with use. Several leaves at once add 4 bytes per node
and per place; transpositions add about 25 per node, proofs 1 and squares of values 8.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.game.compilation import record_type

NO_NODE = -1  # child of an edge that has not been visited
PENDING = -1  # num_edges of a node that waits for its evaluation
PLACES_PER_NODE = 4  # room grows by 1, 2, 4, ...: fewer than 4 t in total for t tried edges


NODE = record_type(
    [
        ("value", np.float32),  # evaluation or outcome, view of `player`
        ("visits", np.int32),  # N(s) = 1 + the sum of its edges' visits
        ("first_edge", np.int32),
        ("num_edges", np.int32),  # or PENDING; 0 if terminal
        ("first_tried", np.int32),
        ("num_tried", np.int32),
        ("player", np.int8),  # seat to move
        ("terminal", np.bool_),
    ]
)
TRIED = record_type(
    [
        ("total", np.float64),  # W(s, a), view of the node's player
        # The next two follow from N, W and P. Storing them saves two divisions per read of an edge.
        ("q", np.float64),  # Q(s, a) = W / N
        ("bonus", np.float64),  # P(s, a) / (1 + N), which is U without the node's factor
        ("visits", np.int32),  # N(s, a), above 0 unless the edge's first visit is in flight
        ("child", np.int32),  # node behind the edge
    ]
)


class Tree(NamedTuple):
    """B trees as flat arrays."""

    num_nodes: npt.NDArray[np.int32]  # [B]
    num_edges: npt.NDArray[np.int32]  # [B]
    num_tried: npt.NDArray[np.int32]  # [B], tried edges of all nodes
    num_places: npt.NDArray[np.int32]  # [B], places of `tried` that are taken
    nodes: npt.NDArray[Any]  # [B, M], NODE
    tried: npt.NDArray[Any]  # [B, R], TRIED
    edge_action: npt.NDArray[np.uint16]  # [B, E]
    edge_prior: npt.NDArray[np.float32]  # [B, E], P(s, a): softmax over legal, noise at root only


class Wave(NamedTuple):
    """The work left in each tree."""

    active: npt.NDArray[np.bool_]  # [B], whether it has a leaf in flight or simulations left
    budget: npt.NDArray[np.int32]  # [B], simulations left
    leaves_per_tree: int  # most leaves in flight at once; tree b's slots begin at b times that


class InFlight(NamedTuple):
    """Numbers of simulations in flight in B trees; zero everywhere between waves."""

    nodes: npt.NDArray[np.int32]  # [B, M], the sum over the node's edges
    tried: npt.NDArray[np.int32]  # [B, R], for the edge at this place


def allocate(num_trees: int, nodes_per_tree: int, edges_per_tree: int) -> Tree:
    """B trees, each with one pending root."""
    tree = Tree(
        num_nodes=np.ones(num_trees, np.int32),
        num_edges=np.zeros(num_trees, np.int32),
        num_tried=np.zeros(num_trees, np.int32),
        num_places=np.zeros(num_trees, np.int32),
        nodes=np.empty((num_trees, nodes_per_tree), NODE),
        tried=np.empty((num_trees, PLACES_PER_NODE * nodes_per_tree), TRIED),
        edge_action=np.empty((num_trees, edges_per_tree), np.uint16),
        edge_prior=np.empty((num_trees, edges_per_tree), np.float32),
    )
    for b in range(num_trees):
        clear(tree, b)
    return tree


def nothing_in_flight(tree: Tree) -> InFlight:
    """Counters of the simulations in flight in these trees, all zero."""
    return InFlight(
        nodes=np.zeros(tree.nodes.shape, np.int32), tried=np.zeros(tree.tried.shape, np.int32)
    )


@register_jitable
def clear(tree: Tree, b: int) -> None:
    """Reset tree `b` to a root that waits for its evaluation."""
    tree.num_nodes[b] = 0
    tree.num_edges[b] = 0
    tree.num_tried[b] = 0
    tree.num_places[b] = 0
    root = add_node(tree, b)
    tree.nodes[b, root].value = 0.0


@register_jitable
def add_node(tree: Tree, b: int) -> int:
    """Add a node that waits for its evaluation, which sets `value`, `player` and `first_edge`."""
    n: int = tree.num_nodes[b]
    tree.num_nodes[b] = n + 1
    node = tree.nodes[b, n]
    node.visits = 0
    node.num_edges = PENDING
    node.num_tried = 0
    node.terminal = False
    return n


@register_jitable
def try_next_edge(tree: Tree, b: int, n: int, child: int, in_flight: InFlight | None) -> None:
    """Give the first untried edge of a node its statistics and its child."""
    node = tree.nodes[b, n]
    i = node.num_tried
    if i & (i - 1) == 0:
        find_more_room(tree, b, n, in_flight)
    edge = tree.tried[b, node.first_tried + i]
    edge.total = 0.0
    edge.q = 0.0
    edge.bonus = tree.edge_prior[b, node.first_edge + i]
    edge.visits = 0
    edge.child = child
    node.num_tried = i + 1
    tree.num_tried[b] += 1


@register_jitable
def find_more_room(tree: Tree, b: int, n: int, in_flight: InFlight | None) -> None:
    """Move the tried edges of a node to the end, with twice the room; at first, one place."""
    node = tree.nodes[b, n]
    old, new = node.first_tried, tree.num_places[b]
    for i in range(node.num_tried):
        tree.tried[b, new + i] = tree.tried[b, old + i]
        if in_flight is not None:
            in_flight.tried[b, new + i] = in_flight.tried[b, old + i]
            in_flight.tried[b, old + i] = 0
    node.first_tried = new
    tree.num_places[b] = new + room_for(node.num_tried + 1)


@register_jitable
def room_for(num_tried: int) -> int:
    """The places of a node with `num_tried` tried edges: the next power of two; 0 for none."""
    room = 1 if num_tried > 0 else 0
    while room < num_tried:
        room *= 2
    return room


@register_jitable
def set_total(tree: Tree, b: int, n: int, i: int, visits: int, total: float) -> None:
    """Set N and W of edge i of a node, and the values that follow from them."""
    node = tree.nodes[b, n]
    edge = tree.tried[b, node.first_tried + i]
    edge.visits = visits
    edge.total = total
    edge.q = total / visits
    edge.bonus = bonus(float(tree.edge_prior[b, node.first_edge + i]), visits)


@register_jitable(forceinline=True)
def bonus(prior: float, visits: int) -> float:
    """P(s, a) / (1 + N(s, a))."""
    return prior / (1.0 + visits)


@register_jitable
def mean_value(tree: Tree, b: int, n: int) -> float:
    """Q(s) = (v + sum W(s, a)) / (1 + sum N(s, a)) of a node, view of its player."""
    node = tree.nodes[b, n]
    total = float(node.value)
    for i in range(node.num_tried):
        total += tree.tried[b, node.first_tried + i].total
    return total / float(node.visits)


def with_more_edges(tree: Tree, edges_per_tree: int) -> Tree:
    """The same trees with room for more edges each."""

    def grown(old: npt.NDArray[Any]) -> npt.NDArray[Any]:
        new = np.empty((old.shape[0], edges_per_tree), old.dtype)
        for row, used in enumerate(tree.num_edges):
            new[row, :used] = old[row, :used]
        return new

    return tree._replace(edge_action=grown(tree.edge_action), edge_prior=grown(tree.edge_prior))


@register_jitable
def precedes(tree: Tree, b: int, n: int, i: int, other: int) -> bool:
    """Whether edge i goes before another of the same score: higher prior, then lower action."""
    first = tree.nodes[b, n].first_edge
    e, f = first + i, first + other
    if tree.edge_prior[b, e] != tree.edge_prior[b, f]:
        return bool(tree.edge_prior[b, e] > tree.edge_prior[b, f])
    return bool(tree.edge_action[b, e] < tree.edge_action[b, f])


@register_jitable
def bring_next_candidate(tree: Tree, b: int, n: int) -> None:
    """Swap the untried edge of highest prior to the place behind the tried ones, if one is left.

    Ties go to the lower action.
    """
    node = tree.nodes[b, n]
    place = node.first_edge + node.num_tried
    end = node.first_edge + node.num_edges
    if place >= end:
        return
    best = place + best_prior(tree.edge_prior[b, place:end], tree.edge_action[b, place:end])
    swap_edges(tree, b, place, best)


@register_jitable
def best_prior(priors: npt.NDArray[np.float32], actions: npt.NDArray[np.uint16]) -> int:
    """The index of the highest prior; ties go to the lowest action."""
    # The bits of non-negative floats sort as the floats do, and the compiler vectorises both loops
    # over integers.
    bits = priors.view(np.int32)
    highest = bits[0]
    for i in range(bits.shape[0]):
        highest = max(highest, bits[i])
    lowest = np.int64(2**62)
    for i in range(bits.shape[0]):
        candidate = np.int64(actions[i]) << 32 | i
        lowest = min(lowest, candidate if bits[i] == highest else np.int64(2**62))
    return lowest & 0xFFFFFFFF  # type: ignore[return-value]


@register_jitable
def swap_edges(tree: Tree, b: int, one: int, other: int) -> None:
    """Exchange two untried edges, or one edge and itself."""
    action, prior = tree.edge_action[b, one], tree.edge_prior[b, one]
    tree.edge_action[b, one] = tree.edge_action[b, other]
    tree.edge_prior[b, one] = tree.edge_prior[b, other]
    tree.edge_action[b, other] = action
    tree.edge_prior[b, other] = prior
