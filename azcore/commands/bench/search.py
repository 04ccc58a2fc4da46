"""The cost of search with a free evaluator on one core, and how it scales."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from azcore.assembly.parts import LearningSettings
from azcore.commands.bench.settings import BenchSettings
from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import Evaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchSettings

TREES = 64  # searched together, where their number is fixed
FEW_TREES = 8  # for large trees, so that they fit into memory
ROUNDS = 5  # of a measurement, at least
PARTS, STEP = 1021, 61  # of the random numbers, used one after another; coprime


class FreeEvaluator(Evaluator):
    """Returns random numbers at once, so that only the cost of search remains.

    It draws the numbers in advance, and each call returns another part of them. If a tree always
    got the same numbers, its values would only change sign from ply to ply, and on a 19x19 board
    100 simulations would reach 35 plies deep instead of 7.
    """

    def __init__(self, game: Game, size: int) -> None:
        rng = np.random.default_rng(1)
        self._policy_logits = rng.normal(size=(size + PARTS, game.num_actions)).astype(np.float32)
        self._values = rng.uniform(-0.1, 0.1, size + PARTS).astype(np.float32)
        self._first = 0

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self._first = (self._first + STEP) % PARTS
        given = slice(self._first, self._first + len(observations))
        return self._policy_logits[given], self._values[given]


class MiddleGames:
    """Games after random plies, searched together move by move; new ones replace the finished."""

    def __init__(
        self, *, game: Game, search: SearchSettings, num_trees: int, opening_plies: int
    ) -> None:
        self.game = game
        self._opening_plies = opening_plies
        self._rng = np.random.default_rng(1)
        self._rows = list(range(num_trees))
        self._simulations = num_trees * search.num_simulations
        self.search = Search(
            game=game,
            num_trees=num_trees,
            evaluator=FreeEvaluator(game, num_trees * search.leaves_per_tree),
            settings=search,
        )
        for row in self._rows:
            self._begin(row)
        self.search.run(self._rows)

    def _begin(self, row: int) -> None:
        game, state = self.game, self.game.initial_state()
        for _ in range(self._opening_plies):
            legal = np.flatnonzero(game.legal_action_mask(state))
            following = game.step(state, int(self._rng.choice(legal)))
            if game.is_terminal(following):
                break
            state = following
        self.search.start(row, state)

    def us_per_simulation(self) -> float:
        """Play a move in every game and search the next; returns microseconds per simulation."""
        search = self.search
        for row in self._rows:
            result = search.result(row)
            search.advance(row, int(result.actions[result.visit_counts.argmax()]))
            if search.states.is_terminal(row):
                self._begin(row)
        began = time.perf_counter()
        search.run(self._rows)
        return (time.perf_counter() - began) / self._simulations * 1e6

    def legal_actions(self) -> float:
        """Mean number of legal actions at the roots."""
        states = (self.search.states.get(row) for row in self._rows)
        return statistics.mean(int(self.game.legal_action_mask(state).sum()) for state in states)


def search_us_per_simulation(settings: LearningSettings, options: BenchSettings) -> float:
    """Microseconds per simulation, with `num_simulations` a move."""
    return search_by_trees(settings, options, [TREES])[0]


def search_by_trees(
    settings: LearningSettings, options: BenchSettings, numbers: Sequence[int]
) -> list[float]:
    """Microseconds per simulation for several numbers of trees at once, measured alternately."""
    search = replace(settings.search, num_simulations=options.num_simulations)
    return _in_turn([_games(settings, options, search, number) for number in numbers], options)


def search_by_simulations(
    settings: LearningSettings, options: BenchSettings, numbers: Sequence[int]
) -> list[float]:
    """Microseconds per simulation for several sizes of a tree, measured alternately.

    Each tree begins empty, so that it holds exactly these simulations.
    """
    games = [
        _games(
            settings,
            options,
            replace(settings.search, num_simulations=number, reuse_subtree=False),
            FEW_TREES,
        )
        for number in numbers
    ]
    return _in_turn(games, options)


def _games(
    settings: LearningSettings, options: BenchSettings, search: SearchSettings, number: int
) -> MiddleGames:
    return MiddleGames(
        game=settings.game, search=search, num_trees=number, opening_plies=options.opening_plies
    )


def _in_turn(games: Sequence[MiddleGames], options: BenchSettings) -> list[float]:
    times: list[list[float]] = [[] for _ in games]
    began = time.perf_counter()
    while len(times[0]) < ROUNDS or time.perf_counter() - began < options.seconds:
        for played, each in zip(games, times, strict=True):
            each.append(played.us_per_simulation())
    return [statistics.median(each) for each in times]
