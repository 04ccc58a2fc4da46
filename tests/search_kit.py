"""What the tests of search share: settings with one change, positions, views of the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from azcore.game import Game
from azcore.search.mcts import Search, SearchSettings
from azcore.search.tree import NO_NODE, Tree, edge_statistics
from reference_mcts import Snapshot

ALPHA_ZERO: dict[str, Any] = {"c_init": 1.25, "c_base": 19652.0, "count_parent_visit": True}
ALPHA_GO_ZERO: dict[str, Any] = {
    "c_init": 1.5,
    "c_base": float("inf"),
    "count_parent_visit": False,
}


def search_settings(**changed: Any) -> SearchSettings:
    """AlphaZero's search with few simulations, one leaf at a time, except for `changed`."""
    values: dict[str, Any] = {
        **ALPHA_ZERO,
        "num_simulations": 40,
        "first_play": 0.0,
        "first_play_relative": False,
        "virtual_loss": 0,
        "virtual_loss_is_loss": True,
        "leaves_per_tree": 1,
        "dirichlet_fraction": 0.25,
        "dirichlet_alpha": None,
        "reuse_subtree": True,
        "reuse_limit": 2.0,
        "transpositions": False,
        "rule": "puct",
        "gumbel_actions": 16,
        "gumbel_scale": 1.0,
        "gumbel_c_visit": 50.0,
        "gumbel_c_scale": 0.1,
        "gumbel_rescale": True,
        "gumbel_mixed_value": True,
    }
    return SearchSettings(**{**values, **changed})


def after(game: Game, actions: list[int]) -> Any:
    """The state after these actions from the start."""
    state = game.initial_state()
    for action in actions:
        state = game.step(state, action)
    return state


def random_position(game: Game, plies: int, rng: np.random.Generator) -> Any:
    """A state that is not over, so many random plies from the start or as near as it gets."""
    state = game.initial_state()
    for _ in range(plies):
        action = int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
        successor = game.step(state, action)
        if game.is_terminal(successor):
            break
        state = successor
    return state


def tree_snapshot(search: Search, row: int) -> Snapshot:
    """One tree of the arrays, in the form of `reference_mcts.snapshot`."""
    tree = search._tree
    waiting: list[tuple[tuple[int, ...], int]] = [((), 0)]
    found: Snapshot = {}
    while waiting:
        path, n = waiting.pop()
        edges = {}
        statistics = zip(*edge_statistics(tree, row, n), strict=True)
        for e, (visits, total, child) in zip(edges_of(tree, row, n), statistics, strict=True):
            action = int(tree.edge_action[row, e])
            edges[action] = (float(tree.edge_prior[row, e]), int(visits), float(total))
            if child != NO_NODE:
                waiting.append(((*path, action), int(child)))
        found[path] = (
            int(tree.node_player[row, n]),
            bool(tree.node_terminal[row, n]),
            float(tree.node_value[row, n]),
            int(tree.node_visits[row, n]),
            edges,
        )
    assert len(found) == tree.num_nodes[row], "a node of the tree cannot be reached"
    return found


def edges_of(tree: Tree, row: int, n: int) -> range:
    """The indices of a node's edges; none of a node that waits."""
    first = int(tree.node_first_edge[row, n])
    return range(first, first + max(0, int(tree.node_num_edges[row, n])))


def check_tree(search: Search, row: int, noisy_root: bool = False) -> None:
    """Everything that must hold of a tree with nothing in flight."""
    tree = search._tree
    assert tree.num_nodes[row] <= tree.node_value.shape[1]
    assert tree.num_edges[row] <= tree.edge_action.shape[1]
    held = sum(len(edges_of(tree, row, n)) for n in range(tree.num_nodes[row]))
    assert tree.num_edges[row] == held, "edges are kept that no node has"
    for n in range(tree.num_nodes[row]):
        edges = edges_of(tree, row, n)
        if tree.node_terminal[row, n]:
            assert not edges
            assert tree.node_visits[row, n] == 1
            assert tree.node_value[row, n] in (-1.0, 0.0, 1.0)
            continue
        assert edges
        here = slice(edges.start, edges.stop)
        visits, totals, children = edge_statistics(tree, row, n)
        priors = tree.edge_prior[row, here]
        tried = int(tree.node_num_tried[row, n])

        assert len(set(tree.edge_action[row, here].tolist())) == len(edges)
        assert abs(priors.astype(np.float64).sum() - 1) < 1e-5 * (1 + 99 * noisy_root)
        assert tree.node_visits[row, n] == 1 + visits.sum()
        assert (np.abs(totals) <= visits).all()

        # The tried come first, then the best of the others.
        assert (children[:tried] != NO_NODE).all()
        assert (visits[:tried] > 0).all()
        if tried < len(edges):
            candidate = edges.start + tried
            assert tree.edge_child[row, candidate] == NO_NODE
            assert tree.edge_visits[row, candidate] == tree.edge_total[row, candidate] == 0
            actions = tree.edge_action[row, here][tried:]
            assert (-priors[tried], actions[0]) == min(zip(-priors[tried:], actions, strict=True))

        # W is made of the values below: the child's own once and those of its edges, or of a
        # final result each time it is met, turned round where the other seat moves.
        for i in range(tried):
            child = int(children[i])
            value = float(tree.node_value[row, child])
            if tree.node_terminal[row, child]:
                below = value * visits[i]
            else:
                assert visits[i] == tree.node_visits[row, child]
                below = value + edge_statistics(tree, row, child)[1].sum()
            same = tree.node_player[row, child] == tree.node_player[row, n]
            assert abs(totals[i] - (below if same else -below)) < 1e-9
