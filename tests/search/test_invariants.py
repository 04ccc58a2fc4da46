"""What holds of every tree, whatever was searched: sums, bounds, order, room, moving the root."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore
from azcore.search.mcts import Search
from azcore.search.tree import PENDING, with_more_edges
from reference_mcts import HashEvaluator
from search_kit import ALPHA_GO_ZERO, check_tree, random_position, search_settings, tree_snapshot

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("tic_tac_toe", {}),
    ("go", {"board_size": 3, "komi": 0.0}),
    ("go", {"board_size": 5, "komi": 2.5}),
]
IDS = ["tic_tac_toe", "go 3x3", "go 5x5"]


def dirichlet(rng: np.random.Generator) -> Any:
    return lambda row, legal: rng.dirichlet(np.full(legal, 0.3)).astype(np.float32)


@pytest.mark.parametrize("leaves", [1, 4, 8])
@pytest.mark.parametrize(("name", "options"), GAMES, ids=IDS)
def test_random_searches(name: str, options: dict[str, Any], leaves: int) -> None:
    """Whole games with noise in five trees: nothing in flight is left, all sums are right."""
    game = azcore.make(name, **options)
    rng = np.random.default_rng(leaves)
    settings = search_settings(
        num_simulations=60, leaves_per_tree=leaves, virtual_loss=3 * (leaves > 1), **ALPHA_GO_ZERO
    )
    search = Search(game=game, num_trees=5, evaluator=HashEvaluator(game), settings=settings)
    for row in range(5):
        search.start(row, random_position(game, 3 * row, rng))
    for _ in range(12):
        wanted = []
        for row in range(5):
            held = int(search.result(row).visit_counts.sum())
            simulations = int(rng.integers(0, 61))
            wanted.append(held + simulations)
            search.begin(row, simulations, dirichlet(rng))
        while search.wave():
            assert (search._slots.tree == -1).all()
        for row in range(5):
            assert not search.trees.wave.active[row]
            check_tree(search, row, noisy_root=True)
            result = search.result(row)
            assert result.visit_counts.sum() == wanted[row]
            assert (np.abs(result.q_values) <= 1).all()
            assert abs(result.value) <= 1
            action = int(rng.choice(result.actions))
            if rng.random() < 0.7:
                action = int(result.actions[result.visit_counts.argmax()])
            search.advance(row, action)
            if game.is_terminal(search.states.get(row)):
                search.start(row, random_position(game, row, rng))
            if search.trees.tree.nodes[row, 0].num_edges != PENDING:
                check_tree(search, row)


@pytest.mark.parametrize(("name", "options"), GAMES, ids=IDS)
def test_no_leaf_is_evaluated_twice_at_once(name: str, options: dict[str, Any]) -> None:
    game = azcore.make(name, **options)
    settings = search_settings(num_simulations=120, leaves_per_tree=8, virtual_loss=1)
    search = Search(game=game, num_trees=2, evaluator=HashEvaluator(game), settings=settings)
    for row in range(2):
        search.begin(row)
    most = 0
    while search.select():
        in_flight = search.trees.variants.in_flight
        assert in_flight is not None
        for row in range(2):
            # A result read in mid flight holds what has been evaluated, and nothing else.
            result = search.result(row)
            flying = int(in_flight.nodes[row, 0])
            assert result.visit_counts.sum() + flying == 120 - search.trees.wave.budget[row]
            assert flying == in_flight.tried[row].sum() - in_flight.nodes[row, 1:].sum()
            assert (np.abs(result.q_values) <= 1).all()
            slots = range(8 * row, 8 * row + 8)
            leaves = [search._slots.leaf[s] for s in slots if search._slots.tree[s] >= 0]
            paths = {
                tuple(search._slots.actions[s, : search._slots.length[s]])
                for s in slots
                if search._slots.tree[s] >= 0
            }
            assert len(set(leaves)) == len(paths) == len(leaves)
            assert all(search._slots.tree[s] in (-1, row) for s in slots)
            most = max(most, len(leaves))
        search.finish(*search.evaluate())
    assert most == 8
    for row in range(2):
        check_tree(search, row)
        assert search.result(row).visit_counts.sum() == 120


@pytest.mark.parametrize(("name", "options"), GAMES, ids=IDS)
def test_a_new_root_keeps_its_subtree_and_nothing_else(name: str, options: dict[str, Any]) -> None:
    game = azcore.make(name, **options)
    settings = search_settings(num_simulations=150, leaves_per_tree=4, virtual_loss=1)
    search = Search(game=game, num_trees=2, evaluator=HashEvaluator(game), settings=settings)
    search.run([0, 1])
    other = tree_snapshot(search, 1)
    for ply in range(4):
        before = tree_snapshot(search, 0)
        result = search.result(0)
        order = np.argsort(-result.visit_counts, kind="stable")
        action = int(result.actions[order[1 if ply == 0 else 0]])  # not always the first child
        below = {path[1:]: node for path, node in before.items() if path[:1] == (action,)}
        if len(below) <= 1:
            break
        search.advance(0, action)
        assert tree_snapshot(search, 0) == below
        check_tree(search, 0)
        if ply == 1:  # what was moved to the front must still be a tree one can search
            search.run([0], 80)
            check_tree(search, 0)
    assert ply >= 2
    assert tree_snapshot(search, 1) == other


def test_an_action_never_tried_begins_an_empty_tree() -> None:
    game = azcore.make("tic_tac_toe")
    search = Search(
        game=game, num_trees=1, evaluator=HashEvaluator(game), settings=search_settings()
    )
    result = search.run([0], 3)[0]
    action = int(result.actions[result.visit_counts == 0][0])
    search.advance(0, action)
    assert search.trees.tree.num_nodes[0] == 1
    assert search.trees.tree.nodes[0, 0].num_edges == PENDING
    assert search.result(0).actions.tolist() == []
    assert search.run([0])[0].visit_counts.sum() == 40
    assert action not in search.result(0).actions


def test_edges_grow_without_a_trace() -> None:
    game = azcore.make("tic_tac_toe")
    settings = search_settings(num_simulations=700, leaves_per_tree=4, virtual_loss=1)
    found = []
    for roomy in (False, True):
        search = Search(game=game, num_trees=3, evaluator=HashEvaluator(game), settings=settings)
        if roomy:
            tree = with_more_edges(search.trees.tree, 20_000)
            search.trees = search.trees._replace(tree=tree)
        room = search.trees.tree.edge_action.shape[1]
        search.start(2, random_position(game, 2, np.random.default_rng(0)))
        search.run([1])  # one tree alone makes all of them grow
        grown = search.trees.tree.edge_action.shape[1]
        assert grown == room if roomy else grown > 2 * room
        search.run([0, 2])
        found.append([tree_snapshot(search, row) for row in range(3)])
    assert found[0] == found[1]


@pytest.mark.parametrize("reuse_limit", [0.0, 0.5, 3.0])
def test_room_of_a_tree(reuse_limit: float) -> None:
    """No tree is kept that would leave too little room for a whole search."""
    game = azcore.make("tic_tac_toe")
    settings = search_settings(num_simulations=50, reuse_limit=reuse_limit)
    search = Search(game=game, num_trees=1, evaluator=HashEvaluator(game), settings=settings)
    most = 0
    for _ in range(2):
        search.start(0)
        while not game.is_terminal(search.states.get(0)):
            # Asking again and again at one root: more of it is kept, or all of it forgotten.
            for _ in range(4):
                search.run([0])
                assert search.trees.tree.num_nodes[0] <= search.trees.tree.nodes.shape[1]
                assert search.result(0).visit_counts.sum() >= 50
            check_tree(search, 0)
            result = search.result(0)
            search.advance(0, int(result.actions[result.visit_counts.argmax()]))
            kept = int(search.trees.tree.num_nodes[0])
            assert kept <= 1 + 50 * reuse_limit
            most = max(most, kept)
    assert most > 1 or reuse_limit == 0


def test_another_evaluator_forgets_what_the_last_one_said() -> None:
    game = azcore.make("tic_tac_toe")
    search = Search(
        game=game, num_trees=2, evaluator=HashEvaluator(game, 1), settings=search_settings()
    )
    search.run([0])
    search.begin(1)
    search.wave()
    search.select()
    judged = search.evaluate()
    search.set_evaluator(HashEvaluator(game, 2))  # with a leaf of tree 1 in flight
    search.finish(*judged)
    assert not search.trees.wave.active[1]
    assert search.trees.tree.num_nodes.tolist() == [1, 1]
    fresh = Search(
        game=game, num_trees=2, evaluator=HashEvaluator(game, 2), settings=search_settings()
    )
    search.run([0, 1])
    fresh.run([0, 1])
    assert tree_snapshot(search, 0) == tree_snapshot(fresh, 0)
    assert tree_snapshot(search, 1) == tree_snapshot(fresh, 1)
