"""The append-only file of many game records, `records.azg`: a sequence of frames.

A long run drops its oldest games. The file then begins with a frame that records how many, and
places in the file count as if these games were still there, so a checkpoint's place stays valid.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from azcore.errors import GameFileError
from azcore.storage.game_record import (
    FRAME,
    FRAME_MAGICS,
    MOST_HEADER_BYTES,
    GameRecord,
    demand,
    is_whole,
    parse_frame,
)

_FORGOTTEN_MAGIC = b"AZGF"  # of the frame that records the dropped games, see `Forgotten`
_MOST_BYTES = 1 << 28  # per frame; 512 plies with the visits of 80 actions each take 250 kB


@dataclass(frozen=True)
class Forgotten:
    """The games that were written to a file and dropped since."""

    place: int = 0  # where the first remaining game begins
    games: int = 0
    positions: int = 0  # to learn from, in these games

    def to_bytes(self) -> bytes:
        """One frame, the first of its file."""
        payload = json.dumps(vars(self), sort_keys=True).encode()
        return FRAME.pack(_FORGOTTEN_MAGIC, len(payload), zlib.crc32(payload)) + payload


@contextlib.contextmanager
def new_game_file(path: Path) -> Iterator[Callable[[GameRecord], None]]:
    """Gives a function that adds a record to a new file, which is there once all are written.

    After an error there is no file. A file that is there already is never replaced.

    Raises:
        GameFileError: there is a file, or writing fails.
    """
    part = path.with_name(path.name + ".part")
    there = f"{path} is there already: name another file, or remove it"
    if os.path.lexists(path):
        raise GameFileError(there)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:

            def write(record: GameRecord) -> None:
                file.write(record.to_bytes())

            yield write
            file.flush()
            os.fsync(file.fileno())
        _put(part, path)
    except OSError as error:
        why = f"{path}: could not write game records: {error.strerror}"
        raise GameFileError(there if os.path.lexists(path) else why) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _put(part: Path, path: Path) -> None:
    """Give a file its name, unless somebody has written one of that name meanwhile."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise
        part.replace(path)


class GameFile:
    """Appends records to a file and reads them back.

    A process killed while it appends leaves an incomplete record at the end; `truncate` removes it.
    All places are byte offsets from where the first game was once written, dropped games included.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def forgotten(self) -> Forgotten:
        """The dropped games.

        Raises:
            GameFileError: the frame that records them is truncated or altered.
        """
        return self._beginning()[0]

    def _beginning(self) -> tuple[Forgotten, int]:
        """The dropped games, and the size in bytes of the frame that records them."""
        if not self.path.exists():
            return Forgotten(), 0
        with self.path.open("rb") as file:
            head = file.read(FRAME.size)
            if head[:4] != _FORGOTTEN_MAGIC or len(head) < FRAME.size:
                return Forgotten(), 0
            _, length, checksum = FRAME.unpack(head)
            payload = file.read(min(length, MOST_HEADER_BYTES))
        try:
            demand(len(payload) == length, "its bytes", str(length), len(payload))
            demand(zlib.crc32(payload) == checksum, "its checksum", str(checksum), "another")
            values = json.loads(payload)
            names = set(vars(Forgotten()))
            demand(isinstance(values, dict) and set(values) == names, "it", str(names), values)
            for name, value in values.items():
                demand(is_whole(value, 0, 2**53), name, "a count", value)
        except (ValueError, RecursionError) as error:
            raise GameFileError(
                f"{self.path}: what it has forgotten cannot be read: {error}"
            ) from error
        return Forgotten(**values), FRAME.size + length

    def forget(self, games: int) -> None:
        """Drop the oldest games until `games` are gone in all, and sync the file to disk.

        This copies the remaining games, so drop many at once. If the process is killed meanwhile,
        the file is unchanged.

        Raises:
            GameFileError: a record is damaged, or writing fails.
        """
        gone, _ = self._beginning()
        place, count, positions = gone.place, gone.games, gone.positions
        for offset, frame in self.frames(place):
            place = offset
            if count == games:
                break
            record = parse_frame(frame, f"{self.path}, byte {offset}")
            count, positions = count + 1, positions + record.num_samples
            place += len(frame)
        new = self.path.with_suffix(".azg.new")
        try:
            with new.open("wb") as file:
                file.write(Forgotten(place, count, positions).to_bytes())
                self.copy_from(place, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise GameFileError(
                f"{self.path}: could not forget old games: {error.strerror}"
            ) from error

    def copy_from(self, place: int, target: BinaryIO) -> None:
        """Copy all bytes from a place on to another file; the game there must not be dropped."""
        with self.path.open("rb") as file:
            file.seek(self._physical(place))
            shutil.copyfileobj(file, target)

    def copy_before(self, place: int, target: BinaryIO) -> None:
        """Copy all bytes before a place to another file, which then has the same places.

        Raises:
            GameFileError: the file ends before, or that place was dropped.
        """
        self.require_size(place)
        with self.path.open("rb") as file:
            left = self._physical(place)
            while piece := file.read(min(left, 1 << 20)):
                target.write(piece)
                left -= len(piece)

    def _physical(self, place: int) -> int:
        """The offset of a place on disk.

        Raises:
            GameFileError: its game was dropped.
        """
        gone, beginning = self._beginning()
        if place < gone.place:
            raise GameFileError(
                f"{self.path} has forgotten its first {gone.games:,} games, those at byte {place} "
                "among them (replay.games_on_disk)"
            )
        return place - gone.place + beginning

    def place_of(self, physical: int) -> int:
        """The place of an offset on disk."""
        gone, beginning = self._beginning()
        return physical - beginning + gone.place

    def append(self, records: Iterable[GameRecord]) -> None:
        """Append records and sync them to disk.

        Raises:
            GameFileError: writing fails, with the system's message; the file is unchanged.
        """
        before = self.size()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(b"".join(record.to_bytes() for record in records))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.truncate(self.path, self._physical(before))
            raise GameFileError(
                f"{self.path}: could not write game records: {error.strerror}"
            ) from error

    def size(self) -> int:
        """The place where the next record begins."""
        return self.place_of(self.path.stat().st_size) if self.path.exists() else 0

    def require_size(self, size: int) -> None:
        """Refuse a file that ends before the place `size`.

        Raises:
            GameFileError: records are missing.
        """
        if self.size() < size:
            raise GameFileError(
                f"{self.path} must hold at least {size} bytes of records, got {self.size()}: "
                "games that the checkpoint counts on are missing"
            )

    def truncate(self, size: int) -> None:
        """Truncate the file at the place `size`, where a record must end.

        Raises:
            GameFileError: the file is shorter than that: records are missing.
        """
        self.require_size(size)
        if self.size() > size:
            os.truncate(self.path, self._physical(size))

    def frames(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(place, frame) of each record from `start` to `end`, complete but not parsed.

        Args:
            start: 0: the first remaining record.
            end: None: the end of the file.

        Raises:
            GameFileError: there is no complete frame at a place.
        """
        end = self.size() if end is None else end
        if end == start == 0:
            return
        start = start or self.forgotten.place
        with self.path.open("rb") as file:
            file.seek(self._physical(start))
            offset = start
            while offset < end:
                head = file.read(FRAME.size)
                if len(head) < FRAME.size or head[:4] not in FRAME_MAGICS:
                    raise GameFileError(f"{self.path}, byte {offset}: no game record begins here")
                _, length, _ = FRAME.unpack(head)
                if offset + FRAME.size + length > end:
                    raise GameFileError(f"{self.path}, byte {offset}: the record is cut short")
                if length > _MOST_BYTES:
                    raise GameFileError(
                        f"{self.path}, byte {offset}: a record must be at most {_MOST_BYTES:,} "
                        f"bytes, got {length:,}"
                    )
                yield offset, head + file.read(length)
                offset += FRAME.size + length

    def read(self, start: int = 0, end: int | None = None) -> Iterator[GameRecord]:
        """Records from place `start` to `end`, with checksums verified.

        Raises:
            GameFileError: a record is truncated or altered; the message gives its place.
        """
        for offset, frame in self.frames(start, end):
            yield parse_frame(frame, f"{self.path}, byte {offset}")
