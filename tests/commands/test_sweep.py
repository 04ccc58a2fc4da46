"""Experiments from the command line: one command makes all runs and the figure, and resumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azcore.algorithms.metrics import GenerationMetrics
from azcore.commands import train as command
from azcore.commands.arena import matches
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from conftest import TINY
from conftest import compose as composed
from run_kit import fingerprint

CommandLine = Callable[..., tuple[int, str, str]]
JOBS = [f"puct.c_init={c},seed={seed}" for seed in (1, 2) for c in (1.25, 2.5)]  # as they run


@pytest.fixture
def experiment(tmp_path: Path, azcore: CommandLine) -> CommandLine:
    """Runs an experiment `mine` of tic-tac-toe, which sweeps two seeds and two values of c_init."""
    folder = tmp_path / "conf/experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        """# @package _global_
compare: {after_sweep: true, checkpoints: 2, games: 2, opening_plies: 1, num_simulations: 4}
hydra:
  mode: MULTIRUN
  sweep: {dir: 'runs/experiments/${hydra.runtime.choices.experiment}'}
  sweeper: {params: {seed: '1,2', puct.c_init: '1.25,2.5'}}
"""
    )
    return lambda *arguments: azcore("--config-dir", "conf", "experiment=mine", *TINY, *arguments)


def cells(path: Path, column: str) -> list[str]:
    return [row[column] for row in Table(path / "metrics.csv", []).rows()]


def test_one_command_makes_all_and_goes_on_where_it_was(
    experiment: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ctrl-C in the third generation of the second job ends the whole sweep.
    append = GenerationMetrics.report
    generations: list[int] = []

    def interrupt(self: Any, *arguments: Any) -> None:
        generations.append(1)
        if len(generations) == 4 + 3:
            raise command.Interrupted
        append(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(GenerationMetrics, "report", interrupt)
        status, output, _ = experiment()
    assert status == 130
    mine = tmp_path / "runs/experiments/mine"
    assert (
        f"""resume with: python -m azcore game=tic_tac_toe 'resume="{mine / JOBS[1]}"'""" in output
    )
    assert {path.parent.name for path in mine.rglob("config.yaml")} == set(JOBS[:2])
    assert not (mine / "ratings.csv").exists()
    done = (mine / JOBS[0] / "checkpoints/last.ckpt").stat().st_mtime_ns

    status, output, errors = experiment()
    assert (status, errors) == (0, "")
    assert output.count("is finished") == 1
    assert output.count("resuming from step 8") == 1
    assert (mine / JOBS[0] / "checkpoints/last.ckpt").stat().st_mtime_ns == done
    assert sorted(path.parent.name for path in mine.rglob("config.yaml")) == sorted(JOBS)
    # The job that was stopped, and one after it, are the same runs as their settings alone.
    for job, seed in ((JOBS[1], 1), (JOBS[3], 2)):
        alone = tmp_path / f"alone-{seed}"
        settings = composed(*TINY, "puct.c_init=2.5", f"seed={seed}", f"run_dir={alone}")
        assert command.train(settings) == 0
        assert fingerprint(alone) == fingerprint(mine / job)
        assert cells(alone, "evaluations") == cells(mine / job, "evaluations")
    assert (mine / "ratings.csv").exists()
    rows = (mine / "comparison_matches.csv").read_text().splitlines()
    assert len(rows) == 1 + 1 + 8 * 2 + 4 + 2 * (4 + 2)

    # Once more, for another axis: nothing is trained or played again.
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(matches, "play_match", never)
    monkeypatch.setattr(command, "Training", never)
    status, output, errors = experiment("compare.x=steps")
    assert (status, errors) == (0, "")
    assert output.count("is finished") == 4
    assert "matches saved already: 33" in output


def test_jobs_that_fail_cost_no_other_its_run(
    experiment: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = command.train

    def crash(config: dict[str, Any]) -> int:
        if (config["seed"], config["learner"]["batch_size"]) == (2, 16):
            raise ZeroDivisionError("a fault")
        return train(config)

    monkeypatch.setattr(command, "train", crash)
    status, _, errors = experiment("puct.c_init=1.25", "learner.batch_size=0,16")
    assert status == 2
    assert errors.count("azcore: learner.batch_size must be") == 2
    assert "ZeroDivisionError: a fault" in errors
    assert "azcore: 3 of 4 jobs failed; the same command runs the rest\n" in errors
    mine = tmp_path / "runs/experiments/mine"
    # c_init is swept by the experiment, so it is part of the name even with one value.
    names = [path.parent.name for path in mine.rglob("config.yaml")]
    assert names == ["learner.batch_size=16,puct.c_init=1.25,seed=1"]
    assert len(Table(mine / "ratings.csv", []).rows()) == 2 + 2


def test_settings_changed_since_are_refused(experiment: CommandLine, tmp_path: Path) -> None:
    assert experiment("seed=1", "puct.c_init=1.25", "compare.after_sweep=false")[0] == 0
    run = RunDirectory(tmp_path / "runs/experiments/mine" / JOBS[0])
    before = fingerprint(run.path)
    status, _, errors = experiment("seed=1", "puct.c_init=1.25", "trainer.max_steps=20")
    assert status == 2
    assert "holds a run with trainer.max_steps 16, got 20" in errors
    assert "another folder for this sweep with hydra.sweep.dir=DIR" in errors
    assert fingerprint(run.path) == before
    # What does not make another run may change.
    open_again = "selfplay.num_games=null"
    status, output, _ = experiment("seed=1", "puct.c_init=1.25", "device=cpu", open_again)
    assert status == 0
    assert "is finished" in output


def test_a_run_that_had_its_time_is_finished(experiment: CommandLine, tmp_path: Path) -> None:
    brief = ["seed=1", "puct.c_init=1.25", "compare.after_sweep=false"]
    limits = ["trainer.max_steps=100000", "trainer.max_time=00:00:00:06"]
    assert experiment(*brief, *limits)[0] == 0
    steps = cells(tmp_path / "runs/experiments/mine" / JOBS[0], "step")
    assert int(steps[-1]) < 100000
    status, output, _ = experiment(*brief, *limits)
    assert status == 0
    assert "is finished" in output
    assert cells(tmp_path / "runs/experiments/mine" / JOBS[0], "step") == steps


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["command=report"], "experiment is for command=train, got experiment=mine with comma"),
        (["resume=latest"], "to resume a sweep, repeat its command"),
        (["hydra.sweep.dir=${nothing}"], "nothing"),
        (["arena=ratings,tournament"], "arena must be ratings, got arena=tournament"),
    ],
)
def test_what_a_sweep_cannot_do(
    experiment: CommandLine, arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    if arguments[0].startswith("resume"):
        assert command.train(composed(*TINY, "run_dir=runs/tic_tac_toe/one")) == 0
    status, _, errors = experiment("seed=1", "puct.c_init=1.25", *arguments)
    assert status == 2
    assert sentence in errors
    assert "Traceback" not in errors


def test_a_plain_sweep_is_named_by_what_varies_and_not_compared(
    azcore: CommandLine, tmp_path: Path
) -> None:
    status, output, errors = azcore("--multirun", *TINY, "seed=1,2", "hydra.sweep.dir=swept")
    assert (status, errors) == (0, "")
    folders = {path.name for path in (tmp_path / "swept").iterdir() if path.is_dir()}
    assert folders == {"seed=1", "seed=2"}
    assert "ratings" not in output
    assert output.count("open sizes as in seed=1") == 1


@pytest.mark.parametrize(
    ("word", "missing"),
    [
        ("gate.games=4", "gate.enabled=true"),
        ("method=without_score", "a game that states score"),
        ("compare.games=4", "compare.after_sweep=true"),
    ],
)
def test_a_word_without_effect_in_every_job_is_refused(
    azcore: CommandLine, tmp_path: Path, word: str, missing: str
) -> None:
    of_network = ["network=pooled_res"]
    status, _, errors = azcore(
        "--multirun", *TINY, *of_network, "seed=1,2", word, "hydra.sweep.dir=swept"
    )
    assert status == 2
    assert errors.count("azcore:") == 1
    assert f"changes something only with {missing}" in errors
    assert not (tmp_path / "swept").exists()


def test_a_word_that_one_job_needs_is_for_all(
    azcore: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Any] = []
    monkeypatch.setattr(command, "train", lambda config: trained.append(config) or 0)
    assert azcore("--multirun", *TINY, "gate.enabled=false,true", "gate.games=4")[0] == 0
    assert [each["gate"]["enabled"] for each in trained] == [False, True]
    # A word that varies must count in its own job.
    status, _, errors = azcore("--multirun", *TINY, "gate.games=2,4")
    assert (status, len(trained)) == (2, 2)
    assert "2 of 2 jobs failed" in errors


def test_a_fault_of_the_comparison_is_not_passed_over(
    experiment: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(matches, "play_match", crash)
    status, _, errors = experiment("seed=1", "puct.c_init=1.25")
    assert status == 1
    assert "ZeroDivisionError: a fault" in errors
