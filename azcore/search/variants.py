"""The methods of a search beyond the plain tree, in one tuple for all kernels.

numba compiles a kernel for each choice of methods. It omits the code of an absent one only if the
method itself is an argument, not a field. So each method is a function that takes it, and does
nothing with None.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from azcore.search.gumbel import Gumbel
from azcore.search.proofs import Proofs
from azcore.search.transpositions import Transpositions
from azcore.search.tree import InFlight


class Variants(NamedTuple):
    """The methods of B trees; None: not used."""

    best_only: npt.NDArray[np.bool_] | None  # [B], searches that end once `is_settled`
    forced: npt.NDArray[np.float64] | None  # [B], factor of `forced_visits`; 0: none
    gumbel: Gumbel | None  # the rule in place of PUCT
    in_flight: InFlight | None  # for several leaves at once
    transpositions: Transpositions | None
    proofs: Proofs | None
    squares: npt.NDArray[np.float64] | None  # [B, M], see `spread_factor`
    formula: Callable[..., float] | None  # in place of PUCT's, see `rules.py`

    def only(self, *names: str) -> "Variants":
        """Keep only these methods, for a kernel that uses no other.

        So numba compiles that kernel once for all searches that differ in the others alone.
        """
        return self._replace(**{name: None for name in self._fields if name not in names})
