"""Transpositions: positions on several paths, searched once, which turns each tree into a graph.

A position reached again, by other actions in the same number of plies, uses its existing node, so
the search evaluates and expands it once. Each edge has visits of its own and takes its value from
the node behind it:

    Q(s)    = (v + sum W(s, a)) / (1 + sum N(s, a))    v the evaluation of s
    W(s, a) = N(s, a) Q(s')                            s' behind the edge, as of its last pass

If only one edge leads to s', this equals summing the values, so a tree without transpositions is
bit for bit the plain tree. If several edges do, a pass over one of them recomputes its W and passes
the change, instead of a value, on to the root. An edge that has been passed less often than its
node has been visited is behind: a walk over it ends there and takes the node's current value. Czech
et al. 2021, "Improving AlphaZero Using Monte-Carlo Graph Search" (ICAPS), and KataGo's document
GraphSearch.md explain why edge visits and node values must be separate.

There are no cycles: position and ply identify a node, so each edge leads one ply on.

Letters as in `tree.py`, and: S slots; K places of a table, a power of two above 2 M.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.tree import NO_NODE, Tree

_LOW_BITS = np.uint64(0x7FFFFFFF)
_WORD = np.uint64(32)
_SPREAD = 0x4F1BBCDD  # odd, below 2**31: its product with 31 bits fits an int64


class Transpositions(NamedTuple):
    """What B trees store to recognise repeated positions."""

    root_ply: npt.NDArray[np.int32]  # [B], plies since the tree was started; see `key_of_node`
    ply_keys: npt.NDArray[np.uint64]  # [plies], a random number for each ply
    node_key: npt.NDArray[np.uint64]  # [B, M], the key of position and ply
    node_shared: npt.NDArray[np.bool_]  # [B, M], whether several edges lead or have led there
    table: npt.NDArray[np.int32]  # [B, K], nodes by key, or NO_NODE; the root is not in it
    slot_waits: npt.NDArray[np.bool_]  # [S], its leaf waits for an earlier slot
    scratch: npt.NDArray[np.int32]  # [max(M, longest path + 1)]


def make_transpositions(
    *, num_trees: int, nodes_per_tree: int, num_slots: int, longest_path: int, max_game_length: int
) -> Transpositions:
    """The arrays of empty trees."""
    return Transpositions(
        root_ply=np.zeros(num_trees, np.int32),
        # The generator's raw stream is the same in every version of NumPy.
        ply_keys=np.random.PCG64(20201222).random_raw(max_game_length + 1),
        node_key=np.zeros((num_trees, nodes_per_tree), np.uint64),
        node_shared=np.zeros((num_trees, nodes_per_tree), np.bool_),
        table=np.full((num_trees, 1 << (2 * nodes_per_tree).bit_length()), NO_NODE, np.int32),
        slot_waits=np.zeros(num_slots, np.bool_),
        scratch=np.zeros(max(nodes_per_tree, longest_path + 1), np.int32),
    )


@register_jitable
def key_of_node(known: Transpositions, b: int, position_key: int, length: int) -> int:
    """The key of a position `length` plies below the root of tree b.

    Plies count from the start of the tree, not from its root, so keys stay valid when the root
    moves on.
    """
    return position_key ^ known.ply_keys[known.root_ply[b] + length]  # type: ignore[no-any-return]


@register_jitable
def place_of(known: Transpositions, b: int, key: int) -> int:
    """The place in tree b's table that holds the node of this key, or is free for it."""
    last = known.table.shape[1] - 1
    # Fold and spread the key, since keys may be small numbers or have their bits in columns.
    low = np.int64((key ^ key >> _WORD) & _LOW_BITS)
    place = low * _SPREAD >> 24 & last
    while known.table[b, place] != NO_NODE and known.node_key[b, known.table[b, place]] != key:
        place = place + 1 & last
    return place  # type: ignore[no-any-return]


@register_jitable
def is_behind(tree: Tree, known: Transpositions | None, b: int, place: int) -> bool:
    """Whether the node behind a tried edge was visited more often than this edge was passed.

    This is never so for a terminal node: it counts one visit, and its value is final.
    """
    if known is None:
        return False
    edge = tree.tried[b, place]
    n = edge.child
    return bool(known.node_shared[b, n] and edge.visits < tree.nodes[b, n].visits)


@register_jitable
def forget_positions(b: int, known: Transpositions | None) -> None:
    """Empty the table of tree b."""
    if known is not None:
        known.table[b] = NO_NODE


@register_jitable
def list_positions(b: int, num_nodes: int, known: Transpositions | None) -> None:
    """Rebuild the table of tree b from its nodes."""
    if known is None:
        return
    known.table[b] = NO_NODE
    for n in range(1, num_nodes):
        known.table[b, place_of(known, b, known.node_key[b, n])] = n
