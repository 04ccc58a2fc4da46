"""Positions seen through a symmetry of their game, many at once.

Letters: N positions, D symmetries with the identity as the first, A actions, C H W planes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from azcore.game import ByteArray, Game


class SymmetryTables:
    """A game's symmetries side by side, as `Symmetry` has them: each entry names where it is from.

    Attributes:
        cells: int64 [D, H * W].
        actions: int64 [D, A].
    """

    def __init__(self, game: Game) -> None:
        num_cells = game.observation_shape[1] * game.observation_shape[2]
        self.cells: npt.NDArray[np.int64] = np.stack(
            [np.arange(num_cells), *(symmetry.cells for symmetry in game.symmetries)]
        )
        self.actions: npt.NDArray[np.int64] = np.stack(
            [np.arange(game.num_actions), *(symmetry.actions for symmetry in game.symmetries)]
        )

    def __len__(self) -> int:
        """D."""
        return len(self.cells)

    def map_observations(self, observations: ByteArray, chosen: npt.NDArray[np.int64]) -> ByteArray:
        """Each position through its symmetry.

        Args:
            observations: uint8 [N, C, H, W].
            chosen: int64 [N], the symmetry of each.

        Returns:
            uint8 [N, C, H, W].
        """
        planes = observations.reshape(*observations.shape[:2], -1)
        mapped = np.empty_like(planes)
        for d, cells in enumerate(self.cells):  # a fifth of the time of one take_along_axis
            rows = np.flatnonzero(chosen == d)
            mapped[rows] = np.take(planes[rows], cells, axis=2)
        return mapped.reshape(observations.shape)
