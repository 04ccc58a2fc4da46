"""What a search calls proven is true, whoever moves, and it changes the move and the target."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import InvalidTextError, SettingError
from azcore.game import BoolArray, ByteArray, Facts, FloatArray, Game, require_legal
from azcore.search.evaluators import UniformEvaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchResult
from azcore.selfplay.resignation import best_child_value
from azcore.selfplay.schedule import choose_action
from reference_mcts import HashEvaluator
from search_kit import after, check_tree, gumbel, random_position, search_settings, tree_snapshot

LEAVES = pytest.mark.parametrize("leaves", [1, 4])


class Stones(Game):
    """Take one to three of the stones; who takes the last one wins, after ten plies nobody.

    Whoever leaves a multiple of four moves again, so a seat may move several times in a row. The
    state is (stones left, seat to move, plies).
    """

    def __init__(self) -> None:
        super().__init__(
            Facts(
                name="stones",
                version=1,
                settings={},
                num_actions=3,
                observation_shape=(3, 1, 1),
                max_game_length=10,
                dirichlet_alpha=1.0,
                symmetries=(),
                seat_names=("first", "second"),
            )
        )

    def initial_state(self) -> tuple[int, int, int]:
        return 17, 0, 0

    def current_player(self, state: tuple[int, int, int]) -> int:
        return state[1]

    def legal_action_mask(self, state: tuple[int, int, int]) -> BoolArray:
        return np.array([take < state[0] + 1 and not self.is_terminal(state) for take in (1, 2, 3)])

    def step(self, state: tuple[int, int, int], action: int) -> tuple[int, int, int]:
        require_legal(self, state, action)
        left, seat, plies = state
        left -= action + 1
        return left, seat if left % 4 == 0 else 1 - seat, plies + 1

    def is_terminal(self, state: tuple[int, int, int]) -> bool:
        return state[0] == 0 or state[2] == 10

    def outcome(self, state: tuple[int, int, int]) -> int:
        if state[0] > 0:
            return 0
        return 1 if state[1] == 0 else -1  # who took the last one would move again

    def observation(self, state: tuple[int, int, int]) -> FloatArray:
        return np.array(state, np.float32).reshape(3, 1, 1)

    def action_to_text(self, state: Any, action: int) -> str:
        return str(action + 1)

    def text_to_action(self, state: Any, text: str) -> int:
        if not re.fullmatch("[123]", text):
            raise InvalidTextError(f"an action is 1, 2 or 3, got {text!r}")
        return require_legal(self, state, int(text) - 1)

    def state_to_text(self, state: tuple[int, int, int]) -> str:
        return " ".join(map(str, state))

    def state_from_text(self, text: str) -> tuple[int, int, int]:
        left, seat, plies = map(int, text.split())
        return left, seat, plies

    def render(self, state: Any) -> str:
        return self.state_to_text(state)


GAMES: dict[str, Game] = {
    "tic_tac_toe": azcore.make("tic_tac_toe_plain"),
    "stones": Stones(),
}


def outcomes(game: Game) -> dict[Any, int]:
    """Every state that can be reached and its outcome under best play, view of seat 0."""

    @cache
    def best(state: Any) -> int:
        if game.is_terminal(state):
            return game.outcome(state)
        after = [
            best(game.step(state, int(a))) for a in np.flatnonzero(game.legal_action_mask(state))
        ]
        return max(after) if game.current_player(state) == 0 else min(after)

    found, waiting = {}, [game.initial_state()]
    while waiting:
        state = waiting.pop()
        if state in found:
            continue
        found[state] = best(state)
        legal = np.flatnonzero(game.legal_action_mask(state))
        waiting.extend(game.step(state, int(a)) for a in legal)
    return found


def proven_nodes(search: Search, row: int) -> dict[tuple[int, ...], int]:
    """What is proven of each node, by path: 1 for seat 0, -1 for seat 1, 0 nothing."""
    tree, proofs = search.trees.tree, search.trees.variants.proofs
    assert proofs is not None
    found = {}
    waiting: list[tuple[tuple[int, ...], int]] = [((), 0)]
    while waiting:
        path, n = waiting.pop()
        node = tree.nodes[row, n]
        proof = int(proofs.nodes[row, n])
        found[path] = proof if node.player == 0 else -proof
        for i in range(node.num_tried):
            action = int(tree.edge_action[row, node.first_edge + i])
            waiting.append(((*path, action), int(tree.tried[row, node.first_tried + i].child)))
    return found


def solver(game: Game, num_trees: int, leaves: int = 1, **changed: Any) -> Search:
    settings = search_settings(
        solve=True, leaves_per_tree=leaves, virtual_loss=int(leaves > 1), **changed
    )
    return Search(
        game=game, num_trees=num_trees, evaluator=HashEvaluator(game, leaves), settings=settings
    )


@LEAVES
@pytest.mark.parametrize("name", GAMES)
def test_every_proof_is_true(name: str, leaves: int) -> None:
    """Searches from every position, against full minimax: each node of each tree."""
    game = GAMES[name]
    truth = outcomes(game)
    states = [state for state in truth if not game.is_terminal(state)]
    search = solver(game, len(states), leaves, num_simulations=24)
    for row, state in enumerate(states):
        search.start(row, state)
    search.run(list(range(len(states))))
    met: Counter[int] = Counter()
    for row, root in enumerate(states):
        for path, winner in proven_nodes(search, row).items():
            state = root
            for action in path:
                state = game.step(state, action)
            met[winner] += 1
            assert winner in (0, truth[state]), (root, path)
        result = search.result(row)
        if search.proof(row):
            assert result.value == search.proof(row)
            best = game.step(root, int(result.actions[result.ranked()[0]]))
            assert truth[best] == truth[root]
    assert met[1] > 100
    assert met[-1] > 100


@pytest.mark.parametrize("name", GAMES)
def test_with_time_every_win_and_loss_is_proven(name: str) -> None:
    game = GAMES[name]
    truth = outcomes(game)
    states = [s for s in truth if not game.is_terminal(s)]
    if name == "tic_tac_toe":
        states = [s for s in states if s.count(".") <= 5]
    else:
        states = [s for s in states if s[2] >= 3]
    states = states[:: max(1, len(states) // 400)]
    search = solver(game, len(states), num_simulations=3000)
    for row, state in enumerate(states):
        search.start(row, state)
    search.run(list(range(len(states))))
    proven = [
        search.proof(row) * (1 if game.current_player(state) == 0 else -1)
        for row, state in enumerate(states)
    ]
    assert proven == [truth[state] for state in states]
    assert set(proven) == {-1, 0, 1}


@LEAVES
def test_proofs_follow_from_the_rules_of_go(leaves: int) -> None:
    """Whole games on 3x3 with a kept subtree: each proof from the children by the rules."""
    game = azcore.make("go", board_size=3, komi=0.0)
    rng = np.random.default_rng(leaves)
    search = solver(game, 4, leaves, num_simulations=150, value_range=(0.0, 1.0))
    met: Counter[int] = Counter()
    playing = []
    for row in range(4):
        search.start(row, random_position(game, 4 * row, rng))
        playing.append(row)
    for _ in range(14):
        search.run(playing)
        for row in list(playing):
            check_proofs(search, row, met)
            result = search.result(row)
            action = int(rng.choice(result.actions[result.visit_counts > 0]))
            search.advance(row, action)
            if game.is_terminal(search.states.get(row)):
                playing.remove(row)
            elif search.trees.tree.nodes[row, 0].num_edges > 0:
                check_proofs(search, row, met)
    assert met[1] > 10
    assert met[-1] > 10


def check_proofs(search: Search, row: int, met: Counter[int]) -> None:
    """A node is proven for a seat exactly if its end or its children are."""
    game = search.game
    proven = proven_nodes(search, row)
    states = {(): search.states.get(row)}
    for path, (player, is_terminal, *_, edges) in sorted(tree_snapshot(search, row).items()):
        if path:
            states[path] = game.step(states[path[:-1]], path[-1])
        met[proven[path]] += 1
        if is_terminal:
            assert proven[path] == game.outcome(states[path])
            continue
        mine, other = (1, -1) if player == 0 else (-1, 1)
        below = [proven.get((*path, a), 0) for a in edges]
        expected = mine if mine in below else other if set(below) == {other} else 0
        assert proven[path] == expected


def test_the_rest_of_a_tree_is_as_ever() -> None:
    """N and W stay sums; only Q of lost actions is set apart."""
    game = azcore.make("tic_tac_toe")
    search = solver(game, 1, num_simulations=100)
    search.start(0, random_position(game, 3, np.random.default_rng(0)))
    search.run([0])
    tree = search.trees.tree
    tried = tree.tried[0, : tree.num_places[0]]  # what lies behind them was never written
    lost = tried["q"] == -np.inf
    assert lost.any()
    tried["q"][lost] = tried["total"][lost] / np.maximum(tried["visits"][lost], 1)
    check_tree(search, 0)


def best_child(result: SearchResult) -> float:
    best = int(result.ranked()[0])
    return best_child_value(result.visit_counts, result.q_values, best, result.value)


def result_after(text: str, simulations: int) -> tuple[SearchResult, Search]:
    game = azcore.make("tic_tac_toe")
    settings = search_settings(solve=True, num_simulations=max(1, simulations))
    search = Search(game=game, num_trees=1, evaluator=UniformEvaluator(game), settings=settings)
    search.start(0, game.state_from_text(text))
    return search.run([0], simulations)[0], search


def test_a_win_is_all_that_is_learned() -> None:
    result, search = result_after("XX./OO./... x", 40)
    assert search.proof(0) == 1
    assert result.visit_counts.sum() < 40
    assert result.value == 1
    assert best_child(result) == 1
    assert result.policy_target().tolist() == [float(a == 2) for a in result.actions]
    assert result.actions[result.ranked()[0]] == 2
    assert result.q_values[result.actions == 2] == 1
    assert search.principal_variation(0, 2) == [2]


def test_a_loss_is_known_and_played_on() -> None:
    """O cannot stop both lines of X."""
    result, search = result_after("X.X/.O./O.X o", 60)
    assert search.proof(0) == -1
    assert result.value == best_child(result) == -1
    assert (result.q_values == -1).all()
    assert (result.kept_counts == result.visit_counts).all()
    assert result.visit_counts.min() > 0


def test_lost_actions_are_neither_drawn_nor_learned() -> None:
    """O must stop X at 2: all else is lost as soon as it was looked at."""
    result, search = result_after("XX./.O./... o", 60)
    assert search.proof(0) == 0
    assert result.proven is not None
    lost = result.proven == -1
    assert lost.sum() == len(lost) - 1
    assert result.visit_counts[lost].sum() > 5
    assert result.kept_counts[lost].sum() == 0
    assert result.actions[result.ranked()[0]] == 2
    assert result.policy_target().tolist() == (~lost).astype(float).tolist()


class Passing(UniformEvaluator):
    """Would pass rather than do anything else."""

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        logits, values = super().evaluate(observations)
        logits = logits.copy()
        logits[:, -1] = 3.0
        return logits, values


def test_where_all_that_was_tried_is_lost_the_next_one_is_best() -> None:
    """Black is behind and White has passed: to pass as well is the end."""
    game = azcore.make("go", board_size=3, komi=2.0)
    settings = search_settings(solve=True, num_simulations=2)
    search = Search(game=game, num_trees=1, evaluator=Passing(game), settings=settings)
    search.start(0, after(game, [9, 4, 0, 9]))
    untouched = search.run([0], 0)[0]
    assert not untouched.kept_counts.any()
    result = search.run([0], 1)[0]
    assert result.actions[result.visit_counts > 0].tolist() == [9]
    assert result.proven is not None
    assert result.proven[result.actions == 9] == -1
    assert search.proof(0) == 0
    best = result.ranked()[0]
    assert result.actions[best] == 1
    assert result.kept_counts.sum() == result.kept_counts[best] == 1
    assert best_child(result) == result.value
    assert choose_action(result, 1.0, np.random.default_rng(0)) == 1


def test_what_cannot_be_solved() -> None:
    for changed in ({"gumbel": gumbel()}, {"transpositions": True}):
        with pytest.raises(SettingError, match=r"search\.solve"):
            search_settings(solve=True, **changed)
