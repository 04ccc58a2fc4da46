"""SIGKILL at random moments of a tuning, a sweep and a rating list: the same command goes on.

Training has its own test, tests/algorithms/test_resume.py.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azcore.storage.run_directory import RunDirectory
from conftest import TINY
from run_kit import fingerprint, train_once


def kills_of(short: str, *few: int) -> pytest.MarkDecorator:
    """Twenty times in the long tests, and a few times in those that `make test` runs."""
    many = pytest.param(20, marks=pytest.mark.long(short=short))
    return pytest.mark.parametrize("kills", [*few, many])


Tiny = Callable[..., dict[str, Any]]


def run(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "azcore", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def kill(arguments: list[str], cwd: Path, progress: Callable[[], int], more: int) -> None:
    """Run, and kill a moment after `progress` has grown by `more`, or when it is over."""
    command = [sys.executable, "-m", "azcore", *arguments]
    before = progress()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd
    ) as process:
        while process.poll() is None and progress() < before + more:
            time.sleep(0.01)
        time.sleep(random.Random(f"{before} {more}").uniform(0, 0.3))
        process.kill()


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


@kills_of("tests/commands/test_killed_commands.py::test_a_rating_list")
def test_a_tuning(tiny: Tiny, tmp_path: Path, kills: int) -> None:
    pytest.importorskip("optuna", reason="command=tune needs the extra tune (optuna, scipy)")
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    arguments = [
        "game=tic_tac_toe",
        "command=tune",
        "checkpoint=run/checkpoints/last.ckpt",
        "tune.games=4",
    ]
    arguments += [
        f"tune.trials={3 * kills + 1}",
        "tune.startup_trials=2",
        "search.num_simulations=8",
    ]
    arguments += ["tune.confirming_games=4"]
    rows = {name: tmp_path / name / "tuning.csv" for name in ("whole", "killed")}
    assert run([*arguments, "run_dir=whole"], tmp_path).returncode == 0
    for number in range(kills):
        kill(
            [*arguments, "run_dir=killed"], tmp_path, lambda: lines(rows["killed"]), 1 + number % 3
        )
    finished = run([*arguments, "run_dir=killed"], tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert rows["killed"].read_bytes() == rows["whole"].read_bytes()


@kills_of("tests/commands/test_sweep.py::test_one_command_makes_all_and_goes_on_where_it_was")
def test_a_sweep(tmp_path: Path, kills: int) -> None:
    def arguments(folder: str) -> list[str]:
        longer = f"trainer.max_steps={16 * kills}"  # so that it outlasts them all
        return ["--multirun", *TINY, longer, "seed=1,2", f"hydra.sweep.dir={folder}"]

    def generations() -> int:
        return sum(map(lines, (tmp_path / "killed").rglob("metrics.csv")))

    assert run(arguments("whole"), tmp_path).returncode == 0
    for number in range(kills):
        kill(arguments("killed"), tmp_path, generations, 2 + number % 4)
    finished = run(arguments("killed"), tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    for seed in (1, 2):
        killed, whole = (tmp_path / name / f"seed={seed}" for name in ("killed", "whole"))
        assert fingerprint(killed) == fingerprint(whole)


@kills_of("tests/commands/test_killed_commands.py::test_a_rating_list", 1)
def test_a_rating_list(tiny: Tiny, tmp_path: Path, kills: int) -> None:
    """A killed one is not taken for a whole one; the same command makes it whole."""
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    before = fingerprint(RunDirectory(tmp_path / "run").path)
    arguments = ["command=arena", "players=[run,random,search:4]", "arena.games=40"]
    arguments += ["search.num_simulations=8"]
    for number in range(kills):
        games = tmp_path / f"list-{number}/games.csv"
        kill([*arguments, f"run_dir=list-{number}"], tmp_path, lambda games=games: lines(games), 1)
        assert run([*arguments, f"run_dir=list-{number}"], tmp_path).returncode == 0
    assert run([*arguments, "run_dir=whole"], tmp_path).returncode == 0
    for path in (tmp_path / "whole").glob("*.csv"):
        for number in range(kills):
            assert (tmp_path / f"list-{number}" / path.name).read_bytes() == path.read_bytes()
    assert fingerprint(RunDirectory(tmp_path / "run").path) == before
