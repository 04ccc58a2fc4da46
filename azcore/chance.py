"""All random numbers of a run: counter-based generators, so that no generator state is saved.

A purpose, the run's seed, an index (of a game, a batch or a match) and a ply identify each draw.
Equal ones give equal numbers in any process at any time; different ones are independent.
"""

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.extending import overload, register_jitable

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# The constants of Philox4x64.
_MULTIPLIER, _OTHER_MULTIPLIER = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_STEP, _OTHER_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


class Purpose(IntEnum):
    """The purpose of random numbers. Changing a value changes the numbers that a run draws."""

    OPENING = 1  # random first plies of a self-play game
    ROOT_NOISE = 2  # Dirichlet noise of one move
    MOVE = 3  # choice of one move
    BATCH = 4  # positions of one optimizer step
    MATCH = 5  # a player's choices in a match
    GUMBEL = 6  # Gumbel noise of one move
    SYMMETRY = 7  # symmetry through which a position is evaluated
    PLAYOUT_CAP = 9  # whether one move is searched in full
    START = 10  # position from which a game or the games of a match begin
    BRANCH = 11  # whether and where a game leaves an earlier one
    BOOK = 12  # a move from an opening book
    TUNING = 8  # constants of one tuning trial, and the openings of its match


def generator(purpose: Purpose, seed: int, index: int, ply: int = 0) -> np.random.Generator:
    """A fresh generator at the beginning of its stream."""
    return Generators().at(purpose, seed, index, ply)


class Generators:
    """The generators of `generator`, made from a single one in a seventh of the time.

    Each is valid until the next one is requested.
    """

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=(0, 0), counter=(0, 0, 0, 0))
        self._generator = np.random.Generator(self._bits)
        self._beginning = self._bits.state

    def at(self, purpose: Purpose, seed: int, index: int, ply: int = 0) -> np.random.Generator:
        """The generator at the beginning of this stream."""
        # Philox counts blocks in the lowest word; the other words separate the streams.
        place = self._beginning["state"]
        place["key"][0], place["key"][1] = seed, index
        place["counter"][2], place["counter"][3] = int(purpose), ply
        self._bits.state = self._beginning
        return self._generator


def uniform(purpose: int, seed: int, index: int, ply: int, out: npt.NDArray[np.float64]) -> None:
    """Write the first numbers that `generator(...).random()` draws; compiled code may call this."""
    out[:] = generator(Purpose(purpose), seed, index, ply).random(out.shape[0])


@overload(uniform)
def _uniform_compiled(purpose: Any, seed: Any, index: Any, ply: Any, out: Any) -> Any:
    return _uniform


def _uniform(purpose: Any, seed: Any, index: Any, ply: Any, out: Any) -> Any:
    """Philox4x64-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3")."""
    for first in range(0, out.shape[0], 4):
        a, b = np.uint64(first // 4 + 1), np.uint64(0)
        c, d = np.uint64(purpose), np.uint64(ply)
        key, other = np.uint64(seed), np.uint64(index)
        for _ in range(10):
            product, second = _MULTIPLIER * a, _OTHER_MULTIPLIER * c
            a, c = _high(_OTHER_MULTIPLIER, c) ^ b ^ key, _high(_MULTIPLIER, a) ^ d ^ other
            b, d = second, product
            key += _STEP
            other += _OTHER_STEP
        block = (a, b, c, d)
        for i in range(min(4, out.shape[0] - first)):
            out[first + i] = (block[i] >> np.uint64(11)) * 2.0**-53


@register_jitable
def _high(x: np.uint64, y: np.uint64) -> np.uint64:
    """The higher 64 bits of a product."""
    x_low, x_high, y_low, y_high = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    middle = x_high * y_low + (x_low * y_low >> _HALF)
    return x_high * y_high + (middle >> _HALF) + (x_low * y_high + (middle & _LOW) >> _HALF)
