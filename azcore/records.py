"""A finished game as a small record, and the append-only file that keeps many of them.

One format for all games: positions are not stored but rebuilt by replaying the actions. SGF, PGN
and the like are exports of a record.

A file is a run of frames, each `magic, payload length, CRC-32 of the payload, payload`. The payload
is a JSON header line followed by the arrays, little-endian, in the order of `_ARRAYS`. Reading
executes nothing. A frame that is cut or altered is refused by its place in the file, and one whose
types, lengths or ranges no game can have: a right checksum tells of no good will. Whether the
actions are legal is known to the game alone; see `azcore.referee`.

A long run forgets its oldest games. The file then begins with a frame that says how many are gone,
and places in it are counted as if they were there: a checkpoint's place stays true.

Letters: T length of the game in plies, K total legal actions with visits over all plies.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import reprlib
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from azcore.errors import RecordError
from azcore.game import FloatArray, Game

MAGIC = b"AZG"  # and a digit, the version of the frame
_MAGIC = b"AZG3"
_OLD_MAGICS = (b"AZG1", b"AZG2")  # still read, see `_as_new`
_FORGOTTEN_MAGIC = b"AZGF"  # of the frame that says what is gone, see `Forgotten`
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
_MOST_BYTES = 1 << 28  # of a frame; 512 plies with 80 actions named at each take 250 kB
_MOST_HEADER_BYTES = 1 << 16  # of which a few hundred are in use
MOST_TEXT = 200  # characters of a name or setting of a game
COUNTS = ("visits", "policy")  # what `GameRecord.visit_counts` may be
HEADER = (  # plain values, beside the game's identity and the arrays' lengths
    "outcome",
    "opening_plies",
    "seed",
    "game_index",
    "weights_version",
    "resigned_by",
    "resign_threshold",
    "played_out",
    "counts",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class GameRecord:
    """One finished game, everything a sample of it needs."""

    game: dict[str, Any]  # `Game.identity`: name, version, settings
    actions: npt.NDArray[np.uint16]  # [T]
    visit_offsets: npt.NDArray[np.uint32]  # [T + 1], ply t's visits are offsets[t] to offsets[t+1]
    visit_actions: npt.NDArray[np.uint16]  # [K], actions with a count
    visit_counts: npt.NDArray[np.uint32]  # [K], above 0; what they count is `counts`
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
    # "visits": N(s, a); "policy": shares of a policy, as Gumbel's pi' in parts of 65,535. None: a
    # frame from before this was kept, which may be either.
    counts: str | None

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
    if magic not in (_MAGIC, *_OLD_MAGICS):
        raise RecordError(f"{where}: a record must begin with {_MAGIC!r}, got {magic!r}")
    if len(payload) != length:
        raise RecordError(f"{where}: a record of {length} bytes is cut after {len(payload)}")
    if zlib.crc32(payload) != checksum:
        raise RecordError(f"{where}: a record's bytes were altered, its checksum does not match")
    try:
        return _record_of(payload, magic)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(f"{where}: not a game record of this azcore: {error}") from error


def _record_of(payload: bytes, magic: bytes) -> GameRecord:
    """The record of a frame's payload.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: it is none.
    """
    line = payload.find(b"\n", 0, _MOST_HEADER_BYTES)
    _demand(line >= 0, "a header", f"a line of at most {_MOST_HEADER_BYTES} bytes", "more")
    header = json.loads(payload[:line], parse_constant=_refuse_constant)
    _demand(isinstance(header, dict), "a header", "an object", type(header).__name__)
    if magic != _MAGIC:
        header = _as_new(header, magic)
    lengths = header["lengths"]
    _demand(isinstance(lengths, dict), "lengths", "an object", type(lengths).__name__)
    arrays: dict[str, npt.NDArray[Any]] = {}
    offset = line + 1
    for name, dtype in _ARRAYS.items():
        length = lengths[name]
        # A negative length would be read as "all that is left", a bool as 0 or 1.
        fits = _is_whole(length, 0, len(payload))
        _demand(fits, f"the length of {name}", "a count", length)
        arrays[name] = np.frombuffer(payload, dtype, length, offset)
        offset += arrays[name].nbytes
    _demand(offset == len(payload), "the arrays", f"{len(payload)} bytes", offset)
    values: dict[str, Any] = {**arrays, **{name: header[name] for name in HEADER}}
    require_identity(header["game"])
    record = GameRecord(game=header["game"], **values)
    _check_arrays(record)
    _check_header(record)
    return record


def _check_arrays(record: GameRecord) -> None:
    """Lengths that fit each other, and values that any game could have.

    Raises:
        ValueError: naming the array.
    """
    plies, named = len(record), len(record.visit_actions)
    _demand(plies >= 1, "actions", "one or more", plies)
    # Frames from before resignation lack two arrays; by such games nothing is measured.
    is_old = len(record.players) == 0 and record.played_out is False
    for name, wanted in (
        ("visit_offsets", plies + 1),
        ("visit_counts", named),
        ("root_values", plies),
        ("best_child_values", 0 if is_old else plies),
        ("players", 0 if is_old else plies),
    ):
        size = len(getattr(record, name))
        _demand(size == wanted, f"the length of {name}", str(wanted), size)
    places = record.visit_offsets
    rise = places[0] == 0 and places[-1] == named and bool((places[:-1] <= places[1:]).all())
    _demand(rise, "visit_offsets", f"rising from 0 to {named}", "others")
    _demand(bool(record.visit_counts.all()), "visit_counts", "1 or more", 0)
    for name in ("root_values", "best_child_values"):
        _demand(bool(np.isfinite(getattr(record, name)).all()), name, "finite", "others")
    _demand(
        bool((record.players <= 1).all()), "players", "0 or 1", int(record.players.max(initial=0))
    )


def _check_header(record: GameRecord) -> None:
    """Types and ranges of the plain values.

    Raises:
        ValueError: naming the value.
    """
    threshold, plies = record.resign_threshold, len(record)
    for name, fits, wanted in (
        ("outcome", _is_whole(record.outcome, -1, 1), "-1, 0 or 1"),
        ("opening_plies", _is_whole(record.opening_plies, 0, plies), f"0 to {plies}"),
        ("seed", _is_whole(record.seed, 0), "0 to 2^63 - 1"),
        ("game_index", _is_whole(record.game_index, 0), "0 to 2^63 - 1"),
        ("weights_version", _is_whole(record.weights_version, 0), "0 to 2^63 - 1"),
        (
            "resigned_by",
            record.resigned_by is None or _is_whole(record.resigned_by, 0, 1),
            "a seat",
        ),
        (
            "resign_threshold",
            threshold is None or _is_number(threshold),
            "a number",
        ),
        ("played_out", type(record.played_out) is bool, "true or false"),
        ("counts", record.counts is None or record.counts in COUNTS, " or ".join(COUNTS)),
    ):
        _demand(fits, name, wanted, getattr(record, name))
    _demand(
        record.resigned_by is None or record.outcome == (-1 if record.resigned_by == 0 else 1),
        "the outcome of a resignation",
        "lost by who resigned",
        record.outcome,
    )


def require_identity(identity: Any) -> None:
    """Refuse what cannot be a `Game.identity`: its settings go to a game's constructor.

    Raises:
        ValueError: naming what is wrong.
    """
    keys = {"name", "version", "settings"}
    _demand(
        isinstance(identity, dict) and set(identity) == keys,
        "game",
        "a name, a version and settings",
        identity,
    )
    _demand(_is_text(identity["name"]), "the game's name", "a short text", identity["name"])
    version, settings = identity["version"], identity["settings"]
    _demand(_is_whole(version, 1), "the game's version", "1 or more", version)
    _demand(isinstance(settings, dict), "the game's settings", "values by name", settings)
    for name, value in settings.items():
        fits = _is_text(name) and name.isidentifier() and name != "name"
        _demand(fits, "a setting of the game", "named by a word", name)
        fits = type(value) is bool or _is_text(value) or _is_number(value)
        _demand(fits, f"the game's {name}", "a short text, a number, true or false", value)


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= MOST_TEXT


def _is_number(value: object) -> bool:
    return _is_whole(value, -(2**63)) or (type(value) is float and math.isfinite(value))


def _is_whole(value: object, low: int, high: int = 2**63 - 1) -> bool:
    return type(value) is int and low <= value <= high


def _demand(condition: bool, what: str, wanted: str, got: object) -> None:
    if not condition:
        raise ValueError(f"{what} must be {wanted}, got {reprlib.repr(got)}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"numbers must be finite, got {name}")


def _as_new(header: dict[str, Any], magic: bytes) -> dict[str, Any]:
    """The header of an older frame, which cannot tell whether its counts are visits.

    One from before resignation says too little to measure it by as well.
    """
    if magic == b"AZG2":
        return {**header, "counts": None}
    return {
        **header,
        "resigned_by": None,
        "resign_threshold": None,
        "played_out": False,
        "counts": None,
        "lengths": {**header["lengths"], "best_child_values": 0, "players": 0},
    }


@dataclass(frozen=True)
class Forgotten:
    """What a file no longer has of the games that were written to it."""

    place: int = 0  # where the first game that is there begins
    games: int = 0
    positions: int = 0  # to learn from

    def to_bytes(self) -> bytes:
        """As one frame, the first of its file."""
        payload = json.dumps(vars(self), sort_keys=True).encode()
        return _FRAME.pack(_FORGOTTEN_MAGIC, len(payload), zlib.crc32(payload)) + payload


class RecordFile:
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
            RecordError: the frame that says it is cut or altered.
        """
        return self._beginning()[0]

    def _beginning(self) -> tuple[Forgotten, int]:
        """What is gone, and how many bytes of the file say so."""
        if not self.path.exists():
            return Forgotten(), 0
        with self.path.open("rb") as file:
            head = file.read(_FRAME.size)
            if head[:4] != _FORGOTTEN_MAGIC or len(head) < _FRAME.size:
                return Forgotten(), 0
            _, length, checksum = _FRAME.unpack(head)
            payload = file.read(min(length, _MOST_HEADER_BYTES))
        try:
            _demand(len(payload) == length, "its bytes", str(length), len(payload))
            _demand(zlib.crc32(payload) == checksum, "its checksum", str(checksum), "another")
            values = json.loads(payload)
            names = set(vars(Forgotten()))
            _demand(isinstance(values, dict) and set(values) == names, "it", str(names), values)
            for name, value in values.items():
                _demand(_is_whole(value, 0, 2**53), name, "a count", value)
        except (ValueError, RecursionError) as error:
            raise RecordError(
                f"{self.path}: what it has forgotten cannot be read: {error}"
            ) from error
        return Forgotten(**values), _FRAME.size + length

    def forget(self, games: int) -> None:
        """Drop the oldest games until as many are gone as that, and wait until the disk has it.

        The rest is copied, so this is for many games at once. Killed in between, the file is as it
        was.

        Raises:
            RecordError: a record is not whole, or the disk refuses.
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
            raise RecordError(
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
            RecordError: its game is gone.
        """
        gone, beginning = self._beginning()
        if place < gone.place:
            raise RecordError(
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
                os.truncate(self.path, self._physical(before))
            raise RecordError(
                f"{self.path}: could not write game records: {error.strerror}"
            ) from error

    def size(self) -> int:
        """The place where the next record begins."""
        return self.place_of(self.path.stat().st_size) if self.path.exists() else 0

    def require_size(self, size: int) -> None:
        """Refuse to go on where there are fewer bytes.

        Raises:
            RecordError: records are missing.
        """
        if self.size() < size:
            raise RecordError(
                f"{self.path} must hold at least {size} bytes of records, got {self.size()}: "
                "games that the checkpoint counts on are missing"
            )

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, which must be where a record ends.

        Raises:
            RecordError: the file is shorter than that: records are missing.
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
            RecordError: what lies there is not a whole frame.
        """
        end = self.size() if end is None else end
        if end == start == 0:
            return
        start = start or self.forgotten.place
        with self.path.open("rb") as file:
            file.seek(self._physical(start))
            offset = start
            while offset < end:
                head = file.read(_FRAME.size)
                if len(head) < _FRAME.size or head[:4] not in (_MAGIC, *_OLD_MAGICS):
                    raise RecordError(f"{self.path}, byte {offset}: no game record begins here")
                _, length, _ = _FRAME.unpack(head)
                if offset + _FRAME.size + length > end:
                    raise RecordError(f"{self.path}, byte {offset}: the record is cut short")
                if length > _MOST_BYTES:
                    raise RecordError(
                        f"{self.path}, byte {offset}: a record must be at most {_MOST_BYTES:,} "
                        f"bytes, got {length:,}"
                    )
                yield offset, head + file.read(length)
                offset += _FRAME.size + length

    def read(self, start: int = 0, end: int | None = None) -> Iterator[GameRecord]:
        """Records from place `start` to `end`, checksums verified.

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
