"""The replay buffer: a window over the latest games, from which the learner draws positions.

Only records are kept, a few dozen to a few hundred bytes a position; a drawn position is rebuilt by
replaying its game, compiled, which costs a few microseconds. Memory is bounded by `window_games`.

Letters: N positions of a batch, A actions, C H W planes, T plies of a game.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from azcore.batch import Positions, make_batch
from azcore.game import BoolArray, ByteArray, FloatArray, Game, IntArray
from azcore.records import GameRecord
from azcore.settings import require
from azcore.symmetries import SymmetryTables


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """How much to remember; the numbers and their sources are in `conf/replay`."""

    window_games: int
    samples_per_position: float
    augment: bool

    def __post_init__(self) -> None:
        require(self.window_games >= 1, "replay.window_games", "1 or more", self.window_games)
        require(
            self.samples_per_position > 0,
            "replay.samples_per_position",
            "above 0",
            self.samples_per_position,
        )


@dataclass(frozen=True)
class Samples:
    """N training rows, every value from the view of the player to move."""

    observations: ByteArray  # [N, C, H, W]
    legal_action_mask: BoolArray  # [N, A], True = legal
    policy_targets: FloatArray  # [N, A], pi: what the search would have the policy say
    value_targets: FloatArray  # [N], z: the game's outcome for the player to move


class ReplayBuffer:
    """The latest `window_games` games.

    Args:
        game: whose records these are.
        window_games: how many games to hold (AlphaGo Zero: 500,000; AlphaZero: 1,000,000).
        augment: whether to map each sample by a random symmetry of the game.
    """

    def __init__(self, *, game: Game, window_games: int, augment: bool) -> None:
        self.game = game
        self.augment = augment
        self.window_games = window_games
        self._records: list[GameRecord] = []
        self._ends: IntArray | None = None  # [games], running total of positions
        self._symmetries = SymmetryTables(game)
        self._root = make_batch(game, 1)  # paths are replayed from the initial state

    def __len__(self) -> int:
        """Games in the window."""
        return len(self._records)

    @property
    def num_positions(self) -> int:
        """Positions to learn from in the window."""
        return sum(record.num_samples for record in self._records)

    def latest(self) -> Iterator[GameRecord]:
        """The games, newest first."""
        return reversed(self._records)

    def max_bytes(self, most_targets: int) -> int:
        """Most memory of a full window of the longest games.

        Args:
            most_targets: how many actions a ply's policy target may name; see
                `SearchSettings.most_targets`.
        """
        # Action, offset, two values, seat; action and count of each one named.
        ply = 2 + 4 + 4 + 4 + 1 + 6 * most_targets
        return self.window_games * self.game.max_game_length * ply

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave when the window is full."""
        self._records = [*self._records, *records][-self.window_games :]
        self._ends = None

    def sample(self, size: int, rng: np.random.Generator) -> Samples:
        """Positions drawn uniformly from all positions of the window.

        Args:
            size: N.
            rng: the only chance used.
        """
        ends = self._game_ends()
        drawn = rng.integers(0, ends[-1], size)
        samples = self.positions(drawn.astype(np.int32))
        return self._mapped(samples, rng) if self.augment and self.game.symmetries else samples

    def positions(self, chosen: IntArray) -> Samples:
        """Chosen positions of the window, as they were played.

        Args:
            chosen: int32 [N], 0 to `num_positions` - 1, counted through the games, oldest first.
        """
        ends, size = self._game_ends(), len(chosen)
        games = np.searchsorted(ends, chosen, side="right")
        records = [self._records[i] for i in games]
        # Counted from the end of a game, where all of them agree.
        plies = np.array([len(record) for record in records]) - (ends[games] - chosen)
        paths = np.zeros((size, max(1, int(plies.max()))), np.int32)
        policy_targets = np.zeros((size, self.game.num_actions), np.float32)
        for row, (record, ply) in enumerate(zip(records, plies, strict=True)):
            paths[row, :ply] = record.actions[:ply]
            policy_targets[row] = record.policy_target(int(ply), self.game.num_actions)
        positions = Positions(self.game, size)
        self._root.replay(np.zeros(size, np.int32), paths, plies.astype(np.int32), positions)
        outcomes = np.array([record.outcome for record in records], np.float32)
        return Samples(
            observations=positions.observations,
            legal_action_mask=positions.legal_action_mask(self.game.num_actions),
            policy_targets=policy_targets,
            value_targets=np.where(positions.current_player == 0, outcomes, -outcomes),
        )

    def _game_ends(self) -> IntArray:
        """[games], running total of positions."""
        if self._ends is None:
            lengths = [record.num_samples for record in self._records]
            self._ends = np.cumsum(lengths, dtype=np.int64).astype(np.int32)
        return self._ends

    def _mapped(self, samples: Samples, rng: np.random.Generator) -> Samples:
        """Each row seen through a random symmetry, the identity among them."""
        chosen = rng.integers(0, len(self._symmetries), len(samples.value_targets))
        actions = self._symmetries.actions[chosen]
        return Samples(
            observations=self._symmetries.map_observations(samples.observations, chosen),
            legal_action_mask=np.take_along_axis(samples.legal_action_mask, actions, 1),
            policy_targets=np.take_along_axis(samples.policy_targets, actions, 1),
            value_targets=samples.value_targets,
        )
