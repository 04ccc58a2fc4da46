"""Thinking beside a reader of commands: limits hold, stops are at once, known games keep trees."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.engine.clock import Clock
from azcore.engine.settings import engine_settings, thinking_search
from azcore.engine.thinker import Thinker
from azcore.engine.thought import Limits, Line, Thought, Variation
from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import UniformEvaluator
from azcore.search.mcts import Search
from azcore.search.settings import search_settings

Compose = Callable[..., dict[str, Any]]


@pytest.fixture
def make_thinker(compose: Compose) -> Callable[..., Thinker]:
    config = compose("command=engine", "game=tic_tac_toe", "algorithm=alphazero")
    search = thinking_search(config)

    def make(game: Game, **changes: Any) -> Thinker:
        settings = replace(engine_settings(config), **changes)
        evaluator = UniformEvaluator(game)
        return Thinker(game=game, evaluator=evaluator, search=search, settings=settings)

    return make


@pytest.fixture(scope="module")
def go() -> Game:
    return azcore.make("go", board_size=9)


def test_a_thought_is_what_a_search_finds(make_thinker: Any, go: Game, compose: Compose) -> None:
    thought = make_thinker(go, leaves_per_tree=1).think(Limits(simulations=300))
    settings = search_settings(compose("game=go", "algorithm=alphazero"))
    search = Search(
        game=go,
        num_trees=1,
        evaluator=UniformEvaluator(go),
        settings=replace(settings, num_simulations=300, first_play_relative=False, first_play=0.0),
    )
    search.start(0)
    expected = search.run([0])[0]
    # The preset's first-play value was put back, so both searches are of the same settings.
    assert thought.new_simulations == thought.simulations == 300
    visits = {v.action: v.visits for v in thought.variations}
    assert [visits[a] for a in expected.actions] == list(expected.visit_counts)
    assert thought.value == pytest.approx(expected.value)
    assert thought.best is not None
    assert thought.best.visits == max(visits.values())
    assert thought.best.actions[0] == thought.best.action


def test_seconds_and_simulations(make_thinker: Any, go: Game) -> None:
    thinker = make_thinker(go)
    assert thinker.think(Limits(simulations=37)).new_simulations == 37
    began = time.perf_counter()
    thought = thinker.think(Limits(seconds=0.3))
    assert 0.3 <= time.perf_counter() - began < 2
    assert thought.new_simulations > 37
    assert thought.simulations == 37 + thought.new_simulations  # the same tree goes on
    assert thinker.think(Limits(seconds=0)).best is not None


def test_stop_ends_endless_thinking_even_of_a_full_tree(make_thinker: Any, go: Game) -> None:
    thinker = make_thinker(go, max_simulations=50)
    done = []
    thinker.start(Limits(), on_done=done.append)
    time.sleep(0.3)
    assert thinker.is_thinking
    thought = thinker.stop()
    assert thought is not None
    assert 50 <= thought.new_simulations <= 101  # all that the arrays hold
    assert done == [thought]
    assert thinker.stop() is None


def test_a_proven_root_needs_no_more_thought(compose: Compose) -> None:
    """X wins at 2; time is not spent on it, and an endless search waits for `stop`."""
    game = azcore.make("tic_tac_toe")
    config = compose("command=engine", "game=tic_tac_toe", "search.solve=true")
    thinker = Thinker(
        game=game,
        evaluator=UniformEvaluator(game),
        search=thinking_search(config),
        settings=engine_settings(config),
    )
    thinker.think(Limits(simulations=1))  # compiles
    thinker.set_line(Line(game, "XX./OO./... x"))
    began = time.perf_counter()
    thought = thinker.think(Limits(seconds=20, simulations=100_000))
    assert time.perf_counter() - began < 10
    assert thought.best is not None
    assert (thought.best.action, thought.best.value, thought.value) == (2, 1, 1)
    assert thought.new_simulations == thought.simulations < 1000
    spent = time.process_time()
    thinker.start(Limits())
    time.sleep(0.5)
    assert thinker.is_thinking
    assert time.process_time() - spent < 0.3
    again = thinker.stop()
    assert again is not None
    assert again.new_simulations == 0
    thinker.start(Limits())
    thinker.change_limits(Limits(seconds=5))
    assert thinker.wait().best == thought.best


def test_a_forced_win_needs_no_search_and_comes_first_in_any(compose: Compose) -> None:
    """X wins by the rules alone, at once and then in three plies."""
    game = azcore.make("tic_tac_toe")
    config = compose("command=engine", "game=tic_tac_toe")
    thinker = Thinker(
        game=game,
        evaluator=UniformEvaluator(game),
        search=thinking_search(config),
        settings=engine_settings(config),
    )
    thinker.set_line(Line(game, "XX./OO./... x"))
    thought = thinker.think(Limits(seconds=60, forced_wins=True))
    assert [each.actions for each in thought.variations] == [[2]]
    assert (thought.value, thought.simulations) == (1, 0)
    thought = thinker.think(Limits(simulations=1, actions=(6, 7), forced_wins=True))
    assert {each.action for each in thought.variations} == {6, 7}
    thought = thinker.think(Limits(simulations=0))
    assert [each.action for each in thought.variations] == [2, 5, 6, 7, 8]
    assert [each.value for each in thought.variations] == [1, 0, 0, 0, 0]
    thinker.set_line(Line(game, "X../.O./O.X x"))  # 2 makes two threats and stops one
    thought = thinker.think(Limits(depth=9, forced_wins=True))
    assert thought.variations[0].action == 2
    assert len(thought.variations[0].actions) == 3
    thought = thinker.think(
        Limits(depth=9)
    )  # a line that ends in a decided position is deep enough
    assert thought.variations[0].action == 2
    assert thought.new_simulations < 1000


def test_memory_bounds_the_tree(make_thinker: Any, go: Game) -> None:
    thinker = make_thinker(go, memory_mb=1)
    thought = thinker.think(Limits(simulations=100_000))
    per_node = 82 * 6 + 28 + 2 * 32  # edges, the node, places for tried edges
    assert 0.5e6 / per_node < thought.new_simulations < 2e6 / per_node


def test_new_limits_count_from_when_they_are_given(make_thinker: Any, go: Game) -> None:
    thinker = make_thinker(go)
    thinker.start(Limits())
    time.sleep(0.2)
    began = time.perf_counter()
    thinker.change_limits(Limits(seconds=0.2))
    thinker.wait()
    assert 0.2 <= time.perf_counter() - began < 2


def test_a_game_that_goes_on_keeps_its_tree(make_thinker: Any, go: Game) -> None:
    thinker, line = make_thinker(go), Line(go)
    best = thinker.think(Limits(simulations=200)).best
    line.play(best.action)
    thinker.set_line(line)
    kept = thinker.think(Limits(simulations=0)).simulations
    assert kept == best.visits - 1
    other = Line(go)
    other.play(5)
    thinker.set_line(other)
    assert thinker.think(Limits(simulations=0)).simulations == 0


def test_only_some_actions(make_thinker: Any, go: Game) -> None:
    thinker = make_thinker(go)
    thought = thinker.think(Limits(simulations=60, actions=(3, 11)))
    assert sorted(v.action for v in thought.variations) == [3, 11]
    assert sum(v.visits for v in thought.variations) == 60
    assert len(thinker.think(Limits(simulations=60)).variations) == 82


def test_a_finished_game_has_nothing_to_think_about(make_thinker: Any) -> None:
    game = azcore.make("tic_tac_toe")
    thinker, line = make_thinker(game), Line(game)
    for action in (0, 3, 1, 4, 2):
        line.play(action)
    thinker.set_line(line)
    thought = thinker.think(Limits(seconds=1))
    assert thought.best is None
    assert thought.value == -1.0  # the player to move has lost


def test_the_best_variation_is_legal_and_as_deep_as_asked(make_thinker: Any) -> None:
    game = azcore.make("tic_tac_toe_plain")  # which tries no lines by the rules alone
    thought = make_thinker(game).think(Limits(depth=5))
    assert len(thought.best.actions) >= 5
    assert thought.new_simulations < 20_000
    for variation in thought.variations:
        state = game.initial_state()
        for action in variation.actions:
            state = game.step(state, action)  # raises if it is not legal


class FailsOnce(UniformEvaluator):
    """Raises, or answers with what is no number, one time: the `at`-th."""

    def __init__(self, game: Game, at: int, raises: bool) -> None:
        super().__init__(game)
        self._left, self._raises = at, raises

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        policy_logits, values = super().evaluate(observations)
        self._left -= 1
        if self._left == 0 and self._raises:
            raise ArithmeticError("out of order")
        return (policy_logits * np.nan if self._left == 0 else policy_logits), values


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("leaves", [1, 8])
def test_after_an_error_there_is_a_tree_as_if_it_were_the_first(
    make_thinker: Any, go: Game, at: int, raises: bool, leaves: int
) -> None:
    thinker = make_thinker(go, leaves_per_tree=leaves)
    thinker._search.set_evaluator(FailsOnce(go, at, raises))
    with pytest.raises((azcore.AzcoreError, ArithmeticError)):
        thinker.think(Limits(simulations=50))
    again = thinker.think(Limits(simulations=50))
    fresh = make_thinker(go, leaves_per_tree=leaves).think(Limits(simulations=50))
    assert again.new_simulations == again.simulations == 50
    assert again.variations == fresh.variations


def test_errors_of_the_evaluator_reach_the_caller(make_thinker: Any, go: Game) -> None:
    thinker = make_thinker(go)
    thinker._search._evaluator.evaluate = lambda observations: (
        np.full((len(observations), 82), np.nan, np.float32),
        np.zeros(len(observations), np.float32),
    )
    with pytest.raises(azcore.AzcoreError, match="finite"):
        thinker.think(Limits(simulations=1))


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        (Clock(remaining=60), 3 - 0.02),  # 1/20
        (Clock(remaining=60, increment=2), 5 - 0.02),
        (Clock(remaining=60, moves_to_go=5), 12 - 0.02),
        (Clock(remaining=60, moves_to_go=1), 60 - 0.02),
        (Clock(remaining=0, byoyomi=10), 10 - 0.02),
        (Clock(remaining=20, byoyomi=10), 11 - 0.02),
        (Clock(remaining=1, increment=5), 1 - 0.02),  # what is not there yet cannot be spent
        (Clock(remaining=0.3), 0),
        (Clock(remaining=-1), 0),
    ],
)
def test_time_for_a_move(clock: Clock, seconds: float) -> None:
    assert clock.seconds_to_think(20, 0.02) == pytest.approx(seconds, abs=1e-9)


def test_a_clock_that_only_gets_shorter_is_never_run_out() -> None:
    remaining, overhead = 1.0, 0.015
    for _ in range(150):
        thought = Clock(remaining=remaining).seconds_to_think(20, overhead)
        remaining -= thought + (overhead if thought else 0.002)
        assert remaining > 0


@pytest.mark.parametrize(
    ("root", "child", "threshold", "resigns"),
    [
        (-0.9, -0.95, -0.8, True),
        (-0.9, -0.7, -0.8, False),
        (-0.7, -0.9, -0.8, False),
        (-0.9, -0.95, None, False),
    ],
)
def test_resigning_takes_the_root_and_the_best_child(
    root: float, child: float, threshold: float | None, resigns: bool
) -> None:
    best = Variation(action=0, visits=9, value=child, prior=0.5, actions=[0])
    thought = Thought(
        state=None, variations=[best], value=root, simulations=9, new_simulations=9, seconds=1.0
    )
    assert thought.should_resign(threshold) is resigns
