"""The append-only file that keeps many game records, `records.azg`: a run of frames.

A long run forgets its oldest games. The file then begins with a frame that says how many are gone,
and places in it are counted as if they were there: a checkpoint's place stays true.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
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

_FORGOTTEN_MAGIC = b"AZGF"  # of the frame that says what is gone, see `Forgotten`
_MOST_BYTES = 1 << 28  # of a frame; 512 plies with 80 actions named at each take 250 kB


@dataclass(frozen=True)
class Forgotten:
    """What a file no longer has of the games that were written to it."""

    place: int = 0  # where the first game that is there begins
    games: int = 0
    positions: int = 0  # to learn from

    def to_bytes(self) -> bytes:
        """As one frame, the first of its file."""
        payload = json.dumps(vars(self), sort_keys=True).encode()
        return FRAME.pack(_FORGOTTEN_MAGIC, len(payload), zlib.crc32(payload)) + payload


class GameFile:
    """Appends records to a file and reads them back.

    A process killed while it appends leaves a cut record at the end; `truncate` removes it. All
    places are bytes from where the first game was once written, those forgotten included.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def forgotten(self) -> Forgotten:
        """What is gone.

        Raises:
            GameFileError: the frame that says it is cut or altered.
        """
        return self._beginning()[0]

    def _beginning(self) -> tuple[Forgotten, int]:
        """What is gone, and how many bytes of the file say so."""
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
        """Drop the oldest games until as many are gone as that, and wait until the disk has it.

        The rest is copied, so this is for many games at once. Killed in between, the file is as it
        was.

        Raises:
            GameFileError: a record is not whole, or the disk refuses.
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
        """Write all bytes from a place on, which must not be forgotten, to another file."""
        with self.path.open("rb") as file:
            file.seek(self._physical(place))
            shutil.copyfileobj(file, target)

    def _physical(self, place: int) -> int:
        """Where a place lies on disk.

        Raises:
            GameFileError: its game is gone.
        """
        gone, beginning = self._beginning()
        if place < gone.place:
            raise GameFileError(
                f"{self.path} has forgotten its first {gone.games:,} games, those at byte {place} "
                "among them (replay.games_on_disk)"
            )
        return place - gone.place + beginning

    def place_of(self, physical: int) -> int:
        """The place of a byte on disk."""
        gone, beginning = self._beginning()
        return physical - beginning + gone.place

    def append(self, records: Iterable[GameRecord]) -> None:
        """Write records at the end and wait until the disk has them.

        Raises:
            GameFileError: the disk refuses, with what the system said; the file is as it was.
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
        """Refuse to go on where there are fewer bytes.

        Raises:
            GameFileError: records are missing.
        """
        if self.size() < size:
            raise GameFileError(
                f"{self.path} must hold at least {size} bytes of records, got {self.size()}: "
                "games that the checkpoint counts on are missing"
            )

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, which must be where a record ends.

        Raises:
            GameFileError: the file is shorter than that: records are missing.
        """
        self.require_size(size)
        if self.size() > size:
            os.truncate(self.path, self._physical(size))

    def frames(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(place, frame) of each record from `start` to `end`, unparsed but whole.

        Args:
            start: 0: the first that is there.
            end: None: where the file ends.

        Raises:
            GameFileError: what lies there is not a whole frame.
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
        """Records from place `start` to `end`, checksums verified.

        Raises:
            GameFileError: a record is cut or altered, named by its place.
        """
        for offset, frame in self.frames(start, end):
            yield parse_frame(frame, f"{self.path}, byte {offset}")
