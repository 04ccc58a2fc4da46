"""The probe of backends and precisions, with evaluators of known speed."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from azcore.game import ByteArray, FloatArray, Game
from azcore.game.registry import make
from azcore.measuring import AGAIN
from azcore.networks import openvino_evaluator, probe
from azcore.networks.backends import PRECISIONS, Backend, Conditions, EvaluatorSettings
from azcore.networks.probe import Probe, Way
from azcore.search.evaluators import Evaluator

GAME = make("tic_tac_toe")
CPU = torch.device("cpu")
LEFT_OPEN = EvaluatorSettings(
    backend="auto", precision="auto", threads=None, random_symmetry=False, cache=0
)
FLOAT, BFLOAT, TORCH = (
    Way("openvino", "float32", 2),
    Way("openvino", "bfloat16", 2),
    Way("torch", "float32", 2),
)
SLOW, FAST, SAME = 0.004, 0.002, 0.0041  # seconds for a call


class TimedEvaluator(Evaluator):
    """Takes a known time for a call, but for those that are disturbed."""

    def __init__(
        self, seconds: float, calls: Counter[Way], way: Way, disturbed: dict[int, float]
    ) -> None:
        self.seconds, self.calls, self.way, self.disturbed = seconds, calls, way, disturbed

    def for_another_thread(self) -> Evaluator:
        return self

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self.calls[self.way] += 1
        time.sleep(self.disturbed.get(self.calls[self.way], self.seconds))
        size = len(observations)
        return np.zeros((size, GAME.num_actions), np.float32), np.zeros(size, np.float32)


class Machine:
    """A machine whose backends have known speeds."""

    def __init__(self) -> None:
        self.seconds = {FLOAT: SLOW, BFLOAT: FAST, TORCH: SLOW}
        self.calls: Counter[Way] = Counter()
        self.disturbed: dict[Way, dict[int, float]] = {}  # seconds by number of the call

    def backend_named(self, name: str) -> Backend:
        machine = self

        class Timed(Backend):
            def wanted_instead(self, device: torch.device) -> str | None:
                return "a GPU" if name == "cuda_graphs" else None

            def evaluator(self, network: nn.Module, conditions: Conditions) -> Evaluator:
                precision = {dtype: name for name, dtype in PRECISIONS.items()}[conditions.dtype]
                way = Way(name, precision, conditions.cores)
                disturbed = machine.disturbed.get(way, {})
                return TimedEvaluator(machine.seconds[way], machine.calls, way, disturbed)

        return Timed()

    def fastest(
        self, settings: EvaluatorSettings = LEFT_OPEN, channels: int = 4, game: Game = GAME
    ) -> Probe:
        """The probe's result, as a process finds it that has not probed before."""
        probe._probes.clear()
        network = nn.Conv2d(3, channels, 1)
        return probe.fastest(settings, network, game, CPU, cores=2, callers=2)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    found = Machine()
    monkeypatch.setattr(probe, "backend_named", found.backend_named)
    monkeypatch.setattr(probe, "_cores_without_siblings", lambda cores: cores)
    monkeypatch.setattr(probe, "is_busy", lambda: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield found
    probe._probes.clear()


def test_the_fastest_is_taken(machine: Machine) -> None:
    found = machine.fastest()
    assert found.way == BFLOAT
    assert set(found.rates) == {FLOAT, BFLOAT, TORCH}
    assert found.rates[BFLOAT] > 1.4 * found.rates[FLOAT]


def test_what_is_hardly_faster_is_not_taken(machine: Machine) -> None:
    machine.seconds = {FLOAT: SAME, BFLOAT: SLOW, TORCH: SLOW}
    assert machine.fastest().way == FLOAT


def test_what_is_far_slower_is_measured_with_one_position_alone(machine: Machine) -> None:
    machine.seconds = {FLOAT: FAST, BFLOAT: 0.1, TORCH: FAST}
    found = machine.fastest()
    assert found.way == FLOAT
    assert found.rates[BFLOAT] < 11
    assert machine.calls[BFLOAT] <= 4 * (1 + AGAIN)


def test_what_is_implausible_is_measured_again(machine: Machine) -> None:
    """Of the fastest, whatever the machine did while it was measured first."""
    for stalled in ({1: 0.3, 2: 0.3, 3: 0.3}, dict.fromkeys(range(30, 60), 0.05)):
        machine.disturbed, machine.calls = {BFLOAT: stalled}, Counter()
        found = machine.fastest(channels=len(stalled))
        assert found.way == BFLOAT
        assert found.rates[BFLOAT] > 1.4 * found.rates[FLOAT]


def test_what_was_measured_on_a_busy_machine_is_used_and_not_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "is_busy", lambda: True)
    found = machine.fastest()
    assert (found.way, found.busy) == (BFLOAT, True)
    assert not probe.cache_file().exists()
    monkeypatch.setattr(probe, "is_busy", lambda: False)
    assert not machine.fastest().busy
    assert probe.cache_file().exists()


def test_nothing_is_measured_without_a_choice(machine: Machine) -> None:
    given = replace(LEFT_OPEN, backend="openvino", precision="bfloat16")
    assert machine.fastest(given) == Probe(BFLOAT, {})
    assert not machine.calls
    # More threads than cores would help nobody.
    assert machine.fastest(replace(given, threads=10**6)).way == BFLOAT


def test_a_result_is_measured_once_a_machine_and_network(machine: Machine) -> None:
    first = machine.fastest()
    machine.calls.clear()
    assert machine.fastest() == first
    assert not machine.calls
    machine.fastest(channels=5)
    assert machine.calls
    assert len(json.loads(probe.cache_file().read_text())) == 2
    # A convolution has the same weights for a board of any size.
    machine.fastest(game=make("go", board_size=5))
    machine.fastest(game=make("go", board_size=7))
    assert len(json.loads(probe.cache_file().read_text())) == 4


def damaged(number: Any, rates: Any) -> bytes:
    return json.dumps({"fastest": number, "rates": rates}).encode()


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(128, 256)),
        b"[" * 100_000,
        b"[]",
        damaged(3, [1.0, 2.0, 3.0]),
        damaged(-1, [1.0, 2.0, 3.0]),
        damaged(0, [1.0, 2.0]),
        damaged(0, ["1", 2.0, 3.0]),
        damaged(None, None),
    ],
)
def test_a_damaged_cache_is_measured_anew(machine: Machine, content: bytes) -> None:
    machine.fastest()
    path = probe.cache_file()
    if content.startswith(b"{"):
        results = json.loads(path.read_text())
        content = json.dumps({key: json.loads(content) for key in results}).encode()
    path.write_bytes(content)
    machine.calls.clear()
    assert machine.fastest().way == BFLOAT
    assert machine.calls
    machine.calls.clear()
    assert machine.fastest().way == BFLOAT
    assert not machine.calls  # it was written anew


def test_a_cache_that_cannot_be_written_is_done_without(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert machine.fastest().way == BFLOAT


def test_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def ways(settings: EvaluatorSettings = LEFT_OPEN) -> list[Way]:
        return list(probe._ways(settings, CPU, cores=2))

    monkeypatch.setattr(openvino_evaluator, "is_installed", lambda: True)
    monkeypatch.setattr(probe, "_cores_without_siblings", lambda cores: cores)
    assert ways() == [FLOAT, BFLOAT, TORCH]
    torch_bfloat = replace(TORCH, precision="bfloat16")
    assert ways(replace(LEFT_OPEN, precision="bfloat16")) == [BFLOAT, torch_bfloat]
    assert ways(replace(LEFT_OPEN, threads=1, precision="float32")) == [
        replace(FLOAT, threads=1),
        replace(TORCH, threads=1),
    ]
    monkeypatch.setattr(probe, "_cores_without_siblings", lambda cores: cores // 2)
    assert ways() == [FLOAT, replace(FLOAT, threads=1), BFLOAT, replace(BFLOAT, threads=1), TORCH]
    monkeypatch.setattr(openvino_evaluator, "is_installed", lambda: False)
    assert ways() == [TORCH, torch_bfloat]
