"""How much a search surprised the network, which determines how often it learns from a position."""

import numpy as np
from numba.extending import register_jitable

from azcore.game import FloatArray, IntArray

_TINIEST = float(np.finfo(np.float32).tiny)  # a prior that rounded to 0 counts as this


@register_jitable
def policy_surprise(counts: IntArray, prior: FloatArray) -> float:
    """KL(pi || P) = sum of pi log(pi / P), in nats: the policy target against the network's policy.

    KataGo's `docs/KataGoMethods.md`, "Policy Surprise Weighting".

    Args:
        counts: [K], the policy target in whole numbers, not all 0, as a record has it.
        prior: float32 [K], P of the same actions, without noise.
    """
    named = counts > 0
    target = counts[named] / counts[named].sum()
    expected = np.maximum(prior[named].astype(np.float64), _TINIEST)
    return max(0.0, float((target * np.log(target / expected)).sum()))  # not -1e-17
