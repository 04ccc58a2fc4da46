"""Self-play in processes: the games of threads, whatever dies; and nothing outlives its pool."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azcore.errors import AzcoreError, CheckpointError, LostProcessError, SettingError
from azcore.selfplay.member import _sendable
from azcore.selfplay.pool import Amount
from azcore.selfplay.remote import divided
from process_kit import (
    HashWeights,
    gone,
    history,
    is_alive,
    pids,
    small_actor,
    small_pool,
    small_settings,
)


@pytest.mark.parametrize(
    ("workers", "processes"),
    [(3, 2), (1, 1)],
)
def test_the_games_are_those_of_threads(workers: int, processes: int) -> None:
    settings = small_settings(workers)
    threads = small_actor(settings)
    wanted = history(threads)
    with contextlib.closing(small_pool(settings, processes)) as pool:
        assert history(pool) == wanted
        counted, known = pool.statistics, threads.statistics
        assert (counted.evaluations, counted.remembered) == (known.evaluations, known.remembered)
        assert pool.bytes_needed(9) == threads.bytes_needed(9)
        running = pids(pool)
        assert len(running) == processes
        assert all(map(is_alive, running))
    assert gone(running)


def test_games_go_on_in_other_processes() -> None:
    """From threads to processes and back, as a resumed run may."""
    settings = small_settings(3)
    whole = history(small_actor(settings))
    first = small_actor(settings)
    first.set_weights(HashWeights(0))
    made: list[Any] = [record.to_bytes() for record in first.play(150)]
    made.append(first.state_dict())
    with contextlib.closing(small_pool(settings, 2)) as pool:
        pool.load_state_dict(made[-1])
        pool.set_weights(HashWeights(1), -0.9)
        made += [record.to_bytes() for record in pool.play(150)]
        made.append(pool.state_dict())
        assert made == whole[: len(made)]
        with pytest.raises(CheckpointError, match=r"selfplay.num_games must stay 6"):
            pool.load_state_dict({"workers": [{"games": [{}] * 2}] * 3})


def test_a_killed_process_costs_no_game() -> None:
    """Killed in the first round and in later generations, both and one at a time."""
    settings = small_settings(3)
    wanted = history(small_actor(settings))
    said: list[str] = []
    with contextlib.closing(small_pool(settings, 2, say=said.append)) as pool:

        def kill(count: int) -> None:
            victims = {1: [0], 20: [0, 1], 33: [1]}.get(count, [])
            for victim in victims:
                os.kill(pids(pool)[victim], signal.SIGKILL)

        assert history(pool, kill) == wanted
    assert len(said) >= 4
    assert set(said) <= {
        f"self-play process {number} ended by signal 9; restarting it" for number in (0, 1)
    }


@pytest.mark.parametrize(
    ("fault", "how"),
    [
        ("SIGSEGV", "signal 11, 3 times in a row; a compiled rule may .* NUMBA_DISABLE_JIT=1 "),
        ("SIGKILL", "signal 9, 3 times in a row; the kernel .* when memory runs out$"),
    ],
)
def test_a_process_that_always_ends_is_given_up(fault: str, how: str) -> None:
    said: list[str] = []
    pool = small_pool(small_settings(2), 2, fault=fault, say=said.append)
    with contextlib.closing(pool), pytest.raises(LostProcessError, match=how):
        pool.set_weights(HashWeights(0))
    assert 2 <= len(said) <= 4


def test_an_error_there_is_raised_here() -> None:
    pool = small_pool(small_settings(2), 1, fault="refuses")
    with contextlib.closing(pool), pytest.raises(SettingError, match="must be one, got another"):
        pool.set_weights(HashWeights(0))
    assert gone(pids(pool))


def test_an_interrupt_ends_all_processes() -> None:
    pool = small_pool(small_settings(2), 2)
    pool.set_weights(HashWeights(0))

    def interrupted(made: Amount) -> bool:
        if made.positions > 100:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        pool.play_while(interrupted)
    assert gone(pids(pool))


DRIVER = """
import sys
from process_kit import HashWeights, pids, small_pool, small_settings
pool = small_pool(small_settings(2), 2)
print(*pids(pool), flush=True)
pool.set_weights(HashWeights(0))
print("playing", flush=True)
pool.play_while(lambda made: True)
"""


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[str]]:
    here = Path(__file__).parent
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parent}"},
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("is_playing", [True, False])
def test_no_process_outlives_a_killed_driver(
    driver: subprocess.Popen[str], is_playing: bool
) -> None:
    """While it plays, and while its processes are still importing modules."""
    assert driver.stdout is not None
    processes = [int(word) for word in driver.stdout.readline().split()]
    assert len(processes) == 2
    assert all(map(is_alive, processes))
    if is_playing:
        assert driver.stdout.readline() == "playing\n"
    driver.kill()
    driver.wait()
    assert gone(processes)


def test_workers_are_divided_evenly() -> None:
    assert divided(5, 2) == [[0, 1], [2, 3, 4]]
    assert divided(3, 3) == [[0], [1], [2]]


def test_an_error_that_cannot_travel_arrives_with_its_sentence() -> None:
    class OddError(AzcoreError):
        def __init__(self, what: str, where: str) -> None:
            super().__init__(f"{what} in {where}")

    sent = _sendable(OddError("a fault", "a file"))
    assert type(sent) is AzcoreError
    assert str(sent) == "a fault in a file"
