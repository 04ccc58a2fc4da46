"""How azcore compiles with numba: once per version of the sources, safely shared by processes.

numba keeps compiled functions on disk, which is what makes a second start take seconds. Two traps
of its cache are mended here:

* It looks at the file of a function alone, so an edit in a file that the function calls into would
  silently be ignored. Our cache directory is named after the content of all the files concerned.
* It names record types in compiled symbols by a counter of the process. Two sizes of a board
  compiled by two processes may get one name, and a third process that loads both then runs the
  wrong code or crashes. A digest of the fields is the same in every process.

The directory is `azcore` in NUMBA_CACHE_DIR, or in `numba` of the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from numba import config, njit, typeof, types
from numba.core import cgutils
from numba.experimental import function_type

KEPT_VERSIONS = 60  # versions of sources whose compiled code is kept

types.Record.mangling_args = property(  # type: ignore[method-assign,assignment]
    lambda self: (f"Record{crc32(self.name.encode()):08x}", ())
)


def compiled(
    function: Callable[..., Any], signature: Any = None, *, sources: Iterable[str | Path]
) -> Any:
    """`function` compiled without the GIL, taken from the cache where possible.

    Args:
        function: plain Python that numba supports.
        signature: numba's types of arguments and result; None: compiled when first called.
        sources: every file whose functions are called from it, its own included.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_cache_directory(tuple(sorted(str(source) for source in sources))))
    try:
        return njit(signature, nogil=True, cache=True)(function)
    finally:
        config.CACHE_DIR = before


def code_for(dispatcher: Any, *arguments: Any) -> Callable[..., Any]:
    """What `compiled` gave, for arguments of just these types, which it does not look at again.

    numba finds the type of each argument at each call, that of a named tuple in Python, which takes
    1 to 3 µs. Whoever calls the code answers for dtypes and layout: others are read as these.
    """
    if config.DISABLE_JIT:
        return dispatcher  # type: ignore[no-any-return]
    signature = tuple(map(typeof, arguments))
    if dispatcher._can_compile:  # not one whose signature was written out
        dispatcher.compile(signature)
    code: Callable[..., Any] = dispatcher.overloads[signature].entry_point
    return code


# A kernel that takes functions as arguments of type `FunctionType`, with written-out signatures, is
# cached for the next process; one that specialises on the functions themselves is not. But numba
# looks up their addresses anew at each call. A kernel that is called often takes them in a table.


def function_table(functions: Iterable[Any], signatures: Iterable[Any]) -> npt.NDArray[np.int64]:
    """The addresses of compiled functions, int64 [functions, 3], for `load_function`.

    The functions must outlive the table.
    """
    return np.array(
        [
            (
                function_type._get_wrapper_address(function, signature),  # type: ignore[no-untyped-call]
                id(function),
                function_type._get_jit_address(function, signature),  # type: ignore[no-untyped-call]
            )
            for function, signature in zip(functions, signatures, strict=True)
        ],
        np.int64,
    )


def load_function(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Lowering of an intrinsic that makes a function of row `place` of a table.

    The intrinsic's arguments are (table, anything, place as a constant), its result is the type
    `FunctionType` of the function.
    """
    place = signature.args[2].literal_value
    table = context.make_array(signature.args[0])(context, builder, arguments[0])
    function = cgutils.create_struct_proxy(signature.return_type)(context, builder)  # type: ignore[no-untyped-call]
    pointer = context.get_value_type(types.voidptr)
    for column, member in enumerate(("c_addr", "py_addr", "jit_addr")):
        entry = builder.gep(table.data, [context.get_constant(types.intp, 3 * place + column)])
        setattr(function, member, builder.inttoptr(builder.load(entry), pointer))
    return function._getvalue()


@cache
def _cache_directory(sources: tuple[str, ...]) -> Path:
    """A directory for code compiled from these files as they are now."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(Path(source).read_bytes())
    base = _writable_base()
    directory = base / digest.hexdigest()[:16]
    directory.mkdir(exist_ok=True)
    os.utime(directory)
    # Old versions go, or the cache would grow with every edit.
    versions = sorted(base.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in versions[KEPT_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return directory


def _writable_base() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    wanted = Path(config.CACHE_DIR or os.path.join(caches, "numba")) / "azcore"
    for place in (wanted, Path(tempfile.gettempdir()) / f"azcore-numba-{os.getuid()}"):
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    raise OSError(f"neither {wanted} nor the temporary directory can be written to")
