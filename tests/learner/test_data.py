"""Batches are drawn ahead of the learner, and nobody can tell but by the clock."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import azcore
from azcore.commands.bench.learner import feeding_ratio
from azcore.errors import CheckpointError, SettingError
from azcore.learner import ratio
from azcore.learner.data import GenerationLoader, SelfPlayData, compile_sampling, draw_batch
from azcore.learner.ratio import Ratio
from azcore.learner.sources import GameSource
from azcore.selfplay.pool import NOTHING, ActorStatistics, Amount
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer
from azcore.storage.replay_settings import ReplaySettings
from selfplay_kit import played

WAIT = 30.0  # seconds after which a thread that should have moved is taken for stuck


def numbered(step: int) -> dict[str, Tensor]:
    return {"step": torch.tensor(step)}


def steps_of(loader: GenerationLoader) -> list[int]:
    return [int(batch["step"]) for batch in loader]


def drawers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_each_pass_is_a_generation() -> None:
    loader = GenerationLoader(numbered, 4)
    assert len(loader) == 4
    assert [steps_of(loader), steps_of(loader)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    single = GenerationLoader(numbered, 1)
    assert [steps_of(single), steps_of(single)] == [[0], [1]]


def test_the_next_batch_is_drawn_while_one_is_learned_from() -> None:
    drawn = [threading.Event() for _ in range(3)]

    def draw(step: int) -> dict[str, Tensor]:
        assert threading.current_thread() is not threading.main_thread()
        drawn[step].set()
        return numbered(step)

    batches = iter(GenerationLoader(draw, 3))
    for step in range(2):
        assert int(next(batches)["step"]) == step
        assert drawn[step + 1].wait(WAIT)  # though nobody has asked for it


def test_nothing_is_drawn_between_two_generations() -> None:
    """So none can be drawing from a window that is about to change."""
    drawn: list[int] = []

    def draw(step: int) -> dict[str, Tensor]:
        drawn.append(step)
        return numbered(step)

    loader = GenerationLoader(draw, 3)
    for generation in range(2):
        # As Lightning does, which knows the size and never asks for a batch beyond the last.
        batches = iter(loader)
        assert len(drawn) == 3 * generation
        for _ in range(3):
            next(batches)
        assert not drawers()
        assert drawn == list(range(3 * generation + 3))


@pytest.mark.parametrize("stop", range(1, 9))
def test_resumed_at_the_batch_it_stopped_at(stop: int) -> None:
    """The batch that was drawn ahead does not count as used."""
    first = GenerationLoader(numbered, 4)
    seen: list[int] = []
    while len(seen) < stop:
        for batch in first:
            seen.append(int(batch["step"]))
            if len(seen) == stop:
                break
    state = first.state_dict()
    assert state == {"generation": stop // 4, "batch": stop % 4}
    second = GenerationLoader(numbered, 4)
    second.load_state_dict(state)
    while len(seen) < 12:
        seen += steps_of(second)
    assert seen == list(range(12))


class SpoiledError(Exception):
    pass


@pytest.mark.parametrize("wrong", [0, 2, 3])  # first, in the middle, last
def test_an_error_comes_out_as_itself_where_its_batch_was_due(wrong: int) -> None:
    error = SpoiledError("no such batch")

    def draw(step: int) -> dict[str, Tensor]:
        if step == wrong:
            raise error
        return numbered(step)

    seen: list[int] = []
    loader = GenerationLoader(draw, 4)
    with pytest.raises(SpoiledError) as caught:
        seen.extend(int(batch["step"]) for batch in loader)
    assert caught.value is error
    assert seen == list(range(wrong))
    assert loader.state_dict() == {"generation": 0, "batch": wrong}
    assert not drawers()


def test_a_learner_that_is_interrupted_leaves_no_thread_behind() -> None:
    def learn() -> None:
        for _batch in GenerationLoader(numbered, 1000):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn()
    assert not drawers()


def test_a_batch_is_a_function_of_window_seed_and_step() -> None:
    game = azcore.make("go", board_size=3)
    buffer = ReplayBuffer(game=game, window_games=1000, augment=True)
    buffer.extend(played(game, 200))

    def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
        return all(torch.equal(one[name], other[name]) for name in one)

    expected = [draw_batch(buffer, 32, 1, step) for step in range(6)]
    loader = GenerationLoader(lambda step: draw_batch(buffer, 32, 1, step), 6)
    assert all(same(one, other) for one, other in zip(loader, expected, strict=True))
    assert not same(expected[0], expected[1])
    assert not same(expected[0], draw_batch(buffer, 32, 2, 0))
    assert expected[0]["observations"].dtype == torch.uint8  # bytes until the network divides them


def test_feeding_ratio_tells_a_slow_draw() -> None:
    """A draw that takes as long as ten steps."""
    pause = threading.Event()

    def slow(step: int) -> dict[str, Tensor]:
        pause.wait(0.02)
        return numbered(step)

    def step(_batch: Any) -> None:
        pause.wait(0.002)

    assert feeding_ratio(slow, step, steps=4, seconds=0) < 0.6


class Bursts(GameSource):
    """Gives whole games of nine positions, four at a time, as an actor's games end together."""

    def __init__(self, games: list[GameRecord]) -> None:
        self._games = iter(games)
        self.asked: list[Amount] = []

    def new_games(self, wanted: Amount, progress: Callable[[Amount], None]) -> list[GameRecord]:
        self.asked.append(wanted)
        games: list[GameRecord] = []
        made = NOTHING
        while made.games < wanted.games or made.positions < wanted.positions:
            games += islice(self._games, 4)
            made = NOTHING.with_more(games)
            progress(made)
        return games

    def take_statistics(self) -> ActorStatistics:
        raise NotImplementedError

    def metrics(self, games: list[GameRecord]) -> dict[str, float]:
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def load_state_dict(self, state: dict[str, Any]) -> None:
        raise NotImplementedError


def data_of(
    source: GameSource,
    tmp_path: Path,
    games_per_generation: int | None,
    least: float | None = None,
) -> SelfPlayData:
    """Two batches of 10 a generation, each position drawn four times."""
    game = azcore.make("tic_tac_toe")
    return SelfPlayData(
        source=source,
        buffer=ReplayBuffer(game=game, window_games=1000, augment=False),
        records=GameFile(tmp_path / "records.azg"),
        settings=ReplaySettings(
            window_games=1000,
            window_start=None,
            window_power=0.75,
            window_slope=0.4,
            samples_per_position=4.0 if games_per_generation is None else None,
            least_samples_per_position=least,
            games_per_generation=games_per_generation,
            games_on_disk=None,
            window_on_disk=False,
            root_value_share=0.0,
            value_samples_per_game=None,
            surprise_share=0.0,
            augment=False,
        ),
        batch_size=10,
        steps_per_generation=2,
        seed=1,
        progress=lambda made, wanted, unit: None,
    )


def test_few_samples_until_values_explain_new_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sample a position at explained variance 0, four from 0.3 on; a resume continues it."""
    told = [None, -0.5, 0.0, 0.1, 0.1, 0.3, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
    expected, known = [], []
    for explained in told:
        mean = float(np.mean(known[-5:])) if known else 0.0
        expected.append(20 / (1 + 3 * min(1.0, max(0.0, mean / 0.3))))
        known += [] if explained is None else [explained]
    answers = iter(told)
    monkeypatch.setattr(ratio, "explained_variance", lambda games: next(answers))
    data = data_of(Bursts(played(azcore.make("tic_tac_toe"), 3000)), tmp_path, None, least=1.0)
    for generation in range(len(told)):
        assert data._ratio is not None
        asked = data._ratio.positions(generation)
        assert asked == round(sum(expected[: generation + 1]))
        data._generate(generation)
        assert data.total_positions >= asked
        again = Ratio(data._settings, 20)
        again.load_state_dict(json.loads(json.dumps(data._ratio.state_dict())), 0)
        assert again.positions(generation + 1) == data._ratio.positions(generation + 1)
        part = again.samples(generation + 1, again.positions(generation + 1))
        assert part == pytest.approx(20 * (generation + 2), abs=2)
    assert expected[0] == 20
    assert expected[-1] == 5


@pytest.mark.parametrize(
    "state",
    [{"asked": "5"}, {"asked": math.nan}, {"asked": 1.0, "explained": [1]}, {"explained": 3}],
)
def test_a_ratio_that_lies_is_refused(tmp_path: Path, state: dict[str, Any]) -> None:
    data = data_of(Bursts([]), tmp_path, None, least=1.0)
    assert data._ratio is not None
    with pytest.raises(CheckpointError, match="ratio of samples must be finite numbers"):
        data._ratio.load_state_dict(state, 7)


def test_a_number_of_values_needs_a_fixed_number_of_samples(tmp_path: Path) -> None:
    settings = data_of(Bursts([]), tmp_path, None, least=1.0)._settings
    with pytest.raises(SettingError, match="where a game has no fixed number"):
        replace(settings, value_samples_per_game=2.0)


def test_what_a_generation_gets_too_much_is_taken_off_the_next(tmp_path: Path) -> None:
    """5 positions a generation, in bursts of four whole games of up to 9."""
    source = Bursts(played(azcore.make("tic_tac_toe"), 3000))
    data = data_of(source, tmp_path, None)
    wanted, ratios = [], []
    for generation in range(200):
        before = data.total_positions
        data._generate(generation)
        needed = 5 * (generation + 1) - before
        if needed > 0:
            wanted.append(Amount(0, needed))
        assert (data.total_positions > before) is (needed > 0)
        assert (len(data.new_games) > 0) is (needed > 0)
        assert 0 <= data.total_positions - 5 * (generation + 1) < 4 * 9
        ratios.append(20 * (generation + 1) / data.total_positions)
    assert source.asked == wanted
    assert 10 < len(wanted) < 100  # most generations had games enough already
    assert ratios[0] < 1 < 3.8 < ratios[-1] <= 4


def test_no_game_of_the_last_checkpoint_is_forgotten(tmp_path: Path) -> None:
    """With overlap, games arrive after it, and enter the window a generation later."""
    games = played(azcore.make("tic_tac_toe"), 3000)
    data = data_of(Bursts(games), tmp_path, 4)
    data._settings = replace(data._settings, window_games=10, games_on_disk=10)
    data._store(games[:40])
    data._arrived = []
    at_checkpoint = data.total_games
    data._store(games[40:60])
    data._forget_old_games()
    assert data.records.forgotten.games == at_checkpoint - 10
    data._arrived = []
    data._forget_old_games()
    assert data.records.forgotten.games == 60 - 10


def test_the_window_grows_slower_than_the_run(tmp_path: Path) -> None:
    """Wu 2019: from 250,000 to 22 million positions of 241 million."""
    source = Bursts(played(azcore.make("tic_tac_toe"), 3000))
    data = data_of(source, tmp_path, 4)
    growing = replace(data._settings, window_start=250_000, window_games=10**9)
    assert growing.window_at(241_000_000) == pytest.approx(22e6, rel=0.1)
    data._settings = replace(data._settings, window_start=8, window_games=40)
    sizes = []
    for generation in range(40):
        data._generate(generation)
        sizes.append(len(data.buffer))
        newest = [record.to_bytes() for record in data.records.read()][-sizes[-1] :]
        held = [record.to_bytes() for record in records_in(data.buffer)]
        assert held == newest
    # 8 (1 + 0.4 ((N / 8)^0.75 - 1) / 0.75) of N = 16, 40, 80 games, and at most 40.
    assert (sizes[0], sizes[1], sizes[3], sizes[9]) == (4, 8, 10, 17)
    assert sizes[19] == math.floor(8 * (1 + 0.4 * (10**0.75 - 1) / 0.75))
    assert sizes[-1] == 40
    assert sizes == sorted(sizes)


def records_in(buffer: ReplayBuffer) -> list[GameRecord]:
    """The games in a window, oldest first."""
    return [buffer._record(i) for i in range(buffer._games.first, buffer._games.end)]


def test_a_generation_may_be_so_many_games(tmp_path: Path) -> None:
    """Three of them, in bursts of four; the first also needs a position to learn from."""
    source = Bursts(played(azcore.make("tic_tac_toe"), 3000))
    data = data_of(source, tmp_path, 3)
    for generation in range(6):
        data._generate(generation)
    assert source.asked == [Amount(3, 1), *(Amount(games, 0) for games in (2, 1, 3, 2))]
    assert data.total_games == 20


@pytest.mark.parametrize("name", ["go", "chess", "tic_tac_toe_plain"])
def test_what_draws_a_batch_is_compiled_with_a_game_of_one_ply(name: str) -> None:
    window = ReplayBuffer(
        game=azcore.make(name), window_games=1, augment=True, targets=("reply", "later_values")
    )
    compile_sampling(window)
    assert window.num_positions == 1
