"""Evaluators that show another one a position in another way."""

from __future__ import annotations

import copy
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import azcore
from azcore.game import ByteArray, FloatArray, Game, Symmetry
from azcore.game.registry import installed_games
from azcore.search.evaluators import (
    CachedEvaluator,
    Evaluator,
    SymmetricEvaluator,
    UniformEvaluator,
)
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
                if symmetry.start is not None:
                    state = game.state_from_text(symmetry.start)
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
    symmetric = SymmetricEvaluator(rules, game, seed=1, version=0)
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


def cells_left_alone(symmetry: Symmetry) -> Symmetry:
    return Symmetry(cells=np.arange(len(symmetry.cells)), actions=symmetry.actions)


FAULTS = [turned_the_other_way, cells_of_the_inverse, cells_left_alone]


def changed_by(fault: Callable[[Symmetry], Symmetry], game: Game) -> list[bool]:
    """Which symmetries a fault changes: a mirror, unlike a quarter turn, is its own inverse."""
    return [
        not np.array_equal(fault(symmetry).cells, symmetry.cells)
        or not np.array_equal(fault(symmetry).actions, symmetry.actions)
        for symmetry in game.symmetries
    ]


@pytest.mark.parametrize(
    ("game", "fault"),
    [
        pytest.param(game, fault, id=f"{game.name}-{fault.__name__}")
        for game in GAMES
        for fault in FAULTS
        if any(changed_by(fault, game))
    ],
)
def test_a_wrong_mapping_is_seen(game: Game, fault: Callable[[Symmetry], Symmetry]) -> None:
    rules = RulesEvaluator(game, lines_of_play(game, 30))
    observations = np.stack(rules.observations)
    faulty = copy.copy(game)
    faulty.symmetries = tuple(fault(symmetry) for symmetry in game.symmetries)
    symmetric = SymmetricEvaluator(rules, faulty, seed=1, version=0)
    wrong = [
        not np.array_equal(
            always(symmetric, d).evaluate(observations)[0], rules.evaluate(observations)[0]
        )
        for d in range(len(game.symmetries) + 1)
    ]
    assert wrong == [False, *changed_by(fault, game)]


def test_the_choice_belongs_to_the_position_the_seed_and_the_weights() -> None:
    game = azcore.make("go", board_size=5)
    rng = np.random.default_rng(1)
    observations = rng.integers(0, 2, (4000, *game.observation_shape)).astype(np.uint8)
    first, second, later = (
        SymmetricEvaluator(HashEvaluator(game), game, seed, version)
        for seed, version in ((1, 0), (2, 0), (1, 50))
    )
    chosen = first.choose(observations)
    order = rng.permutation(4000)
    assert (first.choose(observations[order]) == chosen[order]).all()
    assert first.choose(observations[:1]) == chosen[0]
    again = SymmetricEvaluator(HashEvaluator(game), game, 1, 0)
    assert (again.choose(observations) == chosen).all()
    # All eight alike, five deviations of 4000 draws at 1/8 being 0.026; another seed, other ones,
    # and so with other weights.
    np.testing.assert_allclose(np.bincount(chosen, minlength=8) / 4000, 1 / 8, atol=0.026)
    for other in (second, later):
        assert np.mean(other.choose(observations) == chosen) == pytest.approx(1 / 8, abs=0.026)
    # One stone more is enough to draw anew.
    observations[:, 0, 0, 0] ^= 1
    assert np.mean(first.choose(observations) == chosen) == pytest.approx(1 / 8, abs=0.026)


def test_a_game_without_symmetries_passes_unchanged() -> None:
    game = copy.copy(azcore.make("tic_tac_toe"))
    game.symmetries = ()
    observations = np.random.default_rng(1).integers(0, 2, (9, *game.observation_shape))
    observations = observations.astype(np.uint8)
    plain = HashEvaluator(game)
    logits, values = SymmetricEvaluator(plain, game, seed=1, version=0).evaluate(observations)
    np.testing.assert_array_equal(logits, plain.evaluate(observations)[0])
    np.testing.assert_array_equal(values, plain.evaluate(observations)[1])


class Asked(Evaluator):
    """Judges by its inner evaluator and notes what it was asked; reuses its arrays, as it may."""

    def __init__(self, game: Game) -> None:
        self._inner = HashEvaluator(game)
        self._arrays = np.zeros((64, game.num_actions), np.float32), np.zeros(64, np.float32)
        self.batches: list[list[bytes]] = []

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self.batches.append([o.tobytes() for o in observations])
        for array, answer in zip(self._arrays, self._inner.evaluate(observations), strict=True):
            array[:] = np.nan
            array[: len(observations)] = answer
        return self._arrays[0][: len(observations)], self._arrays[1][: len(observations)]


TIC_TAC_TOE = azcore.make("tic_tac_toe")


def some_observations(size: int) -> ByteArray:
    """Different ones."""
    observations = np.zeros((size, *TIC_TAC_TOE.observation_shape), np.uint8)
    observations.reshape(size, -1)[:, 0] = np.arange(size)
    return observations


@pytest.mark.parametrize("positions", [1, 3, 20, 1000])
def test_a_cache_says_what_its_evaluator_says_and_asks_less(positions: int) -> None:
    """Against a list of what was met last, the plainest form of the same rule."""
    asked, plain = Asked(TIC_TAC_TOE), HashEvaluator(TIC_TAC_TOE)
    cache = CachedEvaluator(asked, TIC_TAC_TOE.num_actions, positions)
    observations = some_observations(60)
    rng = np.random.default_rng(4)
    known: list[bytes] = []  # least recently met first
    remembered = 0
    for _ in range(60):
        batch = observations[rng.integers(0, rng.integers(1, 61), rng.integers(1, 33))]
        logits, values = cache.evaluate(batch)
        np.testing.assert_array_equal(logits, plain.evaluate(batch)[0])
        np.testing.assert_array_equal(values, plain.evaluate(batch)[1])
        keys = [o.tobytes() for o in batch]
        new = list(dict.fromkeys(key for key in keys if key not in known))
        assert (asked.batches.pop() if new else []) == new
        assert asked.batches == []
        for key in keys:
            if key in known:
                known.remove(key)
                known.append(key)
        known = (known + new)[-positions:]
        remembered += len(batch) - len(new)
        assert cache.remembered == remembered


def test_the_position_met_longest_ago_is_forgotten() -> None:
    asked = Asked(TIC_TAC_TOE)
    cache = CachedEvaluator(asked, TIC_TAC_TOE.num_actions, positions=2)
    a, b, c = some_observations(3)[:, None]
    for one in (a, b, a, c, a, b):  # c takes the place of b, which was met longer ago than a
        cache.evaluate(one)
    assert asked.batches == [[one.tobytes()] for one in (a, b, c, b)]
    assert cache.remembered == 2


def test_one_bit_anywhere_makes_another_position() -> None:
    game = azcore.make("go", board_size=5)
    asked = Asked(game)
    cache = CachedEvaluator(asked, game.num_actions, positions=4000)
    first = np.random.default_rng(1).integers(0, 2, (1, *game.observation_shape)).astype(np.uint8)
    cache.evaluate(first)
    size = first.size
    for bit in range(8 * size):
        changed = first.copy()
        changed.reshape(-1)[bit // 8] ^= 1 << bit % 8
        cache.evaluate(changed)
    assert cache.remembered == 0
    assert len(asked.batches) == 1 + 8 * size
    cache.evaluate(first)
    assert cache.remembered == 1


def test_a_view_of_observations_is_read_as_it_is_seen() -> None:
    asked = Asked(TIC_TAC_TOE)
    cache = CachedEvaluator(asked, TIC_TAC_TOE.num_actions, positions=9)
    observations = np.random.default_rng(2).integers(0, 2, (8, *TIC_TAC_TOE.observation_shape))
    turned = observations.astype(np.uint8).swapaxes(2, 3)
    cache.evaluate(turned)
    cache.evaluate(np.ascontiguousarray(turned))
    assert len(asked.batches) == 1


def test_memory_of_a_cache_is_as_stated() -> None:
    tracemalloc.start()
    cache = CachedEvaluator(UniformEvaluator(TIC_TAC_TOE), TIC_TAC_TOE.num_actions, 11_000)
    observations = some_observations(64)
    for i in range(350):  # twice as many as there is room for
        observations.reshape(64, -1)[:, 1:3] = divmod(i, 256)
        cache.evaluate(observations)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    stated = CachedEvaluator.bytes_needed(TIC_TAC_TOE.num_actions, 11_000)
    assert 0.8 * stated < used <= 1.02 * stated
