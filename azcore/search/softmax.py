"""Priors of a node: the softmax of its logits, in loops that the compiler vectorises (SIMD).

Code calls a library's exponential once per number, and the compiler does not vectorise a loop with
a call in it. With these loops, and with statistics only for tried edges, expanding a node of 340
legal actions took 1.6 µs instead of 3.9.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

_LOG2_E = 1.4426950408889634
# log 2 in two parts: the first has 32 bits, so that whole multiples of it are exact.
_LOG_2_HIGH = 0.6931471803691238
_LOG_2_LOW = 1.9082149292705877e-10
_LOWEST = -708.0  # below it exp is subnormal, and 0 as a float32
_TO_WHOLE = 6755399441055744.0  # 1.5 * 2**52: adding and subtracting it rounds to a whole number
_EXPONENT_BIAS, _EXPONENT_SHIFT = 1023, 52  # of a float64's bits


@register_jitable
def softmax(
    policy_logits: npt.NDArray[np.float32],
    legal_actions: npt.NDArray[np.int32],
    priors: npt.NDArray[np.float32],
) -> float:
    """P = softmax of the logits over the legal actions.

    Args:
        policy_logits: float32 [A].
        legal_actions: int32, of which the first K are valid; K is 1 or more.
        priors: float32 [K], written.

    Returns:
        The sum of the exponentials, which is not finite if a logit is not a number.
    """
    for i in range(priors.shape[0]):
        priors[i] = policy_logits[legal_actions[i]]
    highest = np.float64(maximum(priors))  # (compiled, float() would leave it a float32)
    if not np.isfinite(highest):
        return highest
    for i in range(priors.shape[0]):
        priors[i] = exponential(priors[i] - highest)
    total = total_of(priors)
    scale = 1.0 / total if total > 0 else total
    for i in range(priors.shape[0]):
        priors[i] = priors[i] * scale
    return total


@register_jitable
def maximum(numbers: npt.NDArray[np.float32]) -> Any:
    """The highest of some float32."""
    # Their bits as integers, with all but the sign inverted for negative ones, sort as they do.
    bits = numbers.view(np.int32)
    highest = np.int32(-(2**31))
    for i in range(bits.shape[0]):
        highest = max(highest, bits[i] ^ (bits[i] >> 31 & np.int32(0x7FFFFFFF)))
    return np.int32(highest ^ (highest >> 31 & np.int32(0x7FFFFFFF))).view(np.float32)


@register_jitable(fastmath={"reassoc"})
def total_of(numbers: npt.NDArray[np.float32]) -> float:
    """The sum as a float64, in any order: for a few hundred float32, orders agree to 50 bits."""
    total = 0.0
    for i in range(numbers.shape[0]):
        total += np.float64(numbers[i])
    return total


@register_jitable
def exponential(x: float) -> float:
    """e to the x for x from -708 to 0, within two units in the last place; near 0 for x below.

    x = k log 2 + r with |r| <= log 2 / 2, and e**r by Taylor's series, whose first omitted term is
    below 2e-16.
    """
    x = _LOWEST if x < _LOWEST else x  # NaN stays NaN
    shifted = np.float64(x * _LOG2_E + _TO_WHOLE)  # its last bits are those of k
    k = shifted - _TO_WHOLE
    r = (x - k * _LOG_2_HIGH) - k * _LOG_2_LOW
    series = 1 / 479001600
    for divisor in (39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1):
        series = series * r + 1 / divisor
    power = np.int64(shifted.view(np.int64) + _EXPONENT_BIAS << _EXPONENT_SHIFT)
    return series * power.view(np.float64)
