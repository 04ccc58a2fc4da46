"""Arrays on disk instead of in memory, for the lifetime of a process.

The system keeps pages in use in memory, as far as there is room, and writes back the others. The
file has no name: nobody else can open it, and it disappears with the process, however that ends. So
its content needs no verification, and there is nothing to clean up.
"""

import errno
import mmap
import os
import tempfile
import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import GameFileError, os_errors_as

_ZEROS = bytes(1 << 20)


class ScratchFile:
    """A nameless file that holds one array."""

    def __init__(self, folder: Path, what: str) -> None:
        self._folder, self._what = folder, what
        with self._reported(), tempfile.TemporaryFile(dir=folder) as file:
            self.descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)  # its arrays stay valid
        self._reserved = 0

    def array(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of `size` entries over the file, at the same bytes as earlier arrays.

        It reserves the disk's blocks first. Otherwise the system would detect a full disk when it
        writes a page, and could only kill the process.

        Raises:
            GameFileError: the disk has no room.
        """
        length = size * np.dtype(dtype).itemsize
        with self._reported():
            self._reserve(length)
            mapped = mmap.mmap(self.descriptor, length)
            # Access to samples is random, so reading ahead would be wasted.
            mapped.madvise(mmap.MADV_RANDOM)
        return np.frombuffer(mapped, dtype, size)

    def _reserve(self, length: int) -> None:
        missing = length - self._reserved
        if missing <= 0:
            return
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self.descriptor, self._reserved, missing)
        else:
            for begin in range(self._reserved, length, len(_ZEROS)):
                piece = _ZEROS[: length - begin]
                if os.pwrite(self.descriptor, piece, begin) < len(piece):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._reserved = length

    def _reported(self) -> AbstractContextManager[None]:
        what = f"{self._folder}: could not reserve space for {self._what}"
        return os_errors_as(GameFileError, what)
