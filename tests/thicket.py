"""A made-up game tree, the same for azcore and for mctx: plain functions of a node's number.

Five actions, at most six plies, seats in turn. Which actions are legal, where and how it ends, and
what a network says are hashes of the node's number, so that any program can make the same tree.
Node 0 is the start; action a of node i leads to node 5 i + a + 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

NUM_ACTIONS = 5
MAX_DEPTH = 6
NUM_NODES = (NUM_ACTIONS ** (MAX_DEPTH + 1) - 1) // (NUM_ACTIONS - 1)


def uniform(node: int, what: int) -> float:
    """A number from 0 to 1 that belongs to a node and a purpose."""
    mixed = (node * 2654435761 + what * 40503 + 12345) % 2**32
    for _ in range(3):
        mixed = (mixed ^ (mixed >> 15)) * 2246822519 % 2**32
    return mixed / 2**32


def depth(node: int) -> int:
    plies = 0
    while node > 0:
        node = (node - 1) // NUM_ACTIONS
        plies += 1
    return plies


def child(node: int, action: int) -> int:
    return NUM_ACTIONS * node + action + 1


def is_terminal(node: int) -> bool:
    plies = depth(node)
    return plies == MAX_DEPTH or (plies >= 2 and uniform(node, 1) < 0.12)


def outcome(node: int) -> int:
    """-1, 0 or 1 as seat 0 sees it."""
    return int(3 * uniform(node, 2)) - 1


def legal(node: int) -> npt.NDArray[np.bool_]:
    """bool [5]; all of them at the start, some of them later."""
    mask = np.array([node == 0 or uniform(node, 10 + a) < 0.7 for a in range(NUM_ACTIONS)])
    if not mask.any():
        mask[node % NUM_ACTIONS] = True
    return mask & (not is_terminal(node))


def logits(node: int) -> npt.NDArray[np.float32]:
    """float32 [5]."""
    return np.array([4 * uniform(node, 20 + a) - 2 for a in range(NUM_ACTIONS)], np.float32)


def value(node: int) -> np.float32:
    """From -1 to 1, view of the player to move."""
    return np.float32(2 * uniform(node, 3) - 1)
