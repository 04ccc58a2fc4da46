"""Ring buffers that grow: the arrays of the replay window, in memory or on disk."""

import errno
import mmap
import os
import tempfile
import weakref
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import GameFileError, os_errors_as

SLACK = 1 / 8  # spare room when arrays grow
_ENTRIES_AT_ONCE = 1 << 20  # to copy when a ring gets another array
_ZEROS = bytes(1 << 20)


class ScratchFile:
    """A file that holds one array for the lifetime of a process, on disk instead of in memory.

    The system keeps pages in use in memory, as far as there is room, and writes back the others.
    The file has no name: nobody else can open it, and it disappears with the process, however that
    ends. So its content needs no verification, and there is nothing to clean up.
    """

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


class Ring:
    """A ring buffer of the latest entries, numbered from the first ever: entry i is at i % room.

    Args:
        folder: a folder on the disk that holds it; None: in memory.

    Attributes:
        room: the array; an empty ring may have none of its own.
        first: number of the oldest entry still stored.
        end: how many entries have been added in total.
    """

    def __init__(self, dtype: npt.DTypeLike, folder: Path | None) -> None:
        self._folder = folder
        self._file: ScratchFile | None = None
        self.room = np.zeros(1, dtype)
        self.first = self.end = 0

    def append(self, entries: npt.NDArray[Any]) -> None:
        """Add entries at the end; grow the array if needed."""
        end = self.end + len(entries)
        if end - self.first > len(self.room):
            self._move(int((end - self.first) * (1 + SLACK)), self.room.dtype)
        self._write(self.end, entries)
        self.end = end

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Convert the entries to another type, which can hold them."""
        self._move(len(self.room), np.dtype(dtype))

    def _move(self, size: int, dtype: np.dtype[Any]) -> None:
        """Move the entries to an array of `size` of a type."""
        if self._file is not None and dtype == self.room.dtype and self.end <= len(self.room):
            # Nothing has wrapped around yet, so all entries keep their places.
            self.room = self._file.array(size, dtype)
            return
        old = copy(self)
        if self._folder is None:
            self.room = np.empty(size, dtype)
        else:
            # The file of the old array lives as long as the array.
            self._file = ScratchFile(self._folder, "the replay window (replay.window_on_disk)")
            self.room = self._file.array(size, dtype)
        for first in range(self.first, self.end, _ENTRIES_AT_ONCE):
            self._write(first, old.copy(first, min(self.end, first + _ENTRIES_AT_ONCE)))

    def _write(self, first: int, entries: npt.NDArray[Any]) -> None:
        room = self.room
        if entries.dtype == room.dtype and room.dtype.names:  # copy whole entries, not fields
            room, entries = _unread(room), _unread(entries)
        at = first % len(room)
        head = min(len(entries), len(room) - at)
        room[at : at + head] = entries[:head]
        room[: len(entries) - head] = entries[head:]

    def copy(self, first: int, end: int) -> npt.NDArray[Any]:
        """Entries `first` to `end` - 1."""
        room = _unread(self.room) if self.room.dtype.names else self.room
        at = first % len(room)
        head = room[at : at + end - first]
        return np.concatenate([head, room[: end - first - len(head)]]).view(self.room.dtype)

    def first_above(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """For ascending entries, the number of the first one above each value; `end` if none."""
        at = self.first % len(self.room)
        head = self.room[at : at + self.end - self.first]
        rest = self.room[: self.end - self.first - len(head)]
        before = np.searchsorted(head, values, "right")
        return (
            self.first
            + before
            + np.where(before == len(head), np.searchsorted(rest, values, "right"), 0)
        )


def _unread(entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The entries as raw bytes."""
    return entries.view(np.dtype((np.void, entries.itemsize)))
