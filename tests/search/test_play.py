"""Search that knows nothing but the rules plays tic-tac-toe."""

from __future__ import annotations

import pytest

import azcore
from azcore.search.evaluators import UniformEvaluator
from azcore.search.mcts import Search
from search_kit import after, search_settings

LEAVES = pytest.mark.parametrize("leaves", [1, 4])


def best(search: Search, row: int) -> int:
    result = search.result(row)
    return int(result.actions[result.visit_counts.argmax()])


def uniform_search(num_trees: int, leaves: int, num_simulations: int) -> Search:
    game = azcore.make("tic_tac_toe")
    settings = search_settings(
        num_simulations=num_simulations, leaves_per_tree=leaves, virtual_loss=int(leaves > 1)
    )
    return Search(
        game=game, num_trees=num_trees, evaluator=UniformEvaluator(game), settings=settings
    )


@LEAVES
@pytest.mark.parametrize(
    ("actions", "wanted", "value"),
    [
        ([0, 3, 1, 4], 2, 1),  # X has 0 1, O has 3 4: X wins at 2
        ([0, 3, 1, 4, 8], 5, 1),  # X strayed to 8: O wins at 5
        ([0, 4, 1], 2, 0),  # O must stop X at 2
        ([4, 0, 8, 1], 2, 0),  # X must stop O at 2, and threatens 2 4 6 by it
    ],
)
def test_wins_in_one_and_stops_a_loss_in_one(
    actions: list[int], wanted: int, value: int, leaves: int
) -> None:
    search = uniform_search(1, leaves, 400)
    search.start(0, after(search.game, actions))
    result = search.run([0])[0]
    assert best(search, 0) == wanted
    if value:
        assert result.value > 0.8
        assert result.q_values[result.actions == wanted] == 1


@LEAVES
def test_the_start_is_a_draw(leaves: int) -> None:
    search = uniform_search(1, leaves, 4000)
    result = search.run([0])[0]
    assert abs(result.q_values[result.visit_counts.argmax()]) < 0.1


@LEAVES
def test_play_against_itself_is_a_draw(leaves: int) -> None:
    search = uniform_search(1, leaves, 3000)
    while not search.game.is_terminal(search.states.get(0)):
        search.run([0])
        search.advance(0, best(search, 0))
    assert search.game.outcome(search.states.get(0)) == 0
