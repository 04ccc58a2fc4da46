"""`trainer.max_time`: what is cut short when it is over, and that a resumed run makes up for it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from azcore.algorithms import clock, ratings
from azcore.algorithms.clock import RunClock
from azcore.commands.train import is_finished, train
from azcore.learner.data import SelfPlayData
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from run_kit import fingerprint

Tiny = Callable[..., dict[str, Any]]
HOUR = "trainer.max_time=00:01:00:00"
TWO_HOURS = "trainer.max_time=00:02:00:00"
# Nothing that follows the clock, but for the limit.
PLAIN = ("arena.every_generations=null", "learner.learning_rates=[0.04]", "learner.milestones=[]")


def rows(run: str, name: str) -> list[dict[str, str]]:
    return Table(Path(run) / name, []).rows()


def last_step(run: str) -> int:
    step: int = read_checkpoint(RunDirectory(Path(run)).last_checkpoint)["global_step"]
    return step


def cut_self_play(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], *, looks: int, whole: int = 0
) -> None:
    """Train until the time is over, at a look at it in the generation after `whole` ones."""
    seen = [0]

    def must_learn(self: RunClock, share: float) -> bool:
        if self.data.loader.generation < whole:
            return False
        seen[0] += 1
        return seen[0] > looks

    with monkeypatch.context() as patch:
        patch.setattr(RunClock, "must_learn", must_learn)
        assert train(config) == 0


@pytest.mark.parametrize("whole", [0, 2])
def test_steps_are_as_many_as_the_games_pay_for(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    """And a resumed run plays the games that are missing, from one checkpoint always the same."""
    settings = (*PLAIN, "replay.samples_per_position=0.5")
    cut_self_play(monkeypatch, tiny("run_dir=run", HOUR, *settings), looks=7, whole=whole)
    step = last_step("run")
    assert 4 * whole < step < 4 * whole + 4
    (*_, last) = rows("run", "metrics.csv")
    assert int(last["step"]) == step
    assert float(last["samples_per_position"]) <= 0.5
    assert is_finished(RunDirectory(Path("run")))  # it has had its time
    shutil.copytree("run", "again")
    for run in ("run", "again"):
        assert train(tiny(*settings, TWO_HOURS, f"resume={run}")) == 0
        assert last_step(run) == 16
        generations = [row["generation"] for row in rows(run, "metrics.csv")]
        assert generations == ["0", "1", "2", "3"]
        shares = [float(row["samples_per_position"]) for row in rows(run, "metrics.csv")]
        assert max(shares) <= 0.5
        assert shares[-1] > 0.4
    assert fingerprint(Path("run")) == fingerprint(Path("again"))


def test_no_step_is_taken_without_games(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_self_play(monkeypatch, tiny("run_dir=run", HOUR, *PLAIN), looks=0)
    said = capsys.readouterr().out
    assert "trainer.max_time is up after" in said
    assert "before a game has ended: the run takes no step" in said
    assert last_step("run") == 0
    assert rows("run", "metrics.csv") == []
    assert train(tiny("resume=run", TWO_HOURS, *PLAIN)) == 0
    assert last_step("run") == 16
    assert train(tiny("run_dir=whole", TWO_HOURS, *PLAIN)) == 0
    assert fingerprint(Path("run")) == fingerprint(Path("whole"))  # nothing was lost


def test_weights_are_rated_that_learned_nothing_more(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The time is over before the third generation has a game; the second was not due."""
    monkeypatch.setattr(RunClock, "seconds_per_game", lambda self: 1e-6)
    monkeypatch.setattr(SelfPlayData, "_steps_paid", lambda self, generation: 8)
    settings = (HOUR, "arena.every_generations=3")
    cut_self_play(monkeypatch, tiny("run_dir=run", *settings), looks=0, whole=2)
    assert {row["step"] for row in rows("run", "matches.csv")} == {"8"}
    assert Path("run/checkpoints/step-8.ckpt").exists()
    assert "rating of step 8: " in capsys.readouterr().out
    shutil.copytree("run", "once")
    again = tiny("resume=once", *settings[1:], TWO_HOURS)
    cut_self_play(monkeypatch, again, looks=1, whole=2)  # saved, though no step was taken
    assert is_finished(RunDirectory(Path("once")))
    before, after = (
        read_checkpoint(RunDirectory(Path(run)).last_checkpoint)["SelfPlayData"]["source"]
        for run in ("run", "once")
    )
    assert before != after
    assert train(tiny("resume=run", *settings[1:], TWO_HOURS)) == 0
    assert [row["generation"] for row in rows("run", "metrics.csv")] == ["0", "1", "2", "3"]


def test_learning_that_is_cut_short_goes_on_at_that_step(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RunClock, "is_up", lambda self: self._is_over or self._steps >= 6)
        assert train(tiny("run_dir=run", HOUR, *PLAIN)) == 0
    assert last_step("run") == 6
    assert train(tiny("resume=run", TWO_HOURS, *PLAIN)) == 0
    assert train(tiny("run_dir=whole", TWO_HOURS, *PLAIN)) == 0
    assert fingerprint(Path("run")) == fingerprint(Path("whole"))


def test_time_is_kept_by_a_real_clock(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four seconds half a second is kept for what follows the last step."""
    monkeypatch.setattr(clock, "CLOSING", 0.5)
    monkeypatch.setattr(ratings, "CLOSING", 0.5)
    began = time.monotonic()
    limited = tiny("run_dir=run", "trainer.max_time=00:00:00:04", "trainer.max_steps=100000")
    assert train(limited) == 0
    assert 3 < time.monotonic() - began < 6
    assert 0 < last_step("run") < 100000
    spent = sum(float(row["seconds"]) for row in rows("run", "matches.csv"))
    assert spent < 1


def test_time_counts_from_the_start_of_the_command(tiny: Tiny) -> None:
    """Also that of imports and of compiling, which come before the run."""
    limited = tiny("run_dir=run", "trainer.max_time=00:00:01:00", "trainer.max_steps=100000")
    assert train({**limited, "began": time.monotonic() - 61.0}) == 0
    assert last_step("run") == 0


def test_time_is_summed_over_the_parts_of_a_run() -> None:
    state: dict[str, Any] = {"time_elapsed": {"train": 0.0}}
    parts = [(600.0, 600.0, False), (300.0, 900.0, False), (98.0, 998.0, True)]
    for seconds, total, is_up in parts:
        part = RunClock(1000.0, time.monotonic() - seconds)
        part.load_state_dict(state)
        assert part.elapsed() == pytest.approx(total, abs=1)
        assert part.left() == pytest.approx(1000 - total, abs=1)
        assert part.is_up() == is_up
        state = part.state_dict()


@pytest.mark.parametrize(
    ("elapsed", "is_last", "games"),
    [
        (100.0, False, 20),  # 20 games of 0.2 s against three: 12 s, less than a tenth of 1,000 s
        (100.0, True, 16),  # 10 s of 100 s are left for it
    ],
)
def test_ratings_take_a_tenth_of_the_time(elapsed: float, is_last: bool, games: int) -> None:
    limit = 1000.0 if not is_last else 100.0
    timer = RunClock(limit, 0.0)
    rating = object.__new__(ratings.ArenaRating)
    arena = type("Arena", (), {"games": 20, "every_generations": 1})
    rating._settings = type("Settings", (), {"arena": arena})  # type: ignore[assignment]
    rating._clock = timer
    rating._terminal = Mock()
    patched: Any = rating
    patched._measured_per_game = lambda: 0.2
    patched._names_of_opponents = lambda: ["a", "b", "c"]
    patched._spent = lambda: 0.0
    timer.elapsed = lambda: elapsed * (0.5 if is_last else 2)  # type: ignore[method-assign]
    assert rating._games_in_time(is_last=is_last) == games
    patched._spent = lambda: 100.0
    assert rating._games_in_time(is_last=is_last) == 0


def test_without_ratings_there_is_no_match(tiny: Tiny) -> None:
    assert train(tiny("run_dir=run", "arena.every_generations=null")) == 0
    assert rows("run", "matches.csv") == []
    assert sorted(path.name for path in Path("run/checkpoints").iterdir()) == [
        *("last.ckpt", "step-0.ckpt"),
    ]
