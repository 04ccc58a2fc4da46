"""The replay buffer: a window over the latest games, from which the learner samples positions.

Positions are not stored. Compiled code rebuilds one by replaying its game, in 4 to 25 µs. The data
for samples lies in a few flat arrays, so a batch takes a handful of calls that do not hold the GIL.
Other threads can therefore prepare the next batches while the learner takes a step. `window_games`
limits the memory. The arrays may lie on disk (`azcore.storage.scratch`): the same code reads them,
and the system keeps as many of their pages in memory as fit.

Letters: N positions of a batch, A actions, C H W planes, T plies of a game, K actions in its policy
targets.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.game import BoolArray, ByteArray, FloatArray, Game, IntArray
from azcore.game.batch import make_batch
from azcore.game.compilation import compiled
from azcore.game.positions import Paths, Positions, make_positions
from azcore.game.symmetries import SymmetryTables
from azcore.settings import (
    ABOVE_0_AT_MOST_1,
    ONE_OR_MORE,
    POSITIVE,
    SHARE,
    Checked,
    Test,
    or_null,
    require,
    require_each,
)
from azcore.storage.ends import NO_END, UNKNOWN, Ends
from azcore.storage.game_record import COUNTS, NAMED, PLY, GameRecord
from azcore.storage.scratch import ScratchFile
from azcore.storage.start_states import WindowStarts
from azcore.storage.targets import HORIZONS, OF_THE_END, stated

_GAMES_AT_ONCE = 256  # per step of `extend`: filling a large window takes little extra memory
_SLACK = 1 / 8  # spare room when arrays grow
_ENTRIES_AT_ONCE = 1 << 20  # to copy when a ring gets another array
_GAME = np.dtype(
    [
        # Numbers of earlier entries since the buffer was made: see `_Ring`.
        ("first_sample", np.int64),
        ("first_ply", np.int64),
        ("first_named", np.int64),
        ("opening_plies", np.int32),
        ("outcome", np.int32),  # view of seat 0
        ("start", np.int64),  # see `WindowStarts`
    ]
)
_HEADER = np.dtype(  # other fields of a `GameRecord`
    [
        ("seed", np.int64),
        ("game_index", np.int64),
        ("weights_version", np.int64),
        ("resign_threshold", np.float64),  # NaN: none
        ("resigned_by", np.int8),  # -1: nobody
        ("counts", np.int8),  # an index of `_COUNTS`
        ("played_out", np.bool_),
    ]
)
_COUNTS = (None, *COUNTS)
_NARROW = np.dtype(  # `NAMED` in half the space, until a count needs more
    [("visit_actions", np.uint16), ("visit_counts", np.uint16)]
)


SAMPLES: Test = (
    lambda samples: samples >= 0.001,
    "0.001 or more, or self-play makes games that the network hardly learns from",
)


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(Checked, group="replay"):
    """How many games to store and how to use them; numbers and sources are in `conf/replay`."""

    window_games: Annotated[int, ONE_OR_MORE]
    # None: the window is `window_games` from the first game on
    window_start: Annotated[int | None, or_null(ONE_OR_MORE)]
    window_power: Annotated[float, ABOVE_0_AT_MOST_1]
    window_slope: Annotated[float, ABOVE_0_AT_MOST_1]
    samples_per_position: Annotated[float | None, SAMPLES]
    games_per_generation: Annotated[int | None, ONE_OR_MORE]  # instead of samples_per_position
    least_samples_per_position: float | None  # where values explain nothing; None: always the same
    games_on_disk: int | None  # None: all
    window_on_disk: bool
    root_value_share: Annotated[float, SHARE]
    value_samples_per_game: Annotated[float | None, or_null(POSITIVE)]  # None: all of a game
    surprise_share: Annotated[float, SHARE]
    augment: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        related: dict[str, Test] = {
            "least_samples_per_position": (
                lambda samples: 0.001 <= samples <= (self.samples_per_position or 0),
                "null with replay.games_per_generation"
                if self.samples_per_position is None
                else f"0.001 to replay.samples_per_position, {self.samples_per_position}, or null",
            ),
            "games_on_disk": (
                lambda games: games >= self.window_games,
                f"replay.window_games, {self.window_games}, or more; null for all",
            ),
        }
        require_each(self, "replay", related)
        require(
            (self.samples_per_position is None) is not (self.games_per_generation is None),
            "replay.samples_per_position",
            "null where replay.games_per_generation is a number, or the other way round",
            f"{self.samples_per_position} and {self.games_per_generation}",
        )
        require(
            self.value_samples_per_game is None
            or (self.samples_per_position is not None and self.least_samples_per_position is None),
            "replay.value_samples_per_game",
            "null with replay.games_per_generation or replay.least_samples_per_position, where a "
            "game has no fixed number of samples",
            self.value_samples_per_game,
        )

    @property
    def fewest_samples(self) -> float | None:
        """The least number of samples of a position that a generation may have."""
        return self.least_samples_per_position or self.samples_per_position

    @property
    def value_positions(self) -> float | None:
        """The samples of a game that teach the value if each is drawn once; None: all."""
        if self.value_samples_per_game is None or self.samples_per_position is None:
            return None
        return self.value_samples_per_game / self.samples_per_position

    def window_at(self, total_games: int) -> int:
        """The window of a run that has made `total_games`, in games (Wu 2019).

        Of N games beyond c = `window_start`: c (1 + beta ((N / c)^alpha - 1) / alpha), alpha being
        `window_power` and beta `window_slope`; before that, all. It never grows faster than N.
        """
        start, power, slope = self.window_start, self.window_power, self.window_slope
        if start is None or total_games <= start:
            return self.window_games
        grown: float = start * (1 + slope * ((total_games / start) ** power - 1) / power)
        return min(self.window_games, math.floor(grown))


@dataclass(frozen=True)
class Samples:
    """N training rows, every value in the view of the player to move."""

    observations: ByteArray  # [N, C, H, W]
    legal_action_mask: BoolArray  # [N, A], True = legal
    policy_targets: FloatArray  # [N, A], pi: the policy that the network should learn
    value_targets: FloatArray  # [N], z: the game's outcome for the player to move, or a mixture
    auxiliary: Mapping[str, FloatArray]  # by name, see `ReplayBuffer`; and any `value_weights` [N]


@dataclass(frozen=True)
class Drawn:
    """The window's data on N drawn positions, every value in the view of the player to move.

    Not yet mapped by a symmetry.
    """

    observations: ByteArray  # [N, C, H, W]
    legal_action_mask: BoolArray  # [N, A], True = legal
    policy_targets: FloatArray  # [N, A], the policy of the search
    value_targets: FloatArray  # [N], the outcome, optionally mixed with `root_values`
    outcomes: FloatArray  # [N], -1, 0 or 1
    root_values: FloatArray  # [N], of the search; 0 without a search
    later_values: FloatArray  # [N, 3], `root_values` of the plies to come, see `HORIZONS`
    plies: IntArray  # int32 [N], before the position
    plies_left: FloatArray  # [N], to the end of the game
    weights_version: IntArray  # int64 [N], optimizer steps behind the weights that played


# Arrays by name: new `policy_targets` and `value_targets`, and others for a custom learner.
Targets = Callable[[Drawn], Mapping[str, npt.ArrayLike]]
Augmentation = Callable[[Samples, np.random.Generator], Samples]


class _Ring:
    """A ring buffer of the latest entries, numbered from the first ever: entry i is at i % room.

    Args:
        dtype: of an entry.
        folder: on whose disk it lies; None: in memory.

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
            self._move(int((end - self.first) * (1 + _SLACK)), self.room.dtype)
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


class _Scratch:
    """Scratch memory in which one thread rebuilds positions.

    Reusing it saves 9 to 16 % of the time of a batch in games with many actions, and making an
    initial state may take milliseconds.
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self.roots = make_batch(game, 1)  # where paths begin; the first is the initial state
        self._positions = make_positions(game, 0)
        self._paths = np.empty((0, game.max_game_length), np.int32)

    def clear(self, size: int) -> tuple[Positions, IntArray]:
        """Arrays for `size` positions and the paths to them, int32 [N, most plies of a game]."""
        if len(self._paths) != size:
            self._positions = make_positions(self._game, size)
            self._paths = np.empty((size, self._game.max_game_length), np.int32)
        # New each time, since the samples keep it.
        planes = np.empty((size, *self._game.observation_shape), np.uint8)
        self._positions = self._positions._replace(observations=planes)
        return self._positions, self._paths

    def set_starts(self, states: list[Any]) -> None:
        """Make these the roots 1, 2, ..."""
        if len(states) >= self.roots.size:
            self.roots = make_batch(self._game, 2 * len(states))
        for row, state in enumerate(states, 1):
            self.roots.set(row, state)


class ReplayBuffer:
    """The latest `window_games` games. Several threads may sample at once while none extends it.

    Args:
        game: the game of the records.
        window_games: how many games to hold (AlphaGo Zero: 500,000; AlphaZero: 1,000,000).
        augment: whether to map each sample by a random symmetry of the game.
        value_positions: how many positions of each game teach the value on average, drawn again
            for each batch: `value_weights` are 1 there, else 0; None: all, without weights.
        root_value_share: r, of the search's value in the value target: (1 - r) z + r v.
        surprise_share: share of a game's samples drawn in proportion to the surprises in its
            record; the rest is drawn uniformly from its positions. The average number of samples
            of a game does not change; without any surprise, all are uniform.
        folder: of the disk on which to store the games; None: in memory.
        targets: the auxiliary targets that samples need, see `azcore.storage.targets`. Their
            arrays, all in the view of the player to move:
            ownership float32 [N, H, W], NaN: unknown; score float32 [N], as a share of the game's
            `score_maximum`, NaN: unknown; material float32 [N] as `Game.material`; reply float32
            [N, A], zeros: unknown; later_values float32 [N, 3], one for each of `HORIZONS`;
            plies_left float32 [N].
        own_targets: returns targets that replace or extend these, as a pure function of what was
            drawn, since a resumed run draws it again. Symmetries map `policy_targets`, but no
            array with a new name.
        augmentation: returns samples in place of those that symmetries have mapped; the generator
            that it gets is its only source of randomness.
    """

    def __init__(
        self,
        *,
        game: Game,
        window_games: int,
        augment: bool,
        root_value_share: float = 0.0,
        value_positions: float | None = None,
        surprise_share: float = 0.0,
        targets: Collection[str] = (),
        own_targets: Targets | None = None,
        augmentation: Augmentation | None = None,
        folder: Path | None = None,
    ) -> None:
        self.game = game
        self.augment = augment
        self.root_value_share, self.value_positions = root_value_share, value_positions
        self.surprise_share = surprise_share
        self.window_games = window_games
        self._identity = game.identity
        self._games = _Ring(_GAME, folder)
        self._headers = _Ring(_HEADER, folder)
        self._versions = 0  # sum of the games' `weights_version`
        self._starts = WindowStarts(game)
        self._plies, self._named = _Ring(PLY, folder), _Ring(_NARROW, folder)
        self.targets = stated(game, targets)
        self._own_targets, self._augmentation = own_targets, augmentation
        self._ends: Ends | None = None  # if a target needs the ends of games
        if of_ends := set(OF_THE_END).intersection(self.targets):
            self._ends = Ends(game, of_ends)
        self._end = _Ring(
            NO_END if self._ends is None else self._ends.dtype, folder
        )  # of each game
        # Of each sample, see `_append`; empty without surprise.
        self._shares = _Ring(np.float64, folder)
        self._samples_end = 0  # number of positions to learn from, in total so far
        self._symmetries = SymmetryTables(game)
        self._idle: deque[_Scratch] = deque()  # not in use by any thread

    def __len__(self) -> int:
        """Games in the window."""
        return self._games.end - self._games.first

    @property
    def num_positions(self) -> int:
        """Positions to learn from in the window."""
        return self._samples_end - self._first_sample

    @property
    def _first_sample(self) -> int:
        games = self._games
        if not self:
            return self._samples_end
        return int(games.room[games.first % len(games.room)]["first_sample"])

    @property
    def mean_version(self) -> float:
        """The mean `weights_version` of the games, in optimizer steps; 0 of an empty window."""
        return self._versions / max(1, len(self))

    def played_out(self) -> Iterator[GameRecord]:
        """Games that were played to their end, with resignation never open, newest first."""
        first = self._headers.first
        for end in range(self._headers.end, first, -_GAMES_AT_ONCE):
            begin = max(first, end - _GAMES_AT_ONCE)
            there = np.flatnonzero(self._headers.copy(begin, end)["played_out"])
            for index in there[::-1].tolist():
                yield self._record(begin + index)

    def _record(self, index: int) -> GameRecord:
        """A game as it was added, without its surprises.

        Arrays that an old record lacked are filled with zeros.
        """
        game, following = self._game(index), self._game(index + 1)
        header = self._headers.copy(index, index + 1)[0]
        values: dict[str, Any] = {name: header[name].item() for name in _HEADER.names or ()}
        values["counts"] = _COUNTS[values["counts"]]
        if values["resigned_by"] < 0:
            values["resigned_by"] = None
        if math.isnan(values["resign_threshold"]):
            values["resign_threshold"] = None
        for name in ("outcome", "opening_plies"):
            values[name] = game[name].item()
        for ring, first in ((self._plies, "first_ply"), (self._named, "first_named")):
            entries = ring.copy(game[first], following[first])
            values |= {name: entries[name].copy() for name in entries.dtype.names or ()}
        values["visit_counts"] = values["visit_counts"].astype(np.uint32)
        values["visit_offsets"] = np.append(np.uint32(0), values.pop("named_ends"))
        start = self._starts.text_of(game["start"].item())
        return GameRecord(game=self._identity, start=start, **values)

    def _game(self, index: int) -> Any:
        """Where game `index` begins; the next game will begin at the end of all others."""
        if index < self._games.end:
            return self._games.room[index % len(self._games.room)]
        return np.array((self._samples_end, self._plies.end, self._named.end, 0, 0, 0), _GAME)

    @property
    def bytes_held(self) -> int:
        """Bytes of the games in the window, without spare room."""
        games = (self._games, self._headers, self._end)
        rings = (*games, self._shares, self._plies, self._named)
        return sum((ring.end - ring.first) * ring.room.itemsize for ring in rings)

    def max_bytes(self, most_targets: int) -> int:
        """Upper limit in bytes for a full window of the longest games, if no count exceeds 65,535.

        Args:
            most_targets: how many actions a ply's policy target may contain; see
                `SearchSettings.most_targets`.
        """
        ply = PLY.itemsize + most_targets * self._named.room.itemsize
        ply += self._shares.room.itemsize if self.surprise_share else 0
        game = sum(ring.room.itemsize for ring in (self._games, self._headers, self._end))
        game += self.game.max_game_length * ply
        return round(self.window_games * game * (1 + _SLACK))

    def begin_after(self, positions: int) -> None:
        """Number the samples of an empty window as if this many positions had left it.

        Their numbers decide how surprises are rounded, so a resumed run needs its old numbers.
        """
        self._samples_end = self._shares.first = self._shares.end = positions

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave when the window is full."""
        remaining = iter(records)
        while some := list(islice(remaining, _GAMES_AT_ONCE)):
            if passing := some[: -self.window_games]:  # more than a full window: they pass through
                self._drop(len(self))
                passed = sum(record.num_samples for record in passing)
                self.begin_after(self._samples_end + passed)
            self._append(some[-self.window_games :])

    def _append(self, records: list[GameRecord]) -> None:
        self._drop(len(self) + len(records) - self.window_games)
        lengths = np.array([len(record) for record in records])
        openings = np.array([record.opening_plies for record in records])
        games = np.zeros(len(records), _GAME)
        samples = np.array([record.num_samples for record in records])
        games["first_sample"] = self._samples_end + _before(samples)
        games["first_ply"] = self._plies.end + _before(lengths)
        named = np.array([len(record.visit_actions) for record in records])
        games["first_named"] = self._named.end + _before(named)
        games["opening_plies"] = openings
        games["outcome"] = [record.outcome for record in records]
        games["start"] = [self._starts.add(record.start) for record in records]
        if self.surprise_share:
            # Entry i is the sum of all shares up to sample i. Those of a game add up to the number
            # of its samples, so its sums end at the number of the next game's first sample.
            self._shares.append(
                np.concatenate(
                    [
                        first + added_up_shares(record, self.surprise_share)
                        for first, record in zip(games["first_sample"], records, strict=True)
                    ]
                )
            )
        self._samples_end += int(samples.sum())
        self._games.append(games)
        if self._ends is not None:
            self._end.append(np.concatenate([self._ends.of(record) for record in records]))
        self._headers.append(_headers_of(records))
        self._versions += sum(record.weights_version for record in records)
        plies = np.zeros(lengths.sum(), PLY)
        plies["named_ends"] = np.concatenate([record.visit_offsets[1:] for record in records])
        for name in ("actions", "root_values", "best_child_values", "players"):
            plies[name] = np.concatenate([_of_each_ply(record, name) for record in records])
        self._plies.append(plies)
        counts = np.concatenate([record.visit_counts for record in records])
        if len(counts) and counts.max() > np.iinfo(self._named.room.dtype["visit_counts"]).max:
            self._named.widen(NAMED)
        entries = np.zeros(len(counts), self._named.room.dtype)
        entries["visit_counts"] = counts
        entries["visit_actions"] = np.concatenate([record.visit_actions for record in records])
        self._named.append(entries)

    def _drop(self, count: int) -> None:
        """Drop the oldest games; later entries overwrite them."""
        first = self._games.first
        if count > 0:
            self._games.first = self._headers.first = first + count
            starts = self._games.copy(first, first + count)["start"]
            self._starts.drop(starts[starts > 0].tolist())
            versions = self._headers.copy(first, first + count)["weights_version"]
            self._versions -= sum(versions.tolist())
        if self._ends is not None:
            self._end.first = self._games.first
        game = self._game(self._games.first)
        if self.surprise_share:
            self._shares.first = int(game["first_sample"])
        self._plies.first = int(game["first_ply"])
        self._named.first = int(game["first_named"])

    def sample(self, size: int, rng: np.random.Generator, part: slice = slice(None)) -> Samples:
        """Positions sampled from all positions of the window, uniformly unless surprise counts.

        Args:
            size: how many to choose.
            rng: the only source of randomness.
            part: which of those to make, N; it does not affect the random choice.
        """
        if self.surprise_share:
            points = self._first_sample + rng.random(size) * self.num_positions
            last = self._samples_end - 1  # in case a point was rounded up
            chosen = np.minimum(self._shares.first_above(points), last) - self._first_sample
        else:
            chosen = rng.integers(0, self.num_positions, size)
        draws = None if self.value_positions is None else rng.random(size)[part]
        samples = self.positions(chosen[part], draws)
        if self.augment and self.game.symmetries:
            samples = self._mapped(samples, rng.integers(0, len(self._symmetries), size)[part])
        return samples if self._augmentation is None else self._augmentation(samples, rng)

    def positions(
        self, chosen: npt.NDArray[np.int64], draws: npt.NDArray[np.float64] | None = None
    ) -> Samples:
        """Chosen positions of the window, unmapped.

        Args:
            chosen: int64 [N], 0 to `num_positions` - 1, numbered through the games, oldest first.
            draws: [N], 0 to 1, which decide who teaches the value, see `value_positions`.
        """
        size, num_actions = len(chosen), self.game.num_actions
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = _Scratch(self.game)
        positions, paths = scratch.clear(size)
        plies, games = np.empty(size, np.int32), np.empty(size, np.int64)
        outcomes, root_values = np.empty(size, np.float32), np.empty(size, np.float32)
        policy_targets = np.zeros((size, num_actions), np.float32)
        reply = np.zeros((size if "reply" in self.targets else 0, num_actions), np.float32)
        wants_later = self._own_targets is not None or "later_values" in self.targets
        later = np.zeros((size if wants_later else 0, len(HORIZONS)), np.float32)
        plies_left = np.empty(size, np.float32)
        _look_up_kernel()(
            chosen.astype(np.int64) + self._first_sample,
            self._games.room,
            self._games.first,
            self._games.end,
            self._plies.room,
            self._plies.end,
            self._named.room,
            np.array([1 - 1 / horizon for horizon in HORIZONS]),
            paths,
            plies,
            policy_targets,
            outcomes,
            root_values,
            games,
            reply,
            later,
            plies_left,
        )
        states, roots = self._starts.states_of(
            self._games.room["start"][games % len(self._games.room)]
        )
        scratch.set_starts(states)
        scratch.roots.replay(Paths(roots, paths, plies), positions)
        outcomes = np.where(positions.current_player == 0, outcomes, -outcomes)
        value_targets = outcomes
        if share := np.float32(self.root_value_share):
            value_targets = (1 - share) * value_targets + share * np.clip(root_values, -1, 1)
        samples = Samples(
            observations=positions.observations,
            legal_action_mask=positions.legal_action_mask(num_actions),
            policy_targets=policy_targets,
            value_targets=value_targets,
            auxiliary=self._auxiliary(
                np.where(positions.current_player == 0, np.float32(1), np.float32(-1)),
                games,
                {"reply": reply, "later_values": later, "plies_left": plies_left},
            ),
        )
        if draws is not None and self.value_positions is not None:
            weights = (draws * self._lengths(games) < self.value_positions).astype(np.float32)
            samples = replace(samples, auxiliary={**samples.auxiliary, "value_weights": weights})
        if self._own_targets is not None:
            drawn = Drawn(
                observations=samples.observations,
                legal_action_mask=samples.legal_action_mask,
                policy_targets=policy_targets,
                value_targets=value_targets,
                outcomes=outcomes,
                root_values=root_values,
                later_values=later,
                plies=plies,
                plies_left=plies_left,
                weights_version=self._headers.room["weights_version"][
                    games % len(self._headers.room)
                ],
            )
            samples = with_targets(samples, self._own_targets(drawn))
        self._idle.append(scratch)
        return samples

    def _lengths(self, games: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many positions to learn from these games have."""
        firsts, room = self._games.room["first_sample"], len(self._games.room)
        ends = np.where(games + 1 < self._games.end, firsts[(games + 1) % room], self._samples_end)
        return ends - firsts[games % room]  # type: ignore[no-any-return]

    def _auxiliary(
        self, sign: FloatArray, games: npt.NDArray[np.int64], found: dict[str, FloatArray]
    ) -> dict[str, FloatArray]:
        """The wanted targets.

        Args:
            sign: float32 [N], -1 where seat 1 is to move.
            games: int64 [N], the game of each sample.
            found: the targets that were looked up.
        """
        auxiliary = {name: found[name] for name in self.targets if name in found}
        if self._ends is not None:
            ends = self._end.room[games % len(self._end.room)]
            if "ownership" in self.targets:
                cells = ends["ownership"]
                known = np.where(cells == UNKNOWN, np.float32(np.nan), cells)
                auxiliary["ownership"] = known * sign[:, None, None]
            if "score" in self.targets:
                auxiliary["score"] = ends["score"] * sign / np.float32(self.game.score_maximum)
            if "material" in self.targets:
                auxiliary["material"] = ends["material"] * sign
        return auxiliary

    def _mapped(self, samples: Samples, chosen: npt.NDArray[np.int64]) -> Samples:
        """Each row mapped by its own symmetry, which may be the identity: int64 [N]."""
        auxiliary = dict(samples.auxiliary)
        if "ownership" in auxiliary:
            cells = auxiliary["ownership"][:, None]
            auxiliary["ownership"] = self._symmetries.map_observations(cells, chosen)[:, 0]
        if "reply" in auxiliary:
            auxiliary["reply"] = self._symmetries.map_actions(auxiliary["reply"], chosen)
        return replace(
            samples,
            observations=self._symmetries.map_observations(samples.observations, chosen),
            legal_action_mask=self._symmetries.map_actions(samples.legal_action_mask, chosen),
            policy_targets=self._symmetries.map_actions(samples.policy_targets, chosen),
            auxiliary=auxiliary,
        )


def with_targets(samples: Samples, targets: Mapping[str, npt.ArrayLike]) -> Samples:
    """Samples with other or additional targets.

    Args:
        samples: N of them.
        targets: `policy_targets` and `value_targets` in place of theirs, others under new names;
            all become float32.

    Raises:
        SettingError: an array has a shape or a name that it cannot have.
    """
    arrays = {name: np.ascontiguousarray(given, np.float32) for name, given in targets.items()}
    for name, array in arrays.items():
        where = f"{name} of plugins.targets"
        require(name not in ("observations", "legal_action_mask"), where, "left out", name)
        size = len(samples.value_targets)
        wanted = {"policy_targets": samples.policy_targets.shape, "value_targets": (size,)}
        shape = wanted.get(name, (size, *array.shape[1:]))
        require(array.shape == shape, where, f"of shape {shape}", array.shape)
    return replace(
        samples,
        policy_targets=arrays.pop("policy_targets", samples.policy_targets),
        value_targets=arrays.pop("value_targets", samples.value_targets),
        auxiliary={**samples.auxiliary, **arrays},
    )


def _headers_of(records: list[GameRecord]) -> npt.NDArray[Any]:
    """An entry of `_HEADER` for each game."""
    headers = np.zeros(len(records), _HEADER)
    for name in ("seed", "game_index", "weights_version", "played_out"):
        headers[name] = [getattr(record, name) for record in records]
    headers["counts"] = [_COUNTS.index(record.counts) for record in records]
    headers["resigned_by"] = [-1 if r.resigned_by is None else r.resigned_by for r in records]
    headers["resign_threshold"] = [
        math.nan if r.resign_threshold is None else r.resign_threshold for r in records
    ]
    return headers


def _before(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sum of all counts before each entry."""
    return np.cumsum(counts) - counts


def added_up_shares(record: GameRecord, surprise_share: float) -> npt.NDArray[np.float64]:
    """How often to learn from each of a game's n samples, as sums: float64 [n], the last is n.

    A sample's share is (1 - s) + s KL / (mean KL of the game), s `surprise_share` (KataGo's
    `docs/KataGoMethods.md`, "Policy Surprise Weighting": s = 0.5).
    """
    shares = np.ones(record.num_samples)
    if len(record.surprises):
        surprises = record.surprises[record.learned].astype(np.float64)
        if surprises.sum() > 0:
            shares = (1 - surprise_share) + surprise_share * surprises / surprises.mean()
    sums = np.cumsum(shares)
    sums[-1:] = len(shares)  # exactly, despite rounding
    return sums


def _of_each_ply(record: GameRecord, name: str) -> npt.NDArray[Any]:
    """An array with one entry per ply; zeros if a record from before resignation lacks it."""
    entries: npt.NDArray[Any] = getattr(record, name)
    return entries if len(entries) else np.zeros(len(record), entries.dtype)


@cache
def _look_up_kernel() -> Any:
    return compiled(_look_up, sources=[__file__])


def _look_up(
    chosen: Any,
    games: Any,
    first_game: Any,
    games_end: Any,
    plies: Any,
    plies_end: Any,
    named: Any,
    discounts: Any,
    out_paths: Any,
    out_plies: Any,
    out_policy_targets: Any,
    out_outcomes: Any,
    out_root_values: Any,
    out_games: Any,
    out_reply: Any,
    out_later: Any,
    out_plies_left: Any,
) -> None:
    """Look up samples in the rings: path to the position, its game, and its targets.

    Args:
        chosen: int64 [N], numbered like `first_sample`.
        games: `_GAME` [room], of which `first_game` to `games_end` - 1 are stored.
        first_game: see `games`.
        games_end: see `games`.
        plies: `PLY` [room], a ring like `named`.
        plies_end: number of the ply after the last in `plies`.
        named: `_NARROW` or `NAMED` [room].
        discounts: float64 [D], lambda of each later value.
        out_paths: int32 [N, at least T], filled up to each ply.
        out_plies: int32 [N].
        out_policy_targets: float32 [N, A], zeros.
        out_outcomes: float32 [N], view of seat 0.
        out_root_values: float32 [N], view of the player to move.
        out_games: int64 [N], numbers of the games.
        out_reply: float32 [N, A], zeros, the policy target of the next ply; or empty.
        out_later: float32 [N, D], view of the player to move; or empty.
        out_plies_left: float32 [N], to the end of the game.
    """
    for row in range(chosen.shape[0]):
        # The last game that begins at or before the sample; it cannot be one without samples.
        low, high = first_game, games_end
        while high - low > 1:
            middle = (low + high) // 2
            if games[middle % games.shape[0]]["first_sample"] <= chosen[row]:
                low = middle
            else:
                high = middle
        game = games[low % games.shape[0]]
        out_outcomes[row] = game["outcome"]
        at = game["first_ply"] % plies.shape[0]
        skipped = chosen[row] - game["first_sample"]  # earlier plies to learn from
        ply, begin = np.int64(0), np.int64(0)
        while True:
            end = np.int64(plies[at]["named_ends"])
            if ply >= game["opening_plies"] and end > begin:
                if skipped == 0:
                    break
                skipped -= 1
            out_paths[row, ply] = plies[at]["actions"]
            ply, begin = ply + 1, end
            at = at + 1 if at + 1 < plies.shape[0] else 0
        out_plies[row] = ply
        out_root_values[row] = plies[at]["root_values"]
        first_named = np.int64(game["first_named"])
        _write_policy(
            named,
            first_named + begin,
            first_named + end,
            out_policy_targets[row],
        )
        out_games[row] = low
        last = plies_end
        if low + 1 < games_end:
            last = games[(low + 1) % games.shape[0]]["first_ply"]
        left = last - game["first_ply"] - ply
        out_plies_left[row] = left
        if out_reply.shape[0] > 0 and left > 1:
            after = np.int64(plies[(at + 1) % plies.shape[0]]["named_ends"])
            _write_policy(
                named,
                first_named + end,
                first_named + after,
                out_reply[row],
            )
        if out_later.shape[0] > 0:
            player = plies[at]["players"]
            outcome = out_outcomes[row] if player == 0 else -out_outcomes[row]
            for d in range(discounts.shape[0]):
                weight, mean = 1.0, 0.0
                for i in range(left):
                    there = plies[(at + i) % plies.shape[0]]
                    value = min(1.0, max(-1.0, np.float64(there["root_values"])))
                    if there["players"] != player:
                        value = -value
                    mean += weight * (1 - discounts[d]) * value
                    weight *= discounts[d]
                out_later[row, d] = mean + weight * outcome


@register_jitable
def _write_policy(named: Any, begin: Any, end: Any, out: Any) -> None:
    """Write one ply's visits, entries `begin` to `end` - 1 of a ring, as shares of their sum.

    Bit for bit as in `GameRecord.policy_target`: counts add up exactly in float32 too.
    """
    total = np.int64(0)
    for i in range(begin, end):
        total += named[i % named.shape[0]]["visit_counts"]
    for i in range(begin, end):
        visit = named[i % named.shape[0]]
        out[visit["visit_actions"]] = np.float32(visit["visit_counts"]) / np.float32(total)
