"""What search refuses, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import AzcoreError, GameError, SettingError
from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.mcts import Search
from search_kit import after, search_settings


class Spoiled(Evaluator):
    """Zeros, with one number replaced once the root has been judged."""

    def __init__(self, game: Game, where: str, number: float) -> None:
        self._uniform = UniformEvaluator(game)
        self._where = where
        self._number = number
        self._calls = 0

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        logits, values = self._uniform.evaluate(observations)
        if self._calls == 1:
            if self._where == "logit":
                logits[0, 8] = self._number
            else:
                values[0] = self._number
        self._calls += 1
        return logits, values


@pytest.fixture
def search() -> Search:
    game = azcore.make("tic_tac_toe")
    return Search(
        game=game, num_trees=2, evaluator=UniformEvaluator(game), settings=search_settings()
    )


def test_a_finished_game(search: Search) -> None:
    search.start(1, after(search.game, [0, 3, 1, 4, 2]))
    with pytest.raises(
        GameError, match="tic_tac_toe: the game is over, so there is nothing to search"
    ):
        search.begin(1)
    search.start(1)
    search.begin(1)  # and the row is of use again


def test_a_game_finished_by_an_action_that_was_searched(search: Search) -> None:
    search.start(0, after(search.game, [0, 3, 1, 4]))
    search.run([0])
    search.advance(0, 2)
    with pytest.raises(GameError, match="the game is over"):
        search.begin(0)


def test_too_many_simulations(search: Search) -> None:
    with pytest.raises(GameError, match=r"num_simulations = 40 simulations, got 41"):
        search.begin(0, 41)


def test_no_simulations(search: Search) -> None:
    """The root is judged and nothing more."""
    result = search.run([0], 0)[0]
    assert result.visit_counts.tolist() == [0] * 9
    assert result.q_values.tolist() == [0] * 9
    assert result.priors.tolist() == pytest.approx([1 / 9] * 9)
    assert result.value == result.network_value == 0
    assert result.policy_target().tolist() == [0] * 9


@pytest.mark.rules
@pytest.mark.parametrize("where", ["logit", "value"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite(where: str, number: float) -> None:
    game = azcore.make("tic_tac_toe")
    search = Search(
        game=game,
        num_trees=1,
        evaluator=Spoiled(game, where, number),
        settings=search_settings(),
    )
    search.begin(0)
    assert search.wave()
    with pytest.raises(AzcoreError, match="not a finite number"):
        search.wave()


def test_a_logit_of_an_illegal_action_is_not_read(search: Search) -> None:
    class Illegal(UniformEvaluator):
        def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
            logits, values = super().evaluate(observations)
            logits[:, 0] = np.nan  # 0 is taken
            return logits, values

    search.set_evaluator(Illegal(search.game))
    search.start(0, after(search.game, [0]))
    assert search.run([0])[0].visit_counts.sum() == 40


def test_a_state_of_something_else(search: Search) -> None:
    with pytest.raises(GameError, match="a state must be a record of this game, got str"):
        search.start(0, ".........")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"num_simulations": 0}, "search.num_simulations must be 1 or more, got 0"),
        ({"c_base": 0.0}, "puct.c_base must be above 0, got 0.0"),
        ({"c_init": -1.0}, "puct.c_init must be 0 or more, got -1.0"),
        ({"c_init": float("nan")}, "puct.c_init must be 0 or more, got nan"),
        ({"c_base": float("nan")}, "puct.c_base must be above 0, got nan"),
        ({"c_init": float("inf")}, "puct.c_init must be 0 or more, got inf"),
        *(
            (
                {"value_range": ends},
                "puct.value_range must be [lost, won], a lower number and a higher one, "
                f"got {list(ends)}",
            )
            for ends in ((1.0, 0.0), (0.0, 1.0, 2.0), (0.0, float("inf")))
        ),
        ({"first_play": float("nan")}, "puct.first_play must be finite, got nan"),
        ({"reuse_limit": float("inf")}, "puct.reuse_limit must be 0 or more, got inf"),
        ({"virtual_loss": -1}, "puct.virtual_loss must be 0 or more, got -1"),
        ({"leaves_per_tree": 0}, "search.leaves_per_tree must be 1 or more, got 0"),
        (
            {"leaves_per_tree": 2},
            "puct.virtual_loss must be above 0 when leaves_per_tree is above 1, or all leaves "
            "are one, got 0",
        ),
        ({"dirichlet_fraction": 1.5}, "search.dirichlet_fraction must be 0 to 1, got 1.5"),
        (
            {"dirichlet_alpha": 0.0},
            "search.dirichlet_alpha must be above 0, or null for the game's own, got 0.0",
        ),
        ({"reuse_limit": -0.5}, "puct.reuse_limit must be 0 or more, got -0.5"),
    ],
)
def test_settings_out_of_range(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError) as error:
        search_settings(**changed)
    assert str(error.value) == sentence
