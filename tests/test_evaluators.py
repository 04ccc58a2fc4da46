"""Evaluators that show another one a position in another way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import azcore
from azcore.evaluators import Evaluator, SymmetricEvaluator
from azcore.game import ByteArray, FloatArray, Game, Symmetry
from azcore.registry import installed_games
from reference_mcts import HashEvaluator

SMALLER = {"go": {"board_size": 4}}


def games_with_symmetries() -> Iterator[Game]:
    for name in installed_games():
        try:
            game = azcore.make(name, **SMALLER.get(name, {}))
        except azcore.AzcoreError:  # a library of that game is not installed
            continue
        if game.symmetries:
            yield game


GAMES = list(games_with_symmetries())
by_name = pytest.mark.parametrize("game", GAMES, ids=[game.name for game in GAMES])


class RulesEvaluator(Evaluator):
    """Knows what the rules say of some positions and of all they map to, by playing both.

    The logit of an action is how many actions are legal behind it, 99 where the game is over; the
    value is the share of actions that are legal. Rules know no board, so neither may depend on how
    a position is turned.
    """

    def __init__(self, game: Game, lines: list[list[int]]) -> None:
        self._known: dict[bytes, tuple[FloatArray, float]] = {}
        self._unknown = np.zeros(game.num_actions, np.float32), 0.0
        self.observations: list[ByteArray] = []
        identity = Symmetry(cells=np.zeros(0, np.int32), actions=np.arange(game.num_actions))
        for symmetry in (identity, *game.symmetries):
            # mask(g)[a] == mask(s)[actions[a]]: what is actions[a] in s is a in g.
            image = {int(action): a for a, action in enumerate(symmetry.actions)}
            for line in lines:
                state = game.initial_state()
                for action in line:
                    state = game.step(state, image[action])
                observation = game.observation(state).astype(np.uint8)
                self._known[observation.tobytes()] = _judged(game, state)
                if symmetry is identity:
                    self.observations.append(observation)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        judged = [self._known.get(o.tobytes(), self._unknown) for o in observations]
        return np.stack([logits for logits, _ in judged]), np.array([v for _, v in judged])


def _judged(game: Game, state: object) -> tuple[FloatArray, float]:
    mask = game.legal_action_mask(state)
    logits = np.zeros(game.num_actions, np.float32)
    for action in np.flatnonzero(mask):
        following = game.step(state, int(action))
        legal = game.legal_action_mask(following).sum()
        logits[action] = 99 if game.is_terminal(following) else legal
    return logits, float(mask.mean())


def lines_of_play(game: Game, count: int) -> list[list[int]]:
    """Positions part of the way through random games."""
    rng = np.random.default_rng(5)
    lines: list[list[int]] = []
    while len(lines) < count:
        state, line = game.initial_state(), []
        for _ in range(int(rng.integers(0, 9))):
            action = int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
            following = game.step(state, action)
            if game.is_terminal(following):
                break
            state = following
            line.append(action)
        lines.append(line)
    return lines


def always(evaluator: SymmetricEvaluator, d: int) -> SymmetricEvaluator:
    """The same with one symmetry in place of random ones."""
    fixed = copy.copy(evaluator)
    fixed.choose = lambda observations: np.full(len(observations), d)  # type: ignore[method-assign]
    return fixed


@by_name
def test_mapped_back_agrees_with_plain_for_every_symmetry(game: Game) -> None:
    rules = RulesEvaluator(game, lines_of_play(game, 30))
    observations = np.stack(rules.observations)
    logits, values = rules.evaluate(observations)
    assert logits.std(axis=1).max() > 0
    symmetric = SymmetricEvaluator(rules, game, seed=1)
    for d in range(len(game.symmetries) + 1):
        mapped = always(symmetric, d).evaluate(observations)
        np.testing.assert_array_equal(mapped[0], logits)
        np.testing.assert_array_equal(mapped[1], values)
    mapped = symmetric.evaluate(observations)
    np.testing.assert_array_equal(mapped[0], logits)


def turned_the_other_way(symmetry: Symmetry) -> Symmetry:
    return Symmetry(
        cells=symmetry.cells, actions=np.argsort(symmetry.actions).astype(symmetry.actions.dtype)
    )


def cells_of_the_inverse(symmetry: Symmetry) -> Symmetry:
    return Symmetry(
        cells=np.argsort(symmetry.cells).astype(symmetry.cells.dtype), actions=symmetry.actions
    )


@pytest.mark.parametrize("fault", [turned_the_other_way, cells_of_the_inverse])
@by_name
def test_a_wrong_mapping_is_seen(game: Game, fault: Callable[[Symmetry], Symmetry]) -> None:
    rules = RulesEvaluator(game, lines_of_play(game, 30))
    observations = np.stack(rules.observations)
    faulty = copy.copy(game)
    faulty.symmetries = tuple(fault(symmetry) for symmetry in game.symmetries)
    symmetric = SymmetricEvaluator(rules, faulty, seed=1)
    wrong = [
        not np.array_equal(
            always(symmetric, d).evaluate(observations)[0], rules.evaluate(observations)[0]
        )
        for d in range(len(game.symmetries) + 1)
    ]
    assert not wrong[0]
    assert sum(wrong) >= 2  # a quarter turn to either side; half turns and mirrors are their own


def test_the_choice_belongs_to_the_position_and_the_seed() -> None:
    game = azcore.make("go", board_size=5)
    rng = np.random.default_rng(1)
    observations = rng.integers(0, 2, (4000, *game.observation_shape)).astype(np.uint8)
    first, second = (SymmetricEvaluator(HashEvaluator(game), game, seed) for seed in (1, 2))
    chosen = first.choose(observations)
    order = rng.permutation(4000)
    assert (first.choose(observations[order]) == chosen[order]).all()
    assert first.choose(observations[:1]) == chosen[0]
    again = SymmetricEvaluator(HashEvaluator(game), game, 1)
    assert (again.choose(observations) == chosen).all()
    # All eight alike, five deviations of 4000 draws at 1/8 being 0.026; another seed, other ones.
    np.testing.assert_allclose(np.bincount(chosen, minlength=8) / 4000, 1 / 8, atol=0.026)
    assert np.mean(second.choose(observations) == chosen) == pytest.approx(1 / 8, abs=0.026)
    # One stone more is enough to draw anew.
    observations[:, 0, 0, 0] ^= 1
    assert np.mean(first.choose(observations) == chosen) == pytest.approx(1 / 8, abs=0.026)


def test_a_game_without_symmetries_passes_unchanged() -> None:
    game = copy.copy(azcore.make("tic_tac_toe"))
    game.symmetries = ()
    observations = np.random.default_rng(1).integers(0, 2, (9, *game.observation_shape))
    observations = observations.astype(np.uint8)
    plain = HashEvaluator(game)
    logits, values = SymmetricEvaluator(plain, game, seed=1).evaluate(observations)
    np.testing.assert_array_equal(logits, plain.evaluate(observations)[0])
    np.testing.assert_array_equal(values, plain.evaluate(observations)[1])
