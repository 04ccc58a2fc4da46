"""The replay buffer: a window over the latest games, from which the learner samples positions.

Positions are not stored. Compiled code rebuilds one by replaying its game, in 4 to 25 µs. The data
for samples lies in a few flat arrays, so a batch takes a handful of calls that do not hold the GIL.
Other threads can therefore prepare the next batches while the learner takes a step. `window_games`
limits the memory. The arrays may lie on disk (`azcore.storage.ring`): the same code reads them,
and the system keeps as many of their pages in memory as fit.

Letters: N positions of a batch, A actions, C H W planes, T plies of a game, K actions in its policy
targets.
"""

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.game import FloatArray, Game, IntArray
from azcore.game.batch import make_batch
from azcore.game.positions import Paths, Positions, make_positions
from azcore.game.symmetries import SymmetryTables
from azcore.storage.ends import NO_END, UNKNOWN, Ends
from azcore.storage.game_record import COUNTS, NAMED, PLY, GameRecord
from azcore.storage.lookup import GAME, NARROW, Found, WindowArrays, look_up_kernel
from azcore.storage.ring import SLACK, Ring
from azcore.storage.samples import Augmentation, Drawn, Samples, Targets, with_targets
from azcore.storage.start_states import WindowStarts
from azcore.storage.targets import HORIZONS, OF_THE_END, stated

_GAMES_AT_ONCE = 256  # per step of `extend`: filling a large window takes little extra memory
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
        """Allocate arrays for `size` positions and their paths, int32 [N, most plies of a game]."""
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
        window_games: how many games to hold (AlphaGo Zero: 500,000; AlphaZero: 1,000,000).
        augment: whether to map each sample by a random symmetry of the game.
        value_positions: how many positions of each game teach the value on average, drawn again
            for each batch: `value_weights` are 1 there, else 0; None: all, without weights.
        root_value_share: r, of the search's value in the value target: (1 - r) z + r v.
        surprise_share: share of a game's samples drawn in proportion to the surprises in its
            record; the rest is drawn uniformly from its positions. The average number of samples
            of a game does not change; without any surprise, all are uniform.
        folder: a folder on the disk that stores the games; None: in memory.
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
        self._games = Ring(GAME, folder)
        self._headers = Ring(_HEADER, folder)
        self._versions = 0  # sum of the games' `weights_version`
        self._starts = WindowStarts(game)
        self._plies, self._named = Ring(PLY, folder), Ring(NARROW, folder)
        self.targets = stated(game, targets)
        self._own_targets, self._augmentation = own_targets, augmentation
        self._ends: Ends | None = None  # if a target needs the ends of games
        if of_ends := set(OF_THE_END).intersection(self.targets):
            self._ends = Ends(game, of_ends)
        self._end = Ring(NO_END if self._ends is None else self._ends.dtype, folder)  # of each game
        # Of each sample, see `_append`; empty without surprise.
        self._shares = Ring(np.float64, folder)
        self._samples_end = 0  # number of positions to learn from, in total so far
        self._symmetries = SymmetryTables(game)
        self._idle: deque[_Scratch] = deque()  # not in use by any thread

    def __len__(self) -> int:
        """The number of games in the window."""
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
        """A game as added, without its surprises."""
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
        """Where game `index` begins; the next game begins at the end of all others."""
        if index < self._games.end:
            return self._games.room[index % len(self._games.room)]
        return np.array((self._samples_end, self._plies.end, self._named.end, 0, 0, 0), GAME)

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
        return round(self.window_games * game * (1 + SLACK))

    def begin_after(self, positions: int) -> None:
        """Number the samples of an empty window as if this many positions had left it.

        Their numbers decide how surprises are rounded, so a resumed run needs its old numbers.
        """
        self._samples_end = self._shares.first = self._shares.end = positions

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave when the window is full."""
        remaining = iter(records)
        while some := list(islice(remaining, _GAMES_AT_ONCE)):
            # More than a full window: the first ones pass through.
            if passing := some[: -self.window_games]:
                self._drop(len(self))
                passed = sum(record.num_samples for record in passing)
                self.begin_after(self._samples_end + passed)
            self._append(some[-self.window_games :])

    def _append(self, records: list[GameRecord]) -> None:
        self._drop(len(self) + len(records) - self.window_games)
        lengths = np.array([len(record) for record in records])
        openings = np.array([record.opening_plies for record in records])
        games = np.zeros(len(records), GAME)
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
            plies[name] = np.concatenate([getattr(record, name) for record in records])
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
            rng: the only source of randomness.
            part: which of the drawn ones to make, N; it does not affect the random choice.
        """
        if self.surprise_share:
            points = self._first_sample + rng.random(size) * self.num_positions
            last = self._samples_end - 1  # in case a point rounded up
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
        wants_reply = "reply" in self.targets
        wants_later = self._own_targets is not None or "later_values" in self.targets
        found = Found(
            paths=paths,
            plies=np.empty(size, np.int32),
            policy_targets=np.zeros((size, num_actions), np.float32),
            outcomes=np.empty(size, np.float32),
            root_values=np.empty(size, np.float32),
            games=np.empty(size, np.int64),
            reply=np.zeros((size if wants_reply else 0, num_actions), np.float32),
            later=np.zeros((size if wants_later else 0, len(HORIZONS)), np.float32),
            plies_left=np.empty(size, np.float32),
        )
        window = WindowArrays(
            self._games.room,
            self._games.first,
            self._games.end,
            self._plies.room,
            self._plies.end,
            self._named.room,
        )
        discounts = np.array([1 - 1 / horizon for horizon in HORIZONS])
        look_up_kernel()(chosen.astype(np.int64) + self._first_sample, window, discounts, found)
        games = found.games
        states, roots = self._starts.states_of(
            self._games.room["start"][games % len(self._games.room)]
        )
        scratch.set_starts(states)
        scratch.roots.replay(Paths(roots, paths, found.plies), positions)
        sign = np.where(positions.current_player == 0, np.float32(1), np.float32(-1))
        outcomes = found.outcomes * sign
        value_targets = outcomes
        if share := np.float32(self.root_value_share):
            own = share * np.clip(found.root_values, -1, 1)
            value_targets = (1 - share) * value_targets + own
        samples = Samples(
            observations=positions.observations,
            legal_action_mask=positions.legal_action_mask(num_actions),
            policy_targets=found.policy_targets,
            value_targets=value_targets,
            auxiliary=self._auxiliary(sign, found),
        )
        if draws is not None and self.value_positions is not None:
            weights = (draws * self._lengths(games) < self.value_positions).astype(np.float32)
            samples = replace(samples, auxiliary={**samples.auxiliary, "value_weights": weights})
        if self._own_targets is not None:
            drawn = Drawn(
                observations=samples.observations,
                legal_action_mask=samples.legal_action_mask,
                policy_targets=found.policy_targets,
                value_targets=value_targets,
                outcomes=outcomes,
                root_values=found.root_values,
                later_values=found.later,
                plies=found.plies,
                plies_left=found.plies_left,
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

    def _auxiliary(self, sign: FloatArray, found: Found) -> dict[str, FloatArray]:
        """The wanted targets; `sign` is float32 [N], -1 where seat 1 is to move."""
        looked_up = {
            "reply": found.reply,
            "later_values": found.later,
            "plies_left": found.plies_left,
        }
        auxiliary = {name: looked_up[name] for name in self.targets if name in looked_up}
        if self._ends is not None:
            ends = self._end.room[found.games % len(self._end.room)]
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
