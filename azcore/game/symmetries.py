"""Maps many positions at once through symmetries of their game.

Letters: N positions, D symmetries with the identity as the first, A actions, C H W planes.
"""

from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from azcore.game import Game
from azcore.game.compilation import compiled

Entry = TypeVar("Entry", bound=np.generic)


class SymmetryTables:
    """A game's symmetries in one table; as in `Symmetry`, each entry is the index it comes from.

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
        """The number of symmetries, D."""
        return len(self.cells)

    def map_observations(
        self, observations: npt.NDArray[Entry], which: npt.NDArray[np.int64]
    ) -> npt.NDArray[Entry]:
        """Map each position through its symmetry.

        Args:
            observations: [N, C, H, W], of any dtype.
            which: int64 [N], the symmetry of each.

        Returns:
            [N, C, H, W], of the same dtype.
        """
        planes = observations.reshape(*observations.shape[:2], -1)
        return _mapped(planes, self.cells, which).reshape(observations.shape)

    def map_actions(
        self, entries: npt.NDArray[Entry], which: npt.NDArray[np.int64]
    ) -> npt.NDArray[Entry]:
        """Map the per-action entries of each position through its symmetry.

        Args:
            entries: [N, A], of any dtype.

        Returns:
            [N, A], of the same dtype.
        """
        return _mapped(entries[:, None], self.actions, which)[:, 0]


def symmetry_names(game: Game) -> list[str]:
    """Describe each of D symmetries by its effect on the planes."""
    _, height, width = game.observation_shape
    cells = np.arange(height * width).reshape(height, width)
    known = {board.tobytes(): name for name, board in _moves(cells)}
    names = ["unchanged"]
    for number, symmetry in enumerate(game.symmetries, 1):
        board = symmetry.cells.astype(cells.dtype).reshape(cells.shape)
        names.append(known.get(board.tobytes(), f"symmetry {number}"))
    return names


def _moves(cells: npt.NDArray[np.int64]) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Describe what a symmetry does to cells; the shape changes if the board is not square."""
    return [
        ("unchanged", cells),
        ("a quarter turn to the left", np.rot90(cells)),
        ("a half turn", np.rot90(cells, 2)),
        ("a quarter turn to the right", np.rot90(cells, 3)),
        ("left and right swapped", np.fliplr(cells)),
        ("top and bottom swapped", np.flipud(cells)),
        ("mirrored along the diagonal \\", cells.T),
        ("mirrored along the diagonal /", np.rot90(cells, 2).T),
    ]


def _mapped(
    entries: npt.NDArray[Entry], tables: npt.NDArray[np.int64], which: npt.NDArray[np.int64]
) -> npt.NDArray[Entry]:
    """Entries [N, C, M] mapped by the tables [D, M] that `which` [N] selects."""
    mapped = np.empty_like(entries)
    _map_kernel()(entries, tables, which, mapped)
    return mapped


@cache
def _map_kernel() -> Any:
    return compiled(_map, sources=[__file__])


def _map(entries: Any, tables: Any, which: Any, out_mapped: Any) -> None:
    for row in range(entries.shape[0]):
        table = tables[which[row]]
        for plane in range(entries.shape[1]):
            for i in range(entries.shape[2]):
                out_mapped[row, plane, i] = entries[row, plane, table[i]]
