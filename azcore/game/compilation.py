"""How azcore compiles with numba: once per version of the sources, safely shared by processes.

numba caches compiled functions on disk, so a second start takes only seconds. This module fixes
three traps of that cache:

* numba checks only the file of the function itself, so it would silently ignore an edit in a file
  that the function calls into. Our cache directory is named after the content of all these files.
* numba names record types in compiled symbols by a counter of the process. Two sizes of a board
  compiled by two processes may get one name, and a third process that loads both then runs the
  wrong code or crashes. We name them by a digest of the fields, the same in every process.
* Processes that start together would each compile the same functions. Here the first to need one
  compiles it while the others wait, and they load what it has compiled.

The cache is in `azcore` in NUMBA_CACHE_DIR, or in `numba` of the user's cache directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from numba import config, njit, typeof, types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.experimental import function_type

KEPT_VERSIONS = 60  # versions of sources whose compiled code stays cached

types.Record.mangling_args = property(  # type: ignore[method-assign,assignment]
    lambda self: (f"Record{crc32(self.name.encode()):08x}", ())
)


def compiled(
    function: Callable[..., Any], signature: Any = None, *, sources: Iterable[str | Path]
) -> Any:
    """`function` compiled to run without the GIL, loaded from the cache if possible.

    Args:
        function: plain Python that numba supports.
        signature: numba's types of arguments and result; None: compile on the first call.
        sources: every file whose functions it calls, its own included.
    """
    if config.DISABLE_JIT:
        return function
    directory = _cache_directory(tuple(sorted(str(source) for source in sources)))
    with global_compiler_lock:  # of this process: numba's setting is for all threads
        before = config.CACHE_DIR
        config.CACHE_DIR = str(directory)
        try:
            dispatcher: Any = njit(nogil=True, cache=True)(function)
        finally:
            config.CACHE_DIR = before
    _compile_in_turn(dispatcher, directory)
    if signature:  # compiled here and now, and for nothing else later
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def record_type(fields: list[Any]) -> np.dtype[Any]:
    """A structured dtype whose fields kernels write as `record.name`, compiled and interpreted."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


def code_for(dispatcher: Any, *arguments: Any) -> Callable[..., Any]:
    """The code of a `compiled` function for exactly these argument types, called without checks.

    numba determines the type of each argument at each call, and for a named tuple it does so in
    Python, which takes 1 to 3 µs. The caller of this code ensures dtypes and layout: it reads any
    other argument as if it had these types.
    """
    if config.DISABLE_JIT:
        return dispatcher  # type: ignore[no-any-return]
    signature = tuple(map(typeof, arguments))
    if dispatcher._can_compile:  # false if it has an explicit signature
        dispatcher.compile(signature)
    code: Callable[..., Any] = dispatcher.overloads[signature].entry_point
    return code


# A kernel that takes functions as arguments of type `FunctionType`, with explicit signatures, is
# cached for the next process; one that specialises on the functions themselves is not. But numba
# looks up their addresses at each call, so a kernel that is called often takes them in a table.


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
    """Lower an intrinsic that turns row `place` of a table into a function.

    The intrinsic's arguments are (table, anything, place as a constant); its result has the
    function's `FunctionType`.
    """
    place = signature.args[2].literal_value
    table = context.make_array(signature.args[0])(context, builder, arguments[0])
    function = cgutils.create_struct_proxy(signature.return_type)(context, builder)  # type: ignore[no-untyped-call]
    pointer = context.get_value_type(types.voidptr)
    for column, member in enumerate(("c_addr", "py_addr", "jit_addr")):
        entry = builder.gep(table.data, [context.get_constant(types.intp, 3 * place + column)])
        setattr(function, member, builder.inttoptr(builder.load(entry), pointer))
    return function._getvalue()


_lock: IO[str] | None = None  # that this process holds; used under numba's own lock only


def _compile_in_turn(dispatcher: Any, directory: Path) -> None:
    """Let no other process compile this function meanwhile; what is there is just loaded.

    A function compiles those that it calls: a process takes the outermost one's lock alone, so two
    processes cannot wait for each other, and may both compile what two functions call.
    """
    load, compile_now = dispatcher._cache.load_overload, dispatcher.compile
    save = dispatcher._cache.save_overload

    def save_alone(signature: Any, data: Any) -> None:  # also a function that two others call
        with (directory / "saving.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(signature, data)

    def load_or_wait(signature: Any, context: Any) -> Any:
        global _lock
        found = load(signature, context)
        if found is None and _lock is None:
            _lock = (directory / f"{dispatcher.__name__}.lock").open("w")
            fcntl.flock(_lock, fcntl.LOCK_EX)
            found = load(signature, context)  # if another process has compiled it by now
        return found

    def compile_in_turn(signature: Any) -> Any:
        global _lock
        with global_compiler_lock:
            is_outermost = _lock is None
            try:
                return compile_now(signature)
            finally:
                if is_outermost and _lock is not None:
                    _lock.close()  # which ends the others' wait
                    _lock = None

    dispatcher._cache.load_overload = load_or_wait
    dispatcher._cache.save_overload = save_alone
    dispatcher.compile = compile_in_turn


@cache
def _cache_directory(sources: tuple[str, ...]) -> Path:
    """The directory for code compiled from the current content of these files."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(Path(source).read_bytes())
    base = _writable_base()
    directory = base / digest.hexdigest()[:16]
    directory.mkdir(exist_ok=True)
    os.utime(directory)
    # Delete old versions, or the cache would grow with every edit.
    versions = sorted(base.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in versions[KEPT_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return directory


def user_caches() -> Path:
    """The folder of what this person's programs have found and could find again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _writable_base() -> Path:
    wanted = Path(config.CACHE_DIR or user_caches() / "numba") / "azcore"
    for place in (wanted, Path(tempfile.gettempdir()) / f"azcore-numba-{os.getuid()}"):
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    raise OSError(f"neither {wanted} nor the temporary directory can be written to")
