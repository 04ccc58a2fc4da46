"""Players asked for several games at once."""

from typing import Any

import numpy as np
import pytest

import azcore
from azcore.arena.players import RandomPlayer, SearchPlayer
from azcore.errors import SettingError
from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from search_kit import search_settings

SEARCH = search_settings(num_simulations=100)


class Counting(Evaluator):
    """Uniform, and notes the size of each batch."""

    def __init__(self, game: Game) -> None:
        self.uniform = UniformEvaluator(game)
        self.sizes: list[int] = []

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self.sizes.append(len(observations))
        return self.uniform.evaluate(observations)


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("tic_tac_toe")


def searcher(game: Game, **options: Any) -> SearchPlayer:
    options = {"evaluator": UniformEvaluator(game), "settings": SEARCH} | options
    return SearchPlayer(game=game, **options)


def test_search_takes_the_win(game: Game) -> None:
    player = searcher(game)
    player.begin(2, seed=0)
    player.start(0, game.state_from_text("XX./OO./... x"))
    player.start(1, game.state_from_text("XX./OO./..X o"))
    assert player.choose([0, 1]) == [2, 5]


def test_search_asks_for_all_rows_at_once_and_keeps_its_trees(game: Game) -> None:
    counting = Counting(game)
    player = searcher(game, evaluator=counting, num_simulations=8)
    player.begin(6, seed=0)
    for row in range(6):
        player.start(row, game.initial_state())
    chosen = player.choose([0, 2, 5])
    assert len(chosen) == 3
    assert set(counting.sizes) == {3}
    assert len(counting.sizes) == 9  # the root and 8 simulations
    counting.sizes.clear()
    player.advance(0, chosen[0])
    player.choose([0])
    assert len(counting.sizes) <= 8  # its root was known already


def test_random_actions_depend_on_row_ply_and_seed_alone(game: Game) -> None:
    def choose(seed: int, rows: list[int]) -> list[int]:
        player = RandomPlayer(game=game)
        player.begin(20, seed)
        for row in range(20):
            player.start(row, game.initial_state())
        return player.choose(rows)

    everything = choose(7, list(range(20)))
    assert choose(7, [13, 2]) == [everything[13], everything[2]]
    assert choose(8, list(range(20))) != everything
    assert len(set(everything)) > 3


def test_random_is_uniform_over_legal_actions(game: Game) -> None:
    player = RandomPlayer(game=game)
    player.begin(3000, seed=1)
    for row in range(3000):
        player.start(row, game.state_from_text("X.O/.../..X o"))
    counts = np.bincount(player.choose(list(range(3000))), minlength=9)
    assert set(np.flatnonzero(counts)) == {1, 3, 4, 5, 6, 7}
    assert counts.max() - counts[counts > 0].min() < 150  # 500 each, deviation 20


def test_options_out_of_range_are_refused(game: Game) -> None:
    with pytest.raises(SettingError, match="temperature must be 0 or more, got -1"):
        searcher(game, temperature=-1.0)
    with pytest.raises(SettingError, match="num_simulations must be 1 or more, got 0"):
        searcher(game, num_simulations=0)


def test_a_player_must_be_begun(game: Game) -> None:
    with pytest.raises(RuntimeError, match="begin must come before"):
        searcher(game).choose([0])


def test_an_ended_player_lets_go_of_its_trees_and_can_begin_again(game: Game) -> None:
    player = searcher(game)
    player.begin(1, seed=0)
    player.start(0, game.initial_state())
    before = player.choose([0])
    player.end()
    with pytest.raises(RuntimeError, match="begin must come before"):
        player.choose([0])
    player.begin(1, seed=0)
    player.start(0, game.initial_state())
    assert player.choose([0]) == before
