"""Feeds the learner: an epoch is a generation, which begins by pulling new games from their source.

The learner asks, the actor plays: a generation of `steps_per_generation` batches needs
steps x batch_size / samples_per_position new positions, so learning and self-play keep their ratio
whatever the machine. Games end when they end, so a generation gets more than it needs; what is too
many is taken off the next. Batches are drawn by a counter (seed, step), so no random state needs
saving, and the next one is drawn on a thread while the learner takes a step.
Games that others have played may take the actor's place: see `azcore.learner.sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor

from azcore.chance import Purpose, generator
from azcore.errors import CheckpointError
from azcore.learner.sources import GameSource
from azcore.selfplay.actor import Amount
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, parse_frame, require_same_game
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer, ReplaySettings

MOST_ON_DISK = 1.25  # of `replay.games_on_disk`, before the oldest go
Progress = Callable[[int, int, str], None]  # (so far, wanted, of what: games or positions)


def draw_batch(
    buffer: ReplayBuffer, size: int, seed: int, step: int, *, pin: bool = False
) -> dict[str, Tensor]:
    """The batch of one optimizer step, a function of the window, the seed and the step.

    Args:
        buffer: the window.
        size: N.
        seed: of the run.
        step: counted through all generations.
        pin: put it where a GPU fetches it while the program goes on.

    Returns:
        What `Samples` has, by name.
    """
    samples = buffer.sample(size, generator(Purpose.BATCH, seed, step))
    batch = {name: torch.from_numpy(array) for name, array in vars(samples).items()}
    return {name: tensor.pin_memory() for name, tensor in batch.items()} if pin else batch


class GenerationLoader:
    """A sized, stateful train loader, resumed at the batch it stopped at.

    While a batch is learned from, the next one of its generation is drawn on a thread. Its state
    counts what was handed out; a batch drawn ahead and never used is drawn again, the same.

    Args:
        begin: makes a generation's games, on the thread that iterates.
        draw: the batch of a step, called from a thread; what it raises comes out of the iteration.
            In one pass never runs while `begin` does.
        size: batches of a generation.
    """

    def __init__(
        self, begin: Callable[[int], None], draw: Callable[[int], dict[str, Tensor]], size: int
    ) -> None:
        self._begin, self._draw, self._size = begin, draw, size
        self.generation = 0  # of the pass that is under way or comes next
        self.batch = 0  # next batch of that pass; above 0: its games are already there

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        if self.batch == 0:
            self._begin(self.generation)
        first = self.generation * self._size
        # Left by an error, an interrupt or a loop that stops, it waits for one batch at most. A
        # second thread fed a step of 10 ms on 2 cores no better: 0.88 to 0.95 instead of 0.98.
        with ThreadPoolExecutor(1, "batches") as thread:
            ahead = thread.submit(self._draw, first + self.batch)
            for following in range(self.batch + 1, self._size):
                batch = ahead.result()
                ahead = thread.submit(self._draw, first + following)
                self.batch = following
                yield batch
            batch = ahead.result()
        # The next generation's games are not there yet, so nothing is drawn beyond the last step.
        self.generation, self.batch = self.generation + 1, 0
        yield batch

    def state_dict(self) -> dict[str, int]:
        return {"generation": self.generation, "batch": self.batch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        generation, batch = state["generation"], state["batch"]
        if not (type(generation) is type(batch) is int and generation >= 0 <= batch < self._size):
            raise CheckpointError(
                f"a checkpoint's batch must be 0 to {self._size - 1} of a generation, "
                f"got {batch!r:.100} of {generation!r:.100}"
            )
        self.generation, self.batch = generation, batch


class SelfPlayData(LightningDataModule):
    """The window of games, the source that extends it, and the batches drawn from it.

    Args:
        source: gives the games.
        buffer: the window.
        records: the file every finished game is appended to.
        settings: how often a position is to be drawn.
        batch_size: N.
        steps_per_generation: batches of an epoch.
        seed: of the run.
        progress: told how far they are while a generation's games are played.
        on_games: given a generation's games once they are on disk; after a resume perhaps again.
    """

    def __init__(
        self,
        *,
        source: GameSource,
        buffer: ReplayBuffer,
        records: GameFile,
        settings: ReplaySettings,
        batch_size: int,
        steps_per_generation: int,
        seed: int,
        progress: Progress,
        on_games: Callable[[list[GameRecord]], None] = lambda games: None,
    ) -> None:
        super().__init__()
        self.source, self.buffer, self.records = source, buffer, records
        self.batch_size, self._seed = batch_size, seed
        self._progress, self._on_games = progress, on_games
        self._settings, self._samples = settings, batch_size * steps_per_generation  # a generation
        self.loader = GenerationLoader(self._generate, self._draw, steps_per_generation)
        self.new_games: list[GameRecord] = []  # records of the generation under way, for logs
        self.total_games = 0
        self.total_positions = 0
        self._kept_bytes = 0  # of the game file, by the checkpoint

    @property
    def finished_generation(self) -> int:
        """The generation whose batches were drawn last."""
        return self.loader.generation - (self.loader.batch == 0)

    @property
    def between_generations(self) -> bool:
        """Whether all batches of that generation were drawn: it was not stopped midway."""
        return self.loader.batch == 0

    def train_dataloader(self) -> GenerationLoader:
        return self.loader

    def _generate(self, generation: int) -> None:
        """Get the games the generation begins with, and keep them on disk."""
        self._forget_old_games()
        wanted = self._wanted(generation)
        self.new_games = []
        if max(wanted) > 0:
            unit = "games" if wanted.games else "positions"
            self.new_games = self.source.new_games(
                wanted,
                lambda made: self._progress(getattr(made, unit), getattr(wanted, unit), unit),
            )
        self.records.append(self.new_games)
        self._on_games(self.new_games)
        self.buffer.extend(self.new_games)
        self.total_games += len(self.new_games)
        self.total_positions += sum(record.num_samples for record in self.new_games)

    def _forget_old_games(self) -> None:
        """Those that no window wants, a fifth of all on disk at once.

        Counted before there are new ones, so that the last checkpoint finds its window.
        """
        keep = self._settings.games_on_disk
        if keep is None:
            return
        gone = self.records.forgotten.games
        if self.total_games - gone > MOST_ON_DISK * keep:
            self.records.forget(self.total_games - keep)

    def most_positions(self, max_steps: int) -> float:
        """How many positions a run of so many steps comes to keep on disk, at most."""
        settings, longest = self._settings, self.buffer.game.max_game_length
        if settings.games_per_generation is not None:
            generations = max_steps * self.batch_size / self._samples
            made = generations * settings.games_per_generation * longest
        else:
            assert settings.samples_per_position is not None
            made = max_steps * self.batch_size / settings.samples_per_position
        if settings.games_on_disk is None:
            return made
        return min(made, MOST_ON_DISK * settings.games_on_disk * longest)

    def _wanted(self, generation: int) -> Amount:
        """What a generation has to add; 0 or less if earlier ones made it already."""
        if self._settings.games_per_generation is not None:
            games = (generation + 1) * self._settings.games_per_generation
            return Amount(games=games - self.total_games, positions=0)
        assert self._settings.samples_per_position is not None
        samples = (generation + 1) * self._samples
        positions = max(1, round(samples / self._settings.samples_per_position))
        return Amount(games=0, positions=positions - self.total_positions)

    def _draw(self, step: int) -> dict[str, Tensor]:
        # Lightning fetches it without waiting, which the GPU can do from pinned memory alone.
        pin = self.trainer is not None and self.trainer.strategy.root_device.type == "cuda"
        return draw_batch(self.buffer, self.batch_size, self._seed, step, pin=pin)

    def state_dict(self) -> dict[str, Any]:
        """Games in play and how far the game file counts; the window is read back from it."""
        return {
            "source": self.source.state_dict(),
            "record_bytes": self.records.size(),
            "total_games": self.total_games,
            "total_positions": self.total_positions,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Back to the moment of a checkpoint; `cut_records` does the same with the file.

        Raises:
            CheckpointError, GameFileError: the records the checkpoint counts on are not there.
        """
        games, positions = state_dict["total_games"], state_dict["total_positions"]
        size = state_dict["record_bytes"]
        for name in ("record_bytes", "total_games", "total_positions"):
            if type(state_dict[name]) is not int or state_dict[name] < 1:
                raise CheckpointError(
                    f"a checkpoint's {name} must be 1 or more, got {state_dict[name]!r:.100}"
                )
        # Older checkpoints call the only source there was the actor.
        self.source.load_state_dict(state_dict["source" if "source" in state_dict else "actor"])
        self.records.require_size(size)
        self.buffer.extend(self._games_before(size, games, positions))
        self._kept_bytes = size
        self.total_games, self.total_positions = games, positions

    def cut_records(self) -> None:
        """Cut off the records after the checkpoint, which will be made anew.

        All of it must have been looked at before: what is refused costs nothing.
        """
        self.records.truncate(self._kept_bytes)

    def _games_before(self, size: int, games: int, positions: int) -> Iterator[GameRecord]:
        """The games in the first `size` bytes of the file, those of the window by the rules.

        Raises:
            CheckpointError, GameFileError: they are not as many as a checkpoint says, or not whole.
        """
        gone = self.records.forgotten
        referee, found, to_learn = Referee(self.buffer.game), gone.games, gone.positions
        if found > max(0, games - self.buffer.window_games):
            raise CheckpointError(
                f"{self.records.path} has forgotten its first {found:,} games "
                "(replay.games_on_disk), some of which this checkpoint draws from"
            )
        for offset, frame in self.records.frames(0, size):
            where = f"{self.records.path}, byte {offset}"
            record = parse_frame(frame, where)
            if found >= games - self.buffer.window_games:
                referee.check(record, where)
            else:  # it has left the window
                require_same_game(record, self.buffer.game, where)
            found += 1
            to_learn += record.num_samples
            yield record
        for name, wanted, got in (("games", games, found), ("positions", positions, to_learn)):
            if got != wanted:
                raise CheckpointError(f"{self.records.path} must hold {wanted} {name}, got {got}")
