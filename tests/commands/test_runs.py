"""Runs are listed, sorted and filtered, with what people wrote on them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azcore.errors import SettingError
from azcore.report.summary import summary_of
from azcore.storage.run_settings import notes_in, require_notes
from run_kit import train_once

CommandLine = Callable[..., tuple[int, str, str]]


@pytest.fixture
def runs(tmp_path: Path, tiny: Callable[..., dict[str, Any]]) -> Path:
    """Three runs that differ in their tables and in what is written on them."""
    first = train_once(tiny("run_dir=first"))
    folder = tmp_path / "runs"
    for name, written in (
        ("a", "run: {name: wide net, tags: [wide, lr], note: looks good}"),
        ("b/c", "run: {tags: [wide]}"),
        ("d", ""),
    ):
        shutil.copytree(first, folder / name)
        config = folder / name / "config.yaml"
        config.write_text(f"{config.read_text()}\n{written}\n")
    metrics = folder / "d" / "metrics.csv"
    metrics.write_text("\n".join(metrics.read_text().splitlines()[:2]) + "\n")
    return folder


def listed(azcore: CommandLine, *words: str) -> list[dict[str, Any]]:
    status, output, errors = azcore("runs", "result=found.json", *words)
    assert (status, errors) == (0, "")
    found: list[dict[str, Any]] = json.loads(Path("found.json").read_text())["runs"]
    for run in found:
        assert run["run"] in output
    return found


def test_a_run_whose_table_cannot_be_read_is_listed(runs: Path, azcore: CommandLine) -> None:
    os.truncate(runs / "d/metrics.csv", 8 << 30)
    found = {run["run"]: run for run in listed(azcore)}
    assert set(found) == {"runs/a", "runs/b/c", "runs/d"}
    assert found["runs/a"]["fault"] is None
    assert found["runs/d"]["fault"].endswith("metrics.csv must have at most 67,108,864 bytes")
    assert found["runs/d"]["step"] is None
    status, _, errors = azcore("report", "run_dir=runs/d")
    assert (status, errors.count("\n")) == (2, 1)


def test_a_list_of_runs(runs: Path, azcore: CommandLine) -> None:
    every = listed(azcore)
    assert {run["run"] for run in every} == {"runs/a", "runs/b/c", "runs/d"}
    one = next(run for run in every if run["run"] == "runs/a")
    assert (one["name"], one["tags"], one["note"]) == ("wide net", ["wide", "lr"], "looks good")
    assert one["game"] == "tic_tac_toe"
    assert one["step"] > 0
    assert one["weights"] == "runs/a/checkpoints/last.ckpt"
    assert [run["run"] for run in listed(azcore, "runs.tag=lr")] == ["runs/a"]
    assert [run["run"] for run in listed(azcore, "runs.text=GOOD")] == ["runs/a"]
    assert len(listed(azcore, "runs.tag=wide")) == 2
    assert listed(azcore, "runs.game=go") == []
    assert listed(azcore, "runs.sort=step")[-1]["run"] == "runs/d"
    short = next(run for run in every if run["run"] == "runs/d")
    least = {"step": short["step"] + 1, "minutes": short["seconds"] / 60 + 1e-6}
    for key, value in {**least, "rating": one["rating"]}.items():
        found = {run["run"] for run in listed(azcore, f"runs.min_{key}={value}")}
        assert found == {"runs/a", "runs/b/c"} | ({"runs/d"} if key == "rating" else set())
    assert listed(azcore, f"runs.min_rating={one['rating'] + 1}") == []
    _, output, _ = azcore("runs", "runs.tag=lr")
    assert "wide net [wide, lr] looks good" in output
    assert "1 of 3 runs" in output


def test_what_cannot_be_listed_is_told(runs: Path, azcore: CommandLine) -> None:
    for words, told in (
        (["runs.sort=size"], "runs.sort must be one of newest, rating, step, time, games, got"),
        (["runs.folder=nowhere"], "runs.folder: there is no run in nowhere"),
        (["result=nowhere/a.json"], "result=nowhere/a.json cannot be written"),
    ):
        status, _, errors = azcore("runs", *words)
        assert status == 2
        assert told in errors
    (runs / "a" / "config.yaml").write_text("{")
    found = listed(azcore)  # a spoilt one is listed all the same
    assert {run["game"] for run in found} == {"tic_tac_toe", "unknown game"}


def test_a_run_keeps_what_is_written_on_it(
    tmp_path: Path, azcore: CommandLine, tiny: Callable[..., dict[str, Any]]
) -> None:
    words = ["game=tic_tac_toe", "trainer.max_steps=4", "learner.steps_per_generation=4"]
    words += ["learner.batch_size=16", "selfplay.num_games=4", "search.num_simulations=4"]
    words += ["arena.every_generations=null", "evaluator.backend=torch", "network.blocks=1"]
    status, _, errors = azcore(*words, "run_dir=mine", "run.name=first", "run.tags=[a,b]")
    assert (status, errors) == (0, "")
    result = json.loads(Path("mine/result.json").read_text())
    assert (result["ended"], result["step"], result["name"]) == ("done", 4, "first")
    more = ["resume=mine", "trainer.max_steps=8", "run.note=longer"]
    assert azcore(*more)[0] == 0
    summary = summary_of(Path("mine"))
    assert (summary.name, summary.tags, summary.note) == ("first", ("a", "b"), "longer")
    assert summary.step == 8
    assert json.loads(Path("mine/result.json").read_text())["max_steps"] == 8


def test_notes_of_strangers_are_cut_to_size() -> None:
    assert notes_in(None) == notes_in({"name": 3, "tags": "a", "note": []}) == {}
    long = notes_in({"name": "n" * 1000, "tags": ["t" * 100, 3, ""] * 50, "note": "m" * 9999})
    assert len(long["name"]) == 80
    assert long["tags"] == ["t" * 40] * 20
    assert len(long["note"]) == 1000


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ({"name": 3}, "run.name"),
        ({"note": "n" * 1001}, "run.note"),
        ({"tags": "a"}, "run.tags"),
        ({"tags": [1]}, "run.tags"),
        ({"tags": ["a"] * 21}, "run.tags"),
    ],
)
def test_notes_that_are_none_are_refused(written: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingError, match=f"^{key} must be"):
        require_notes({"name": None, "tags": [], "note": None, **written})


def test_no_name_of_a_stranger_steers_the_terminal(tmp_path: Path, azcore: CommandLine) -> None:
    config = tmp_path / "runs/x/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text('run: {name: "\\e[2J", note: "\\u202e", tags: ["\\a"]}\n')
    status, output, errors = azcore("runs")
    assert (status, errors) == (0, "")
    assert "?[2J [?] ?" in output
    assert all(sign.isprintable() or sign == "\n" for sign in output)


def test_a_list_of_runs_waits_for_no_torch(tmp_path: Path) -> None:
    (tmp_path / "runs/x").mkdir(parents=True)
    (tmp_path / "runs/x/config.yaml").write_text("run: {name: x}\n")
    code = """
import sys
from azcore.cli import main
import azcore.commands.import_games
sys.argv = ["azcore", "runs"]
try:
    main()
finally:
    print("torch" in sys.modules)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
