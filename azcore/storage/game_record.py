"""A finished game as a small record, and as one frame of a game file.

All games share one format: positions are not stored but rebuilt by replaying the actions.
Exports make transcripts such as SGF and PGN from records.

A frame is `magic, payload length, CRC-32 of the payload, payload`. The payload is a JSON header
line followed by the arrays, little-endian, in the order of `ARRAYS`. Reading executes nothing. It
refuses frames that are truncated or altered, and frames whose types, lengths or ranges no game can
have, since a valid checksum does not prove good intent. Only the game knows whether the actions are
legal; see `azcore.storage.referee`.

Letters: T length of the game in plies, K total legal actions with visits over all plies.
"""

import json
import math
import reprlib
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import GameFileError
from azcore.game import BoolArray, FloatArray, Game
from azcore.game.compilation import record_type

_MAGIC = b"AZG3"  # the digit is the version of the frame
_WITH_SURPRISES = b"AZG4"  # also has that array
_WITH_START = b"AZG5"  # has a start and that array, which may be empty
FRAME_MAGICS = (_MAGIC, _WITH_SURPRISES, _WITH_START)
FRAME = struct.Struct("<4sII")  # magic, payload length in bytes, CRC-32
ARRAYS: dict[str, np.dtype[Any]] = {  # name -> dtype on disk; lengths are in the header
    "actions": np.dtype("<u2"),
    "visit_offsets": np.dtype("<u4"),
    "visit_actions": np.dtype("<u2"),
    "visit_counts": np.dtype("<u4"),
    "root_values": np.dtype("<f4"),
    "best_child_values": np.dtype("<f4"),
    "players": np.dtype("u1"),
}
# The data of a ply and of an entry of its policy target in games in play and the window, by the
# names of a record's arrays.
PLY = record_type(
    [
        ("named_ends", np.uint32),  # `GameRecord.visit_offsets` without its leading 0
        ("root_values", np.float32),
        ("best_child_values", np.float32),
        ("actions", np.uint16),
        ("players", np.uint8),
    ]
)
NAMED = record_type([("visit_actions", np.uint16), ("visit_counts", np.uint32)])
SURPRISES = {"surprises": np.dtype("<f4")}
MOST_HEADER_BYTES = 1 << 16  # a header takes a few hundred
MOST_TEXT = 200  # characters of a name or setting of a game
MOST_NUMBERS = 100  # of a setting of a game
MOST_START = 4000  # characters of a start; a full board of 19x19 takes 400
COUNTS = ("visits", "policy")  # what `GameRecord.visit_counts` may count
HEADER = (  # plain values, besides the game's identity and the arrays' lengths
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
    """One finished game, with everything that a sample from it needs."""

    game: dict[str, Any]  # `Game.identity`: name, version, settings
    actions: npt.NDArray[np.uint16]  # [T]
    # [T + 1], ply t's visits are offsets[t] to offsets[t+1]; one without visits teaches nothing
    visit_offsets: npt.NDArray[np.uint32]
    visit_actions: npt.NDArray[np.uint16]  # [K], actions with a count
    visit_counts: npt.NDArray[np.uint32]  # [K], above 0; what they count is `counts`
    root_values: npt.NDArray[np.float32]  # [T], search value, view of the player to move
    best_child_values: npt.NDArray[np.float32]  # [T], Q of the most visited action, same view
    players: npt.NDArray[np.uint8]  # [T], seat to move
    outcome: int  # z, view of seat 0
    resigned_by: int | None  # seat that resigned; None: the game ended by its rules
    resign_threshold: float | None  # v in force when the game ended; None: no resignation
    played_out: bool  # no ply was open to resignation, so false positives can be measured on it
    opening_plies: int  # opening plies, which no search chose; not learned from
    seed: int  # of the run
    game_index: int  # index in the run: with the seed and weights it reproduces the game
    weights_version: int  # optimizer steps behind the weights that finished the game
    # "visits": N(s, a); "policy": shares of a policy, as Gumbel's pi' in parts of 65,535. None: an
    # old frame without this value, which may be either.
    counts: str | None
    # [T], KL(pi || P) of the searches learned from, else 0; empty: not recorded, as in most runs
    surprises: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    agreed: bool = False  # drawn by agreement: by the rules, the last position is not an end
    # The position before the first ply, for `Game.state_from_text`; None: the initial state.
    start: str | None = None

    def __len__(self) -> int:
        """T, length in plies."""
        return len(self.actions)

    @property
    def learned(self) -> BoolArray:
        """Which plies to learn from, bool [T]: those after the opening that have visits."""
        learned: BoolArray = np.diff(self.visit_offsets) != 0
        learned[: self.opening_plies] = False
        return learned

    @property
    def proven(self) -> BoolArray:
        """Which plies self-play took from a proof instead of a search, bool [T].

        Their values are the outcome, and at most their action has one visit. Values alone do not
        show this: a confident network's values round to 1, too, and may be wrong.
        """
        visits = np.append(0, self.visit_counts.cumsum(dtype=np.int64))
        is_sure = (self.root_values == self.outcomes) & (self.outcome != 0)
        proven: BoolArray = is_sure & (np.diff(visits[self.visit_offsets]) <= 1)
        return proven

    @property
    def num_samples(self) -> int:
        """Number of plies to learn from."""
        return int(np.count_nonzero(self.learned))

    @property
    def outcomes(self) -> npt.NDArray[np.int64]:
        """z of each ply, int64 [T]: the outcome in the view of the player to move."""
        return np.where(self.players == 0, self.outcome, -self.outcome)

    def policy_target(self, ply: int, num_actions: int) -> FloatArray:
        """pi of one ply: counts normalised, float32 [A]."""
        part = slice(self.visit_offsets[ply], self.visit_offsets[ply + 1])
        target = np.zeros(num_actions, np.float32)
        target[self.visit_actions[part]] = self.visit_counts[part]
        total = target.sum()
        return target / total if total > 0 else target

    def to_bytes(self) -> bytes:
        """The record as one frame."""
        magic = _WITH_SURPRISES if len(self.surprises) else _MAGIC
        if self.start is not None:
            magic = _WITH_START
        arrays = _arrays_of(magic)
        header = {
            "game": self.game,
            **{name: getattr(self, name) for name in HEADER},
            **({} if self.start is None else {"start": self.start}),
            "lengths": {name: len(getattr(self, name)) for name in arrays},
            **({"agreed": True} if self.agreed else {}),  # only in games by people
        }
        parts = [json.dumps(header, sort_keys=True, separators=(",", ":")).encode(), b"\n"]
        parts += [getattr(self, name).astype(dtype).tobytes() for name, dtype in arrays.items()]
        payload = b"".join(parts)
        return FRAME.pack(magic, len(payload), zlib.crc32(payload)) + payload


def _arrays_of(magic: bytes) -> dict[str, np.dtype[Any]]:
    """The arrays of a frame, in their order."""
    return ARRAYS | SURPRISES if magic in (_WITH_SURPRISES, _WITH_START) else ARRAYS


def length_of(frame: bytes) -> int:
    """The plies that a frame's header states, unchecked; 0 if it states none."""
    line = frame.find(b"\n", FRAME.size, FRAME.size + MOST_HEADER_BYTES)
    try:
        plies = json.loads(frame[FRAME.size : max(line, FRAME.size)])["lengths"]["actions"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return plies if is_whole(plies, 0) else 0


def parse_frame(frame: bytes, where: str) -> GameRecord:
    """The record of one frame.

    Args:
        frame: magic, length, checksum and payload.

    Raises:
        GameFileError: the frame is truncated, altered or not a record.
    """
    if len(frame) < FRAME.size:
        raise GameFileError(f"{where}: a record is truncated after {len(frame)} bytes")
    magic, length, checksum = FRAME.unpack_from(frame)
    payload = frame[FRAME.size :]
    if magic not in FRAME_MAGICS:
        raise GameFileError(f"{where}: a record must begin with {_MAGIC!r}, got {magic!r}")
    if len(payload) != length:
        raise GameFileError(f"{where}: a record of {length} bytes ends after {len(payload)}")
    if zlib.crc32(payload) != checksum:
        raise GameFileError(f"{where}: a record's bytes were altered (checksum mismatch)")
    try:
        return _record_of(payload, magic)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise GameFileError(f"{where}: not a game record of this azcore: {error}") from error


def _record_of(payload: bytes, magic: bytes) -> GameRecord:
    """The record of a payload; else ValueError, KeyError, TypeError or RecursionError."""
    line = payload.find(b"\n", 0, MOST_HEADER_BYTES)
    demand(line >= 0, "a header", f"a line of at most {MOST_HEADER_BYTES} bytes", "more")
    header = json.loads(payload[:line], parse_constant=_refuse_constant)
    demand(isinstance(header, dict), "a header", "an object", type(header).__name__)
    lengths = header["lengths"]
    demand(isinstance(lengths, dict), "lengths", "an object", type(lengths).__name__)
    arrays: dict[str, npt.NDArray[Any]] = {}
    offset = line + 1
    for name, dtype in _arrays_of(magic).items():
        length = lengths[name]
        # A negative length would mean all remaining bytes, a bool 0 or 1.
        fits = is_whole(length, 0, len(payload))
        demand(fits, f"the length of {name}", "a count", length)
        arrays[name] = np.frombuffer(payload, dtype, length, offset)
        offset += arrays[name].nbytes
    demand(offset == len(payload), "the arrays", f"{len(payload)} bytes", offset)
    values: dict[str, Any] = {**arrays, **{name: header[name] for name in HEADER}}
    require_identity(header["game"])
    if magic == _WITH_START:
        values["start"] = header["start"]
        require_start(values["start"])
    record = GameRecord(game=header["game"], agreed=header.get("agreed", False), **values)
    _check_arrays(record)
    _check_header(record)
    return record


def _check_arrays(record: GameRecord) -> None:
    """Check that lengths fit each other and that a game could have these values."""
    plies, named = len(record), len(record.visit_actions)
    demand(plies >= 1, "actions", "one or more", plies)
    for name, wanted in (
        ("visit_offsets", plies + 1),
        ("visit_counts", named),
        ("root_values", plies),
        ("best_child_values", plies),
        ("players", plies),
        ("surprises", plies if len(record.surprises) else 0),
    ):
        size = len(getattr(record, name))
        demand(size == wanted, f"the length of {name}", str(wanted), size)
    places = record.visit_offsets
    rise = places[0] == 0 and places[-1] == named and bool((places[:-1] <= places[1:]).all())
    demand(rise, "visit_offsets", f"rising from 0 to {named}", "others")
    demand(bool(record.visit_counts.all()), "visit_counts", "1 or more", 0)
    for name in ("root_values", "best_child_values", "surprises"):
        demand(bool(np.isfinite(getattr(record, name)).all()), name, "finite", "others")
    demand(bool((record.surprises >= 0).all()), "surprises", "0 or more", "others")
    demand(
        bool((record.players <= 1).all()), "players", "0 or 1", int(record.players.max(initial=0))
    )


def _check_header(record: GameRecord) -> None:
    """Check types and ranges of the plain values."""
    threshold, plies = record.resign_threshold, len(record)
    for name, fits, wanted in (
        ("outcome", is_whole(record.outcome, -1, 1), "-1, 0 or 1"),
        ("opening_plies", is_whole(record.opening_plies, 0, plies), f"0 to {plies}"),
        ("seed", is_whole(record.seed, 0), "0 to 2^63 - 1"),
        ("game_index", is_whole(record.game_index, 0), "0 to 2^63 - 1"),
        ("weights_version", is_whole(record.weights_version, 0), "0 to 2^63 - 1"),
        ("resigned_by", record.resigned_by is None or is_whole(record.resigned_by, 0, 1), "a seat"),
        ("resign_threshold", threshold is None or _is_number(threshold), "a number"),
        ("played_out", type(record.played_out) is bool, "true or false"),
        ("counts", record.counts is None or record.counts in COUNTS, " or ".join(COUNTS)),
    ):
        demand(fits, name, wanted, getattr(record, name))
    demand(type(record.agreed) is bool, "agreed", "true or false", record.agreed)
    if record.agreed:
        is_draw = record.outcome == 0 and record.resigned_by is None
        demand(is_draw, "a game that ended by agreement", "a draw", record.outcome)
    demand(
        record.resigned_by is None or record.outcome == (-1 if record.resigned_by == 0 else 1),
        "the outcome of a resignation",
        "a loss of the seat that resigned",
        record.outcome,
    )


def require_identity(identity: Any) -> None:
    """Refuse a value that cannot be a `Game.identity`, whose settings go to a game's constructor.

    Raises:
        ValueError: the message names what is wrong.
    """
    keys = {"name", "version", "settings"}
    demand(
        isinstance(identity, dict) and set(identity) == keys,
        "game",
        "a name, a version and settings",
        identity,
    )
    demand(_is_text(identity["name"]), "the game's name", "a short text", identity["name"])
    version, settings = identity["version"], identity["settings"]
    demand(is_whole(version, 1), "the game's version", "1 or more", version)
    demand(isinstance(settings, dict), "the game's settings", "values by name", settings)
    for name, value in settings.items():
        fits = _is_text(name) and name.isidentifier() and name != "name"
        demand(fits, "a setting of the game", "named by a word", name)
        fits = type(value) is bool or _is_text(value) or _is_number(value) or _are_numbers(value)
        wanted = "a short text, a number, true, false or a few numbers"
        demand(fits, f"the game's {name}", wanted, value)


def require_start(start: object) -> None:
    """Refuse a value that cannot be the text of a start; only the game can check the rest.

    Raises:
        ValueError: the message names what is wrong.
    """
    fits = type(start) is str and 0 < len(start) <= MOST_START and start.isprintable()
    demand(fits, "a start", f"a line of at most {MOST_START} characters", start)


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= MOST_TEXT


def _is_number(value: object) -> bool:
    return is_whole(value, -(2**63)) or (type(value) is float and math.isfinite(value))


def _are_numbers(value: object) -> bool:
    return type(value) is list and 0 < len(value) <= MOST_NUMBERS and all(map(_is_number, value))


def is_whole(value: object, low: int, high: int = 2**63 - 1) -> bool:
    return type(value) is int and low <= value <= high


def demand(condition: bool, what: str, wanted: str, got: object) -> None:
    if not condition:
        raise ValueError(f"{what} must be {wanted}, got {reprlib.repr(got)}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"numbers must be finite, got {name}")


def require_same_game(record: GameRecord, game: Game, where: str) -> None:
    """Refuse a record of another game, version or settings.

    Raises:
        GameFileError: the message names both games.
    """
    if record.game != game.identity:
        raise GameFileError(f"{where}: records must be of {game.identity}, got {record.game}")
