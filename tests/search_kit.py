"""What the tests of search share: settings with one change, positions, views of the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.game import Game
from azcore.search.mcts import Search
from azcore.search.settings import GumbelSettings, SearchSettings
from azcore.search.tree import NO_NODE, Tree, room_for
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
        "value_range": (-1.0, 1.0),
        "first_play": 0.0,
        "first_play_relative": False,
        "first_play_by_mass": False,
        "virtual_loss": 0,
        "virtual_loss_is_loss": True,
        "leaves_per_tree": 1,
        "dirichlet_fraction": 0.25,
        "dirichlet_alpha": None,
        "root_temperature": 1.0,
        "forced_visits": 0.0,
        "reuse_subtree": True,
        "reuse_limit": 2.0,
        "transpositions": False,
        "stop_early": False,
        "c_spread": 0.0,
        "c_spread_prior": 0.4,
        "c_spread_visits": 2.0,
        "solve": False,
        "proof_plies": 0,
        "rule": None,
        "gumbel": None,
    }
    return SearchSettings(**{**values, **changed})


def gumbel(**changed: Any) -> GumbelSettings:
    """The numbers of conf/search/gumbel.yaml, except for `changed`."""
    values: dict[str, Any] = {
        "actions": 16,
        "scale": 1.0,
        "c_visit": 50.0,
        "c_scale": 0.1,
        "rescale": True,
        "mixed_value": True,
    }
    return GumbelSettings(**{**values, **changed})


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


def edge_statistics(
    tree: Tree, b: int, n: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """N, W and the child of all K edges of a node, in their order: int32, float64, int32 [K].

    Untried edges, which store none, get 0, 0 and NO_NODE; K = 0 for a node that waits for its
    evaluation.
    """
    node = tree.nodes[b, n]
    count, tried = max(0, int(node.num_edges)), int(node.num_tried)
    visits, totals = np.zeros(count, np.int32), np.zeros(count, np.float64)
    children = np.full(count, NO_NODE, np.int32)
    if tried > 0:  # before that, first_tried is undefined
        edges = tree.tried[b, node.first_tried : node.first_tried + tried]
        visits[:tried], totals[:tried] = edges["visits"], edges["total"]
        children[:tried] = edges["child"]
    return visits, totals, children


def tree_snapshot(search: Search, row: int) -> Snapshot:
    """One tree of the arrays, in the form of `reference_mcts.snapshot`."""
    tree = search.trees.tree
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
            int(tree.nodes[row, n].player),
            bool(tree.nodes[row, n].terminal),
            float(tree.nodes[row, n].value),
            int(tree.nodes[row, n].visits),
            edges,
        )
    assert len(found) == tree.num_nodes[row], "a node of the tree cannot be reached"
    return found


def edges_of(tree: Tree, row: int, n: int) -> range:
    """The indices of a node's edges; none of a node that waits."""
    node = tree.nodes[row, n]
    count = max(0, int(node.num_edges))
    return range(int(node.first_edge), int(node.first_edge) + count) if count else range(0)


def check_tree(search: Search, row: int, noisy_root: bool = False) -> None:
    """Everything that must hold of a tree with nothing in flight."""
    tree = search.trees.tree
    assert tree.num_nodes[row] <= tree.nodes.shape[1]
    assert tree.num_places[row] <= tree.tried.shape[1]
    assert tree.num_edges[row] <= tree.edge_action.shape[1]
    held = sum(len(edges_of(tree, row, n)) for n in range(tree.num_nodes[row]))
    assert tree.num_edges[row] == held, "edges are kept that no node has"
    places: set[int] = set()
    for n in range(tree.num_nodes[row]):
        edges, node = edges_of(tree, row, n), tree.nodes[row, n]
        if node.terminal:
            assert not edges
            assert node.visits == 1
            assert node.value in (-1.0, 0.0, 1.0)
            continue
        assert edges
        here = slice(edges.start, edges.stop)
        visits, totals, children = edge_statistics(tree, row, n)
        priors = tree.edge_prior[row, here]
        tried = int(node.num_tried)

        assert len(set(tree.edge_action[row, here].tolist())) == len(edges)
        assert abs(priors.astype(np.float64).sum() - 1) < 1e-5 * (1 + 99 * noisy_root)
        assert node.visits == 1 + visits.sum()
        assert (np.abs(totals) <= visits).all()

        # The tried come first, then the best of the others.
        assert (children[:tried] != NO_NODE).all()
        assert (visits[:tried] > 0).all()
        if tried < len(edges):
            actions = tree.edge_action[row, here][tried:]
            assert (-priors[tried], actions[0]) == min(zip(-priors[tried:], actions, strict=True))

        # No two nodes share a place, and what is kept beside N and W follows from them.
        if tried:
            here_tried = range(node.first_tried, node.first_tried + room_for(tried))
            assert here_tried.stop <= tree.num_places[row]
            assert places.isdisjoint(here_tried)
            places |= set(here_tried)
            known = tree.tried[row, here_tried.start : here_tried.start + tried]
            assert (known["q"] == totals[:tried] / visits[:tried]).all()
            bonus = priors[:tried].astype(np.float64) / (1.0 + visits[:tried])
            assert (known["bonus"] == bonus).all()

        # W is made of the values below: the child's own once and those of its edges, or of a
        # final result each time it is met, turned round where the other seat moves.
        for i in range(tried):
            child = int(children[i])
            value = float(tree.nodes[row, child].value)
            if tree.nodes[row, child].terminal:
                below = value * visits[i]
            else:
                assert visits[i] == tree.nodes[row, child].visits
                below = value + edge_statistics(tree, row, child)[1].sum()
            same = tree.nodes[row, child].player == node.player
            assert abs(totals[i] - (below if same else -below)) < 1e-9
