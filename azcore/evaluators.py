"""Who judges a leaf: an `Evaluator` gives policy logits and a value for each observation.

`azcore.networks.evaluator.NetworkEvaluator` asks a network; `UniformEvaluator` knows nothing, which
makes plain search, the baseline every network should beat. `SymmetricEvaluator` shows another one
each position through a random symmetry of the game.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from azcore.chance import Purpose, generator
from azcore.game import ByteArray, FloatArray, Game
from azcore.symmetries import SymmetryTables


class Evaluator(ABC):
    """Judges positions from their observations alone."""

    @abstractmethod
    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        """Policy logits and values.

        Args:
            observations: uint8 [S, C, H, W], each from the view of its player to move.

        Returns:
            policy_logits float32 [S, A], illegal actions included; values float32 [S] in [-1, 1],
            view of the player to move. Row i depends on observation i alone,
            up to rounding. The arrays may be reused by the next call.
        """


class UniformEvaluator(Evaluator):
    """Every action alike, every position even: search with it sees only ends of the game."""

    def __init__(self, game: Game) -> None:
        self._num_actions = game.num_actions

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        return np.zeros((size, self._num_actions), np.float32), np.zeros(size, np.float32)


class CountingEvaluator(Evaluator):
    """Another evaluator, and how many positions it has judged."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.count = 0

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self.count += len(observations)
        return self._evaluator.evaluate(observations)


class SymmetricEvaluator(Evaluator):
    """Judges each position through a random symmetry of the game and maps the policy back.

    Silver 2017, Methods "Search algorithm": (d(p), v) = f(d(s)) with d a rotation or reflection
    drawn at random for every evaluation, so that over a tree the network's errors even out.

    Here d is drawn by a hash of the observation and the seed, not from a stream: a position has one
    d for a whole run and depends on nothing else, so there is no state to save, and games stay the
    same in other company and after a resume. What is lost: a position that is met again, such as
    the first, has the same d again, where a stream would draw another.

    Args:
        evaluator: judges the mapped positions.
        game: whose symmetries to draw from, the identity among them; without any, all positions
            pass unchanged.
        seed: of the run.
    """

    def __init__(self, evaluator: Evaluator, game: Game, seed: int) -> None:
        self._evaluator = evaluator
        self._tables = SymmetryTables(game)
        self._back = np.argsort(self._tables.actions, axis=1)  # [D, A], the mapped action of each
        size = int(np.prod(game.observation_shape))
        words = generator(Purpose.SYMMETRY, seed, 0).integers(0, 2**64, -(-size // 8), np.uint64)
        self._key = words | np.uint64(1)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        chosen = self.choose(observations)
        mapped = self._tables.map_observations(observations, chosen)
        policy_logits, values = self._evaluator.evaluate(mapped)
        return np.take_along_axis(policy_logits, self._back[chosen], 1), values

    def choose(self, observations: ByteArray) -> npt.NDArray[np.int64]:
        """Which symmetry each position is seen through, int64 [S], 0 being the identity.

        The hash is multilinear: words of the observation times fixed random words, summed modulo
        2^64, of which the upper half is as good as random (Dietzfelbinger 1996). Positions a stone
        apart would have sums that differ by a constant, so the sum is stirred once.
        """
        flat = observations.reshape(len(observations), -1)
        padded = np.zeros((len(flat), 8 * len(self._key)), np.uint8)
        padded[:, : flat.shape[1]] = flat
        sums = padded.view("<u8") @ self._key
        upper = ((sums ^ (sums >> np.uint64(32))) * self._key[0]) >> np.uint64(32)
        return np.asarray((upper * np.uint64(len(self._tables))) >> np.uint64(32), np.int64)
