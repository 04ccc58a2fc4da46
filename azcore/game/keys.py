"""The position key of a game whose rules define none: a hash of all fields of its state."""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

KEY_BITS = (1 << 64) - 1

# 64-bit FNV-1a: XOR each byte in, then multiply (Fowler, Noll and Vo; RFC 9923).
_START = 0xCBF29CE484222325
_FACTOR = 0x100000001B3


def state_key(state: Any) -> int:
    """The rule `position_key` for a game without its own, to be compiled for its state."""
    return fields_hash(state)


def fields_hash(state: Any) -> int:
    """A hash of all fields of a state, 0 to 2**64 - 1; without the padding between them.

    Equal states have equal keys; two different ones collide with odds near 2**-64.
    """
    key = _START
    for name in state.dtype.names:
        for byte in np.asarray(state[name]).tobytes():
            key = (key ^ byte) * _FACTOR & KEY_BITS
    return key


@overload(fields_hash)
def _fields_hash_compiled(state: Any) -> Any:
    if not isinstance(state, types.Record):
        return None

    def fields_hash_compiled(state: Any) -> Any:
        return _hash_fields(state)  # type: ignore[call-arg]

    return fields_hash_compiled


@intrinsic
def _hash_fields(_typing: Any, state: Any) -> Any:
    """`fields_hash` of a state in memory, as a uint64."""
    parts = [(f.offset, as_dtype(f.type).itemsize) for f in state.fields.values()]

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, byte = ir.IntType(64), ir.IntType(8)
        memory = builder.bitcast(arguments[0], byte.as_pointer())
        key = builder.alloca(word)
        builder.store(ir.Constant(word, _START), key)
        for offset, size in parts:
            with cgutils.for_range(builder, ir.Constant(word, size)) as loop:
                place = builder.add(loop.index, ir.Constant(word, offset))
                value = builder.zext(builder.load(builder.gep(memory, [place])), word)
                mixed = builder.mul(
                    builder.xor(builder.load(key), value), ir.Constant(word, _FACTOR)
                )
                builder.store(mixed, key)
        return builder.load(key)

    return types.uint64(state), generate
