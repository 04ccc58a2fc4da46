"""A run's games as batches for a custom training loop."""

from collections import deque
from collections.abc import Iterator

from torch import Tensor

from azcore.assembly.parts import LearningSettings, settings_from
from azcore.errors import SettingError
from azcore.learner.data import draw_batch
from azcore.learner.module import LearnerModule
from azcore.networks import build_network
from azcore.networks.checkpoint import describe_run, network_of
from azcore.settings import require
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import read_config, require_received_games


class Batches:
    """Batches sampled from a run's latest games: `len` of them, the same each time.

    A batch is a dict of tensors: `observations` uint8 [N, C, H, W], `legal_action_mask` bool
    [N, A], `policy_targets` float32 [N, A], `value_targets` float32 [N] in the view of the player
    to move, and the auxiliary targets of the run's network. A torch or Lightning trainer accepts
    the object as its loader; `.numpy()` of each tensor is a view of it for NumPy.

    Attributes:
        buffer: the games, from which `buffer.sample(size, rng)` draws NumPy arrays.
    """

    def __init__(self, buffer: ReplayBuffer, size: int, steps: int, seed: int) -> None:
        self.buffer = buffer
        self._size, self._steps, self._seed = size, steps, seed

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        for step in range(self._steps):
            yield draw_batch(self.buffer, self._size, self._seed, step)

    def __repr__(self) -> str:
        return f"{self._steps:,} batches of {self._size:,} positions"


def batches(run: RunDirectory, steps: int, size: int | None) -> Batches:
    """See `Run.batches`."""
    require(steps >= 1, "steps", "1 or more", steps)
    require(size is None or size >= 1, "size", "1 or more", size)
    settings = _settings(run)
    buffer = settings.window()
    referee = Referee(settings.game)
    # Only the latest: a run may hold a million games.
    found: deque[GameRecord] = deque(maxlen=settings.replay.window_games)
    for number, record in enumerate(GameFile(run.records).read()):
        referee.check(record, f"{run.records}, game {number}")
        found.append(record)
    buffer.extend(found)
    if not found:
        raise SettingError(f"{run.path} has no games yet")
    return Batches(buffer, size or settings.learner.batch_size, steps, settings.seed)


def learner(run: RunDirectory, steps: int, fresh: bool) -> LearnerModule:
    """See `Run.learner`."""
    require(steps >= 1, "steps", "1 or more", steps)
    settings = _settings(run)
    if fresh:
        network = build_network(settings.game, settings.network, settings.seed)
    else:
        path = run.last_checkpoint
        network, _ = network_of(read_checkpoint(path), path, settings.game)
    return settings.plugins.subclass("learner", LearnerModule)(
        network=network,
        settings=settings.learner,
        max_steps=steps,
        description=describe_run(settings.game, settings.network),
    )


def _settings(run: RunDirectory) -> LearningSettings:
    config = read_config(run)
    require_received_games(config)
    return settings_from({"device": "auto", **config}, LearningSettings)
