"""Workers side by side: the same games whatever the threads do, and nothing hangs."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from pathlib import Path

import pytest

import azcore
from azcore.errors import SettingError
from azcore.game import ByteArray, FloatArray
from azcore.search.evaluators import Evaluator
from azcore.selfplay import sizes
from azcore.selfplay.actor import Actor
from azcore.selfplay.pool import Amount
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.sizes import (
    Trial,
    available_cores,
    available_memory,
    best_num_games,
    many_legal,
    with_games,
    with_workers,
)
from process_kit import small_actor
from reference_mcts import HashEvaluator
from search_kit import search_settings
from selfplay_kit import rounds, selfplay_settings

GAME = azcore.make("tic_tac_toe")


class Delayed(HashEvaluator):
    """Takes a random time, so that threads overtake each other."""

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        time.sleep(random.random() * 1e-3)
        return super().evaluate(observations)


def actor(workers: int, num_games: int = 7, evaluator: Evaluator | None = None) -> Actor:
    return Actor(
        game=GAME,
        search=search_settings(num_simulations=12),
        settings=selfplay_settings(num_games=num_games, workers=workers),
        seed=1,
        evaluator=evaluator or HashEvaluator(GAME),
    )


def test_the_same_games_end_however_threads_are_delayed() -> None:
    games = [[r.to_bytes() for r in actor(3, evaluator=Delayed(GAME)).play(400)] for _ in range(3)]
    assert games[0] == games[1] == games[2]


def test_memory_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit, one beyond the machine's memory and no such file leave all of it."""
    monkeypatch.setattr(sizes, "CGROUP", tmp_path)
    machine = available_memory()
    assert 2**28 < machine < 2**50
    (tmp_path / "memory").mkdir()
    for name in ("memory/memory.limit_in_bytes", "memory.max"):
        for limit, memory in (("1048576", 2**20), (str(2**63 - 4096), machine), ("max", machine)):
            (tmp_path / name).write_text(f"{limit}\n")
            assert available_memory() == memory
        (tmp_path / name).unlink()


def test_games_are_those_of_one_worker() -> None:
    alone = {r.game_index: r.to_bytes() for r in actor(1).play(600)}
    together = {r.game_index: r.to_bytes() for r in actor(3).play(600)}
    shared = alone.keys() & together.keys()
    assert len(shared) > 50
    assert all(alone[index] == together[index] for index in shared)
    assert len({index % 3 for index in together}) == 3


def test_all_workers_play_equally_many_rounds() -> None:
    one = actor(3, evaluator=Delayed(GAME))
    one.play_while(rounds(4))
    each = [worker.statistics.evaluations for worker in one._workers]
    again = actor(3)
    again.play_while(rounds(4))
    assert each == [worker.statistics.evaluations for worker in again._workers]
    assert min(each) > 0.5 * max(each)
    assert one.play_while(lambda _: False) == []
    assert each == [worker.statistics.evaluations for worker in one._workers]


def test_a_round_has_as_many_waves_as_it_is_told() -> None:
    waves = []
    for count in (16, 40):
        one = small_actor(selfplay_settings(num_games=3, round_waves=count))
        one.play_round(0)
        waves.append(one.statistics.evaluations + one.statistics.remembered)
    assert 2 < waves[1] / waves[0] < 3
    with pytest.raises(SettingError, match=r"selfplay\.round_waves must be 1 to 100,000, got 0"):
        selfplay_settings(round_waves=0)


@pytest.mark.parametrize("count", [1, 3])
def test_workers_run_on_threads_of_their_own(count: int) -> None:
    """One alone too: its evaluator may leave its thread fewer cores than the learner has."""
    seen: set[int] = set()

    class Seeing(HashEvaluator):
        def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
            seen.add(threading.get_ident())
            return super().evaluate(observations)

    actor(count, evaluator=Seeing(GAME)).play(60)
    assert len(seen) == count
    assert threading.get_ident() not in seen


def test_an_error_of_one_worker_comes_out_and_stops_the_others() -> None:
    class Failing(HashEvaluator):
        count = itertools.count(1)  # which threads may share
        calls = 0

        def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
            number = type(self).calls = next(self.count)
            if number == 20:
                raise ZeroDivisionError("in a worker")
            return super().evaluate(observations)

    with pytest.raises(ZeroDivisionError, match="in a worker"):
        actor(3, evaluator=Failing(GAME)).play(10**6)
    after = Failing.calls
    time.sleep(0.05)
    assert Failing.calls == after  # nobody plays on


def test_an_interrupt_stops_all_workers() -> None:
    one = actor(2)

    def interrupted(made: Amount) -> bool:
        if made.positions > 100:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        one.play_while(interrupted)
    before = one.statistics.evaluations
    time.sleep(0.05)
    assert one.statistics.evaluations == before


def test_games_are_shared_out_evenly() -> None:
    assert selfplay_settings(num_games=7, workers=3).shares() == [3, 2, 2]
    assert selfplay_settings(num_games=3, workers=3).shares() == [1, 1, 1]
    with pytest.raises(SettingError, match=r"selfplay.workers must be at most .* 3, got 4"):
        selfplay_settings(num_games=3, workers=4).shares()


def test_a_worker_a_core_and_never_more_than_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "available_cores", lambda: 16)
    left_open = selfplay_settings(num_games=None, workers=None)
    assert with_workers(left_open, "cpu").workers == 16
    monkeypatch.setattr(sizes, "available_cores", lambda: 64)
    assert with_workers(left_open, "cuda").workers == 16
    assert with_workers(selfplay_settings(num_games=5, workers=None), "cpu").workers == 5
    assert with_workers(selfplay_settings(num_games=5, workers=2), "cpu").workers == 2


def test_the_fewest_games_near_the_best_rate_are_chosen() -> None:
    rates = {32: 90.0, 64: 97.5, 128: 100.0, 256: 99.0}
    assert best_num_games([Trial(games, rate) for games, rate in rates.items()]) == 64


def test_cores_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1.5 cores' time are work for two threads; no limit and no such file leave all cores."""
    monkeypatch.setattr(sizes, "CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    assert available_cores() == 16
    for quota, cores in (("150000", 2), ("max", 16), ("50000", 1), ("9900000", 16)):
        (tmp_path / "cpu.max").write_text(f"{quota} 100000\n")
        assert available_cores() == cores
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    for quota, cores in (("400000", 4), ("-1", 16)):
        (tmp_path / "cpu/cpu.cfs_quota_us").write_text(f"{quota}\n")
        assert available_cores() == cores


def test_a_probe_tries_sizes_where_none_is_given() -> None:
    tried: list[int | None] = []

    def actor_of(settings: SelfPlaySettings) -> Actor:
        tried.append(settings.num_games)
        assert settings.num_games is not None
        return actor(2, num_games=settings.num_games)

    found, trials = with_games(selfplay_settings(num_games=None, workers=2), "cpu", actor_of)
    assert tried == [32, 32, 64, 128]  # a glance at the first size, then all of them
    assert [trial.num_games for trial in trials] == [32, 64, 128]
    assert found.num_games in tried
    assert all(trial.evaluations_per_s > 0 for trial in trials)
    given = selfplay_settings(num_games=9, workers=2)
    assert with_games(given, "cpu", actor_of) == (given, [])


def test_a_probe_of_processes_measures_one_of_them() -> None:
    """Workers of another process do not wait for this one's lock of Python."""
    tried: list[tuple[int | None, int | None]] = []

    def actor_of(settings: SelfPlaySettings) -> Actor:
        tried.append((settings.workers, settings.num_games))
        assert settings.num_games is not None
        return actor(1, num_games=settings.num_games)

    left_open = selfplay_settings(num_games=None, workers=5)
    found, trials = with_games(left_open, "cpu", actor_of, processes=3)
    assert tried == [(2, 32), (2, 32), (2, 64), (2, 128)]
    assert [trial.num_games for trial in trials] == [80, 160, 320]
    assert found.workers == 5
    assert found.num_games in (80, 160, 320)


@pytest.mark.parametrize(
    ("cells", "each"),
    [(9, 256), (64, 256), (81, 256), (361, 64), (10_000, 32)],
)
def test_processes_that_share_a_gpu_are_not_measured(cells: int, each: int) -> None:
    def actor_of(settings: SelfPlaySettings) -> Actor:
        raise AssertionError("there is nothing to measure in one process")

    left_open = selfplay_settings(num_games=None, workers=5)
    found, trials = with_games(left_open, "cuda", actor_of, processes=5, cells=cells)
    assert (found.num_games, trials) == (5 * each, [])


def test_a_probe_of_a_slow_network_tries_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the papers' on a CPU, for which all sizes took more than half an hour."""
    monkeypatch.setattr(sizes, "SLOW", 1e-9)
    found, trials = with_games(
        selfplay_settings(num_games=None, workers=2),
        "cpu",
        lambda settings: actor(2, num_games=settings.num_games),
    )
    assert found.num_games == 32
    assert [trial.num_games for trial in trials] == [32]


@pytest.mark.parametrize(
    ("name", "settings", "wanted"),
    [("tic_tac_toe", {}, 9), ("chess", {}, 100), ("go", {"board_size": 19}, 362)],
)
def test_memory_is_told_for_positions_with_many_legal_actions(
    name: str, settings: dict[str, int], wanted: int
) -> None:
    """Nine of nine; more than chess begins with, of its 4,672; the whole of a large board."""
    assert many_legal(azcore.make(name, **settings)) == wanted
