"""`result=FILE.json`: each command that finds something writes it there for scripts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from azcore.commands import COMMANDS
from run_kit import train_once

CommandLine = Callable[..., tuple[int, str, str]]

TALKS = {"train", "play", "web", "engine", "new"}  # a run has a result.json of its own

LINES = {  # a short line of each command, and what its result holds
    "info": ("checkpoint=run", "facts"),
    "runs": ("runs.folder=run", "runs"),
    "report": ("run_dir=run device=cpu", "report"),
    "check": ("game=tic_tac_toe check.positions=10 check.seconds=0.01", "speed"),
    "predict": (
        "game=tic_tac_toe checkpoint=run supervised.games=[run/games/records.azg]",
        "predictions",
    ),
    "bench": ("game=tic_tac_toe bench.seconds=0.01 bench.rows=[rules]", "rows"),
    "puzzles": ("players=[random] puzzles.files=[one.epd] game=chess", "players"),
    "import": ("games=[one.sgf] out=one.azg import.min_plies=1", "games"),
    "arena": ("game=tic_tac_toe players=[random,search:2] arena.games=2", "ratings"),
    "arena arena=comparison": (
        "arena.runs=[run] arena.games=2 arena.num_simulations=2 arena.checkpoints=1",
        "differences",
    ),
    "export": ("export.games=run", "folder"),
    "export what=picture": ("out=board.svg", "file"),
    "export what=onnx": ("checkpoint=run out=net.onnx", "card"),
    "export what=checkpoint": ("checkpoint=run out=small.ckpt", "card"),
    "tune": (
        "game=tic_tac_toe checkpoint=run tune.trials=2 tune.startup_trials=2 tune.games=2 "
        "tune.confirming_games=2 search.num_simulations=2",
        "constants",
    ),
    "ladder": ("ladder.folder=ladder", "measured"),
}


def test_each_command_that_finds_something_can_write_it() -> None:
    roots = {name: yaml.safe_load(Path(f"conf/{name}.yaml").read_text()) for name in COMMANDS}
    assert {name for name, root in roots.items() if "result" not in root} == TALKS
    assert {line.partition(" ")[0] for line in LINES} == set(COMMANDS) - TALKS


@pytest.mark.parametrize("line", LINES)
def test_what_it_finds_is_written(
    line: str, azcore: CommandLine, tiny: Callable[..., dict[str, Any]]
) -> None:
    if needed := {"export what=onnx": "onnx", "tune": "optuna"}.get(line):
        pytest.importorskip(needed)
    words, holds = LINES[line]
    if "=run" in words or "[run" in words:
        train_once(tiny("run_dir=run"))
    Path("one.sgf").write_text("(;SZ[9]KM[7.5]RE[B+3];B[aa];W[bb])")
    Path("one.epd").write_text("7k/8/5KQ1/8/8/8/8/8 w - - bm Qg7#;\n")
    status, _, errors = azcore(*line.split(), *words.split(), "result=found.json")
    assert status == 0, errors
    found = json.loads(Path("found.json").read_text())
    assert holds in found


def test_numbers_that_json_lacks_are_null(tmp_path: Path) -> None:
    from azcore.commands.result import write_result

    write_result({"result": tmp_path / "a.json"}, a=float("nan"), b=(1, True, None), c=tmp_path)
    found = json.loads((tmp_path / "a.json").read_text())
    assert found == {"a": None, "b": [1, True, None], "c": str(tmp_path)}


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    from azcore.commands.result import write_result

    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    write_result({"result": link}, a=1)
    assert link.is_symlink()
    assert [*tmp_path.iterdir()] == [link]
