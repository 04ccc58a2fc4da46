"""Bit operations on bitboards, for use in rules: Python's integers have them, numba's do not."""

from typing import Any

from numba import types
from numba.extending import intrinsic, overload


def lowest_bit(board: Any) -> int:
    """The index of the lowest set bit of a non-zero 64-bit integer.

    Compiles to one machine instruction. `board &= board - 1` then clears that bit.
    """
    number = int(board)
    return (number & -number).bit_length() - 1


@overload(lowest_bit)
def _lowest_bit_compiled(board: Any) -> Any:
    if board not in (types.int64, types.uint64):
        return None

    def lowest_bit_compiled(board: Any) -> Any:
        return _trailing_zeros(board)  # type: ignore[call-arg]

    return lowest_bit_compiled


@intrinsic
def _trailing_zeros(_typing: Any, board: Any) -> Any:
    """LLVM's cttz of a 64-bit integer, as an int64."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(board), generate
