"""Gumbel AlphaZero: equal to mctx's numbers and to a textbook search, and better than the prior."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
import thicket
from azcore.errors import SettingError
from azcore.game import BoolArray, ByteArray, Facts, FloatArray, Game
from azcore.search import results
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.gumbel import (
    Gumbel,
    considered_visits,
    improved_edge,
    make_gumbel,
    mixed_value,
    q_transform,
    value_scale,
)
from azcore.search.mcts import Search
from azcore.search.tree import NO_NODE, PENDING, Tree, allocate, set_total, try_next_edge
from reference_gumbel import GumbelReference
from reference_mcts import HashEvaluator, snapshot
from search_kit import after, gumbel, random_position, search_settings, tree_snapshot

MCTX = json.loads((Path(__file__).parents[1] / "data/gumbel_mctx.json").read_text())
NAMES = {  # mctx's arguments and our settings
    "value_scale": "c_scale",
    "maxvisit_init": "c_visit",
    "rescale_values": "rescale",
    "use_mixed_value": "mixed_value",
}
GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "tic_tac_toe": ("tic_tac_toe", {}),
    "tic_tac_toe_plain": ("tic_tac_toe_plain", {}),
    "go 3x3": ("go", {"board_size": 3, "komi": 0.0}),
    "go 5x5": ("go", {"board_size": 5, "komi": 2.0}),
}
RULES: dict[str, dict[str, Any]] = {
    "mctx": {},
    "paper, board games": {"rescale": False, "c_scale": 0.5},
    "network value, few": {"mixed_value": False, "actions": 3},
    "one": {"actions": 1},
}


def gumbel_settings(num_simulations: int = 40, **changed: Any) -> Any:
    return search_settings(num_simulations=num_simulations, gumbel=gumbel(**changed))


def ours(values: str) -> dict[str, Any]:
    """The rule's numbers of a stored case, mctx's own where it changes nothing."""
    changed = {NAMES[name]: number for name, number in MCTX["values"][values].items()}
    return {"c_visit": 50.0, "c_scale": 0.1, "rescale": True, "mixed_value": True, **changed}


class Thicket(Game):
    """The tree of thicket.py; a state is a node's number, and so is the observation."""

    def __init__(self) -> None:
        super().__init__(
            Facts(
                name="thicket",
                version=1,
                settings={},
                num_actions=thicket.NUM_ACTIONS,
                observation_shape=(2, 1, 1),
                max_game_length=thicket.MAX_DEPTH,
                dirichlet_alpha=1.0,
            ),
        )

    def initial_state(self) -> int:
        return 0

    def current_player(self, state: int) -> int:
        return thicket.depth(state) % 2

    def legal_action_mask(self, state: int) -> BoolArray:
        return thicket.legal(state)

    def step(self, state: int, action: int) -> int:
        return thicket.child(state, action)

    def is_terminal(self, state: int) -> bool:
        return thicket.is_terminal(state)

    def outcome(self, state: int) -> int:
        return thicket.outcome(state)

    def observation(self, state: int) -> ByteArray:
        return np.array(divmod(state, 256), np.uint8).reshape(2, 1, 1)

    def action_to_text(self, state: int, action: int) -> str:
        return str(action)

    def text_to_action(self, state: int, text: str) -> int:
        return int(text)

    def state_to_text(self, state: int) -> str:
        return str(state)

    def state_from_text(self, text: str) -> int:
        return int(text)

    def render(self, state: int) -> str:
        return str(state)


class ThicketEvaluator(Evaluator):
    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        nodes = [256 * int(o[0, 0, 0]) + int(o[1, 0, 0]) for o in observations]
        logits = np.array([thicket.logits(node) for node in nodes], np.float32)
        values = np.array([thicket.value(node) for node in nodes], np.float32)
        return logits.reshape(-1, thicket.NUM_ACTIONS), values


def bare_tree(
    logits: list[float], visits: list[int], q: list[float], value: float
) -> tuple[Tree, list[int]]:
    """One node with statistics, the tried edges first; the order in which the actions lie."""
    count = len(logits)
    weights = np.exp(np.array(logits) - max(logits))
    priors = weights / weights.sum()
    tree = allocate(1, count, count)
    tried = [a for a in range(count) if visits[a]]
    others = sorted((a for a in range(count) if not visits[a]), key=lambda a: (-priors[a], a))
    order = tried + others
    root = tree.nodes[0, 0]
    tree.num_edges[0] = root.num_edges = count
    root.first_edge, root.value, root.visits = 0, value, 1 + sum(visits)
    for e, a in enumerate(order):
        tree.edge_action[0, e], tree.edge_prior[0, e] = a, priors[a]
    for i, a in enumerate(tried):
        try_next_edge(tree, 0, 0, NO_NODE, None)
        set_total(tree, 0, 0, i, visits[a], visits[a] * q[a])
    return tree, order


def numbers(num_actions: int, **changed: Any) -> Gumbel:
    gumbel = make_gumbel(
        num_trees=1,
        num_considered=num_actions,
        num_simulations=1,
        num_actions=num_actions,
        **{"c_visit": 50.0, "c_scale": 0.1, "rescale": True, "mixed_value": True, **changed},
    )
    gumbel.num_considered[0] = num_actions
    return gumbel


def improved(tree: Tree, order: list[int], gumbel: Gumbel) -> FloatArray:
    """pi' by action."""
    policy = np.empty(len(order))
    results.improve(tree, 0, gumbel, policy)
    by_action = np.empty(len(order))
    by_action[order] = policy
    return by_action


# -- formulas ---------------------------------------------------------------------------------


def test_sequences_by_hand() -> None:
    # 4 actions, 16 simulations: 2 rounds of 8, so 2 visits for each of 4, then 4 for each of 2
    assert considered_visits(4, 16).tolist() == [0] * 4 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, 5]
    # 3 actions, 7 simulations: 2 rounds of 3.5, 1 visit for each of 3, then max(1, 7 / 4) for 2
    assert considered_visits(3, 7).tolist() == [0, 0, 0, 1, 1, 2, 2]
    # more actions than simulations: the best of them, once each
    assert considered_visits(16, 3).tolist() == [0, 0, 0]
    assert considered_visits(1, 3).tolist() == [0, 1, 2]
    assert considered_visits(16, 0).tolist() == []


def test_sequences_equal_mctx() -> None:
    for considered, simulations, sequence in MCTX["considered_visits"]:
        assert considered_visits(considered, simulations).tolist() == sequence


@pytest.mark.rules
def test_formulas_by_hand() -> None:
    # v 0.5; 3 visits; tried P .2 and .3 with Q 1 and -.5: (.5 + 3 * (.2 - .15) / .5) / 4 = .2
    assert mixed_value(0.5, 3.0, 0.5, 0.2 - 0.15) == pytest.approx(0.2)
    assert mixed_value(0.5, 0.0, 0.0, 0.0) == 0.5
    assert value_scale(14.0, 50.0, 0.1) == pytest.approx(6.4)


@pytest.mark.rules
def test_improved_policy_by_hand() -> None:
    """P 1/2, 1/4, 1/4; the first tried once with Q 1, v 0, c_visit 0, c_scale log 2.

    v_mix = (0 + 1) / 2; not rescaled sigma is log 2 for the first and log 2 / 2 for the others:
    weights 1, .25 sqrt 2 twice. Rescaled Q is 1, 0, 0: weights 1, .25, .25.
    """
    tree, order = bare_tree([np.log(2.0), 0.0, 0.0], [1, 0, 0], [1.0, 0.0, 0.0], 0.0)
    changed: dict[str, Any] = {"c_visit": 0.0, "c_scale": float(np.log(2.0))}
    root2 = 0.25 * np.sqrt(2)
    policy = improved(tree, order, numbers(3, rescale=False, **changed))
    assert policy == pytest.approx(np.array([1, root2, root2]) / (1 + 2 * root2))
    policy = improved(tree, order, numbers(3, **changed))
    assert policy == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    # equation 14: 2/3 - 1/2, 1/6, 1/6 ties at 1/6 up to rounding, so decide it by a fourth visit
    set_total(tree, 0, 0, 0, 3, 3.0)
    tree.nodes[0, 0].visits = 4
    # weights .5 * 2^3 = 4, .25, .25: pi' = 8/9; 8/9 - 3/4 = .139 against 1/18 = .056
    assert improved_edge(tree, 0, 0, numbers(3, **changed)) == 0
    set_total(tree, 0, 0, 0, 3, 0.0)
    tree.nodes[0, 0].value = 0.1  # now Q 0 is the least: weights .5, 2, 2, 4/9 for the others
    assert tree.edge_action[0, improved_edge(tree, 0, 0, numbers(3, **changed))] == 1


@pytest.mark.rules
@pytest.mark.parametrize("case", MCTX["statistics"], ids=lambda case: case["values"])
def test_completed_q_and_policies_equal_mctx(case: dict[str, Any]) -> None:
    tree, order = bare_tree(case["logits"], case["visits"], case["q"], case["value"])
    gumbel = numbers(len(order), **ours(case["values"]))
    completion, low, slope, _ = q_transform(tree, 0, 0, gumbel)
    q = np.where(np.array(case["visits"]) > 0, case["q"], completion)
    sigma = slope * (q - low)
    np.testing.assert_allclose(sigma, case["sigma"], rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(improved(tree, order, gumbel), case["policy"], rtol=5e-5, atol=1e-7)
    assert order[improved_edge(tree, 0, 0, gumbel)] == case["interior_action"]


@pytest.mark.rules
def test_value_of_the_root_is_that_of_the_improved_policy() -> None:
    """The numbers of the test before: policy 2/3, 1/6, 1/6; Q 1, and v_mix 1/2 for the others."""
    tree, order = bare_tree([np.log(2.0), 0.0, 0.0], [1, 0, 0], [1.0, 0.0, 0.0], 0.0)
    gumbel = numbers(3, c_visit=0.0, c_scale=float(np.log(2.0)))
    best, value = results.improve(tree, 0, gumbel, np.empty(3))
    assert order[best] == 0
    assert value == pytest.approx(2 / 3 + 2 / 6 * 0.5)


# -- whole searches -----------------------------------------------------------------------------


class TwoBoxes(Game):
    """Dots and boxes with two boxes side by side: whoever closes one moves again.

    Lines 0 to 2 and 3 border the left box, 3 to 6 the right one. The state is (lines drawn as
    bits, boxes of seat 0 minus those of seat 1, seat to move).
    """

    def __init__(self) -> None:
        super().__init__(
            Facts(
                name="two_boxes",
                version=1,
                settings={},
                num_actions=7,
                observation_shape=(1, 1, 7),
                max_game_length=7,
                dirichlet_alpha=1.0,
            )
        )

    def initial_state(self) -> Any:
        return 0, 0, 0

    def current_player(self, state: Any) -> int:
        return int(state[2])

    def legal_action_mask(self, state: Any) -> BoolArray:
        return np.array([not state[0] >> line & 1 for line in range(7)])

    def step(self, state: Any, action: int) -> Any:
        drawn, lead, seat = state[0] | 1 << action, state[1], state[2]
        boxes = [mask for mask in (0b1111, 0b1111000) if mask >> action & 1]
        closed = sum(drawn & mask == mask for mask in boxes)
        lead += closed if seat == 0 else -closed
        return drawn, lead, seat if closed else 1 - seat

    def is_terminal(self, state: Any) -> bool:
        return bool(state[0] == 2**7 - 1)

    def outcome(self, state: Any) -> int:
        return int(np.sign(state[1]))

    def observation(self, state: Any) -> FloatArray:
        return (~self.legal_action_mask(state)).astype(np.float32).reshape(1, 1, 7)

    def action_to_text(self, state: Any, action: int) -> str:
        return str(action)

    def text_to_action(self, state: Any, text: str) -> int:
        return int(text)

    def state_to_text(self, state: Any) -> str:
        return str(state)

    def state_from_text(self, text: str) -> Any:
        raise NotImplementedError

    def render(self, state: Any) -> str:
        return str(state)

    def best(self, state: Any) -> int:
        """The outcome under best play, view of seat 0."""
        if self.is_terminal(state):
            return self.outcome(state)
        legal = np.flatnonzero(self.legal_action_mask(state)).tolist()
        found = [self.best(self.step(state, action)) for action in legal]
        return max(found) if state[2] == 0 else min(found)


@pytest.mark.parametrize("rescale", [True, False])
def test_values_keep_their_sign_where_a_seat_moves_again(rescale: bool) -> None:
    """With four lines left, and simulations enough to see all ends, the search plays perfectly."""
    game, rng = TwoBoxes(), np.random.default_rng(1)
    settings = gumbel_settings(600, rescale=rescale)
    search = Search(game=game, num_trees=1, evaluator=UniformEvaluator(game), settings=settings)
    told = 0
    for _ in range(25):
        state = random_position(game, 3, rng)
        search.start(0, state)
        result = search.run([0])[0]
        sign = 1 if state[2] == 0 else -1
        assert result.best_action is not None
        assert game.best(game.step(state, result.best_action)) == game.best(state)
        assert result.value == pytest.approx(sign * game.best(state), abs=0.25)
        told += game.best(state) != 0
    assert 5 < told < 25


@pytest.mark.rules
@pytest.mark.parametrize("rows", [1, 3])
def test_whole_searches_equal_mctx(rows: int) -> None:
    """Visits of every node; with other trees beside it, which change nothing."""
    game = Thicket()
    for case in MCTX["searches"]:
        settings = gumbel_settings(
            case["simulations"], actions=case["considered"], **ours(case["values"])
        )
        search = Search(game=game, num_trees=rows, evaluator=ThicketEvaluator(), settings=settings)
        row, start = rows - 1, case["start"]
        search.start(row, start)
        noise = np.array(case["gumbel"], np.float32)[thicket.legal(start)]
        for other in range(rows):
            search.begin(other, noise=lambda r, k: noise if r == row else np.ones(k, np.float32))  # noqa: B023
        while search.wave():
            pass
        found = {}
        for path, (_, over, _, _, edges) in tree_snapshot(search, row).items():
            node = start
            for action in path:
                node = thicket.child(node, action)
            if not over:
                visits = [0] * thicket.NUM_ACTIONS
                for action, (_, count, _) in edges.items():
                    visits[action] = count
                found[str(node)] = visits
        assert found == case["visits"]
        result = search.result(row)
        assert result.best_action == case["action"]
        policy, q = np.zeros(thicket.NUM_ACTIONS), np.zeros(thicket.NUM_ACTIONS)
        policy[result.actions], q[result.actions] = result.policy_target(), result.q_values
        np.testing.assert_allclose(policy, case["policy"], rtol=1e-4, atol=1e-6)
        tried = np.array(case["visits"][str(start)]) > 0
        np.testing.assert_allclose(q[tried], np.array(case["q"])[tried], rtol=1e-5, atol=1e-6)


def compare_games(game: Game, settings: Any, *, noise: bool, seed: int, most_moves: int) -> int:
    """Play games in three trees at once and compare every search; the moves compared."""
    rng = np.random.default_rng(seed)
    evaluator = HashEvaluator(game, seed)
    search = Search(game=game, num_trees=3, evaluator=evaluator, settings=settings)
    references = [
        GumbelReference(game=game, evaluator=evaluator, settings=settings) for _ in range(3)
    ]
    for row, plies in enumerate((0, 3, game.max_game_length // 2)):
        state = random_position(game, plies, rng)
        search.start(row, state)
        references[row].start(state)
    moves, playing, ends = 0, [0, 1, 2], Counter[int]()
    for _ in range(most_moves):
        for row in playing:
            simulations = int(rng.integers(1, settings.num_simulations + 1))
            legal = int(game.legal_action_mask(references[row].root.state).sum())
            g = rng.gumbel(size=legal).astype(np.float32) if noise else None
            search.begin(row, simulations, None if g is None else lambda _row, _k, g=g: g)
            references[row].search(simulations, g)
        while search.wave():
            pass
        for row in list(playing):
            root = references[row].root
            result = search.result(row)
            assert tree_snapshot(search, row) == snapshot(root)
            assert result.best_action == references[row].best_action()
            policy = references[row].improved_policy(root)
            np.testing.assert_allclose(result.policy_target(), policy[result.actions], atol=1e-6)
            assert result.network_value == root.value
            assert result.value == pytest.approx(references[row].root_value(), abs=1e-6)
            action = int(rng.choice(result.actions))
            search.advance(row, action)
            references[row].advance(action)
            assert search.trees.tree.nodes[row, 0].num_edges == PENDING  # nothing is kept
            moves += 1
            if game.is_terminal(references[row].root.state):
                playing.remove(row)
        if not playing:
            break
    ends = sum((reference.ends_met for reference in references), ends)
    assert ends.total() > 10
    return moves


def make(key: str) -> Game:
    name, settings = GAMES[key]
    return azcore.make(name, **settings)


@pytest.mark.parametrize("noise", [False, True], ids=["plain", "noise"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("key", GAMES)
def test_whole_games_equal_the_textbook(key: str, rule: str, noise: bool) -> None:
    settings = gumbel_settings(num_simulations=48, **RULES[rule])
    assert compare_games(make(key), settings, noise=noise, seed=7, most_moves=12) > 8


@pytest.mark.rules
@pytest.mark.parametrize("key", ["tic_tac_toe", "go 3x3"])
def test_compiled_or_interpreted(key: str) -> None:
    settings = gumbel_settings(num_simulations=16, actions=4)
    assert compare_games(make(key), settings, noise=True, seed=6, most_moves=4) > 4


@pytest.mark.parametrize("considered", [1, 2, 3, 5, 16, 200])
def test_root_visits_follow_the_schedule(considered: int) -> None:
    """As many actions with as many visits as sequential halving says, whatever the values."""
    game = make("go 5x5")
    settings = gumbel_settings(num_simulations=80, actions=considered)
    search = Search(game=game, num_trees=6, evaluator=HashEvaluator(game), settings=settings)
    rng = np.random.default_rng(considered)
    for simulations in (1, 7, 16, 33, 80):
        for row in range(6):
            search.start(row, random_position(game, 4 * row, rng))
            search.begin(row, simulations, lambda _row, k: rng.gumbel(size=k).astype(np.float32))
        while search.wave():
            pass
        for row in range(6):
            result = search.result(row)
            visits = [0] * len(result.actions)
            for count in considered_visits(min(considered, len(visits)), simulations):
                visits[visits.index(count)] += 1
            assert sorted(result.visit_counts.tolist()) == sorted(visits)
            assert result.visit_counts.sum() == simulations
            assert result.best_action in result.actions[result.visit_counts == max(visits)]


# -- improvement ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", [False, True])
def test_the_improved_policy_is_better_than_the_prior(rescale: bool) -> None:
    """On random bandits whose values are known: sum pi' q >= sum pi q (the paper, equation 19).

    All tried, or some tried and the others completed with the prior's value.
    """
    rng = np.random.default_rng(4)
    gains = []
    for _ in range(500):
        count = int(rng.integers(2, 12))
        logits = rng.normal(scale=2.0, size=count)
        prior = np.exp(logits - logits.max())
        prior /= prior.sum()
        q = rng.uniform(-1, 1, count)
        value = float(prior @ q)
        visits = rng.integers(1, 9, count)
        if rng.random() < 0.5:
            visits *= rng.random(count) < 0.5
        tree, order = bare_tree(logits.tolist(), visits.tolist(), q.tolist(), value)
        gumbel = numbers(count, rescale=rescale, mixed_value=False)
        gains.append(improved(tree, order, gumbel) @ q - value)
    assert min(gains) > -1e-6
    assert np.mean(gains) > 0.1


class Bandit(Evaluator):
    """The first ply of a game whose next positions have known values; nothing matters below."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self.logits = rng.normal(scale=1.5, size=game.num_actions).astype(np.float32)
        self.prior = np.exp(self.logits) / np.exp(self.logits).sum()
        self.q = rng.uniform(-0.8, 0.8, game.num_actions).astype(np.float32)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        stones = observations[:, 1].reshape(len(observations), -1)  # the other player's
        first = stones.any(axis=1)
        values = np.where(first, -self.q[stones.argmax(axis=1)], np.float32(self.prior @ self.q))
        return np.tile(self.logits, (len(observations), 1)), values.astype(np.float32)


@pytest.mark.parametrize("simulations", [2, 4, 9])
def test_the_action_played_is_better_than_the_prior(simulations: int) -> None:
    """With Gumbel noise, in the mean over many draws (the paper, equation 6), each tried once."""
    game = azcore.make("tic_tac_toe")
    rng = np.random.default_rng(simulations)
    settings = gumbel_settings(num_simulations=simulations, actions=simulations)
    for _ in range(5):
        bandit = Bandit(game, rng)
        search = Search(game=game, num_trees=400, evaluator=bandit, settings=settings)
        for row in range(400):
            search.begin(row, noise=lambda _row, k: rng.gumbel(size=k).astype(np.float32))
        while search.wave():
            pass
        actions = [search.result(row).best_action for row in range(400)]
        assert np.mean(bandit.q[actions]) > bandit.prior @ bandit.q + 0.05
        assert len(set(actions)) > 1


# -- what could go wrong -----------------------------------------------------------------------


def test_noise_belongs_to_actions_not_to_places() -> None:
    """In mid-game, where an action's number is not its place: the one with huge noise is played."""
    game = azcore.make("tic_tac_toe")
    settings = gumbel_settings(num_simulations=8, actions=2)
    search = Search(game=game, num_trees=1, evaluator=HashEvaluator(game), settings=settings)
    state = after(game, [4, 0, 8])
    legal = [1, 2, 3, 5, 6, 7]
    for place, action in enumerate(legal):
        search.start(0, state)
        # Of another type once the kernel is chosen, which must not misread it.
        huge = np.full(len(legal), -100.0, np.float64 if place else np.float32)
        huge[place] = 100.0
        search.begin(0, noise=lambda _row, _k, huge=huge: huge)
        while search.wave():
            pass
        result = search.result(0)
        assert result.actions.tolist() == legal
        assert result.best_action == action
        assert result.visit_counts[place] == result.visit_counts.max()
        assert result.policy_target().shape == (len(legal),)
        assert result.policy_target().sum() == pytest.approx(1)


def test_wins_in_one_and_stops_a_loss_in_one() -> None:
    game = azcore.make("tic_tac_toe")
    settings = gumbel_settings(num_simulations=60)
    search = Search(game=game, num_trees=3, evaluator=UniformEvaluator(game), settings=settings)
    for row, (actions, wanted) in enumerate(
        [([0, 3, 1, 4], 2), ([0, 3, 1, 4, 8], 5), ([0, 4, 1], 2)]
    ):
        search.start(row, after(game, actions))
        result = search.run([row])[0]
        assert result.best_action == wanted
        assert result.actions[result.policy_target().argmax()] == wanted


def test_without_simulations_the_policy_is_the_prior() -> None:
    game = azcore.make("tic_tac_toe")
    search = Search(
        game=game, num_trees=1, evaluator=HashEvaluator(game), settings=gumbel_settings()
    )
    assert search.result(0).best_action is None
    result = search.run([0], 0)[0]
    np.testing.assert_allclose(result.policy_target(), result.priors, rtol=1e-6)
    assert result.best_action == result.actions[result.priors.argmax()]


def test_priors_that_round_to_zero() -> None:
    """Logits so far apart that a prior is 0 in float32, with values so far apart that exp is."""

    class Sure(UniformEvaluator):
        def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
            logits, values = super().evaluate(observations)
            logits[:] = -1000.0 * np.arange(logits.shape[1])
            return logits, np.where(np.arange(len(values)) % 2, 1, -1).astype(np.float32)

    game = azcore.make("tic_tac_toe")
    settings = gumbel_settings(num_simulations=40, rescale=False, c_scale=100.0)
    search = Search(game=game, num_trees=2, evaluator=Sure(game), settings=settings)
    for result in search.run([0, 1]):
        assert np.isfinite(result.policy_target()).all()
        assert result.policy_target().sum() == pytest.approx(1)
        assert result.visit_counts.sum() == 40


def test_another_search_at_the_same_root_begins_anew() -> None:
    game = azcore.make("tic_tac_toe")
    search = Search(
        game=game, num_trees=1, evaluator=HashEvaluator(game), settings=gumbel_settings()
    )
    first = search.run([0], 5)[0]  # so few that there would be room for both
    again = search.run([0], 5)[0]
    assert again.visit_counts.tolist() == first.visit_counts.tolist()
    assert again.visit_counts.sum() == 5


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"actions": 0}, "search.gumbel.actions must be 1 or more, got 0"),
        ({"scale": -1.0}, "search.gumbel.scale must be 0 or more, got -1.0"),
        ({"c_visit": float("nan")}, "search.gumbel.c_visit must be 0 or more, got nan"),
        ({"c_scale": float("inf")}, "search.gumbel.c_scale must be 0 or more, got inf"),
    ],
)
def test_settings_out_of_range(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError) as error:
        gumbel(**changed)
    assert str(error.value) == sentence


def test_leaves_are_searched_one_at_a_time() -> None:
    wanted = "search.leaves_per_tree must be 1 with search=gumbel, .*got 2"
    with pytest.raises(SettingError, match=wanted):
        search_settings(gumbel=gumbel(), leaves_per_tree=2, virtual_loss=1)
