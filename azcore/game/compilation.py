"""azcore's use of numba: compiles once per version of the sources, safely across processes.

numba caches compiled functions on disk, so a second start takes only seconds. This module fixes
three traps of that cache:

* numba checks only the file of the function itself, so it would silently ignore an edit in a file
  that the function calls into. Our cache directory is named after the content of all these files.
* numba names record types in compiled symbols by a counter of the process. Two sizes of a board
  compiled by two processes may get one name, and a third process that loads both then runs the
  wrong code or crashes. We name them by a digest of the fields, the same in every process.
* Processes that start together would each compile the same functions. Here the first to need one
compiles it while the others wait, and they load its code.

The cache is in `azcore` in NUMBA_CACHE_DIR, or in `numba` of the user's cache directory, or else in
a private folder of the temporary directory. numba unpickles what it finds there, so nobody else may
write to it. If code cannot be loaded or saved, azcore compiles it anyway, and a message names the
folder.
"""

import fcntl
import hashlib
import multiprocessing
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
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
DIGEST_BYTES = hashlib.sha256().digest_size

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
    names = tuple(sorted(str(source) for source in sources))
    directory = _cache_directory(names, bool(config.BOUNDSCHECK))
    dispatcher = None if directory is None else _cached(function, directory)
    if dispatcher is None:
        dispatcher = njit(nogil=True)(function)
    if signature:  # numba compiles now, for this call alone
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def _cached(function: Callable[..., Any], directory: Path) -> Any:
    """A dispatcher that saves its code in a directory; None: it cannot."""
    with global_compiler_lock:  # of this process: numba's setting is for all threads
        before = config.CACHE_DIR
        config.CACHE_DIR = str(directory)
        try:
            dispatcher: Any = njit(nogil=True, cache=True)(function)
        except RuntimeError:  # numba finds no writable place
            dispatcher = None
        finally:
            config.CACHE_DIR = before
    # It would look for other places, which are not our caches.
    if dispatcher is None or directory not in Path(dispatcher._cache.cache_path).parents:
        _report(f"cannot save compiled code in {directory}; azcore compiles it at each start")
        return None
    _seal(dispatcher._cache._cache_file)
    _compile_in_turn(dispatcher, directory)
    return dispatcher


def _seal(file: Any) -> None:
    """Make numba's file of code end with a digest: damaged machine code would crash the process."""
    dump = file._dump

    def dump_with_digest(thing: object) -> bytes:
        data: bytes = dump(thing)
        return data + hashlib.sha256(data).digest()  # unpickling ignores the digest

    def load_whole(name: str) -> Any:
        data = Path(file._data_path(name)).read_bytes()
        code, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if hashlib.sha256(code).digest() != digest:
            raise ValueError(f"{name} must end with its digest")
        return pickle.loads(code)

    file._dump, file._load_data = dump_with_digest, load_whole


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


_lock: IO[str] | None = None  # the lock that this process holds; used under numba's own lock only


def _compile_in_turn(dispatcher: Any, directory: Path) -> None:
    """Keep other processes from compiling this function meanwhile; load it if they already did.

    A function compiles those that it calls: a process takes only the outermost one's lock, so two
    processes cannot wait for each other, but may both compile a shared callee.
    """
    load, compile_now = dispatcher._cache.load_overload, dispatcher.compile
    save = dispatcher._cache.save_overload

    def save_alone(signature: Any, data: Any) -> None:  # also for a function that two others call
        try:
            with (directory / "saving.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                save(signature, data)
        except Exception as error:  # a full disk, or an index that is damaged
            _report(f"cannot save compiled code in {directory}: {_reason(error)}")

    def load_whole(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception as error:  # unpickling raises anything
            _report(
                f"compiled code in {directory} is damaged, so azcore compiles it again: "
                f"{_reason(error)}"
            )
            with suppress(OSError):
                os.unlink(dispatcher._cache._cache_file._index_path)
            return None

    def load_or_wait(signature: Any, context: Any) -> Any:
        global _lock
        found = load_whole(signature, context)
        if found is None and _lock is None:
            try:
                _lock = (directory / f"{dispatcher.__name__}.lock").open("w")
                fcntl.flock(_lock, fcntl.LOCK_EX)
            except OSError as error:
                _report(f"cannot save compiled code in {directory}: {_reason(error)}")
                return None
            found = load_whole(signature, context)  # another process may have compiled it meanwhile
        return found

    def compile_in_turn(signature: Any) -> Any:
        global _lock
        with global_compiler_lock:
            is_outermost = _lock is None
            try:
                return compile_now(signature)
            finally:
                if is_outermost and _lock is not None:
                    _lock.close()  # the others stop waiting
                    _lock = None

    dispatcher._cache.load_overload = load_or_wait
    dispatcher._cache.save_overload = save_alone
    dispatcher.compile = compile_in_turn


_reported = False  # whether a message has named a cache


def _report(sentence: str) -> None:
    """Print a message about a cache, once; child processes do not repeat it."""
    global _reported
    if not _reported and multiprocessing.parent_process() is None and sys.stderr is not None:
        print(f"azcore: {sentence}", file=sys.stderr)
    _reported = True


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or f"{type(error).__name__} {error}".strip()


@cache
def _cache_directory(sources: tuple[str, ...], checks_bounds: bool = False) -> Path | None:
    """The directory for code compiled from the current content of these files; None: none."""
    digest = hashlib.sha256(b"each file ends with its digest")
    digest.update(b"bounds" * checks_bounds)  # numba's own index ignores this setting
    for source in sources:
        digest.update(Path(source).read_bytes())
    base = _writable_base()
    if base is None:
        return None
    directory = base / digest.hexdigest()[:16]
    try:
        directory.mkdir(exist_ok=True)
        os.utime(directory)
        _delete_old_versions(base)
    except OSError as error:
        _report(f"cannot save compiled code in {directory}: {_reason(error)}")
        return None
    return directory


def _delete_old_versions(base: Path) -> None:
    """Delete all but the latest versions, or the cache would grow with every edit."""
    found = []
    for path in base.iterdir():
        with suppress(FileNotFoundError):  # another process deletes, too
            state = path.lstat()
            if re.fullmatch("[0-9a-f]{16}", path.name) and stat.S_ISDIR(state.st_mode):
                found.append((state.st_mtime, path))
    for _, old in sorted(found, reverse=True)[KEPT_VERSIONS:]:
        if _holds_code_alone(old):
            shutil.rmtree(old, ignore_errors=True)


def _holds_code_alone(folder: Path) -> bool:
    """Whether all files in a folder have names of numba's cache or of our locks."""
    return all(
        re.search(r"\.(nbi|nbc|lock)(\.tmp\.[0-9a-f]+)?$", name)
        for _, _, files in os.walk(folder)
        for name in files
    )


def user_caches() -> Path:
    """The user's folder for caches, which programs can always rebuild."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _writable_base() -> Path | None:
    """The folder of compiled code; None: no folder is writable."""
    wanted = Path(config.CACHE_DIR or user_caches() / "numba") / "azcore"
    with suppress(OSError):
        wanted.mkdir(parents=True, exist_ok=True)
        # As another user, perhaps by sudo, do not run what the owner of this home has cached.
        is_trusted = bool(config.CACHE_DIR) or wanted.stat().st_uid == os.geteuid()
        if is_trusted and os.access(wanted, os.W_OK):
            return wanted
    # Anybody knows this name and can take it first, with a folder or a link.
    place = Path(tempfile.gettempdir()) / f"azcore-numba-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
        state = place.lstat()
        if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid():
            if stat.S_IMODE(state.st_mode) == 0o755:  # the mode before azcore made it private
                place.chmod(0o700)
            if not place.lstat().st_mode & 0o077:
                return place
        why = f"{place} is not a private folder of this user"
    except OSError as error:
        why = f"{place}: {_reason(error)}"
    _report(f"cannot save compiled code in {wanted}, nor in {why}")
    return None
