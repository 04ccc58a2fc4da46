"""Positions met twice in one tree: equal to a textbook graph search, and sound where it matters."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import SettingError
from azcore.game import BoolArray, ByteArray, Facts, FloatArray, Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.mcts import Search
from azcore.search.memory import bytes_needed
from azcore.search.settings import SearchSettings
from azcore.search.tree import NO_NODE
from reference_graph import GraphReference, GumbelGraphReference
from reference_mcts import Node
from search_kit import (
    ALPHA_GO_ZERO,
    edge_statistics,
    edges_of,
    gumbel,
    random_position,
    search_settings,
    tree_snapshot,
)

CONNECT_FOUR = Path(__file__).parents[2] / "examples/plugins/connect_four/src"


class Layers(Game):
    """`width` positions a ply, and from each some edges to the next ply: a graph made by chance.

    A state is (ply, place); the same place at another ply is another position.
    """

    def __init__(self, width: int = 4, plies: int = 10, seed: int = 0) -> None:
        super().__init__(
            Facts(
                name="layers",
                version=1,
                settings={},
                num_actions=4,
                observation_shape=(2, 1, 1),
                max_game_length=plies,
                dirichlet_alpha=1.0,
            ),
        )
        self.width, self.plies = width, plies
        rng = np.random.default_rng(seed)
        shape = (plies + 1, width)
        self.next = rng.integers(width, size=(*shape, 4))
        self.legal = rng.random((*shape, 4)) < 0.8
        self.legal[..., 0] = True
        self.over = rng.random(shape) < 0.1
        self.over[:2], self.over[-1] = False, True
        self.results = rng.integers(-1, 2, shape)
        self.seats = rng.integers(2, size=shape)  # now and then a seat moves twice
        self.seats[0] = 0

    def initial_state(self) -> tuple[int, int]:
        return 0, 0

    def current_player(self, state: tuple[int, int]) -> int:
        return int(self.seats[state])

    def legal_action_mask(self, state: tuple[int, int]) -> BoolArray:
        return np.asarray(self.legal[state] & ~self.over[state])

    def step(self, state: tuple[int, int], action: int) -> tuple[int, int]:
        return state[0] + 1, int(self.next[state][action])

    def is_terminal(self, state: tuple[int, int]) -> bool:
        return bool(self.over[state])

    def outcome(self, state: tuple[int, int]) -> int:
        return int(self.results[state])

    def position_key(self, state: tuple[int, int]) -> int:
        return state[1]

    def observation(self, state: tuple[int, int]) -> FloatArray:
        return np.array(state, np.float32).reshape(2, 1, 1)

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


class Tree(Layers):
    """The same without a place that two ways lead to: a place is the number of the way there."""

    def __init__(self) -> None:
        super().__init__(width=50, plies=8)

    def step(self, state: tuple[int, int], action: int) -> tuple[int, int]:
        return state[0] + 1, 4 * state[1] + action

    def current_player(self, state: tuple[int, int]) -> int:
        return super().current_player((state[0], state[1] % 50))

    def legal_action_mask(self, state: tuple[int, int]) -> BoolArray:
        return super().legal_action_mask((state[0], state[1] % 50))

    def is_terminal(self, state: tuple[int, int]) -> bool:
        return super().is_terminal((state[0], state[1] % 50))

    def outcome(self, state: tuple[int, int]) -> int:
        return super().outcome((state[0], state[1] % 50))

    def observation(self, state: tuple[int, int]) -> FloatArray:
        return np.array(divmod(state[1], 256), np.float32).reshape(2, 1, 1)


class Grudge(Layers):
    """From the fourth ply on, a game that began with action 1 forbids action 0.

    A rule about earlier positions: the key tells it where it forbids something at once, and not on
    the plies before. `step` bears what is forbidden.
    """

    def initial_state(self) -> Any:
        return 0, 0, False

    def step(self, state: Any, action: int) -> Any:
        ply, place, grudge = state
        return ply + 1, int(self.next[ply, place][action]), grudge or (ply == 0 and action == 1)

    def forbids(self, state: Any) -> bool:
        return bool(state[0] >= 4 and state[2] and self.legal[state[:2]].sum() > 1)

    def current_player(self, state: Any) -> int:
        return super().current_player(state[:2])

    def legal_action_mask(self, state: Any) -> BoolArray:
        mask = super().legal_action_mask(state[:2])
        mask[0] &= not self.forbids(state)
        return mask

    def is_terminal(self, state: Any) -> bool:
        return super().is_terminal(state[:2])

    def outcome(self, state: Any) -> int:
        return super().outcome(state[:2])

    def observation(self, state: Any) -> FloatArray:
        return super().observation(state[:2])

    def position_key(self, state: Any) -> int:
        return 2 * int(state[1]) + self.forbids(state)


class Ring(Layers):
    """Eight places in a ring, one to the left or to the right; who comes to place 4 wins.

    Without an end of its own: after 60 plies it is a draw. The key is the place, which is met again
    and again.
    """

    def __init__(self) -> None:
        super().__init__(width=8, plies=60)
        for place in range(8):
            self.next[:, place] = [(place + 1) % 8, (place - 1) % 8, place, place]
        self.legal[..., :2], self.legal[..., 2:] = True, False
        self.over[:-1], self.results[:] = False, 0
        self.seats[0::2], self.seats[1::2] = 0, 1
        self.over[:, 4] = True
        self.results[0::2, 4], self.results[1::2, 4] = -1, 1  # the seat that has just moved


class Judge(Evaluator):
    """Arbitrary logits and values for each position, without ties; counts what it is asked."""

    def __init__(self, game: Game, seed: int = 0) -> None:
        self._num_actions, self._seed = game.num_actions, seed
        self.asked: Counter[bytes] = Counter()

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        logits = np.zeros((len(observations), self._num_actions), np.float32)
        values = np.zeros(len(observations), np.float32)
        for row, observation in enumerate(observations):
            key = observation.tobytes()
            self.asked[key] += 1
            rng = np.random.default_rng([self._seed, zlib.crc32(key)])
            logits[row] = 0.3 * rng.normal(size=self._num_actions)
            values[row] = rng.uniform(-1, 1)
        return logits, values


def make(key: str, monkeypatch: pytest.MonkeyPatch) -> Game:
    if key == "connect four":
        monkeypatch.syspath_prepend(CONNECT_FOUR)
        from connect_four.game import ConnectFour  # type: ignore[import-not-found]

        game: Game = ConnectFour()
        return game
    if key.startswith("layers"):
        return Layers(width=int(key.split()[1]), seed=len(key))
    if key.startswith("go"):
        return azcore.make("go", board_size=int(key[-1]), komi=2.0)
    return azcore.make(key)


MORE = pytest.mark.long(short="tests/search/test_transpositions.py::test_whole_games")
LAYERS = ["layers 1", "layers 3", "layers 20"]


def graph_settings(**changed: Any) -> SearchSettings:
    return search_settings(**{"transpositions": True, **changed})


def check_equal(search: Search, row: int, root: Node) -> int:
    """The graph of the arrays is that of the reference, edge by edge; how many nodes it has."""
    tree = search.trees.tree
    assert search.trees.variants.transpositions is not None
    found = {0: root}
    waiting = [0]
    while waiting:
        n = waiting.pop()
        node = found[n]
        assert tree.nodes[row, n].player == node.player
        assert tree.nodes[row, n].terminal == node.is_terminal
        assert tree.nodes[row, n].value == np.float32(node.value)
        assert tree.nodes[row, n].visits == 1 + sum(node.visits.values())
        edges = edges_of(tree, row, n)
        assert sorted(tree.edge_action[row, edges.start : edges.stop]) == sorted(node.prior)
        statistics = zip(*edge_statistics(tree, row, n), strict=True)
        for e, (visits, total, child_id) in zip(edges, statistics, strict=True):
            a, child = int(tree.edge_action[row, e]), int(child_id)
            assert tree.edge_prior[row, e] == np.float32(node.prior[a])
            assert visits == node.visits[a]
            assert abs(total - node.total[a]) < 1e-9
            assert abs(total) <= visits + 1e-9
            assert (child == NO_NODE) == (a not in node.children)
            if child != NO_NODE:
                if child not in found:
                    waiting.append(child)
                # One node there for each one here, and the other way round below.
                assert found.setdefault(child, node.children[a]) is node.children[a]
    assert len(set(map(id, found.values()))) == len(found) == tree.num_nodes[row]
    # The table holds each of them but the root, and nothing else.
    table = search.trees.variants.transpositions.table[row]
    assert sorted(table[table != NO_NODE]) == list(range(1, len(found)))
    return len(found)


def compare_games(
    game: Game,
    settings: SearchSettings,
    *,
    seed: int,
    most_moves: int = 40,
    kind: type[GraphReference] = GraphReference,
) -> Counter[str]:
    """Play games in three graphs at once and compare every search; what they contained."""
    rng = np.random.default_rng(seed)
    judge = Judge(game, seed)
    search = Search(game=game, num_trees=3, evaluator=judge, settings=settings)
    references = [kind(game=game, evaluator=Judge(game, seed), settings=settings) for _ in range(3)]
    for row, plies in enumerate((0, 2, min(30, game.max_game_length // 2))):
        state = random_position(game, plies, rng)
        search.start(row, state)
        references[row].start(state)
    met, playing = Counter[str](), [0, 1, 2]
    for _ in range(most_moves):
        for row in playing:
            simulations = int(rng.integers(1, settings.num_simulations + 1))
            legal = int(game.legal_action_mask(references[row].state).sum())
            eta = rng.dirichlet(np.full(legal, 0.5)).astype(np.float32)
            before = sum(references[row].root.visits.values()) * (not settings.is_gumbel)
            search.begin(row, simulations, lambda _row, _k, eta=eta: eta)
            references[row].search(simulations, eta)
            met["simulations"] += simulations
            assert sum(references[row].root.visits.values()) == before + simulations
        while search.wave():
            assert (search._slots.tree == -1).all()
        for row in list(playing):
            reference = references[row]
            met["nodes"] += check_equal(search, row, reference.root)
            result = search.result(row)
            actions = result.actions.tolist()
            assert result.visit_counts.tolist() == [reference.root.visits[a] for a in actions]
            met["moves"] += 1
            chance = np.sqrt(result.policy_target().astype(np.float64))
            action = int(rng.choice(actions, p=chance / chance.sum()))
            search.advance(row, action)
            reference.advance(action)
            met["kept"] += reference.root.is_known
            if not settings.is_gumbel and reference.root.is_known:
                check_equal(search, row, reference.root)
            if game.is_terminal(reference.state):
                playing.remove(row)
        if not playing:
            break
    for reference in references:
        met["again"] += reference.met_again
        met["caught up"] += reference.caught_up
        met["evaluations"] += reference.evaluations
        met["forgotten"] += reference.forgotten
        met["ends"] += reference.ends_met.total()
    # Ends are described to the evaluator too, which is faster than to leave them out.
    assert met["evaluations"] <= judge.asked.total() <= met["evaluations"] + met["ends"]
    return met


@pytest.mark.parametrize(
    ("key", "leaves"),
    [
        ("tic_tac_toe_plain", 8),
        ("go 3x3", 8),
        *((key, 8) for key in LAYERS),
        ("go 3x3", 1),
        ("layers 20", 1),
        *(pytest.param(key, 8, marks=MORE) for key in ("tic_tac_toe", "connect four", "go 5x5")),
    ],
)
def test_whole_games(key: str, leaves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = graph_settings(num_simulations=100, leaves_per_tree=leaves, virtual_loss=leaves > 1)
    met = compare_games(make(key, monkeypatch), settings, seed=leaves, most_moves=8)
    assert met["moves"] > 4
    assert met["kept"] > 3
    assert met["again"] > (5 if key in LAYERS else 0)
    assert met["caught up"] > (20 if key in LAYERS else -1)


@pytest.mark.parametrize(
    "changed",
    [
        {"virtual_loss_is_loss": False, "virtual_loss": 1},
        {"virtual_loss_is_loss": False, "virtual_loss": 3, **ALPHA_GO_ZERO},
        {"virtual_loss": 3, "first_play": 0.25, "first_play_relative": True},
    ],
    ids=["visits", "visits, alphago zero", "losses"],
)
@pytest.mark.parametrize("key", ["go 3x3", "layers 20"])
def test_several_leaves_at_once(
    key: str, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = graph_settings(num_simulations=80, leaves_per_tree=8, **changed)
    met = compare_games(make(key, monkeypatch), settings, seed=5, most_moves=8)
    assert met["again"] > 2


@pytest.mark.parametrize("key", ["go 3x3", "layers 20"])
def test_gumbel(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = graph_settings(num_simulations=80, gumbel=gumbel(actions=4))
    met = compare_games(
        make(key, monkeypatch), settings, seed=6, most_moves=6, kind=GumbelGraphReference
    )
    assert met["again"] > 2


@pytest.mark.rules
def test_compiled_or_interpreted() -> None:
    """Run by `make test-rules` as plain Python too: both equal the same reference."""
    for name, leaves in (("tic_tac_toe", 1), ("tic_tac_toe_plain", 4)):
        settings = graph_settings(
            num_simulations=60, leaves_per_tree=leaves, virtual_loss=leaves > 1
        )
        met = compare_games(azcore.make(name), settings, seed=8, most_moves=3)
        assert met["again"] > 0


def test_a_kept_root_that_another_way_made_is_forgotten() -> None:
    """Its actions were those of that way; searches before it were about both."""
    settings = graph_settings(num_simulations=150)
    forgotten, kept = 0, 0
    for seed in range(12):
        game, rng = Grudge(width=3, plies=12, seed=seed), np.random.default_rng(seed)
        reference = GraphReference(game=game, evaluator=Judge(game), settings=settings)
        search = Search(game=game, num_trees=1, evaluator=Judge(game), settings=settings)
        while not game.is_terminal(reference.state):
            search.run([0])
            reference.search(150)
            legal = legal_actions(game, reference.state)
            assert search.result(0).actions.tolist() == legal.tolist()
            action = 1 if reference.ply == 0 and 1 in legal else int(rng.choice(legal))
            search.advance(0, action)
            reference.advance(action)
            assert (search.trees.tree.num_nodes[0] > 1) == (len(reference.nodes) > 0)
            if reference.root.is_known:
                check_equal(search, 0, reference.root)
                kept += 1
        forgotten += reference.forgotten
    assert forgotten > 1
    assert kept > 40


@pytest.mark.rules
@pytest.mark.parametrize("leaves", [1, 5])
def test_a_tree_in_which_nothing_is_met_twice_is_the_plain_tree(leaves: int) -> None:
    """To the last bit, over moves that keep what was found."""
    game, found = Tree(), []
    for transpositions in (False, True):
        settings = search_settings(
            num_simulations=150,
            leaves_per_tree=leaves,
            virtual_loss=leaves > 1,
            transpositions=transpositions,
        )
        search = Search(game=game, num_trees=2, evaluator=Judge(game), settings=settings)
        if search.trees.variants.transpositions is not None:
            search.trees.variants.transpositions.node_shared[:] = (
                True  # as another tree may leave it behind
            )
        seen = []
        for _ in range(4):
            for result in search.run([0, 1]):
                seen.append(result.visit_counts.tolist())
            for row in (0, 1):
                seen.append(tree_snapshot(search, row))
                result = search.result(row)
                search.advance(row, int(result.actions[np.argsort(result.visit_counts)[-1 - row]]))
                if game.is_terminal(search.states.get(row)):
                    search.start(row)
        found.append(seen)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("key", "saved"), [("tic_tac_toe", 0.1), ("connect four", 0.02), ("layers 20", 0.3)]
)
def test_no_position_is_evaluated_twice(
    key: str, saved: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, asked = make(key, monkeypatch), []
    for transpositions in (False, True):
        judge = Judge(game)
        settings = search_settings(num_simulations=600, transpositions=transpositions)
        search = Search(game=game, num_trees=1, evaluator=judge, settings=settings)
        counts = search.run([0])[0].visit_counts
        assert counts.sum() == 600
        asked.append(judge.asked)
    assert max(asked[0].values()) > 1
    assert max(asked[1].values()) == 1
    assert asked[1].total() < (1 - saved) * asked[0].total()


def test_positions_that_come_back_make_no_cycle() -> None:
    """From place 3 the game is won in one; from place 2 who moves on to 3 loses, so nobody does.

    With right play place 0 is a draw; a mean over tries is below that, as seat 0 alone can blunder.
    """
    game = Ring()
    plain = Search(
        game=game,
        num_trees=1,
        evaluator=UniformEvaluator(game),
        settings=search_settings(num_simulations=5000),
    ).run([0])[0]
    settings = graph_settings(num_simulations=5000)
    search = Search(game=game, num_trees=3, evaluator=UniformEvaluator(game), settings=settings)
    for row, place in enumerate((3, 2, 0)):
        search.start(row, (0, place))
    results = search.run([0, 1, 2])
    tree = search.trees.tree
    for row, result in enumerate(results):
        assert result.visit_counts.sum() == 5000
        assert (np.abs(result.q_values) <= 1 + 1e-6).all()
        assert tree.num_nodes[row] <= 1 + 8 * 60
    assert results[0].value > 0.9
    assert results[0].q_values[0] == 1
    assert results[1].q_values[0] < -0.9
    assert results[1].visit_counts[1] > 4500
    assert abs(results[2].value - plain.value) < 0.1


def test_room_of_a_graph() -> None:
    """Searched again and again at one root and along a game, it stays within its arrays."""
    game = Layers(width=6, plies=30, seed=2)
    settings = graph_settings(
        num_simulations=40, reuse_limit=1.0, leaves_per_tree=3, virtual_loss=1
    )
    search = Search(game=game, num_trees=1, evaluator=Judge(game), settings=settings)
    plain = search_settings(num_simulations=40, reuse_limit=1.0)
    tree = Search(game=game, num_trees=1, evaluator=Judge(game), settings=plain)
    assert bytes_needed(search.trees, 4) > bytes_needed(tree.trees, 4)
    for _ in range(3):
        search.start(0)
        while not game.is_terminal(search.states.get(0)):
            for _ in range(5):
                search.run([0])
                assert search.trees.tree.num_nodes[0] <= search.trees.tree.nodes.shape[1]
            result = search.result(0)
            search.advance(0, int(result.actions[result.visit_counts.argmax()]))
            assert search.trees.tree.num_nodes[0] <= 1 + 40


def solved(game: Game, state: Any) -> int:
    """The value of a position as seat 0 sees it, by looking at all that follows."""
    if game.is_terminal(state):
        return game.outcome(state)
    values = [solved(game, game.step(state, int(a))) for a in legal_actions(game, state)]
    return max(values) if game.current_player(state) == 0 else min(values)


def legal_actions(game: Game, state: Any) -> Any:
    return np.flatnonzero(game.legal_action_mask(state))


@pytest.mark.parametrize("transpositions", [False, True])
def test_values_of_tic_tac_toe(transpositions: bool) -> None:
    """The most visited action keeps the value that looking at everything gives."""
    game = azcore.make("tic_tac_toe_plain")
    rng = np.random.default_rng(3)
    settings = search_settings(num_simulations=2000, transpositions=transpositions)
    search = Search(game=game, num_trees=12, evaluator=UniformEvaluator(game), settings=settings)
    states = [random_position(game, int(rng.integers(2, 6)), rng) for _ in range(12)]
    for row, state in enumerate(states):
        search.start(row, state)
    for state, result in zip(states, search.run(list(range(12))), strict=True):
        sign = 1 if game.current_player(state) == 0 else -1
        value = sign * solved(game, state)
        best = int(result.visit_counts.argmax())
        assert sign * solved(game, game.step(state, int(result.actions[best]))) == value
        assert abs(result.q_values[best] - value) < 0.15


def test_forgotten_in_flight() -> None:
    """A tree started anew between the halves of a wave has nothing left of the old one."""
    game = Layers(width=3)
    settings = graph_settings(leaves_per_tree=8, virtual_loss=1)
    search = Search(game=game, num_trees=2, evaluator=Judge(game), settings=settings)
    fresh = Search(game=game, num_trees=2, evaluator=Judge(game), settings=settings)
    known, in_flight = search.trees.variants.transpositions, search.trees.variants.in_flight
    assert known is not None
    assert in_flight is not None
    for row in (0, 1):
        search.begin(row)
    for waves in range(1, 6):
        for _ in range(waves):
            search.wave()
        search.select()
        judged = search.evaluate()
        assert in_flight.nodes[0].any()
        search.start(0)
        assert not in_flight.nodes[0].any()
        assert not in_flight.tried[0].any()
        assert not known.slot_waits[:8].any()
        search.finish(*judged)
        search.run([0])
        fresh.start(0)
        fresh.run([0])
        assert tree_edges(search, 0) == tree_edges(fresh, 0)
        search.start(1)
        search.begin(1)
        search.start(0)
        search.begin(0)


def tree_edges(search: Search, row: int) -> list[list[Any]]:
    tree = search.trees.tree
    return [
        array.tolist()
        for n in range(int(tree.num_nodes[row]))
        for array in edge_statistics(tree, row, n)
    ]


def test_a_game_without_keys_is_refused() -> None:
    game = azcore.make("tic_tac_toe_plain")
    without = type("Without", (type(game),), {"position_key": Game.position_key})()
    without.name = "without"
    with pytest.raises(SettingError) as error:
        Search(
            game=without,
            num_trees=1,
            evaluator=UniformEvaluator(without),
            settings=graph_settings(),
        )
    assert str(error.value) == (
        "search.transpositions must be false for without, which states no position_key, got True"
    )
