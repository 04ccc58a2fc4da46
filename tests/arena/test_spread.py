"""Matches whose parts are played in several slots: the same games, whatever dies."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from azcore.arena import spread
from azcore.arena.match import play_match, random_openings
from azcore.arena.players import Player, RandomPlayer, SearchPlayer
from azcore.arena.spread import Contender, MatchPart, SpreadMatch, play_spread
from azcore.arena.sprt import SprtSettings
from azcore.errors import LostProcessError, SettingError
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.selfplay.jobs import (
    Job,
    JobCancelledError,
    JobContext,
    JobSlots,
    Tell,
    ThreadSlots,
)
from azcore.storage.starts import read_starts
from process_kit import (
    GAME,
    HashWeights,
    history,
    pids,
    small_actor,
    small_pool,
    small_settings,
    unpacked,
)
from search_kit import search_settings

SEARCH = search_settings(num_simulations=12)
FIRST = Contender(name="first", search=SEARCH, weights=b"hashes", version=3)
SECOND = Contender(name="second", search=SEARCH, weights=b"hashes", version=8)
BASELINE = Contender(name="search", search=replace(SEARCH, num_simulations=20))
RANDOM = Contender(name="random")
WANTED: dict[str, Any] = {"num_games": 22, "opening_plies": 3, "seed": 5}
SPRT = SprtSettings(elo0=0.0, elo1=10.0, alpha=0.05, beta=0.05, look_games=6)


def threads(count: int) -> JobSlots:
    return ThreadSlots(JobContext(GAME, unpacked, count), count)


def player(contender: Contender) -> Player:
    """The same by hand."""
    if contender.search is None:
        return RandomPlayer(game=GAME, name=contender.name)
    known = contender.weights is not None
    evaluator: Evaluator = (
        HashWeights(contender.version).evaluator(1) if known else UniformEvaluator(GAME)
    )
    return SearchPlayer(
        game=GAME, evaluator=evaluator, settings=contender.search, name=contender.name
    )


@pytest.mark.parametrize("players", [(FIRST, SECOND), (SECOND, BASELINE), (RANDOM, FIRST)])
@pytest.mark.parametrize("sprt", [None, SPRT])
def test_one_part_is_the_whole_match(
    players: tuple[Contender, Contender], sprt: SprtSettings | None
) -> None:
    found = play_spread(threads(1), GAME, *players, sprt=sprt, **WANTED)
    wanted = play_match(GAME, *map(player, players), sprt=sprt, **WANTED)
    assert found.result == wanted
    assert found.seconds > 0


def test_parts_make_the_pairs_of_the_whole_in_their_order() -> None:
    """Players without chance choose the same whoever else plays, so the games are the same."""
    whole = play_spread(threads(1), GAME, FIRST, SECOND, **WANTED)
    for count in (3, 4, 20):
        parts = play_spread(threads(count), GAME, FIRST, SECOND, **WANTED)
        assert parts[:2] == whole[:2]
    openings = random_openings(GAME, 11, 3, 5)
    assert [game.actions[:3] for game in whole.result.games[::2]] == [o.actions for o in openings]
    assert [game.first_seat for game in whole.result.games] == [0, 1] * 11


def test_evaluations_are_those_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    evaluate = HashWeights(0).evaluator(1).__class__.evaluate

    def count(self: Any, observations: Any) -> Any:
        asked.append(len(observations))
        return evaluate(self, observations)

    monkeypatch.setattr(HashWeights(0).evaluator(1).__class__, "evaluate", count)
    match = play_spread(threads(2), GAME, FIRST, BASELINE, **WANTED)
    assert match.evaluations == sum(asked) > 0
    assert play_spread(threads(2), GAME, RANDOM, BASELINE, **WANTED).evaluations == 0


def test_games_begin_from_starts(tmp_path: Any) -> None:
    (tmp_path / "starts.txt").write_text("X../.../... o\nX../.O./... x\n")
    starts = read_starts(GAME, (str(tmp_path / "starts.txt"),), (8,), "arena.starts")
    more = {**WANTED, "opening_plies": 1, "starts": starts}
    found = play_spread(threads(3), GAME, FIRST, BASELINE, **more)
    assert found.result == play_match(GAME, player(FIRST), player(BASELINE), **more)
    assert len({game.start for game in found.result.games}) == 2


def test_processes_play_the_same_match() -> None:
    wanted = [
        play_spread(threads(3), GAME, one, other, **WANTED)[:2]
        for one, other in ((FIRST, SECOND), (RANDOM, FIRST))
    ]
    with contextlib.closing(small_pool(small_settings(3), 2)) as pool:
        found = [
            play_spread(pool.job_slots(), GAME, one, other, **WANTED)[:2]
            for one, other in ((FIRST, SECOND), (RANDOM, FIRST))
        ]
    assert found == wanted


def test_a_match_goes_on_beside_self_play_and_is_done_again_if_it_is_lost() -> None:
    """A process is killed in the middle; then the pool gets other weights; the games are all."""
    settings = small_settings(3)
    wanted = play_spread(threads(3), GAME, FIRST, SECOND, **{**WANTED, "num_games": 200})
    games = history(small_actor(settings))
    found: list[SpreadMatch] = []
    said: list[str] = []
    with contextlib.closing(small_pool(settings, 2, say=said.append)) as pool:
        pool.set_weights(HashWeights(0))
        slots = pool.job_slots()
        begun = threading.Thread(
            target=lambda: found.append(
                play_spread(slots, GAME, FIRST, SECOND, **{**WANTED, "num_games": 200})
            )
        )
        begun.start()
        os.kill(pids(pool)[0], signal.SIGKILL)
        assert history(pool) == games
        begun.join(60)
        assert found[0][:2] == wanted[:2]
        assert all(not member._open for member in pool._members)  # nothing is kept
    assert said == ["self-play process 0 ended by signal 9; restarting it"]


class Held(Job[str]):
    """Waits until nobody waits for it."""

    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> str:
        while True:
            time.sleep(0.01)
            tell(0)


class Failing(Job[str]):
    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> str:
        raise SettingError("a setting must be one, got another")


class Deadly(Job[str]):
    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> str:
        os._exit(5)


class Loaded(Job[int]):
    """Has much to bring, and to take away."""

    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> int:
        return sum(map(len, weights))


def test_a_job_that_ends_its_process_is_given_up_and_self_play_goes_on() -> None:
    said: list[str] = []
    with contextlib.closing(small_pool(small_settings(2), 1, say=said.append)) as pool:
        pool.set_weights(HashWeights(0))
        deadly = pool.job_slots().begin(0, Deadly(), [], no_tell)
        for _ in range(200):
            assert pool.play(5)
            if deadly.done():
                break
        with pytest.raises(LostProcessError, match="3 times during the same job"):
            deadly.result(60)
        assert pool.play(20)
    assert said == ["self-play process 0 ended with status 5; restarting it"] * len(said)


def test_a_job_that_ends_its_process_does_so_without_the_process_being_given_up() -> None:
    """Self-play, which has been asked for nothing in the meantime, has nothing to do with it."""
    with contextlib.closing(small_pool(small_settings(2), 1)) as pool:
        pool.set_weights(HashWeights(0))
        deadly = pool.job_slots().begin(0, Deadly(), [], no_tell)
        states = pool._members[0].ask("states")
        with pytest.raises(LostProcessError, match="3 times during the same job"):
            deadly.result(60)
        assert states.result(60) is not None
        assert pool.play(20)


def test_large_jobs_pass_large_answers() -> None:
    """Both at once, more than a socket holds; then again, since the process was killed."""
    weights, found = [bytes(4 * 10**6)] * 2, []
    with contextlib.closing(small_pool(small_settings(2), 1)) as pool:
        member = pool._members[0]
        member.resume_from(pickle.dumps(small_actor(small_settings(2)).worker_states()), None)
        slots = pool.job_slots()
        for number in range(3):
            states = member.ask("states")
            jobs = [slots.begin(at, Loaded(), weights, no_tell) for at in range(2)]
            if number % 2:
                os.kill(pids(pool)[0], signal.SIGKILL)
            found += [states.result(60) is not None, *(job.result(60) for job in jobs)]
    assert found == [True, 8 * 10**6, 8 * 10**6] * 3


def test_a_job_that_nobody_waits_for_harms_nothing() -> None:
    with contextlib.closing(small_pool(small_settings(2), 1)) as pool:
        slots = pool.job_slots()
        left = slots.begin(0, Slow(), [], no_tell)
        left.cancel()
        assert slots.begin(0, Loaded(), [b"one"], no_tell).result(60) == 3
        slots.begin(0, Held(), [], no_tell).cancel()
        pool.set_weights(HashWeights(0))
        assert pool.play(20)


class Slow(Job[str]):
    """Tells how far it is, as a long game does."""

    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> str:
        for done in range(8):
            time.sleep(0.1)
            tell(done)
        return "done"


def test_processes_tell_how_far_a_job_is() -> None:
    told: list[int] = []
    with contextlib.closing(small_pool(small_settings(2), 1)) as pool:
        assert pool.job_slots().begin(1, Slow(), [], told.append).result(60) == "done"
    assert 1 <= len(told) <= 4  # not more than four times a second
    assert told == sorted(set(told))


def no_tell(done: int) -> None:
    pass


@pytest.mark.parametrize("where", ["threads", "processes"])
def test_an_error_there_is_raised_here_and_all_can_be_left(where: str) -> None:
    pool = small_pool(small_settings(2), 1) if where == "processes" else None
    slots: JobSlots = threads(2) if pool is None else pool.job_slots()
    held = slots.begin(0, Held(), [], no_tell)
    with pytest.raises(SettingError, match="got another"):
        slots.begin(1, Failing(), [], no_tell).result(60)
    if pool is not None:  # self-play is not held
        pool.set_weights(HashWeights(0))
        assert pool.play(20)
    slots.close()
    with pytest.raises(LostProcessError if pool else JobCancelledError):
        held.result(60)


def test_a_match_ends_with_the_first_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneFails(ThreadSlots):
        def begin(self, number: int, job: Any, weights: Any, tell: Tell) -> Future[Any]:
            return super().begin(number, Failing() if number == 1 else Held(), weights, tell)

    slots = OneFails(JobContext(GAME, unpacked, 3), 3)
    with pytest.raises(SettingError, match="got another"):
        play_spread(slots, GAME, FIRST, SECOND, **WANTED)
    slots.close()


def test_a_network_is_shared_by_the_jobs_of_a_context_and_then_dropped() -> None:
    made: list[int] = []

    def unpack(packed: bytes, version: int) -> Any:
        made.append(version)
        return unpacked(packed, version)

    context = JobContext(GAME, unpack, 2)
    play_spread(ThreadSlots(context, 2), GAME, FIRST, SECOND, **WANTED)
    assert {*made} == {3, 8}
    assert not context._evaluators
    slots = ThreadSlots(context, 2)  # even while another job is running
    held = slots.begin(0, Held(), [], no_tell)
    job = MatchPart(players=(FIRST, SECOND), openings=[(None, [])], seed=1)
    slots.begin(1, job, [b"hashes", b"hashes"], no_tell).result(60)
    assert not context._evaluators
    slots.close()
    with pytest.raises(JobCancelledError):
        held.result(60)


def test_progress_is_told_on_the_thread_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "LOOK", 0.001)
    told: list[tuple[int, int]] = []
    here = threading.get_ident()

    def progress(done: int, plies: int) -> None:
        assert threading.get_ident() == here
        told.append((done, plies))

    play_spread(threads(2), GAME, FIRST, SECOND, progress=progress, **WANTED)
    assert told[-1] == (22, 0)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert max(plies for _, plies in told) <= 6
