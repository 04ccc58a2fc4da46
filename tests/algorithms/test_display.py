"""What a run tells: lines for whoever watches, curves for TensorBoard."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from azcore.algorithms import display
from azcore.algorithms.display import Heartbeat, TrainingDisplay
from azcore.algorithms.metrics import METRICS
from azcore.arena import spread
from azcore.commands.train import train
from azcore.learner import module
from azcore.selfplay.pool import ActorStatistics, MemberStatistics
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table

ROW = {
    "generation": 12.0,
    "step": 123_456.0,
    "seconds": 86_400.0 * 3,
    "games": 123_456.0,
    "positions": 12_345_678.0,
    "policy_loss": 3.3,
    "value_loss": 0.59,
}
PLAYED = {"game_length": 99.0, "evaluations_per_s": 17_312.0, "remembered_share": 0.13}
FORETOLD = {"held_out_accuracy": 0.5, "held_out_policy_loss": 2.0, "held_out_value_loss": 0.9}
RESIGNED = {
    "resign_threshold": -0.85,
    "resigned_rate": 0.43,
    "resign_measured": 1200.0,
    "resign_false_positives": 0.047,
}


def told(row: dict[str, float], width: int, *, is_terminal: bool) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=is_terminal)
    terminal = TrainingDisplay(console=console, max_steps=200_000, rating="+1 ± 1 Elo")
    terminal.generation(row)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("more", [{}, PLAYED, FORETOLD, {**PLAYED, **RESIGNED}])
def test_lines_fit_the_terminal(width: int, more: dict[str, float]) -> None:
    lines = told({**ROW, **more}, width, is_terminal=True)
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()) == " ".join(
        told({**ROW, **more}, width, is_terminal=False)[0].split()
    )


def test_processes_have_one_line_together() -> None:
    members = [MemberStatistics(f"actor {n}", 3, 1000 * n, 40 + n, n) for n in range(1, 4)]
    out = io.StringIO()
    terminal = TrainingDisplay(console=Console(file=out, width=100), max_steps=100)
    terminal.members(ActorStatistics(seconds=10.0, members=members), 48)
    terminal.members(ActorStatistics(seconds=10.0), 48)  # threads of this process
    (line,) = out.getvalue().splitlines()
    assert line.split("  ")[1:] == [
        "3 members of self-play:",
        "100 to 300 evaluations/s each",
        "weights up to 7 steps old",
        "restarted 6 times",
    ]


def test_a_pipe_gets_one_line() -> None:
    assert len(told({**ROW, **PLAYED, **RESIGNED}, 80, is_terminal=False)) == 1


def printed(log: str) -> list[str]:
    """What a short run prints with `log=`."""
    out = io.StringIO()
    terminal = display.DISPLAYS[log](console=Console(file=out, width=80), max_steps=200_000)
    with terminal:
        terminal.say("self-play begins")
        terminal.warn("warning: values are flat")
        if log == "quiet":  # such as after a fault of a game
            terminal.say("stopped; resume with: azcore resume=run", as_command=True)
        terminal.rating = "+1 ± 1 Elo"
        terminal.generation({**ROW, "loss": float("nan")})
    terminal.conclude({"ended": "done"})
    terminal.say("report report.html")
    return out.getvalue().splitlines()


@pytest.mark.parametrize("log", ["normal", "json"])
def test_work_without_progress_is_shown(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "SILENCE", 0.0)
    out = io.StringIO()
    terminal = display.DISPLAYS[log](console=Console(file=out), max_steps=100)
    with terminal.waiting("compiling"):
        time.sleep(1.2)
    lines = out.getvalue().splitlines()
    if log == "normal":
        assert lines[0] == "compiling: 1 s"
    else:
        line = json.loads(lines[0])
        assert (line["what"], line["total"], round(line["done"])) == ("compiling", None, 1)


def test_a_terminal_shows_such_work_in_place() -> None:
    out = io.StringIO()
    terminal = TrainingDisplay(console=Console(file=out, force_terminal=True), max_steps=100)
    with terminal.waiting("compiling"):
        time.sleep(1.2)
    assert "1 s" in out.getvalue()
    with terminal:
        terminal.show("self-play", 3, 8, "games")
        terminal._bar.refresh()
    shown = out.getvalue().rpartition("self-play")[2]
    assert "3 of 8 games" in shown


def test_quiet_prints_warnings_and_the_end() -> None:
    assert printed("quiet") == [
        "warning: values are flat",
        "stopped; resume with: azcore resume=run",
        "report report.html",
    ]


def test_json_prints_an_object_a_line() -> None:
    message, warning, generation, result, _ = map(json.loads, printed("json"))
    assert message == {"kind": "message", "text": "self-play begins"}
    assert warning["kind"] == "warning"
    assert generation == {
        **{"kind": "generation", **ROW, "loss": None},
        **{"rating": "+1 ± 1 Elo", "left": None},
    }
    assert result == {"kind": "result", "ended": "done"}


class Clock:
    """Stands where the module `time` is looked up, and moves when told."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_a_line_says_when_no_game_ends_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines, longest = Clock(), [], [7]
    monkeypatch.setattr(display, "time", clock)
    heart = Heartbeat("self-play", lines.append, lambda: longest[0], 10_000)
    heart.beat(0)
    for seconds, longest[0] in ((29, 90), (2, 1234), (30, 2000), (30, 3000)):
        clock.now += seconds
        heart.beat(0)
    assert lines == [
        "self-play continues: no game has ended for 31 s; the longest has 1,234 plies, "
        "max_game_length is 10,000",
        "self-play continues: no game has ended for 61 s; the longest has 2,000 plies, "
        "max_game_length is 10,000",
    ]
    heart.beat(12)  # one has ended: all begins anew
    clock.now += 29
    heart.beat(12)
    clock.now += 2
    heart.beat(0)  # of the next generation
    assert len(lines) == 2
    clock.now += 100  # silent for long, as during compilation
    heart.beat(0)
    heart.beat(0)
    assert len(lines) == 3


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_a_run_knows_how_long_its_games_are(
    tiny: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    backend: str,
) -> None:
    monkeypatch.setattr(display, "HEARTBEAT", -1.0)
    monkeypatch.setattr(spread, "LOOK", 0.001)
    train(tiny("run_dir=run", "trainer.max_steps=4", f"backend={backend}"))
    told = capsys.readouterr().out
    assert told.index("self-play begins; the first generation needs") < told.index("generation 0")
    if backend == "inline":  # of other processes it is told four times a second
        assert re.search(
            "the match with [a-z]+ continues: no game has ended for 0 s; the lon", told
        )
    longest = re.findall(
        r"self-play continues: .*; the longest has (\d+) plies, max_game_length is 9", told
    )
    assert 0 < max(map(int, longest)) < 9


def test_games_of_others_have_no_length_and_no_speed() -> None:
    (line,) = told({**ROW, **FORETOLD}, 80, is_terminal=False)
    assert "nan" not in line
    assert "length" not in line
    assert "evaluations/s" not in line
    (line,) = told({**ROW, **PLAYED}, 80, is_terminal=False)
    assert "length 99  17,312 evaluations/s and 13% known  loss" in line


def test_each_quantity_is_one_curve() -> None:
    learner = set(module.CURVES)
    curves = {name: curve for name, curve in METRICS.items() if curve}
    assert set(curves) | learner | {"generation", "step"} == set(METRICS)
    assert not set(curves) & learner
    names = [*curves.values(), *module.CURVES.values()]
    assert len(set(names)) == len(names)
    assert all(name.count("/") == 1 for name in names)


def test_the_event_file(tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    train(tiny("run_dir=run", "trainer.max_steps=8"))
    run = RunDirectory(tmp_path / "run")
    events = EventAccumulator(str(run.logs))
    events.Reload()
    tags = set(events.Tags()["scalars"])
    assert {"loss/policy", "selfplay/games", "learner/learning_rate", "rating/elo"} < tags
    ungrouped = {tag for tag in tags if "/" not in tag}
    assert ungrouped == {"epoch"}  # Lightning's own: the generation
    assert {tag.partition("/")[0] for tag in tags - ungrouped} == {
        "learner",
        "loss",
        "rating",
        "selfplay",
        "time",
    }
    rows = Table(run.metrics, list(METRICS)).rows()
    assert [event.step for event in events.Scalars("selfplay/games")] == [4, 8]
    assert [event.value for event in events.Scalars("selfplay/games")] == [
        float(row["games"]) for row in rows
    ]
    low, elo, high = (events.Scalars(f"rating/{name}")[0].value for name in ("low", "elo", "high"))
    assert low < elo < high
    for row in rows:  # means of a generation, which TensorBoard has by steps
        assert float(row["policy_loss"]) > 0
    assert "_hparams_/session_start_info" in events.PluginTagToContent("hparams")
    kept = events.PluginTagToContent("hparams")["_hparams_/session_start_info"]
    assert b"search.num_simulations" in kept
    assert "search.num_simulations" in (run.logs / "hparams.yaml").read_text()
