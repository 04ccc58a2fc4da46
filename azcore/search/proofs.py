"""Proven wins and losses, which no evaluation can change (`search.solve`).

MCTS-Solver (Winands, Björnsson and Saito 2008, "Monte-Carlo Tree Search Solver"): a position is won
for the player to move if an action leads to a position that is won for this player, and lost if all
actions lead to positions that are lost. Both begin at ends of the game. A draw is never proven, so
it is visited like any position.

    walks      take no lost edge, and end when the root is proven
    Q          of a lost edge is -inf, `LOST`, which PUCT never prefers; N and W do not change
    result     Q of a proven edge is its outcome, and that of a proven root is its value
    best move  a won action before all, a lost one after all
    kept       visits of won actions if there are any; else of those that are not lost; of all if
               all are lost. Move choice and the policy target use them, so the policy learns a win
               however late the search found it, and no blunder

Values are those of seats, so one player may move twice in a row. Letters as in `tree.py`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.search.tree import Tree

IntArray = npt.NDArray[np.int32]
LOST = -np.inf  # Q of an edge that is proven lost, as a tree stores it


class Proofs(NamedTuple):
    """The proofs in B trees."""

    nodes: npt.NDArray[np.int8]  # [B, M], 1 won for the player to move there, -1 lost, 0 unknown
    path: npt.NDArray[np.int32]  # [longest path], scratch


def make_proofs(num_trees: int, nodes_per_tree: int, longest_path: int) -> Proofs:
    """Empty proofs."""
    return Proofs(
        nodes=np.zeros((num_trees, nodes_per_tree), np.int8), path=np.zeros(longest_path, np.int32)
    )


@register_jitable
def proof_of(b: int, n: int, proofs: Proofs | None) -> int:
    """The proven value of a node: 1 won for the player to move there, -1 lost, 0 unknown."""
    if proofs is None:
        return 0
    return int(proofs.nodes[b, n])


@register_jitable
def set_proof(b: int, n: int, proof: int, proofs: Proofs | None) -> None:
    """Store the proven value of a node."""
    if proofs is not None:
        proofs.nodes[b, n] = proof


@register_jitable
def proof_of_edge(tree: Tree, b: int, n: int, i: int, proofs: Proofs | None) -> int:
    """The proven value of a tried edge: as `proof_of`, view of the node's player."""
    child = tree.tried[b, tree.nodes[b, n].first_tried + i].child
    proof = proof_of(b, child, proofs)
    same = tree.nodes[b, child].player == tree.nodes[b, n].player
    return int(proof if same else -proof)


@register_jitable
def prove(
    tree: Tree, b: int, edges: npt.NDArray[np.int32], length: int, proofs: Proofs | None
) -> None:
    """Prove what follows along a path after backing up its leaf."""
    if proofs is None:
        return
    n = 0
    for depth in range(length):
        proofs.path[depth] = n
        n = tree.tried[b, tree.nodes[b, n].first_tried + edges[depth]].child
    for depth in range(length - 1, -1, -1):
        n = proofs.path[depth]
        proof = proof_of_edge(tree, b, n, edges[depth], proofs)
        if proof > 0:
            proofs.nodes[b, n] = 1
        elif proof < 0:
            tree.tried[b, tree.nodes[b, n].first_tried + edges[depth]].q = LOST
            if are_all_lost(tree, b, n):
                proofs.nodes[b, n] = -1


@register_jitable
def are_all_lost(tree: Tree, b: int, n: int) -> bool:
    """Whether every edge of a node is lost."""
    node, lost = tree.nodes[b, n], 0
    if node.num_tried == node.num_edges:
        for i in range(node.num_tried):
            lost += int(tree.tried[b, node.first_tried + i].q == LOST)
    return bool(lost == node.num_edges)


def rank(
    actions: IntArray, visits: IntArray, priors: npt.NDArray[np.float32], proven: IntArray
) -> npt.NDArray[np.int64]:
    """The actions from best to worst, int64 [K], as indices into the arrays, int32 or float32 [K].

    Won ones first and lost ones last; then most visits, higher prior, lower action.
    """
    return np.lexsort((actions, -priors, -visits, -proven))


@register_jitable
def best_of(visits: IntArray, priors: npt.NDArray[np.float32], proven: IntArray) -> int:
    """The first of `rank`, of arrays in ascending order of actions."""
    best = 0
    for i in range(1, visits.shape[0]):
        if proven[i] != proven[best]:
            is_better = proven[i] > proven[best]
        elif visits[i] != visits[best]:
            is_better = visits[i] > visits[best]
        else:
            is_better = priors[i] > priors[best]
        if is_better:
            best = i
    return best


@register_jitable
def keep_by_proofs(
    best: int, visits: IntArray, proven: IntArray, kept: IntArray, proofs: Proofs | None
) -> None:
    """Change the visits for move choice and the policy target, as described above.

    Args:
        best: the first of `rank`.
        visits: int32 [K], all of them.
        proven: int32 [K], as of `proof_of_edge`.
        kept: int32 [K], those that count if nothing is proven; changed.
        proofs: None: nothing can be proven.
    """
    if proofs is None:
        return
    highest, lowest = proven.max(), proven.min()
    tried, left = 0, 0
    for i in range(visits.shape[0]):
        if highest > 0 or lowest == highest == -1:
            kept[i] = visits[i] if proven[i] == highest else 0
        elif proven[i] < 0:
            kept[i] = 0
        tried += visits[i]
        left += kept[i]
    if highest == 0 and tried > 0 and left == 0:  # all tried actions are lost
        kept[best] = 1
