"""All random numbers of a run: counter-based generators, so that no generator state is saved.

A purpose, the run's seed, an index (of a game, a batch or a match) and a ply identify each draw.
The same four give the same numbers in any process at any time; different ones are independent.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """The use of the numbers. Changing a value changes the numbers that a run draws."""

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
    """The generators of `generator`, made from a single one, in a seventh of the time.

    Each is valid until the next is asked for.
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
