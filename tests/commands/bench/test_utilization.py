"""The trace of a GPU, by a program that answers as NVIDIA's does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from azcore.commands.bench.utilization import gpu_of, traced

PROGRAM = """#!/bin/sh
echo "$@" > {arguments}
for busy in 90 70 80; do echo " $busy"; done
echo "[N/A]"
exec sleep 60
"""


def test_samples_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, arguments = tmp_path / "nvidia-smi", tmp_path / "arguments"
    program.write_text(PROGRAM.format(arguments=arguments))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = tmp_path / "trace.csv"
    with traced("GPU-1", 200, path) as trace:
        deadline = time.monotonic() + 30
        while len(trace.samples) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert arguments.read_text() == (
        "-i GPU-1 --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 200\n"
    )
    head, *lines = path.read_text().splitlines()
    assert head == "seconds,utilization_percent"
    assert [line.split(",")[1] for line in lines] == ["90", "70", "80"]
    assert all(0 <= float(line.split(",")[0]) < 30 for line in lines)
    assert trace.median == 80


def test_nothing_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu_of(torch.device("cpu")) is None
    monkeypatch.setenv("PATH", str(tmp_path))  # where there is no such program
    for gpu in (None, "GPU-1"):
        with traced(gpu, 200, tmp_path / "trace.csv") as trace:
            pass
        assert trace.median is None
    assert list(tmp_path.iterdir()) == []
