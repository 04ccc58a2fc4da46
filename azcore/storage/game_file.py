"""The append-only file of many game records, `records.azg`: a sequence of frames.

A long run drops its oldest games. The file then begins with a frame that records how many, and
places in the file count as if these games were still there, so a checkpoint's place stays valid.

A file that has grown large is closed: it is renamed after the place where it ends, such as
`records-0000000268435456.azg`, and a new `records.azg` continues there. It begins with the same
frame, which now counts the games of the closed files. So the latest part always has the name of the
whole, each part is a complete file, and whole files of old games can be dropped and skipped.
"""

import contextlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from azcore.atomic import replacing
from azcore.errors import GameFileError, os_errors_as
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
PART_BYTES = 1 << 28  # from which a file is closed: some 25,000 games of 80 plies


@dataclass(frozen=True)
class Forgotten:
    """The games before those in a file: dropped, or in files closed earlier."""

    place: int = 0  # where the first game of the file begins
    games: int = 0
    positions: int = 0  # to learn from, in these games

    def to_bytes(self) -> bytes:
        """One frame, the first of its file."""
        payload = json.dumps(vars(self), sort_keys=True).encode()
        return FRAME.pack(_FORGOTTEN_MAGIC, len(payload), zlib.crc32(payload)) + payload


@contextlib.contextmanager
def new_game_file(path: Path) -> Iterator[Callable[[GameRecord], None]]:
    """Yields a function that adds a record to a new file, which appears once all are written.

    After an error there is no file. An existing file is never replaced.

    Raises:
        GameFileError: the file exists already, or writing fails.
    """
    part = path.with_name(path.name + ".part")
    there = f"{path} already exists; choose another file, or remove it"
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
    """Rename a file, unless another one has taken the name meanwhile."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise
        part.replace(path)


@dataclass(frozen=True)
class _Part:
    """One of the files that hold the games."""

    path: Path
    before: Forgotten  # the games before those in it
    beginning: int  # bytes of the frame that records them
    end: int  # the place where it ends

    def physical(self, place: int) -> int:
        """The file offset of a place."""
        return place - self.before.place + self.beginning

    def open(self, place: int) -> BinaryIO:
        """Open the file to read from a place on."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError as error:
            raise GameFileError(f"{self.path} was dropped during reading") from error
        with contextlib.ExitStack() as undo:
            undo.callback(file.close)
            if _beginning(file, self.path) != (self.before, self.beginning):
                raise GameFileError(f"{self.path} was replaced during reading")
            file.seek(self.physical(place))
            undo.pop_all()
        return file


def _beginning(file: BinaryIO, path: Path) -> tuple[Forgotten, int]:
    """The games before those in a file, and the size in bytes of the frame that records them."""
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
        raise GameFileError(f"{path}: cannot read its frame of dropped games: {error}") from error
    return Forgotten(**values), FRAME.size + length


def _part(path: Path) -> _Part:
    """The content of a file; empty if it does not exist."""
    try:
        with path.open("rb") as file:
            before, beginning = _beginning(file, path)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return _Part(path, Forgotten(), 0, 0)
    return _Part(path, before, beginning, before.place + size - beginning)


def _sync(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class GameFile:
    """Appends records to a file and reads them back.

    A process killed while it appends leaves an incomplete record at the end; `truncate` removes it.
    All places are byte offsets from the beginning of the first game, dropped games included.

    Args:
        path: the latest part's path; the closed ones lie in the same folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._end: int | None = None  # where it ends, as left by `append` or `truncate` here

    def _closed(self, end: int) -> Path:
        """The name of the closed part that ends at a place."""
        return self.path.with_name(f"{self.path.stem}-{end:016d}{self.path.suffix}")

    def _parts(self) -> list[_Part]:
        """The files that hold the games, oldest first."""
        parts = [_part(self.path)]
        while place := parts[-1].before.place:
            part = _part(self._closed(place))
            # A foreign file that happens to have such a name ends elsewhere, or begins too late.
            if part.end != place or part.before.place >= place:
                break
            parts.append(part)
        return parts[::-1]

    @property
    def forgotten(self) -> Forgotten:
        """The dropped games.

        Raises:
            GameFileError: the frame that records them is truncated or altered.
        """
        return self._parts()[0].before

    def before_game(self, number: int) -> Forgotten:
        """The games before a place from which `frames` yields game `number` soon.

        Args:
            number: the number from 0, dropped games included. A dropped one stands for the first
                remaining game.

        Raises:
            GameFileError: the frame of dropped games of a part is truncated or altered.
        """
        parts = self._parts()
        return next((p for p in reversed(parts) if p.before.games <= number), parts[0]).before

    def forget(self, games: int) -> None:
        """Drop the oldest games until `games` are dropped in total, and sync to disk.

        This deletes closed parts and copies the remaining games of one part, so drop many at once.
        If the process is killed meanwhile, it has dropped fewer games.

        Raises:
            GameFileError: a record is damaged, or writing fails.
        """
        parts = self._parts()
        part = next((p for p in reversed(parts) if p.before.games <= games), parts[0])
        place, count, positions = part.before.place, part.before.games, part.before.positions
        for offset, frame in self.frames(place, part.end):
            place = offset
            if count >= games:
                break
            record = parse_frame(frame, f"{part.path}, byte {offset}")
            count, positions = count + 1, positions + record.num_samples
            place += len(frame)
        with os_errors_as(GameFileError, f"{self.path}: could not drop old games"):
            # Oldest first: at any moment the rest holds all games from some place on.
            for older in parts[: parts.index(part)]:
                older.path.unlink()
            if place == part.before.place:
                return
            with replacing(part.path, "wb") as file:
                file.write(Forgotten(place, count, positions).to_bytes())
                with part.open(place) as old:
                    shutil.copyfileobj(old, file)

    def copy_from(self, place: int, target: BinaryIO) -> None:
        """Copy all bytes from a place on to another file; the game there must not be dropped."""
        parts = self._parts()
        self._require_kept(place, parts)
        for part in parts:
            if part.end > place or part is parts[-1]:
                with part.open(max(place, part.before.place)) as file:
                    shutil.copyfileobj(file, target)

    def copy_before(self, place: int, target: BinaryIO) -> None:
        """Copy all bytes before a place to another file, which keeps all places.

        Raises:
            GameFileError: the file ends earlier, or that place was dropped.
        """
        self.require_size(place)
        parts = self._parts()
        self._require_kept(place, parts)
        target.write(parts[0].before.to_bytes() if parts[0].beginning else b"")
        for part in parts:
            left = min(place, part.end) - part.before.place
            if left > 0:
                with part.open(part.before.place) as file:
                    while piece := file.read(min(left, 1 << 20)):
                        target.write(piece)
                        left -= len(piece)

    def _require_kept(self, place: int, parts: list[_Part]) -> None:
        """Refuse a place whose game is in none of the parts."""
        gone = parts[0].before
        if place < gone.place:
            raise GameFileError(
                f"{self.path} has dropped its first {gone.games:,} games, including those at byte "
                f"{place} (replay.games_on_disk)"
            )

    def append(self, records: Iterable[GameRecord]) -> None:
        """Append records and sync them to disk; first close the file if it is large.

        Raises:
            GameFileError: writing fails, with the system's message; or the file was removed or
                changed since the last write. It then adds no game.
        """
        with os_errors_as(GameFileError, f"{self.path}: could not write game records"):
            self.size()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = _part(self.path)
            if part.end - part.before.place >= PART_BYTES:
                self._close(part)
            before = self.path.stat().st_size if self.path.exists() else 0
            try:
                with self.path.open("ab") as file:
                    file.write(b"".join(record.to_bytes() for record in records))
                    file.flush()
                    os.fsync(file.fileno())
                self._end = _part(self.path).end
            except OSError:
                with contextlib.suppress(OSError):
                    os.truncate(self.path, before)
                raise

    def _close(self, part: _Part) -> None:
        """Give the latest part the name of a closed one, and begin the next."""
        count, positions = part.before.games, part.before.positions
        for record in self.read(part.before.place, part.end):
            count, positions = count + 1, positions + record.num_samples
        closed = self._closed(part.end)
        with replacing(self.path, "wb") as file:
            file.write(Forgotten(part.end, count, positions).to_bytes())
            file.flush()
            os.fsync(file.fileno())  # a full disk shows here, before a name has changed
            # The old name stays until the next part takes it: the games always exist.
            closed.unlink(missing_ok=True)
            try:
                os.link(self.path, closed)
            except OSError:  # a file system without links
                shutil.copyfile(self.path, closed)
                _sync(closed)
        _sync(self.path.parent)

    def size(self) -> int:
        """The place where the next record begins.

        Raises:
            GameFileError: the file no longer ends where `append` or `truncate` left it.
        """
        end = _part(self.path).end
        if self._end not in (None, end):
            raise GameFileError(
                f"{self.path} must end at byte {self._end:,} of all records, where this process "
                f"left it, got {end:,}: it was removed or changed meanwhile, so azcore stops "
                "writing to it"
            )
        return end

    def require_size(self, size: int) -> None:
        """Refuse a file that ends before the place `size`.

        Raises:
            GameFileError: records are missing.
        """
        if self.size() < size:
            raise GameFileError(
                f"{self.path} must hold at least {size} bytes of records, got {self.size()}: "
                "games that the checkpoint needs are missing"
            )

    def truncate(self, size: int) -> None:
        """Truncate the file at the place `size`, where a record must end.

        Raises:
            GameFileError: the file is shorter than that: records are missing.
        """
        self.require_size(size)
        parts = self._parts()
        self._require_kept(size, parts)
        part = next(p for p in reversed(parts) if p.before.place <= size)
        if part.path != self.path:
            part.path.replace(self.path)
        if part.end > size:
            os.truncate(self.path, part.physical(size))
        self._end = size
        for path in self.path.parent.iterdir():  # parts closed later, perhaps halfway by a kill
            if (end := self._end_of(path)) is not None and end > size:
                path.unlink()

    def _end_of(self, path: Path) -> int | None:
        """Where a closed part ends according to its name; None for other files."""
        pattern = re.escape(self.path.stem) + "-([0-9]{16})" + re.escape(self.path.suffix)
        named = re.fullmatch(pattern, path.name)
        return int(named[1]) if named else None

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
        offset = start or self.forgotten.place
        while offset < end:
            parts = self._parts()  # repeated for each: parts may be closed during a slow read
            self._require_kept(offset, parts)
            part = next((part for part in parts if part.end > offset), parts[-1])
            until = end if part is parts[-1] else min(end, part.end)
            with part.open(offset) as file:
                while offset < until:
                    frame = self._frame(file, offset, until)
                    yield offset, frame
                    offset += len(frame)

    def _frame(self, file: BinaryIO, offset: int, end: int) -> bytes:
        """The frame at a place of an open file; it must not extend beyond `end`."""
        head = file.read(FRAME.size)
        if len(head) < FRAME.size or head[:4] not in FRAME_MAGICS:
            raise GameFileError(f"{self.path}, byte {offset}: there is no game record here")
        _, length, _ = FRAME.unpack(head)
        if offset + FRAME.size + length > end:
            raise GameFileError(f"{self.path}, byte {offset}: the record is truncated")
        if length > _MOST_BYTES:
            raise GameFileError(
                f"{self.path}, byte {offset}: a record must be at most {_MOST_BYTES:,} bytes, got "
                f"{length:,}"
            )
        return head + file.read(length)

    def read(self, start: int = 0, end: int | None = None) -> Iterator[GameRecord]:
        """Records from place `start` to `end`, with checksums verified.

        Raises:
            GameFileError: a record is truncated or altered; the message gives its place.
        """
        for offset, frame in self.frames(start, end):
            yield parse_frame(frame, f"{self.path}, byte {offset}")
