"""A finished game as a small record, and the append-only file that keeps many of them.

One format for all games: positions are not stored but rebuilt by replaying the actions. SGF, PGN
and the like are exports of a record.

A file is a run of frames, each `magic, payload length, CRC-32 of the payload, payload`. The payload
is a JSON header line followed by the arrays, little-endian, in the order of `_ARRAYS`. Reading
executes nothing. A frame that is cut or altered is refused by its place in the file.

Letters: T length of the game in plies, K total legal actions with visits over all plies.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import RecordError
from azcore.game import FloatArray, Game

_MAGIC = b"AZG2"
_OLD_MAGIC = b"AZG1"  # before resignation; still read, see `_as_new`
_FRAME = struct.Struct("<4sII")  # magic, payload length in bytes, CRC-32
_ARRAYS: dict[str, np.dtype[Any]] = {  # name -> dtype on disk; lengths are in the header
    "actions": np.dtype("<u2"),
    "visit_offsets": np.dtype("<u4"),
    "visit_actions": np.dtype("<u2"),
    "visit_counts": np.dtype("<u4"),
    "root_values": np.dtype("<f4"),
    "best_child_values": np.dtype("<f4"),
    "players": np.dtype("u1"),
}
HEADER = (  # plain values, beside the game's identity and the arrays' lengths
    "outcome",
    "opening_plies",
    "seed",
    "game_index",
    "weights_version",
    "resigned_by",
    "resign_threshold",
    "played_out",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class GameRecord:
    """One finished game, everything a sample of it needs."""

    game: dict[str, Any]  # `Game.identity`: name, version, settings
    actions: npt.NDArray[np.uint16]  # [T]
    visit_offsets: npt.NDArray[np.uint32]  # [T + 1], ply t's visits are offsets[t] to offsets[t+1]
    visit_actions: npt.NDArray[np.uint16]  # [K], actions with a count
    visit_counts: npt.NDArray[np.uint32]  # [K], N(s, a); of Gumbel pi' in parts of 65,535
    root_values: npt.NDArray[np.float32]  # [T], search value, view of the player to move
    best_child_values: npt.NDArray[np.float32]  # [T], Q of the most visited action, same view
    players: npt.NDArray[np.uint8]  # [T], seat to move
    outcome: int  # z as seat 0 sees it
    resigned_by: int | None  # seat that gave up; None: the game was over by its rules
    resign_threshold: float | None  # v in force when the game ended; None: nobody could resign
    played_out: bool  # never open to resignation at any ply: fit to measure false positives by
    opening_plies: int  # first plies that were drawn at random, without search; not learned from
    seed: int  # of the run
    game_index: int  # which game of the run: with the seed and weights it repeats the game
    weights_version: int  # optimizer steps behind the weights that finished the game

    def __len__(self) -> int:
        """T, length in plies."""
        return len(self.actions)

    @property
    def num_samples(self) -> int:
        """Plies that were searched, which are those to learn from."""
        return len(self.actions) - self.opening_plies

    def policy_target(self, ply: int, num_actions: int) -> FloatArray:
        """pi of one ply: counts normalised, float32 [A]."""
        part = slice(self.visit_offsets[ply], self.visit_offsets[ply + 1])
        target = np.zeros(num_actions, np.float32)
        target[self.visit_actions[part]] = self.visit_counts[part]
        total = target.sum()
        return target / total if total > 0 else target

    def to_bytes(self) -> bytes:
        """The record as one frame."""
        header = {
            "game": self.game,
            **{name: getattr(self, name) for name in HEADER},
            "lengths": {name: len(getattr(self, name)) for name in _ARRAYS},
        }
        parts = [json.dumps(header, sort_keys=True, separators=(",", ":")).encode(), b"\n"]
        parts += [getattr(self, name).astype(dtype).tobytes() for name, dtype in _ARRAYS.items()]
        payload = b"".join(parts)
        return _FRAME.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload


def parse_frame(frame: bytes, where: str) -> GameRecord:
    """The record of one frame.

    Args:
        frame: magic, length, checksum and payload.
        where: said in errors.

    Raises:
        RecordError: cut, altered, or not a record.
    """
    if len(frame) < _FRAME.size:
        raise RecordError(f"{where}: a record is cut after {len(frame)} bytes")
    magic, length, checksum = _FRAME.unpack_from(frame)
    payload = frame[_FRAME.size :]
    if magic not in (_MAGIC, _OLD_MAGIC):
        raise RecordError(f"{where}: a record must begin with {_MAGIC!r}, got {magic!r}")
    if len(payload) != length:
        raise RecordError(f"{where}: a record of {length} bytes is cut after {len(payload)}")
    if zlib.crc32(payload) != checksum:
        raise RecordError(f"{where}: a record's bytes were altered, its checksum does not match")
    try:
        line = payload.index(b"\n")
        header = json.loads(payload[:line])
        if magic == _OLD_MAGIC:
            header = _as_new(header)
        arrays: dict[str, npt.NDArray[Any]] = {}
        offset = line + 1
        for name, dtype in _ARRAYS.items():
            arrays[name] = np.frombuffer(payload, dtype, header["lengths"][name], offset)
            offset += arrays[name].nbytes
        values: dict[str, Any] = {**arrays, **{name: header[name] for name in HEADER}}
        record = GameRecord(game=header["game"], **values)
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{where}: not a game record of this azcore: {error}") from error
    return record


def _as_new(header: dict[str, Any]) -> dict[str, Any]:
    """The header of a frame from before resignation, which says too little to measure it by."""
    return {
        **header,
        "resigned_by": None,
        "resign_threshold": None,
        "played_out": False,
        "lengths": {**header["lengths"], "best_child_values": 0, "players": 0},
    }


class RecordFile:
    """Appends records to a file and reads them back.

    A process killed while it appends leaves a cut record at the end; `truncate` removes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, records: Iterable[GameRecord]) -> None:
        """Write records at the end and wait until the disk has them.

        Raises:
            RecordError: the disk refuses, with what the system said; the file is as it was.
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
                os.truncate(self.path, before)
            raise RecordError(
                f"{self.path}: could not write game records: {error.strerror}"
            ) from error

    def size(self) -> int:
        """Bytes in the file; the place where the next record begins."""
        return self.path.stat().st_size if self.path.exists() else 0

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, which must be where a record ends.

        Raises:
            RecordError: the file is shorter than that: records are missing.
        """
        if self.size() < size:
            raise RecordError(
                f"{self.path} must hold at least {size} bytes of records, got {self.size()}: "
                "games that the checkpoint counts on are missing"
            )
        if self.size() > size:
            os.truncate(self.path, size)

    def frames(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(offset, frame) of each record from byte `start` to `end`, unparsed but whole.

        Raises:
            RecordError: what lies there is not a whole frame.
        """
        end = self.size() if end is None else end
        if end == start == 0:
            return
        with self.path.open("rb") as file:
            file.seek(start)
            offset = start
            while offset < end:
                head = file.read(_FRAME.size)
                if len(head) < _FRAME.size or head[:4] not in (_MAGIC, _OLD_MAGIC):
                    raise RecordError(f"{self.path}, byte {offset}: no game record begins here")
                _, length, _ = _FRAME.unpack(head)
                if offset + _FRAME.size + length > end:
                    raise RecordError(f"{self.path}, byte {offset}: the record is cut short")
                yield offset, head + file.read(length)
                offset += _FRAME.size + length

    def read(self, start: int = 0, end: int | None = None) -> Iterator[GameRecord]:
        """Records from byte `start` to `end`, checksums verified.

        Raises:
            RecordError: a record is cut or altered, named by its place.
        """
        for offset, frame in self.frames(start, end):
            yield parse_frame(frame, f"{self.path}, byte {offset}")


def require_same_game(record: GameRecord, game: Game, where: str) -> None:
    """Refuse a record of another game, version or settings.

    Raises:
        RecordError: naming both.
    """
    if record.game != game.identity:
        raise RecordError(f"{where}: records must be of {game.identity}, got {record.game}")
