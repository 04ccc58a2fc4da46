"""Evaluation of leaves: an `Evaluator` returns policy logits and a value for each observation.

`azcore.networks.evaluator.NetworkEvaluator` runs a network. `UniformEvaluator` gives every position
the same output: plain search, the baseline that every network should beat. Two evaluators wrap
another one: `SymmetricEvaluator` passes it each position through a random symmetry of the game, and
`CachedEvaluator` evaluates each position once.

Letters: S positions, A actions, D symmetries.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from copy import copy

import numpy as np
import numpy.typing as npt

from azcore.chance import Purpose, generator
from azcore.game import ByteArray, FloatArray, Game
from azcore.game.symmetries import SymmetryTables


class Evaluator(ABC):
    """Evaluates positions from their observations alone."""

    remembered: int = 0  # positions answered so far without evaluation; see `CachedEvaluator`

    @abstractmethod
    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        """Policy logits and values.

        Args:
            observations: uint8 [S, C, H, W], each from the view of its player to move.

        Returns:
            policy_logits float32 [S, A], illegal actions included; values float32 [S] in [-1, 1],
            view of the player to move. Row i depends on observation i alone,
            up to rounding. The next call may reuse the arrays.
        """

    def for_another_thread(self) -> Evaluator:
        """An equal evaluator to call on another thread at the same time.

        It shares large data such as weights. An evaluator without state returns itself.
        """
        return self

    def for_threads(self, count: int) -> list[Evaluator]:
        """This evaluator and its equals, one for each of `count` threads."""
        return [self, *(self.for_another_thread() for _ in range(count - 1))]

    def prepare(self, observations: ByteArray) -> None:
        """Do the one-time work of the first evaluations of such a batch.

        Probes call it on the backend itself; a wrapper just evaluates.
        """
        self.evaluate(observations)

    def prepared(self, observations: ByteArray) -> Callable[[], object]:
        """A function that evaluates these observations once and waits: the bare cost of evaluation.

        The observations are already on the device, and the results stay there.
        """
        return lambda: self.evaluate(observations)


class UniformEvaluator(Evaluator):
    """Equal logits for all actions and the value 0: search with it sees only ends of the game."""

    def __init__(self, game: Game) -> None:
        self._num_actions = game.num_actions

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        return np.zeros((size, self._num_actions), np.float32), np.zeros(size, np.float32)


class CountingEvaluator(Evaluator):
    """Wraps an evaluator and counts the positions that it evaluates."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.count = 0

    def for_another_thread(self) -> CountingEvaluator:
        return CountingEvaluator(self._evaluator.for_another_thread())

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        before = self._evaluator.remembered
        answers = self._evaluator.evaluate(observations)
        self.count += len(observations) - (self._evaluator.remembered - before)
        return answers


class SymmetricEvaluator(Evaluator):
    """Evaluates each position through a random symmetry of the game and maps the policy back.

    Silver 2017, Methods "Search algorithm": (d(p), v) = f(d(s)) with d a rotation or reflection
    drawn at random for every evaluation, so that the network's errors average out over a tree.

    Here a hash of the observation, the seed and the version of the weights selects d, not a random
    stream. Under the same weights a position always has the same d, independent of anything else.
    So there is no state to save, and a game stays the same after a resume and whatever other games
    run. The drawback: a position that recurs, such as the first, has the same d until the weights
    change, where a stream would draw another each time.

    Args:
        evaluator: evaluates the mapped positions.
        game: the game whose symmetries to draw from, with the identity among them; without any,
            all positions pass unchanged.
        seed: the seed of the run.
        version: optimizer steps behind the weights in use.
    """

    def __init__(self, evaluator: Evaluator, game: Game, seed: int, version: int) -> None:
        self._evaluator = evaluator
        self._tables = SymmetryTables(game)
        self._back = np.argsort(self._tables.actions, axis=1)  # [D, A], the mapped action of each
        size = int(np.prod(game.observation_shape))
        rng = generator(Purpose.SYMMETRY, seed, version)
        self._key = rng.integers(0, 2**64, -(-size // 8), np.uint64) | np.uint64(1)

    def for_another_thread(self) -> SymmetricEvaluator:
        other = copy(self)
        other._evaluator = self._evaluator.for_another_thread()
        return other

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        which = self.choose(observations)
        mapped = self._tables.map_observations(observations, which)
        policy_logits, values = self._evaluator.evaluate(mapped)
        return np.take_along_axis(policy_logits, self._back[which], 1), values

    def choose(self, observations: ByteArray) -> npt.NDArray[np.int64]:
        """The symmetry for each position, int64 [S]; 0 is the identity.

        The hash is multilinear: words of the observation times fixed random words, summed modulo
        2^64. The upper half of the sum is as good as random (Dietzfelbinger 1996). The sums of
        positions one stone apart would differ by a constant, so the sum is mixed once.
        """
        flat = observations.reshape(len(observations), -1)
        padded = np.zeros((len(flat), 8 * len(self._key)), np.uint8)
        padded[:, : flat.shape[1]] = flat
        sums = padded.view("<u8") @ self._key
        upper = ((sums ^ (sums >> np.uint64(32))) * self._key[0]) >> np.uint64(32)
        return np.asarray((upper * np.uint64(len(self._tables))) >> np.uint64(32), np.int64)


class CachedEvaluator(Evaluator):
    """Caches the results of another evaluator, so that a recurring position costs nothing.

    Self-play games begin alike, and different paths in a tree lead to the same position. The cache
    looks up an observation by 128 bits of a cryptographic hash (BLAKE2b) of all its bytes, which is
    everything the network sees. So it does not confuse positions that the network can tell apart:
    the odds of a false match among a billion positions are below 10^-20.

    The cache evicts the least recently used position (LRU), and evaluates a position that occurs
    twice in one call once. It belongs to one set of weights: training makes a new cache for each
    generation, even if the player stays the same. A resumed run starts with an empty cache and thus
    loses nothing: its results are those of a run that was never stopped, byte for byte.

    Results equal those without a cache up to rounding: batches are smaller here, and a network may
    round a sum differently in a batch of another size. That is enough to turn a run with a cache
    into a different run from one without, but an equally likely one.

    Args:
        evaluator: evaluates positions that are not cached.
        num_actions: A.
        positions: the capacity, at least one.
    """

    OVERHEAD = 280  # bytes per position for hash and links: 190 to 275, depending on the fill

    def __init__(self, evaluator: Evaluator, num_actions: int, positions: int) -> None:
        self._evaluator = evaluator
        self._positions = positions
        self._places: OrderedDict[bytes, int] = OrderedDict()  # row of each, LRU first
        # Unused rows cost no memory: the system allocates them on the first write.
        self._policy_logits = np.empty((positions, num_actions), np.float32)
        self._values = np.empty(positions, np.float32)

    def for_another_thread(self) -> CachedEvaluator:
        """A copy with its own cache, whose content depends on its own thread alone."""
        num_actions = self._policy_logits.shape[1]
        return CachedEvaluator(self._evaluator.for_another_thread(), num_actions, self._positions)

    @classmethod
    def bytes_needed(cls, num_actions: int, positions: int) -> int:
        """Memory of a full cache: 4 bytes for each action and the value, and the overhead."""
        return positions * (4 * (num_actions + 1) + cls.OVERHEAD)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        keys = [_digest(observation) for observation in observations]
        places = np.full(len(keys), -1)
        asked: dict[bytes, int] = {}  # batch row of each position to evaluate
        for i, key in enumerate(keys):
            if key in self._places:
                places[i] = self._places[key]
                self._places.move_to_end(key)
            else:
                asked.setdefault(key, i)
        self.remembered += len(keys) - len(asked)
        policy_logits = self._policy_logits[places]  # the loop below fills rows of -1
        values = self._values[places]
        if asked:
            fresh = self._evaluator.evaluate(observations[list(asked.values())])
            row = {key: n for n, key in enumerate(asked)}
            missing = np.flatnonzero(places < 0)
            answers = [row[keys[i]] for i in missing]
            policy_logits[missing], values[missing] = fresh[0][answers], fresh[1][answers]
            self._remember(list(asked), *fresh)
        return policy_logits, values

    def _remember(self, keys: list[bytes], policy_logits: FloatArray, values: FloatArray) -> None:
        # Beyond the capacity, the rest would be evicted at once.
        latest = slice(-self._positions, None)
        places = []
        for key in keys[latest]:
            full = len(self._places) == self._positions
            place = self._places.popitem(last=False)[1] if full else len(self._places)
            self._places[key] = place
            places.append(place)
        self._policy_logits[places] = policy_logits[latest]
        self._values[places] = values[latest]


def _digest(observation: ByteArray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(observation).data, digest_size=16).digest()
