"""Feeds the learner: new games from a source for each generation, and batches from the window.

The learner requests games and the actor plays them: a generation of `steps_per_generation` batches
needs steps x batch_size / samples_per_position new positions (`Ratio`), so learning and self-play
keep their ratio on any machine. Since only whole games count, a generation gets more than it needs,
and the next one gets fewer in return. Batches are sampled by a counter (seed, step), so no random
state needs saving. A thread samples the next batch while the learner takes a step.
Games from elsewhere can replace self-play: see `azcore.learner.sources`. If it continues while
the learner takes its steps (`azcore.learner.overlap`), games arrive at any time: they are saved at
once, and enter the window when the next generation begins.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor

from azcore.chance import Purpose, generator
from azcore.errors import CheckpointError, GameFileError
from azcore.learner.ratio import Ratio
from azcore.learner.sources import GameSource
from azcore.learner.team import ALONE, Share, Team
from azcore.selfplay.pool import Amount, without_ended
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, parse_frame, require_same_game
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer
from azcore.storage.replay_settings import ReplaySettings

MOST_ON_DISK = 1.25  # times `replay.games_on_disk`; beyond that, the oldest games are dropped
# Called with the progress of self-play: so far, wanted, unit (games or positions); False ends it.
Progress = Callable[[int, int, str], bool | None]


def draw_batch(
    buffer: ReplayBuffer,
    size: int,
    seed: int,
    step: int,
    *,
    rows: slice = slice(None),
    pin: bool = False,
) -> dict[str, Tensor]:
    """The batch of one optimizer step, a function of the window, the seed and the step.

    Args:
        size: N.
        step: counted through all generations.
        rows: which rows to make if other ranks make the rest.
        pin: put it in pinned memory, which a GPU copies while the program continues.

    Returns:
        The fields of `Samples` by name, with the auxiliary targets among them.
    """
    samples = buffer.sample(size, generator(Purpose.BATCH, seed, step), rows)
    arrays = {**vars(samples), **samples.auxiliary}
    del arrays["auxiliary"]
    batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {name: tensor.pin_memory() for name, tensor in batch.items()} if pin else batch


def compile_sampling(window: ReplayBuffer) -> None:
    """Compile the code that draws a batch; adds a game of one ply to an empty window."""
    game = window.game
    state = game.initial_state()
    seat, action = game.current_player(state), game.legal_action_mask(state).nonzero()[0][:1]
    ones = np.ones(1, np.float32)
    resigned = GameRecord(
        game=game.identity,
        actions=action.astype(np.uint16),
        visit_offsets=np.array([0, 1], np.uint32),
        visit_actions=action.astype(np.uint16),
        visit_counts=np.ones(1, np.uint32),
        root_values=ones,
        best_child_values=ones,
        players=np.array([seat], np.uint8),
        outcome=-1,
        resigned_by=0,
        resign_threshold=None,
        played_out=False,
        opening_plies=0,
        seed=0,
        game_index=0,
        weights_version=0,
        counts="visits",
        surprises=ones,
    )
    window.extend([resigned])
    draw_batch(window, 2, 0, 0)


class GenerationLoader:
    """A sized, stateful train loader that resumes at the batch where it stopped.

    While the learner uses a batch, a thread samples the next one of the same generation. The state
    counts the batches handed out; a batch sampled ahead but never used is sampled again, unchanged.

    Args:
        draw: returns a batch, counted through all generations; runs on another thread, and the
            iteration raises its errors. It does not run between two passes.
        size: batches per generation.
        parts: batches per step.
    """

    def __init__(self, draw: Callable[[int], dict[str, Tensor]], size: int, parts: int = 1) -> None:
        self._draw, self._size, self._parts = draw, size, parts
        self.generation = 0  # of the current pass, or else of the next
        self.batch = 0  # next batch of that pass; above 0: its games have already arrived

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        first = self.generation * self._size
        # After an error, an interrupt or an early stop it waits for at most one batch. For steps of
        # 10 ms on 2 cores a second thread was no better: 0.88 to 0.95 instead of 0.98.
        with ThreadPoolExecutor(1, "batches") as thread:
            ahead = thread.submit(self._draw, first + self.batch)
            for following in range(self.batch + 1, self._size):
                batch = ahead.result()
                ahead = thread.submit(self._draw, first + following)
                self.batch = following
                yield batch
            batch = ahead.result()
        # The next generation's games have not arrived, so sampling ends with the last step.
        self.generation, self.batch = self.generation + 1, 0
        yield batch

    def state_dict(self) -> dict[str, int]:
        state = {"generation": self.generation, "batch": self.batch}
        return state if self._parts == 1 else {**state, "parts": self._parts}

    def load_state_dict(self, state: dict[str, int]) -> None:
        generation, batch, parts = state["generation"], state["batch"], state.get("parts", 1)
        if batch and parts != self._parts:
            raise CheckpointError(
                "a checkpoint from the middle of a generation resumes with the same "
                f"trainer.accumulate_grad_batches, {parts!r:.20}, got {self._parts}"
            )
        if not (type(generation) is type(batch) is int and generation >= 0 <= batch < self._size):
            raise CheckpointError(
                f"a checkpoint's batch must be 0 to {self._size - 1} of a generation, "
                f"got {batch!r:.100} of {generation!r:.100}"
            )
        self.generation, self.batch = generation, batch


class WindowData(LightningDataModule):
    """The window of games, and a rank's shares of the batches sampled from it.

    Args:
        team: the ranks that learn from the games.
        batch_size: N, of all ranks together.
        steps_per_generation: batches per epoch.
        parts: into which a step divides its batch.
    """

    def __init__(
        self,
        *,
        team: Team,
        buffer: ReplayBuffer,
        batch_size: int,
        steps_per_generation: int,
        parts: int,
        seed: int,
    ) -> None:
        super().__init__()
        self._team, self.buffer = team, buffer
        self.batch_size, self._seed = batch_size, seed
        self._share = Share(team.rank, team.size, parts)
        self.loader = GenerationLoader(self._draw, steps_per_generation * parts, parts)

    def train_dataloader(self) -> GenerationLoader:
        return self.loader

    def _draw(self, batch: int) -> dict[str, Tensor]:
        step, rows = self._share.of(batch, self.batch_size)
        # Lightning copies batches to a GPU asynchronously, which needs pinned memory.
        pin = self.trainer is not None and self.trainer.strategy.root_device.type == "cuda"
        return draw_batch(self.buffer, self.batch_size, self._seed, step, rows=rows, pin=pin)


class ReceivedGames(WindowData):
    """The data of a rank without self-play: the same window, received from rank 0."""

    def receive_games(self) -> None:
        """Wait for a generation's games, or for the window of a resumed run.

        `SelfPlayData.self_play` sends the first, `load_state_dict` the other.
        """
        self._team.receive_games(self.buffer)


class SelfPlayData(WindowData):
    """The window of games, the source that extends it, and the batches sampled from it.

    Args:
        records: the file to which every finished game is appended.
        settings: how often to sample a position.
        team: the ranks that learn from the games, of which this one provides them.
        on_games: called with a generation's games once they are on disk; after a resume perhaps
            again.
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
        team: Team = ALONE,
        parts: int = 1,
        on_games: Callable[[list[GameRecord]], None] = lambda games: None,
    ) -> None:
        super().__init__(
            team=team,
            buffer=buffer,
            batch_size=batch_size,
            steps_per_generation=steps_per_generation,
            parts=parts,
            seed=seed,
        )
        self.source, self.records = source, records
        self._progress, self._on_games = progress, on_games
        self._settings, self._samples = settings, batch_size * steps_per_generation  # a generation
        by_games = settings.games_per_generation is not None
        self._ratio = None if by_games else Ratio(settings, self._samples)
        self.new_games: list[GameRecord] = []  # records of the current generation, for logs
        self._arrived: list[GameRecord] = []  # on disk, but not in the window yet
        self.total_games = 0  # on disk
        self.total_positions = 0
        self.keeps_games_since = False  # the checkpoint, when a run resumes
        self.last_step: int | None = None  # that games allow; None: self-play ran to its end
        self.was_cut = False  # the self-play of the generation in which a run resumes
        self._kept_bytes = 0  # size of the game file from which the run resumes
        source.deliver_to(self._store)

    @property
    def steps_per_generation(self) -> int:
        return self._samples // self.batch_size

    @property
    def finished_generation(self) -> int:
        """The generation whose batches were sampled last."""
        return self.loader.generation - (self.loader.batch == 0)

    @property
    def between_generations(self) -> bool:
        """Whether all batches of that generation were sampled, so that it did not stop midway."""
        return self.loader.batch == 0

    def self_play(self) -> None:
        """Get the games for a generation, and save them to disk.

        A run that resumes within a generation has them already, unless its self-play was cut short.
        """
        self.last_step = None
        if self.between_generations or self.was_cut:
            self._generate(self.loader.generation)
        self.was_cut = False

    def _generate(self, generation: int) -> None:
        with self.source.at_rest():
            self._forget_old_games()
            wanted = self._wanted(generation)
            if max(wanted) > 0:
                unit, is_cut = "games" if wanted.games else "positions", False

                def progress(made: Amount) -> bool:
                    nonlocal is_cut
                    answer = self._progress(getattr(made, unit), getattr(wanted, unit), unit)
                    is_cut = answer is False
                    return not is_cut

                self._store(self.source.new_games(wanted, progress))
                if is_cut and max(self._wanted(generation)) > 0:
                    self.last_step = self._steps_paid(generation)
            self.new_games, self._arrived = self._arrived, []
            if self._ratio is not None and self.last_step is None:
                self._ratio.end_generation(self.new_games)
            self._on_games(self.new_games)
            self.buffer.window_games = self._settings.window_at(self.total_games)
            self.buffer.extend(self.new_games)
            self._team.send_games(self.new_games, self.buffer.window_games)
            self.source.play_on(self._wanted(generation + 1))

    def _store(self, games: list[GameRecord]) -> None:
        """Save games to disk, which makes them count; one thread at a time."""
        self.records.append(games)
        self._arrived += games
        self.total_games += len(games)
        self.total_positions += sum(record.num_samples for record in games)

    def _forget_old_games(self) -> None:
        """Drop games that no window needs, a fifth of those on disk at once.

        This happens before new games are added, so that the last checkpoint finds its window.
        """
        keep = self._settings.games_on_disk
        if keep is None:
            return
        # Games that are not yet in the window may be newer than the last checkpoint, which has a
        # window of its own.
        total = self.total_games - len(self._arrived)
        if total - self.records.forgotten.games > MOST_ON_DISK * keep:
            self.records.forget(total - keep)

    def most_positions(self, max_steps: int) -> float:
        """Upper limit of the positions on disk in a run of `max_steps` steps."""
        settings, longest = self._settings, self.buffer.game.max_game_length
        if settings.games_per_generation is not None:
            generations = max_steps * self.batch_size / self._samples
            made = generations * settings.games_per_generation * longest
        else:
            assert settings.fewest_samples is not None
            made = max_steps * self.batch_size / settings.fewest_samples
        if settings.games_on_disk is None:
            return made
        return min(made, MOST_ON_DISK * settings.games_on_disk * longest)

    def _wanted(self, generation: int) -> Amount:
        """The amount that a generation must add; 0 or less if earlier ones made enough."""
        if self._settings.games_per_generation is not None:
            games = (generation + 1) * self._settings.games_per_generation
            # Cheap searches are not learned from, and a short game may have no other.
            return Amount(
                games=games - self.total_games, positions=max(0, 1 - self.total_positions)
            )
        assert self._ratio is not None
        positions = self._ratio.positions(generation)
        return Amount(games=0, positions=positions - self.total_positions)

    def _steps_paid(self, generation: int) -> int:
        """The last step with games, in a generation whose self-play ended early.

        It counts steps of the whole run, and may be past.
        """
        steps = self.steps_per_generation
        if self._settings.games_per_generation is not None:
            of_run = steps * self.total_games / self._settings.games_per_generation
        else:
            assert self._ratio is not None
            of_run = self._ratio.samples(generation, self.total_positions) / self.batch_size
        return min(int(of_run), steps * (generation + 1)) if self.total_positions else 0

    def state_dict(self) -> dict[str, Any]:
        """Games in play and the size of the game file, from which a resume reads the window."""
        with self.source.at_rest():
            state = {
                "source": self.source.state_dict(),
                "record_bytes": self.records.size(),
                "total_games": self.total_games,
                "total_positions": self.total_positions,
            }
            if self._ratio is not None:
                state |= self._ratio.state_dict()
            return state if self.last_step is None else {**state, "was_cut": True}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state of a checkpoint; `cut_records` then does the same for the file.

        Raises:
            CheckpointError, GameFileError: records that the checkpoint needs are missing.
        """
        games, positions = state_dict["total_games"], state_dict["total_positions"]
        size = state_dict["record_bytes"]
        self.was_cut = state_dict.get("was_cut") is True
        if self.was_cut and self._team.is_many:
            raise CheckpointError(
                "trainer.max_time ended the self-play of this run early: resume it on one device "
                "up to the end of the generation, with trainer.devices=1 and trainer.num_nodes=1"
            )
        for name in ("record_bytes", "total_games", "total_positions"):
            if type(state_dict[name]) is not int or state_dict[name] < (not self.was_cut):
                raise CheckpointError(
                    f"a checkpoint's {name} must be 1 or more, got {state_dict[name]!r:.100}"
                )
        if self._ratio is not None:
            self._ratio.load_state_dict(state_dict, positions)
        source = state_dict["source"]
        self.records.require_size(size)
        self._kept_bytes = size
        since = self._games_since(size) if self.keeps_games_since else []
        if since:
            source = without_ended(source, {record.game_index for record in since})
        self.source.load_state_dict(source)
        window = self._settings.window_at(games + len(since))
        self.buffer.window_games = window
        first = max(0, games - window)
        outside = max(0, first - self.records.before_game(first).games)
        before = self._games_before(size, games, positions)
        self.buffer.extend(self._team.passed_on(before, window, outside))
        self._arrived = since  # the next generation's, which adds them to the window
        self.total_games = games + len(since)
        self.total_positions = positions + sum(record.num_samples for record in since)

    def cut_records(self) -> None:
        """Truncate the records after the checkpoint, or after the last whole record to keep.

        The caller has checked the whole checkpoint, so that a refused one changes nothing.
        """
        self.records.truncate(self._kept_bytes)

    def _games_since(self, size: int) -> list[GameRecord]:
        """The games after the first `size` bytes of the file, up to an incomplete one."""
        referee = Referee(self.buffer.game)
        games: list[GameRecord] = []
        frames = self.records.frames(size)
        while True:
            try:
                offset, frame = next(frames)
                record = parse_frame(frame, f"{self.records.path}, byte {offset}")
            except (StopIteration, GameFileError):
                return games
            referee.check(record, f"{self.records.path}, byte {offset}")
            games.append(record)
            self._kept_bytes = offset + len(frame)

    def _games_before(self, size: int, games: int, positions: int) -> Iterator[GameRecord]:
        """The window's games in the first `size` bytes of the file, replayed, and a few before."""
        first = max(0, games - self.buffer.window_games)
        before = self.records.before_game(first)
        referee, found, to_learn = Referee(self.buffer.game), before.games, before.positions
        if found > first:
            raise CheckpointError(
                f"{self.records.path} has dropped its first {found:,} games "
                "(replay.games_on_disk), some of which this checkpoint needs"
            )
        self.buffer.begin_after(to_learn)
        for offset, frame in self.records.frames(before.place, size):
            where = f"{self.records.path}, byte {offset}"
            record = parse_frame(frame, where)
            if found >= first:
                referee.check(record, where)
            else:  # outside the window
                require_same_game(record, self.buffer.game, where)
            found += 1
            to_learn += record.num_samples
            yield record
        for name, wanted, got in (("games", games, found), ("positions", positions, to_learn)):
            if got != wanted:
                raise CheckpointError(f"{self.records.path} must hold {wanted} {name}, got {got}")
