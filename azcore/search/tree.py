"""The arrays that hold B search trees.

Letters: B trees, M nodes per tree, E edges per tree. Node 0 is a tree's root. A node's edges are
its legal actions and lie side by side: `first_edge` to `first_edge + num_edges - 1`. The first
`num_tried` of them have been visited, in order of first visit; the next one is the untried edge
with the highest prior, ready to be the next candidate; the others are in no particular order. So
selection looks at `num_tried + 1` edges, never at all of them: among untried edges, which share
their Q and N = 0, the one with the highest prior is best. Only these (at the root of a Gumbel
search the considered ones) have statistics: in the others child, visits and total are whatever was
there before.

N and W hold what has been evaluated, nothing else. Simulations that wait for their evaluation are
counted apart (`InFlight`), and only where several leaves of one tree may wait at once.

Memory of a tree: 22 bytes a node and 24 an edge, the edges growing with use; 4 more of each with
several leaves at once, and some 25 a node with transpositions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NO_NODE = -1  # child of an edge that has not been visited
PENDING = -1  # num_edges of a node that waits for its evaluation


class Tree(NamedTuple):
    """B trees as flat arrays; views of values are said at each one."""

    num_nodes: npt.NDArray[np.int32]  # [B]
    num_edges: npt.NDArray[np.int32]  # [B]
    # nodes
    node_player: npt.NDArray[np.int8]  # [B, M], seat to move
    node_terminal: npt.NDArray[np.bool_]  # [B, M]
    node_value: npt.NDArray[np.float32]  # [B, M], evaluation or final result, view of node_player
    node_visits: npt.NDArray[np.int32]  # [B, M], N(s) = 1 + the sum of its edges' visits
    node_first_edge: npt.NDArray[np.int32]  # [B, M]
    node_num_edges: npt.NDArray[np.int32]  # [B, M], or PENDING; 0 if terminal
    node_num_tried: npt.NDArray[np.int32]  # [B, M]
    # edges
    edge_action: npt.NDArray[np.int32]  # [B, E]
    edge_prior: npt.NDArray[np.float32]  # [B, E], P(s, a): softmax over legal, noise at root only
    edge_child: npt.NDArray[np.int32]  # [B, E], node or NO_NODE
    edge_visits: npt.NDArray[np.int32]  # [B, E], N(s, a)
    edge_total: npt.NDArray[np.float64]  # [B, E], W(s, a), view of the node's player


class InFlight(NamedTuple):
    """Simulations on their way through B trees; zero everywhere between waves."""

    nodes: npt.NDArray[np.int32]  # [B, M], the sum over the node's edges
    edges: npt.NDArray[np.int32]  # [B, E]


def allocate(num_trees: int, nodes_per_tree: int, edges_per_tree: int) -> Tree:
    """B trees of one pending root each."""
    node, edge = (num_trees, nodes_per_tree), (num_trees, edges_per_tree)
    tree = Tree(
        num_nodes=np.ones(num_trees, np.int32),
        num_edges=np.zeros(num_trees, np.int32),
        node_player=np.empty(node, np.int8),
        node_terminal=np.empty(node, np.bool_),
        node_value=np.empty(node, np.float32),
        node_visits=np.empty(node, np.int32),
        node_first_edge=np.empty(node, np.int32),
        node_num_edges=np.empty(node, np.int32),
        node_num_tried=np.empty(node, np.int32),
        edge_action=np.empty(edge, np.int32),
        edge_prior=np.empty(edge, np.float32),
        edge_child=np.empty(edge, np.int32),
        edge_visits=np.empty(edge, np.int32),
        edge_total=np.empty(edge, np.float64),
    )
    for b in range(num_trees):
        clear(tree, b)
    return tree


def clear(tree: Tree, b: int) -> None:
    """Forget tree `b`: a root that waits for its evaluation."""
    tree.num_nodes[b] = 1
    tree.num_edges[b] = 0
    tree.node_terminal[b, 0] = False
    tree.node_value[b, 0] = 0.0
    tree.node_visits[b, 0] = 0
    tree.node_first_edge[b, 0] = 0
    tree.node_num_edges[b, 0] = PENDING
    tree.node_num_tried[b, 0] = 0


def edge_statistics(
    tree: Tree, b: int, n: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """N, W and the child of all K edges of a node, in their order: int32, float64, int32 [K].

    0, 0 and NO_NODE for those not tried yet, which have none of their own; K = 0 for a node that
    waits.
    """
    first, tried = tree.node_first_edge[b, n], tree.node_num_tried[b, n]
    count = max(0, int(tree.node_num_edges[b, n]))
    visits, totals = np.zeros(count, np.int32), np.zeros(count, np.float64)
    children = np.full(count, NO_NODE, np.int32)
    visits[:tried] = tree.edge_visits[b, first : first + tried]
    totals[:tried] = tree.edge_total[b, first : first + tried]
    children[:tried] = tree.edge_child[b, first : first + tried]
    return visits, totals, children


def with_more_edges(tree: Tree, edges_per_tree: int) -> Tree:
    """The same trees with room for more edges each."""

    def grown(old: npt.NDArray[Any]) -> npt.NDArray[Any]:
        new = np.empty((old.shape[0], edges_per_tree), old.dtype)
        for row, used in enumerate(tree.num_edges):
            new[row, :used] = old[row, :used]
        return new

    return tree._replace(
        **{name: grown(getattr(tree, name)) for name in Tree._fields if name.startswith("edge_")}
    )


def with_more_edges_in_flight(in_flight: InFlight, edges_per_tree: int) -> InFlight:
    """The same simulations on their way through trees with more room for edges."""
    edges = np.zeros((len(in_flight.edges), edges_per_tree), np.int32)
    edges[:, : in_flight.edges.shape[1]] = in_flight.edges
    return in_flight._replace(edges=edges)
