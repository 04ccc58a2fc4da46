"""Bits found compiled, in both integers, and interpreted."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from azcore.bits import lowest_bit


@njit
def compiled_lowest(board):
    return lowest_bit(board)


@pytest.mark.rules
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_lowest_bit(kind: type) -> None:
    rng = np.random.default_rng(1)
    for place in range(64):
        for above in (0, int(rng.integers(2**62)), 2**64 - 1):
            number = (1 << place | above << place + 1) & (2**64 - 1)
            board = np.array([number], np.uint64).view(kind)[0]
            assert lowest_bit(board) == place
            assert compiled_lowest(board) == place
