"""The page beside a run: what it leaves the run, and the same page begun by `command=train`."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from azcore.commands.web import page_beside
from azcore.game import ByteArray, FloatArray
from azcore.search.evaluators import Evaluator
from azcore.storage.run_directory import RunDirectory, holds_a_run_in_use
from azcore.web import pace as paces
from azcore.web.pace import BURST, Pace
from azcore.web.shared import SharedEvaluator
from conftest import TINY, compose
from web_kit import visit

COST = 0.05  # seconds of two cores that an evaluation takes


class Clock:
    """Time that passes only by what a test does."""

    def __init__(self) -> None:
        self.now = self.used = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.used += 2 * seconds


class Costly(Evaluator):
    """Two cores are busy while it evaluates."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self._clock.work(COST)
        return np.zeros((len(observations), 3), np.float32), np.zeros(len(observations), np.float32)


@pytest.fixture(name="clock")
def clock_fixture(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    fake = SimpleNamespace(
        monotonic=lambda: clock.now, process_time=lambda: clock.used, sleep=clock.sleep
    )
    monkeypatch.setattr(paces, "time", fake)
    return clock


def share_taken(clock: Clock, evaluator: SharedEvaluator, seconds: float) -> float:
    """The share of two cores that visitors who never pause get in some seconds."""
    began, used = clock.now, clock.used
    while clock.now < began + seconds:
        evaluator.evaluate(np.zeros((1, 2, 1, 1), np.uint8))
    return (clock.used - used) / 2 / (clock.now - began)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_visitors_together_take_no_more_than_the_share_of_a_run(clock: Clock, share: float) -> None:
    goes_on = True
    pace = Pace(share, 2, lambda: goes_on)
    evaluators = [SharedEvaluator(Costly(clock), pace) for _ in range(2)]  # two networks, one pace
    share_taken(clock, evaluators[0], 30)
    taken = share_taken(clock, evaluators[1], 100)
    assert taken == pytest.approx(share, rel=0.05)
    goes_on = False
    share_taken(clock, evaluators[0], 10)
    assert share_taken(clock, evaluators[0], 10) == pytest.approx(1)
    goes_on = True  # a run begins: seen within seconds
    share_taken(clock, evaluators[0], 10)
    assert share_taken(clock, evaluators[0], 100) == pytest.approx(share, rel=0.05)


def test_one_move_comes_at_once(clock: Clock) -> None:
    pace = Pace(0.2, 2, lambda: True)
    evaluator = SharedEvaluator(Costly(clock), pace)
    share_taken(clock, evaluator, 60)
    clock.sleep(2 * BURST)  # the visitor thinks
    began = clock.now
    for _ in range(8):
        evaluator.evaluate(np.zeros((1, 2, 1, 1), np.uint8))
    assert clock.now - began == pytest.approx(8 * COST)


def test_an_idle_page_saves_up_no_more_than_a_burst(clock: Clock) -> None:
    pace = Pace(0.2, 2, lambda: True)
    evaluator = SharedEvaluator(Costly(clock), pace)
    share_taken(clock, evaluator, 60)
    clock.sleep(1000.0)
    allowed = 0.2 + BURST * 0.2 / 20  # the share, and in 20 s the burst
    assert share_taken(clock, evaluator, 20) == pytest.approx(allowed, rel=0.1)


def test_long_work_of_other_kinds_is_forgiven(clock: Clock) -> None:
    pace = Pace(0.1, 2, lambda: True)
    clock.work(60)  # such as compiling a game's rules
    began = clock.now
    pace.wait()
    assert clock.now - began <= paces.LONGEST_PAUSE


def test_a_run_in_use_is_seen_at_any_depth(tmp_path: Path) -> None:
    assert not holds_a_run_in_use(tmp_path / "missing")
    run = RunDirectory(tmp_path / "go" / "first")
    run.open()
    assert holds_a_run_in_use(tmp_path)
    run.close()
    assert not holds_a_run_in_use(tmp_path)
    os.mkfifo(tmp_path / "lock")  # which could block whoever reads it
    (tmp_path / "go" / "lock").symlink_to(tmp_path / "go" / "first" / "lock")
    assert not holds_a_run_in_use(tmp_path)


def test_whoever_looks_keeps_no_run_from_beginning(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.open()
    run.close()
    held = (tmp_path / "run" / "lock").open()
    fcntl.flock(held, fcntl.LOCK_SH)
    threading.Timer(0.03, held.close).start()
    run.open()  # as soon as the other has looked
    run.close()


@pytest.fixture(name="run")
def run_fixture(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [*TINY, "trainer.max_steps=1000000", f"run_dir={tmp_path / 'runs' / 'one'}"]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "azcore", *words),
            *("web=true", "web.open=false", "web.port=0"),
        ],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
    )
    with process:
        yield process
        process.kill()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := re.search(r"to watch this run: (http://127.0.0.1:\d+)/watch#run=one$", line):
            return found[1]
    raise AssertionError("".join(lines))


def is_gone(address: str) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{address}/runs.json", timeout=5).close()
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_the_page_of_a_run_that_trains(run: subprocess.Popen[str]) -> None:
    address = address_of(run)
    until = time.monotonic() + 120
    runs = []
    while not runs and time.monotonic() < until:
        with urllib.request.urlopen(f"{address}/runs.json", timeout=60) as answer:
            runs = json.load(answer)
    assert [each["name"] for each in runs] == ["one", "pretrained/chess@story"]
    assert run.poll() is None
    run.send_signal(signal.SIGTERM)  # the run saves, and the page goes with it
    assert run.wait(60) == 130
    assert is_gone(address)


def test_the_page_goes_with_a_run_that_is_killed(run: subprocess.Popen[str]) -> None:
    address = address_of(run)
    run.kill()
    run.wait()
    assert is_gone(address)


def test_the_page_stays_for_those_who_are_there_when_the_run_ends(tmp_path: Path) -> None:
    config = compose(*TINY, "web=true", "web.open=false", "web.port=0")
    said: list[str] = []
    with page_beside(config, tmp_path / "runs" / "one", said.append) as beside:
        place = re.findall(r"http://([^/]+)/", said[0])[0]
        until = time.monotonic() + 60
        while time.monotonic() < until:  # it begins
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://{place}/", timeout=60).close()
                break
        began = time.monotonic()
        with visit(place) as page:
            position = page.open("search/tic_tac_toe", people=[0, 1])
            threading.Timer(2, lambda: (page.play(position, "b2"), page.hear("position"))).start()
            threading.Timer(3, page.socket.close).start()
            beside.stay(said.append)
            assert time.monotonic() - began >= 3
            assert page.heard[-1]["moves"] == ["b2"]
        assert said[1].startswith(
            "the page stays open until everyone leaves, or until Ctrl-C: http://"
        )
        assert is_gone(f"http://{place}")


def test_a_port_that_is_taken_is_told_before_the_run_begins(
    azcore: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, errors = azcore(*TINY, "run_dir=run", "web=true", f"web.port={port}")
    assert status == 2
    assert f"web.port={port}: cannot listen" in errors
    assert not (tmp_path / "run").exists()
