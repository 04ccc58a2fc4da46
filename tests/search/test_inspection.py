"""A search in single steps is the search itself, and the numbers told are those it chooses by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError
from azcore.game import Game
from azcore.search.inspection import NodeView, Simulation, Stepper, has_node, node_at
from azcore.search.mcts import Search
from reference_mcts import HashEvaluator
from search_kit import after, gumbel, search_settings

GAMES = {
    "tic-tac-toe": lambda: azcore.make("tic_tac_toe"),
    "go": lambda: azcore.make("go", board_size=5, komi=0.5),
}
RULES: dict[str, dict[str, Any]] = {
    "puct": {},
    "relative": {"first_play_relative": True, "first_play": 0.25, "first_play_by_mass": True},
    "spread": {"c_spread": 0.85},
    "scale": {"value_range": (0.0, 1.0), "count_parent_visit": False},
    "gumbel": {"gumbel": gumbel(actions=6)},
}
EVERY = [*(("go", rule) for rule in RULES), ("tic-tac-toe", "puct")]
SIMULATIONS = 60


def stepper(
    game: Game, noise: Any = None, actions: tuple[int, ...] = (), **changed: Any
) -> Stepper:
    settings = search_settings(num_simulations=SIMULATIONS, **changed)
    search = Search(game=game, num_trees=1, evaluator=HashEvaluator(game), settings=settings)
    search.start(0, after(game, list(actions)))
    return Stepper(search, SIMULATIONS, noise)


def noise(_row: int, num_legal: int) -> Any:
    return np.random.default_rng(5).dirichlet(np.full(num_legal, 0.4)).astype(np.float32)


def all_nodes(search: Search) -> list[NodeView]:
    found, pending = [], [node_at(search, 0)]
    while pending:
        node = pending.pop()
        found.append(node)
        paths = [(*node.path, edge.action) for edge in node.edges if edge.visits]
        pending += [node_at(search, 0, path) for path in paths]
    return found


@pytest.mark.parametrize(("name", "rule"), EVERY)
@pytest.mark.parametrize("noisy", [False, True])
def test_steps_are_the_search(name: str, rule: str, noisy: bool) -> None:
    game = GAMES[name]()
    steps = stepper(game, noise if noisy else None, (4, 0, 2), **RULES[rule])
    whole = stepper(game, noise if noisy else None, (4, 0, 2), **RULES[rule]).search
    whole.start(0, after(game, [4, 0, 2]))
    whole.begin(0, SIMULATIONS, noise if noisy else None)
    while whole.wave():
        pass
    for number in range(SIMULATIONS):
        assert steps.done == number
        check_simulation(steps, steps.step())
    one, other = steps.search.result(0), whole.result(0)
    for field in ("actions", "visit_counts", "q_values", "priors"):
        assert np.array_equal(getattr(one, field), getattr(other, field))


def check_simulation(steps: Stepper, simulation: Simulation) -> None:
    """Each edge of the path has one visit more, and the leaf's value with the right sign."""
    assert simulation.path
    for depth, step in enumerate(simulation.path):
        assert step.after[0] == step.before[0] + 1
        assert step.after[1] == pytest.approx(step.before[1] + step.gain)
        turned = -1 if step.player != simulation.player else 1
        assert step.gain == turned * simulation.value
        node = node_at(steps.search, 0, simulation.actions[:depth])
        [edge] = [edge for edge in node.edges if edge.action == step.action]
        assert (edge.visits, edge.total) == step.after
        assert edge.q == pytest.approx(edge.total / edge.visits)


@pytest.mark.parametrize(("name", "rule"), EVERY)
def test_the_next_edge_has_the_best_score(name: str, rule: str) -> None:
    steps = stepper(GAMES[name](), **RULES[rule])
    for _ in range(SIMULATIONS - 1):
        steps.step()
        for node in all_nodes(steps.search)[:5]:
            if node.is_terminal:
                assert node.next_action is None
                continue
            [taken] = [edge for edge in node.edges if edge.is_next]
            scores = [edge.score for edge in node.edges if edge.is_eligible]
            assert taken.is_eligible
            assert taken.score == pytest.approx(max(scores), abs=1e-12)


def test_terms_of_puct_by_hand() -> None:
    steps = stepper(GAMES["go"](), value_range=(0.0, 1.0))
    for _ in range(SIMULATIONS):
        steps.step()
    for node in all_nodes(steps.search):
        assert node.visits == 1 + sum(edge.visits for edge in node.edges)
        whole = 1.0 if node.edges else 0.0
        assert sum(edge.prior for edge in node.edges) == pytest.approx(whole, abs=1e-5)
        for edge in node.edges:
            # A scale from 0 to 1 is half as wide as ours, so U counts twice; a loss comes first.
            rate = 2 * (math.log((1 + node.visits + 19652) / 19652) + 1.25)
            u = rate * edge.prior * math.sqrt(node.visits) / (1 + edge.visits)
            q = edge.total / edge.visits if edge.visits else -1.0
            assert edge.terms == (pytest.approx(q), pytest.approx(u))
            assert edge.q == pytest.approx(q)
            assert (node.rate, node.parent_visits) == (pytest.approx(rate), node.visits)


def test_terms_of_gumbel_by_hand() -> None:
    steps = stepper(GAMES["go"](), **RULES["gumbel"])
    for _ in range(SIMULATIONS):
        steps.step()
    root, *below = all_nodes(steps.search)
    assert root.rule == "considered"
    assert root.next_action is None  # the schedule is at its end
    assert {node.rule for node in below} == {"improved"}
    for node in below:
        if node.edges:
            assert sum(edge.terms[0] for edge in node.edges) == pytest.approx(1)
            assert [edge.terms[1] for edge in node.edges] == pytest.approx(
                [-edge.visits / node.visits for edge in node.edges]
            )
    fresh = node_at(stepper(GAMES["go"](), **RULES["gumbel"]).search, 0)
    drawn = [edge for edge in fresh.edges if edge.is_eligible]
    assert len(drawn) == 6
    for edge in drawn:  # without noise, and with no Q to tell actions apart
        assert edge.terms[0] == pytest.approx(math.log(edge.prior), abs=1e-4)
        assert edge.terms[1] == drawn[0].terms[1]


def test_a_value_of_ones_own() -> None:
    game = azcore.make("tic_tac_toe")
    steps = stepper(game)
    plain, told = steps.step(), None
    told = steps.step(value=-0.75)
    assert plain.value != told.value == -0.75
    check_simulation(steps, told)
    # An outcome stands, whatever is said: X wins at once in the corner.
    steps = stepper(game, actions=(0, 3, 1, 4))
    ends = [found for found in (steps.step(value=0.0) for _ in range(20)) if found.is_terminal]
    assert ends
    assert {abs(found.value) for found in ends} == {1.0}


def test_a_position_that_is_over_has_no_edges() -> None:
    game = azcore.make("tic_tac_toe")
    steps = stepper(game, actions=(0, 3, 1, 4))
    for _ in range(30):
        steps.step()
    over = node_at(steps.search, 0, (2,))
    assert (over.is_terminal, over.edges, over.next_action) == (True, (), None)
    assert over.value * (1 if over.player == 0 else -1) == 1.0


def test_refusals() -> None:
    game = azcore.make("tic_tac_toe")
    steps = stepper(game)
    with pytest.raises(GameError, match=r"has not evaluated the position after \[0, 1\]"):
        node_at(steps.search, 0, (0, 1))
    assert not has_node(steps.search, 0, (99,))
    with pytest.raises(GameError, match="leaves_per_tree=1"):
        stepper(game, leaves_per_tree=2, virtual_loss=1)
