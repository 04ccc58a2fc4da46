"""Search gives exactly what the slow textbook search gives: whole trees are compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.game import Game
from azcore.search.mcts import Search
from azcore.search.settings import SearchSettings
from reference_mcts import HashEvaluator, ReferenceSearch, snapshot
from search_kit import ALPHA_GO_ZERO, ALPHA_ZERO, random_position, search_settings, tree_snapshot

GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "tic_tac_toe": ("tic_tac_toe", {}),
    "tic_tac_toe_plain": ("tic_tac_toe_plain", {}),
    "go 3x3": ("go", {"board_size": 3, "komi": 0.0}),
    "go 5x5": ("go", {"board_size": 5, "komi": 2.0}),
}
RULES: dict[str, dict[str, Any]] = {
    "alphazero": ALPHA_ZERO,
    "alphazero, small c_base": {**ALPHA_ZERO, "c_base": 30.0},
    "alphago zero": ALPHA_GO_ZERO,
    "alphazero, on its scale": {**ALPHA_ZERO, "value_range": (0.0, 1.0)},
    "first play a reduction": {**ALPHA_ZERO, "first_play": 0.25, "first_play_relative": True},
    "first play by mass": {
        **ALPHA_ZERO,
        "first_play": 0.25,
        "first_play_relative": True,
        "first_play_by_mass": True,
    },
    "root softened": {**ALPHA_ZERO, "root_temperature": 1.5},
    "visits forced": {**ALPHA_ZERO, "forced_visits": 2.0, "value_range": (0.0, 1.0)},
    "first play a loss": {**ALPHA_GO_ZERO, "first_play": -1.0},
    "stopped early": {**ALPHA_ZERO, "stop_early": True},
    "c by spread": {**ALPHA_ZERO, "c_spread": 0.85},
    "c by spread, visits forced": {
        **ALPHA_GO_ZERO,
        "c_spread": 0.5,
        "c_spread_visits": 0.5,
        "forced_visits": 2.0,
    },
    "forced wins": {**ALPHA_ZERO, "proof_plies": 2},
    "forced wins, solved": {**ALPHA_GO_ZERO, "proof_plies": 1, "solve": True},
    "solved": {**ALPHA_ZERO, "solve": True},
    "solved, visits forced": {**ALPHA_ZERO, "solve": True, "forced_visits": 2.0},
    "solved, as alphago zero": {**ALPHA_GO_ZERO, "solve": True},
}


PRUNED = ("visits forced", "c by spread, visits forced")


@dataclass
class Met:
    """What the compared games contained, so that a test can say that it tested something."""

    moves: int = 0
    kept: int = 0  # moves that began with a subtree
    pruned: int = 0  # visits that were forced
    saved: int = 0  # simulations that could not change the move
    proven: Counter[int] = field(default_factory=Counter)  # roots won (1) and lost (-1)
    avoided: int = 0  # lost actions of roots that are not lost
    forced: int = 0  # roots and leaves that the rules decided
    ends: Counter[int] = field(default_factory=Counter)  # simulations to the end, by outcome


def make(key: str) -> Game:
    name, settings = GAMES[key]
    return azcore.make(name, **settings)


def compare_games(
    game: Game, settings: SearchSettings, *, noise: bool, seed: int, most_moves: int = 100
) -> Met:
    """Play games in four trees at once, each from another position, and compare every search."""
    rng = np.random.default_rng(seed)
    evaluator = HashEvaluator(game, seed)
    search = Search(game=game, num_trees=4, evaluator=evaluator, settings=settings)
    references = [
        ReferenceSearch(game=game, evaluator=evaluator, settings=settings) for _ in range(4)
    ]
    for row, plies in enumerate((0, 2, 5, game.max_game_length // 2)):
        state = random_position(game, plies, rng)
        search.start(row, state)
        references[row].start(state)
    met, playing = Met(), [0, 1, 2, 3]
    for _ in range(most_moves):
        for row in playing:
            simulations = int(rng.integers(1, settings.num_simulations + 1))
            eta = None
            if noise:
                legal = game.legal_action_mask(references[row].root.state).sum()
                eta = rng.dirichlet(np.full(legal, 0.5)).astype(np.float32)
            met.kept += references[row].root.is_known
            best_only = settings.stop_early and rng.random() < 0.7
            search.begin(
                row,
                simulations,
                None if eta is None else lambda _row, k, eta=eta: eta[:k],
                best_only,
                takes_wins=True,
            )
            references[row].search(simulations, eta, best_only)
            done = sum(references[row].root.visits.values()) - references[row].visits_before
            assert done == simulations or best_only or references[row].root.winner is not None
            met.saved += simulations - done
        while search.wave():
            pass
        for row in list(playing):
            root = references[row].root
            result = search.result(row)
            assert result.actions.tolist() == sorted(root.visits)
            visits = np.array([root.visits[a] for a in sorted(root.visits)])
            q_values = np.array(references[row].q_values())
            assert result.visit_counts.tolist() == visits.tolist()
            assert result.priors.tolist() == [root.prior[a] for a in sorted(root.visits)]
            assert result.q_values.tolist() == q_values.astype(np.float32).tolist()
            assert result.value == references[row].value()
            assert result.network_value == root.value
            kept = references[row].kept_visits()
            assert result.kept_counts.tolist() == [kept[a] for a in sorted(kept)]
            assert result.actions[result.ranked()[0]] == references[row].best()
            proof = search.proof(row)
            assert proof == (root.winner is not None) * (1 if root.winner == root.player else -1)
            met.proven[proof] += 1
            if not proof:
                met.avoided += sum(map(root.is_lost, visits_of := list(root.visits)))
                assert all(not kept[a] for a in visits_of if root.is_lost(a))
            if not settings.solve:
                met.pruned += int(visits.sum()) - sum(kept.values())
            assert tree_snapshot(search, row) == snapshot(root)

            chance = np.sqrt(visits + (visits.sum() == 0))  # also the less visited now and then
            chance /= chance.sum()
            action = int(rng.choice(result.actions, p=chance))
            search.advance(row, action)
            references[row].advance(action)
            met.moves += 1
            if game.is_terminal(references[row].root.state):
                playing.remove(row)
        if not playing:
            break
    met.forced = sum(reference.forced_met for reference in references)
    met.ends = sum((reference.ends_met for reference in references), Counter())
    return met


# Uncompiled games differ only in the batch, larger boards only in the number of edges; each game is
# compiled with each group of methods.
FEW = ("alphazero", "solved, visits forced", "forced wins, solved")
WITHOUT_NOISE = (*FEW, "alphago zero", "root softened", *PRUNED)
MORE = pytest.mark.long(short="tests/search/test_matches_reference.py::test_whole_games")


@pytest.mark.parametrize(
    ("key", "rule", "noise"),
    [
        *(("go 3x3", rule, True) for rule in RULES),
        *(("go 3x3", rule, False) for rule in WITHOUT_NOISE),
        *(("tic_tac_toe_plain", rule, True) for rule in FEW),
        pytest.param("go 5x5", "alphazero", True),
        *(pytest.param("go 5x5", rule, True, marks=MORE) for rule in FEW[1:]),
        *(pytest.param("tic_tac_toe", rule, True, marks=MORE) for rule in RULES),
    ],
)
def test_whole_games(key: str, rule: str, noise: bool) -> None:
    settings = search_settings(num_simulations=48, **RULES[rule])
    met = compare_games(make(key), settings, noise=noise, seed=len(rule), most_moves=30)
    assert met.moves > 8
    assert met.kept > 3
    assert (met.pruned > 20) == (rule in PRUNED and noise)
    assert (met.saved > 20) == ("stopped" in rule or "solved" in rule)
    assert (met.avoided > 2) == ("solved" in rule)
    assert (met.proven[1] + met.proven[-1] > 0) == ("solved" in rule)
    assert met.ends.total() > 20
    assert (met.forced > 10) == ("forced wins" in rule)


@pytest.mark.parametrize("is_loss", [True, False], ids=["losses", "visits"])
@pytest.mark.parametrize(
    ("key", "virtual_loss", "leaves"),
    [
        ("go 3x3", 3, 4),
        ("go 3x3", 1, 8),
        ("tic_tac_toe_plain", 3, 4),
    ],
)
def test_several_leaves_of_a_tree_at_once(
    key: str, virtual_loss: int, leaves: int, is_loss: bool
) -> None:
    settings = search_settings(
        virtual_loss=virtual_loss,
        virtual_loss_is_loss=is_loss,
        leaves_per_tree=leaves,
        proof_plies=int(is_loss),
    )
    met = compare_games(make(key), settings, noise=True, seed=virtual_loss, most_moves=20)
    assert met.kept > 3
    assert met.ends.total() > 20
    assert (met.forced > 10) == is_loss


@pytest.mark.parametrize("is_loss", [True, False], ids=["losses", "visits"])
@pytest.mark.parametrize("key", ["tic_tac_toe_plain", "go 3x3"])
def test_several_leaves_solved(key: str, is_loss: bool) -> None:
    settings = search_settings(
        virtual_loss=1, virtual_loss_is_loss=is_loss, leaves_per_tree=4, solve=True
    )
    met = compare_games(make(key), settings, noise=True, seed=4, most_moves=20)
    assert met.kept > 3
    assert met.avoided > 5
    assert met.proven[1] > 0
    assert met.proven[-1] > 0


def test_several_leaves_with_c_by_spread() -> None:
    settings = search_settings(virtual_loss=1, leaves_per_tree=4, c_spread=0.85)
    met = compare_games(make("go 3x3"), settings, noise=True, seed=3, most_moves=20)
    assert met.kept > 3
    assert met.ends.total() > 20


def test_several_leaves_stopped_early() -> None:
    settings = search_settings(virtual_loss=1, leaves_per_tree=4, stop_early=True)
    met = compare_games(make("go 3x3"), settings, noise=False, seed=3, most_moves=20)
    assert met.kept > 3
    assert met.saved > 20


def test_small_reuse_limit() -> None:
    """A subtree above the limit is forgotten, one below is kept."""
    met = compare_games(make("go 3x3"), search_settings(reuse_limit=0.1), noise=False, seed=3)
    assert 0 < met.kept < met.moves - 4
    met = compare_games(make("go 3x3"), search_settings(reuse_subtree=False), noise=True, seed=3)
    assert met.kept == 0


def test_drawn_and_passed_go_inside_the_tree() -> None:
    """Komi 0 on 3x3: two passes end the game inside the trees, won by either and by neither."""
    met = compare_games(make("go 3x3"), search_settings(), noise=True, seed=2)
    assert min(met.ends[z] for z in (-1, 0, 1)) > 5


@pytest.mark.rules
@pytest.mark.parametrize("key", ["tic_tac_toe", "go 3x3"])
def test_compiled_or_interpreted(key: str) -> None:
    """Run by `make test-rules` as plain Python too: both equal the same reference."""
    settings = search_settings(num_simulations=16, leaves_per_tree=2, virtual_loss=1)
    assert compare_games(make(key), settings, noise=True, seed=5, most_moves=5).ends
    settings = search_settings(num_simulations=16, first_play=0.25, first_play_relative=True)
    assert compare_games(make(key), settings, noise=True, seed=6, most_moves=5).ends
    settings = search_settings(num_simulations=16, solve=True, c_spread=0.85)
    assert compare_games(make(key), settings, noise=True, seed=7, most_moves=5).ends


def test_plain_and_compiled_rules_give_the_same_searches() -> None:
    results = []
    for name in ("tic_tac_toe", "tic_tac_toe_plain"):
        game = azcore.make(name)
        search = Search(
            game=game, num_trees=2, evaluator=HashEvaluator(game), settings=search_settings()
        )
        found = []
        for row in range(2):
            search.start(row)
        search.advance(1, 3)
        for _ in range(5):
            search.run([0, 1])
            for row in range(2):
                found.append(tree_snapshot(search, row))
                result = search.result(row)
                search.advance(row, int(result.actions[result.visit_counts.argmax()]))
            if any(game.is_terminal(search.states.get(row)) for row in range(2)):
                break
        results.append(found)
    assert len(results[0]) >= 4
    assert results[0] == results[1]


def test_trees_do_not_touch_each_other() -> None:
    """Whatever the other rows hold, and however many they are, a tree comes out the same."""
    game = make("tic_tac_toe")
    rng = np.random.default_rng(11)
    settings = search_settings(leaves_per_tree=3, virtual_loss=2)
    found = []
    for num_trees, mine in ((1, 0), (3, 1), (6, 5)):
        search = Search(
            game=game, num_trees=num_trees, evaluator=HashEvaluator(game), settings=settings
        )
        for row in range(num_trees):
            search.start(row, random_position(game, 0 if row == mine else 4, rng))
            search.begin(row, None if row == mine else int(rng.integers(0, 40)))
        seen = []
        for wave in range(30):
            search.wave()
            if wave == 4 and num_trees > 1:  # others come and go while mine is under way
                search.start(mine - 1)
                search.begin(mine - 1)
            seen.append(tree_snapshot(search, mine))
        result = search.result(mine)
        search.advance(mine, int(result.actions[result.visit_counts.argmax()]))
        seen.append(tree_snapshot(search, mine))
        found.append(seen)
    assert len(found[0][-1]) > 2
    assert found[0] == found[1] == found[2]
