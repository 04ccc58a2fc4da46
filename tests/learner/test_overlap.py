"""Self-play beside the learner: so much and no more, and every game once, whatever dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from typing import Any

import pytest

from azcore.game import ByteArray, FloatArray
from azcore.learner.overlap import OverlappingSelfPlay, _FreePlay
from azcore.selfplay.pool import NOTHING, Amount, WorkerPool, without_ended
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer
from process_kit import GAME, HashWeights, pids, small_actor, small_pool, small_settings
from reference_mcts import HashEvaluator
from selfplay_kit import record_of_values

WORKERS = 3
ROUND = 200  # positions, more than end in a round of all workers


class Learner:
    """Asks for games like `SelfPlayData`, with other weights each time."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool, self.version = pool, 0
        self.games: list[GameRecord] = []
        self.source = OverlappingSelfPlay(
            pool=pool,
            window=ReplayBuffer(game=GAME, window_games=10, augment=False),
            weights_in_play=lambda: HashWeights(self.version),
        )
        self.source.deliver_to(self.store)

    def store(self, games: list[GameRecord]) -> None:
        self.games += games

    def close(self) -> None:
        self.source.close()

    @property
    def made(self) -> int:
        return NOTHING.with_more(self.games).positions

    def begin(self, wanted: int, ahead: int) -> None:
        """Begin a generation that needs so many positions in all, and the next so many."""
        with self.source.at_rest():
            self.version += 1
            if wanted > self.made:
                more = Amount(0, wanted - self.made)
                assert self.source.new_games(more, lambda made: None) == []
            self.source.play_on(Amount(0, ahead - self.made))

    def state(self) -> dict[str, Any]:
        with self.source.at_rest():
            return self.source.state_dict()


@pytest.fixture(params=[1, WORKERS])
def learner(request: pytest.FixtureRequest) -> Iterator[Learner]:
    with closing(Learner(small_actor(small_settings(request.param)))) as it:
        yield it


def waited(condition: Any, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


def begun_and_known(games: list[GameRecord], state: dict[str, Any]) -> tuple[list[int], list[int]]:
    """The indices of all games that began, and of those that ended or are in play."""
    count = len(state["workers"])
    begun = [
        index
        for number, worker in enumerate(state["workers"])
        for index in range(number, worker["next_index"], count)
    ]
    in_play = [game["game_index"] for worker in state["workers"] for game in worker["games"]]
    return sorted(begun), sorted([record.game_index for record in games] + in_play)


def test_it_plays_on_and_not_too_far(learner: Learner) -> None:
    learner.begin(100, 1000)
    assert learner.made >= 100
    assert waited(lambda: learner.made >= 1000)
    time.sleep(0.1)
    after = learner.made
    assert after < 1000 + ROUND
    time.sleep(0.1)
    assert learner.made == after
    learner.begin(1000, after)  # nothing is missing, and no more wanted
    assert learner.made == after
    learner.begin(after + 1, after + 1)
    assert after < learner.made < after + ROUND


def test_nothing_ends_while_it_rests(learner: Learner) -> None:
    learner.begin(10, 10**6)
    with learner.source.at_rest():
        before = learner.made
        begun, known = begun_and_known(learner.games, learner.source.state_dict())
        assert begun == known
        time.sleep(0.1)
        assert learner.made == before
    assert waited(lambda: learner.made > before)


def test_newer_weights_play_from_the_next_generation_on(learner: Learner) -> None:
    for generation in range(1, 4):
        learner.begin(400 * generation, 400 * (generation + 1))
    versions = [record.weights_version for record in learner.games]
    assert set(versions) == {1, 2, 3}
    assert versions == sorted(versions)
    taken = learner.source.take_statistics()
    assert taken.evaluations > 1000
    assert 0 < taken.network_seconds < taken.seconds


@pytest.mark.parametrize("ended", [4, 100])
def test_games_that_ended_since_are_not_ended_again(ended: int) -> None:
    """A state of the middle of a run, and so many games that ended after it."""
    with closing(Learner(small_actor(small_settings(WORKERS)))) as first:
        first.begin(300, 300)
        state, before = first.state(), len(first.games)
        first.begin(600, 600)
    del first.games[before + ended :]
    since = {record.game_index for record in first.games[before:]}
    in_play = {game["game_index"] for worker in state["workers"] for game in worker["games"]}
    assert since & in_play
    assert ended == 4 or since > in_play
    with closing(Learner(small_actor(small_settings(WORKERS)))) as second:
        second.source.load_state_dict(without_ended(state, since))
        second.begin(300, 300)
        begun, known = begun_and_known([*first.games, *second.games], second.state())
    assert len(known) == len(set(known))
    assert in_play - since <= {record.game_index for record in second.games}  # those go on
    assert set(known) <= set(begun)


def test_an_error_comes_out_where_games_are_asked_for() -> None:
    class Failing(HashEvaluator):
        def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
            raise ZeroDivisionError("in a worker")

    class Weights(HashWeights):
        def evaluator(self, callers: int) -> Failing:
            return Failing(GAME)

    learner = Learner(small_actor(small_settings(WORKERS)))
    learner.source._weights_in_play = lambda: Weights(1)
    with closing(learner), pytest.raises(ZeroDivisionError, match="in a worker"):
        learner.begin(10, 10)


def test_a_disk_that_is_full_is_noticed() -> None:
    learner = Learner(small_actor(small_settings(WORKERS)))

    def full(games: list[GameRecord]) -> None:
        raise OSError("No space left on device")

    learner.source.deliver_to(full)
    with closing(learner), pytest.raises(OSError, match="No space"):
        learner.begin(10, 10)


class HandPool:
    """Rounds that end when the test says so."""

    settings = small_settings(4)

    def __init__(self) -> None:
        self.begun: dict[int, Future[list[GameRecord]]] = {}

    def begin_round(self, worker: int) -> Future[list[GameRecord]]:
        self.begun[worker] = Future()
        return self.begun[worker]

    def leave_rounds(self) -> None:
        for future in self.begun.values():
            if not future.done():
                future.set_result([])


def test_games_that_ended_together_are_stored_once_also_beside_an_error() -> None:
    """Meanwhile, here while those of another round are stored."""
    pool: Any = HandPool()
    play, stored = _FreePlay(pool), []
    storing, go_on = threading.Event(), threading.Event()

    def store(games: list[GameRecord]) -> None:
        stored.append(len(games))
        storing.set()
        go_on.wait(30)

    play.store = store
    games = [record_of_values([0.5], 1)]
    with closing(play):
        with play.at_rest():
            play.allow(Amount(0, 10**6))
        assert waited(lambda: len(pool.begun) == 4)
        first, second, third, fourth = pool.begun.values()
        first.set_result(games)
        assert storing.wait(30)
        second.set_result(games)
        third.set_exception(ZeroDivisionError("in a worker"))
        fourth.set_result(2 * games)
        go_on.set()
        with pytest.raises(ZeroDivisionError, match="in a worker"), play.at_rest():
            pass
    assert stored == [1, 3]


def test_a_killed_process_costs_no_game() -> None:
    """All games that began have ended once, or are in play."""
    said: list[str] = []
    pool = small_pool(small_settings(WORKERS), 2, say=said.append)
    with closing(Learner(pool)) as learner:
        for generation in range(1, 4):
            learner.begin(500 * generation, 500 * (generation + 1))
            os.kill(pids(pool)[generation % 2], signal.SIGKILL)
        begun, known = begun_and_known(learner.games, learner.state())
    assert len(said) == 3
    assert begun == known


def test_what_a_lost_process_repeats_does_not_grow() -> None:
    """A gate may keep the same weights in play for many generations."""
    pool = small_pool(small_settings(2), 2)
    with closing(Learner(pool)) as learner:
        asked = []
        for _ in range(6):
            learner.version = 0  # `begin` makes it 1 each time
            learner.begin(learner.made + 100, learner.made)
            learner.state()
            asked.append(max(len(member._requests) for member in pool._members))
    assert max(asked[3:]) < 3 * asked[0]
