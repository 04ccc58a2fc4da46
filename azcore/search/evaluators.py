"""Who judges a leaf: an `Evaluator` gives policy logits and a value for each observation.

`azcore.networks.evaluator.NetworkEvaluator` asks a network; `UniformEvaluator` knows nothing, which
makes plain search, the baseline every network should beat. Two stand before another one:
`SymmetricEvaluator` shows it each position through a random symmetry of the game, `CachedEvaluator`
asks it of each position once.

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
    """Judges positions from their observations alone."""

    remembered: int = 0  # positions so far that were not judged but known; see `CachedEvaluator`

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

    def for_another_thread(self) -> Evaluator:
        """The same judge to be asked on another thread at the same time.

        What is large, such as weights, is shared. One without state of its own is its own double.
        """
        return self

    def for_threads(self, count: int) -> list[Evaluator]:
        """This judge and its like, one for each of so many threads."""
        return [self, *(self.for_another_thread() for _ in range(count - 1))]

    def prepared(self, observations: ByteArray) -> Callable[[], object]:
        """What evaluates these observations once and waits for it: the bare cost of judging.

        They are where they are needed already, and the answers stay where they are made.
        """
        return lambda: self.evaluate(observations)


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

    def for_another_thread(self) -> CountingEvaluator:
        return CountingEvaluator(self._evaluator.for_another_thread())

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        before = self._evaluator.remembered
        answers = self._evaluator.evaluate(observations)
        self.count += len(observations) - (self._evaluator.remembered - before)
        return answers


class SymmetricEvaluator(Evaluator):
    """Judges each position through a random symmetry of the game and maps the policy back.

    Silver 2017, Methods "Search algorithm": (d(p), v) = f(d(s)) with d a rotation or reflection
    drawn at random for every evaluation, so that over a tree the network's errors even out.

    Here d is drawn by a hash of the observation, the seed and the version of the weights, not from
    a stream: under the same weights a position has one d and depends on nothing else, so there is
    no state to save, and games stay the same in other company and after a resume. What is lost: a
    position that is met again, such as the first, has the same d until the weights are others,
    where a stream would draw another each time.

    Args:
        evaluator: judges the mapped positions.
        game: whose symmetries to draw from, the identity among them; without any, all positions
            pass unchanged.
        seed: of the run.
        version: optimizer steps behind the weights that judge.
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


class CachedEvaluator(Evaluator):
    """Remembers what another evaluator said, so that a position that comes back costs nothing.

    Games of self-play begin alike, and ways that part in a tree meet again. What is remembered of
    an observation is found by 128 bits of a cryptographic hash (BLAKE2b) of all its bytes, which is
    everything the network sees, so what it can tell apart is never taken for one another: the odds
    of a false match among a billion positions are below 10^-20.

    The one met longest ago is forgotten first; the same position twice in one call is asked once.
    A cache belongs to one set of weights. Training makes a new one for each generation, also where
    the same player goes on: so a resumed run, whose cache is empty, has lost nothing, and answers
    are those of a run that was never stopped, byte for byte.

    Answers are those without a cache up to rounding: a network may round a sum otherwise in a batch
    of another size, and batches are smaller here. That is enough for a run with a cache to become
    another run than the one without, as likely as it.

    Args:
        evaluator: judges what is not remembered.
        num_actions: A.
        positions: how many to remember, at least one.
    """

    OVERHEAD = 280  # bytes a position for hash and links: 190 to 275, by how full the table is

    def __init__(self, evaluator: Evaluator, num_actions: int, positions: int) -> None:
        self._evaluator = evaluator
        self._positions = positions
        self._places: OrderedDict[bytes, int] = OrderedDict()  # row of each; oldest first
        # Unused rows cost no memory: the system gives it when they are first written to.
        self._policy_logits = np.empty((positions, num_actions), np.float32)
        self._values = np.empty(positions, np.float32)

    def for_another_thread(self) -> CachedEvaluator:
        """One that remembers for itself: what it knows depends on what its own thread has asked."""
        num_actions = self._policy_logits.shape[1]
        return CachedEvaluator(self._evaluator.for_another_thread(), num_actions, self._positions)

    @classmethod
    def bytes_needed(cls, num_actions: int, positions: int) -> int:
        """Memory of a full cache: 4 bytes for each action and the value, and what finds them."""
        return positions * (4 * (num_actions + 1) + cls.OVERHEAD)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        keys = [_digest(observation) for observation in observations]
        places = np.full(len(keys), -1)
        asked: dict[bytes, int] = {}  # row of the batch that the other evaluator is asked
        for i, key in enumerate(keys):
            if key in self._places:
                places[i] = self._places[key]
                self._places.move_to_end(key)
            else:
                asked.setdefault(key, i)
        self.remembered += len(keys) - len(asked)
        policy_logits = self._policy_logits[places]  # rows of -1 are filled below
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
        latest = slice(-self._positions, None)  # more than there is room for: the others go at once
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
