"""The report of a running run: there after the first generation, and cheap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from azcore.algorithms import reports
from azcore.algorithms.reports import SHARE, GenerationReports
from azcore.commands.train import train
from azcore.report.report import Report
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(reports, "time", clock)
    return clock


def test_reports_take_a_hundredth_of_the_time(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[float] = []

    def write(report: Report) -> Path:
        written.append(clock.now)
        clock.now += 0.5
        return tmp_path

    monkeypatch.setattr(Report, "write", write)
    callback = GenerationReports(tmp_path, torch.device("cpu"), print)
    began = clock.now
    for _ in range(200):  # generations of ten seconds
        clock.now += 10
        callback.show()
    assert written[0] == began + 10  # the first generation is shown
    assert len(written) == 40
    assert 0.5 * len(written) <= SHARE * (clock.now - began)


def test_a_report_that_cannot_be_written_stops_nothing(clock: Clock, tmp_path: Path) -> None:
    said: list[str] = []
    callback = GenerationReports(tmp_path / "gone", torch.device("cpu"), said.append)
    for _ in range(3):
        callback.show()
    assert said == ["no report: No such file or directory"]


def test_a_game_whose_texts_fail_goes_on_learning(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_: Report) -> Path:
        raise ZeroDivisionError("in a game's own text")

    monkeypatch.setattr(Report, "write", write)
    said: list[str] = []
    callback = GenerationReports(tmp_path, torch.device("cpu"), said.append)
    for _ in range(3):
        callback.show()
    assert said == ['no report: ZeroDivisionError("in a game\'s own text")']


def test_a_run_without_a_report_tells_how_to_go_on(
    tiny: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def write(report: Report) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Report, "write", write)
    assert train(tiny("run_dir=run", "trainer.max_steps=8")) == 0
    said = capsys.readouterr().out
    assert said.count("no report: No space left on device") == 2  # while it learns, and at the end
    assert "run/checkpoints/last.ckpt" in said.splitlines()[-2]


def test_a_run_has_a_report_after_its_first_generation(
    tiny: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []
    original = Report.write

    def noted(report: Report) -> Path:
        run = RunDirectory(Path("run"))
        seen.append((len(Table(run.metrics, ["generation"]).rows()), run.last_checkpoint.exists()))
        return original(report)

    monkeypatch.setattr(Report, "write", noted)
    assert train(tiny("run_dir=run", "trainer.max_steps=12")) == 0
    assert seen[0] == (1, True)
    text = Path("run/report.html").read_text(encoding="utf-8")
    assert 'data-game="0"' in text
