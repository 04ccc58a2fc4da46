"""Games from elsewhere, for training and testing (`algorithm=supervised`).

It holds out a share of the games, which the learner never sees, to measure predictions on them.
Only the moves of a game determine whether it is held out. So both copies of a game are on the same
side, and a game held out in one run is held out in every other, whatever else they train on.
`predict` measures any network on games.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from azcore.errors import CheckpointError, SettingError
from azcore.game import Game
from azcore.learner.sources import GameSource, Progress
from azcore.search.evaluators import Evaluator
from azcore.selfplay.pool import ActorStatistics, Amount
from azcore.settings import ONE_OR_MORE, Checked, build_group, one_of, require
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer
from azcore.storage.transcripts import formats_by_suffix

TARGETS = ("played", "visits")
BATCH = 256  # positions that a network evaluates at once during the measurement


@dataclass(frozen=True, kw_only=True)
class SupervisedSettings(Checked, group="supervised"):
    """Which games to learn from; the numbers and their sources are in `conf/supervised`."""

    enabled: bool
    games: tuple[str, ...]
    targets: Annotated[str, one_of(TARGETS)]
    held_out: Annotated[float, (lambda share: 0 < share < 1, "between 0 and 1")]
    held_out_positions: Annotated[int, ONE_OR_MORE]


def supervised_settings(config: Mapping[str, Any]) -> SupervisedSettings:
    """The group `supervised`, which lacks `enabled` in commands that do not train.

    Raises:
        SettingError: a setting cannot be used.
    """
    return build_group(SupervisedSettings, config, "supervised", {"enabled": False})


@dataclass(frozen=True, kw_only=True)
class Division:
    """Games to learn from and games held out, both in the order of the files."""

    learned: list[GameRecord]
    held_out: list[GameRecord]


def read_games(settings: SupervisedSettings, game: Game) -> Division:
    """The games of all files, divided, with their policy targets.

    Raises:
        SettingError: no file is named, one is missing, or all games are held out.
        GameFileError: a record is damaged, is of another game or breaks its rules.
    """
    require(bool(settings.games), "supervised.games", "a list of .azg files", list(settings.games))
    division = Division(learned=[], held_out=[])
    referee = Referee(game)
    for name in settings.games:
        path = Path(name)
        require(
            path.is_file() and path.suffix.lower() not in formats_by_suffix(game),
            "supervised.games",
            "files of game records (.azg), which command=import makes from transcripts",
            name,
        )
        for record in referee.read(GameFile(path)):
            taught = with_targets(record, settings.targets)
            if taught.num_samples > 0:
                is_kept_back = is_held_out(record, settings.held_out)
                (division.held_out if is_kept_back else division.learned).append(taught)
    if not division.learned and not division.held_out:
        raise SettingError(
            f"supervised.games must contain games to learn from, got none in "
            f"{', '.join(settings.games)}"
        )
    return division


def is_held_out(record: GameRecord, share: float) -> bool:
    """Whether a game belongs to the held-out `share` of all games."""
    moves = (record.start or "").encode() + record.actions.astype("<u2").tobytes()
    return int.from_bytes(hashlib.sha256(moves).digest()[:8], "big") < share * 2**64


def with_targets(record: GameRecord, targets: str) -> GameRecord:
    """The record with its policy targets instead of its visits.

    Args:
        targets: `played`: pi_a = 1 for the move a that was played (Silver 2017, Methods "Supervised
            learning"); `visits`: the record's visits if a ply has some, else the move.
    """
    places = record.visit_offsets.astype(np.int64)
    counts = places[1:] - places[:-1]
    has_visits = (counts > 0) & (targets == "visits")
    sizes = np.where(has_visits, counts, 1)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    actions = np.repeat(record.actions, sizes)
    visits = np.ones(len(actions), np.uint32)
    # Places of the plies that keep their visits, in the new and the old arrays.
    new, old = np.repeat(has_visits, sizes), np.repeat(has_visits, counts)
    actions[new], visits[new] = record.visit_actions[old], record.visit_counts[old]
    return replace(
        record,
        visit_offsets=offsets.astype(np.uint32),
        visit_actions=actions,
        visit_counts=visits,
        counts=record.counts if has_visits.all() else "policy",
    )


class ImportedGames(GameSource):
    """Provides all games in the first generation; later generations sample the same games.

    Raises:
        SettingError: there are no games, or more than the window holds.
    """

    def __init__(self, games: Sequence[GameRecord], window_games: int) -> None:
        require(bool(games), "supervised.games", "some that are not held out", 0)
        require(
            window_games >= len(games),
            "replay.window_games",
            f"{len(games)} or more, the number of games to learn from",
            window_games,
        )
        self._games = games
        self._is_given = False
        digest = hashlib.sha256()
        for record in games:
            digest.update(record.to_bytes())
        self._digest = digest.hexdigest()

    def new_games(self, wanted: Amount, progress: Progress) -> list[GameRecord]:
        if self._is_given:
            return []
        self._is_given = True
        return list(self._games)

    def take_statistics(self) -> ActorStatistics:
        return ActorStatistics()

    def metrics(self, games: list[GameRecord]) -> dict[str, float]:
        return {}

    def describe(self) -> str:
        positions = sum(record.num_samples for record in self._games)
        return f"{len(self._games):,} games of {positions:,} positions to learn from"

    def state_dict(self) -> dict[str, Any]:
        return {"digest": self._digest, "is_given": self._is_given}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["digest"] != self._digest:
            raise CheckpointError(
                "supervised.games must contain the same games as at the start of the run, got "
                "others"
            )
        self._is_given = bool(state["is_given"])


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How well a network predicts games."""

    games: int
    positions: int  # measured
    accuracy: float  # share of positions whose move is the network's most probable one
    policy_loss: float  # -pi^T log p, nats
    value_loss: float  # (z - v)^2


def predict(
    evaluator: Evaluator, game: Game, records: Sequence[GameRecord], most_positions: int
) -> Prediction:
    """Measure a network without search, on positions spread evenly over games.

    Its policy is taken over legal actions; the records' policy targets are the moves to predict,
    see `with_targets`.
    """
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=False)
    buffer.extend(records)
    total = buffer.num_positions
    chosen = np.arange(min(total, most_positions)) * total // min(total, most_positions)
    sums = np.zeros(3)
    for begin in range(0, len(chosen), BATCH):
        samples = buffer.positions(chosen[begin : begin + BATCH].astype(np.int32))
        policy_logits, values = evaluator.evaluate(samples.observations)
        logits = np.where(samples.legal_action_mask, policy_logits, -np.inf).astype(np.float64)
        highest = logits.max(axis=1, keepdims=True)
        log_policy = logits - highest - np.log(np.exp(logits - highest).sum(1, keepdims=True))
        log_policy[~samples.legal_action_mask] = 0.0  # where targets are also 0
        targets = samples.policy_targets
        hits = logits.argmax(1) == targets.argmax(1)
        errors = (samples.value_targets - values) ** 2
        sums += hits.sum(), -(targets * log_policy).sum(), errors.sum()
    accuracy, policy_loss, value_loss = (sums / len(chosen)).tolist()
    return Prediction(
        games=len(records),
        positions=len(chosen),
        accuracy=accuracy,
        policy_loss=policy_loss,
        value_loss=value_loss,
    )
