"""Many described positions in arrays, which search and replay allocate once and refill.

Letters: S positions described at once, T longest path in plies, A actions, C H W planes.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from azcore.game import ByteArray, Game
from azcore.game.compilation import compiled


class Paths(NamedTuple):
    """S paths from roots to positions."""

    roots: npt.NDArray[np.int32]  # [S], the root each starts from; below 0 skips the row
    actions: npt.NDArray[np.int32]  # [S, T], legal ones
    lengths: npt.NDArray[np.int32]  # [S], how many of them to play

    def of(self, row: int) -> list[int]:
        """The actions of one path."""
        actions: list[int] = self.actions[row, : self.lengths[row]].tolist()
        return actions


def only_roots(roots: npt.NDArray[np.int32]) -> Paths:
    """Paths without actions, to the roots themselves; a root below 0 skips its row."""
    return Paths(roots, np.zeros((len(roots), 0), np.int32), np.zeros(len(roots), np.int32))


class Positions(NamedTuple):
    """The description of S positions, filled by `GameBatch.replay`."""

    observations: ByteArray  # [S, C, H, W]
    legal_actions: npt.NDArray[np.int32]  # [S, A], ascending
    num_legal: npt.NDArray[np.int32]  # [S], valid entries of legal_actions
    current_player: npt.NDArray[np.int8]  # [S], seat to move
    is_terminal: npt.NDArray[np.bool_]  # [S]
    outcome: npt.NDArray[np.int8]  # [S], view of seat 0, 0 where not terminal
    keys: npt.NDArray[np.uint64]  # [S], `Game.position_key`; empty if not wanted

    def legal_action_mask(self, num_actions: int) -> npt.NDArray[np.bool_]:
        """bool [S, A], True = legal."""
        mask = np.zeros((len(self.num_legal), num_actions), np.bool_)
        _mark_kernel()(self.legal_actions, self.num_legal, mask)
        return mask


def make_positions(game: Game, size: int, *, keys: bool = False) -> Positions:
    """Buffers for S positions of a game.

    Args:
        size: S.
        keys: whether to compute `Game.position_key` too; not all games have one.
    """
    return Positions(
        observations=np.zeros((size, *game.observation_shape), np.uint8),
        legal_actions=np.zeros((size, game.num_actions), np.int32),
        num_legal=np.zeros(size, np.int32),
        current_player=np.zeros(size, np.int8),
        is_terminal=np.zeros(size, np.bool_),
        outcome=np.zeros(size, np.int8),
        keys=np.zeros(size if keys else 0, np.uint64),
    )


@cache
def paths_type() -> Any:
    """The numba type of `Paths` for kernels."""
    vector = types.int32[::1]
    return types.NamedTuple(  # type: ignore[no-untyped-call]
        [vector, types.int32[:, ::1], vector], Paths
    )


@cache
def _mark_kernel() -> Any:
    return compiled(_mark_legal, sources=[__file__])


def _mark_legal(legal_actions: Any, num_legal: Any, out_mask: Any) -> None:
    """The loop of `Positions.legal_action_mask`, over a mask of zeros."""
    for row in range(num_legal.shape[0]):
        for i in range(num_legal[row]):
            out_mask[row, legal_actions[row, i]] = True
