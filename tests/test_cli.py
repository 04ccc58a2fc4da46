"""The command line as a user meets it: one sentence and status 2 for whatever cannot be used."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from azcore import cli
from azcore.algorithms.training import train
from conftest import TINY

Tiny = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search.simulation=16"], "did you mean search.num_simulations?"),
        (["trainer.foo=3"], "there is no setting trainer.foo"),
        (["+trainer.foo=3"], "trainer.foo must be a setting of Lightning's Trainer"),
        (["game=chess", "game.foo=1"], "there is no setting game.foo\n"),
        (["game=chess", "game.komi=1"], "there is no setting game.komi\n"),
        (["game=chess", "game.max_ply=1"], "did you mean game.max_plies?"),
        (["sead=3"], "did you mean seed?"),
        (["game=3"], "a group such as game takes the name of one of its files"),
        (["game=goo"], "tic_tac_toe, tic_tac_toe_plain, got 'goo'"),
        (["game=ches"], "got 'ches'; did you mean chess?"),
        (["scale=giant"], "scale must be one of laptop, paper, workstation, got 'giant'"),
        (["game.board_size=25"], "from 2 to 19, got 25"),
        (["game.komi=0.3"], "komi must be a whole or half number"),
        (
            ["command=fly"],
            "one of train, arena, engine, play, export, predict, tune, bench, check, compare, new, "
            "got 'fly'",
        ),
        (["command=tune"], "command=tune needs checkpoint=PATH"),
        (["command=tune", "tune.parameters.search.c_int=[1,2]"], "did you mean tune.parameters"),
        (["command=predict"], "command=predict needs checkpoint=PATH"),
        (["algorithm=supervised"], "supervised.games must be a list of .azg files, got []"),
        (["command=new"], "command=new needs name=NAME"),
        (["command=new", "name=é"], "cannot read the argument 'name=é'; put its value in quotes"),
        (["command=new", "new.path=~"], "a shell passes on when written as 'new.path=\"~\"'"),
        (["command=new", 'name="é"'], "name must be a lower-case Python name"),
        (["command=new", "name=foo", "new.path=null"], "new.path must be a folder, got None"),
        (["name=foo"], "name is for command=new, got name=foo with command=train"),
        (["command=check", "name=foo"], "game=NAME chooses a game"),
        (["foo"], "cannot read the argument 'foo'; it must be KEY=VALUE"),
        (["command=new", "name=Foo"], "name must be a lower-case Python name"),
        (["command=new", "name=go"], "a game named go is installed already"),
        (["command=check", "check.positions=0"], "check.positions must be 1 or more, got 0"),
        (["seed=-1"], "seed must be a whole number from 0"),
        (["seed=1.5"], "got 1.5"),
        (
            ["search.num_simulations=abc"],
            "search.num_simulations must be a whole number, got 'abc'",
        ),
        (["network.blocks=0"], "network.blocks must be 1 or more, got 0"),
        (["learner.milestones=[0.5]"], "one more than learner.milestones"),
        (["arena.games=3"], "an even number above 0"),
        (["trainer.max_time=0:0:10:0"], "days:hours:minutes:seconds"),
        (["trainer.devices=2"], "trainer.devices must be 1"),
        (["trainer.log_every_n_steps=null"], "trainer.log_every_n_steps must be 1 or more"),
        (["device=null"], "device must be auto"),
        (["resume=7"], "7 is no run directory"),
        (["trainer.max_time=10m"], "days:hours:minutes:seconds"),
        (["trainer.max_steps=-1"], "trainer.max_steps must be 1 or more"),
        (["trainer.precision=13"], "Lightning refuses these settings"),
        (["selfplay.precision=half"], "one of auto, float32, bfloat16, got 'half'"),
        (["device=moon"], "device must be auto, or a device of this machine"),
        (["resume=latest"], "resume=latest finds no run of tic_tac_toe"),
        (["resume=nowhere"], "nowhere is no run directory"),
        (["command=compare"], "compare.runs must be run directories, or a folder of them, got []"),
        (["command=compare", "compare.runs=nowhere"], "there is no run in nowhere"),
        (
            ["command=compare", "compare.runs=.", "compare.x=time"],
            "compare.x must be one of evaluations, steps, seconds, got 'time'",
        ),
        (["command=arena"], "command=arena needs players=[...]"),
        (["command=arena", "checkpoint=nothing.ckpt"], "nothing.ckpt: cannot read this checkpoint"),
        (["run_dir=/proc/nothing"], "run_dir /proc/nothing cannot be written to"),
        (["a=b=c"], "cannot read the argument 'a=b=c'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence(
    azcore: Callable[..., tuple[int, str, str]], arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    if not any(argument.startswith(("game.", "game=")) for argument in arguments):
        arguments = ["game=tic_tac_toe", *arguments]
    status, _, errors = azcore(*arguments)
    assert status == 2
    assert sentence in errors
    assert errors.startswith("azcore: ")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []  # nothing refused leaves something behind


def test_a_package_that_is_not_installed_is_told_of(
    azcore: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "pebbles").mkdir()
    (tmp_path / "pebbles/pyproject.toml").touch()
    status, _, errors = azcore("game=pebbles")
    assert status == 2
    assert "in the folder pebbles must be installed: pip install -e pebbles" in errors


def test_help_and_composed_settings(azcore: Callable[..., tuple[int, str, str]]) -> None:
    status, output, _ = azcore("--help")
    assert status == 0
    assert "command=train" in output
    assert "resume=latest" in output
    status, output, _ = azcore("--cfg", "job", "game=go", "scale=paper")
    assert status == 0
    assert "board_size: 19" in output
    assert "num_simulations: 800" in output


def test_check_and_arena(azcore: Callable[..., tuple[int, str, str]], tiny: Tiny) -> None:
    brief = ["check.positions=60", "check.seconds=0.05"]
    assert azcore("command=check", "game=tic_tac_toe_plain", *brief)[0] == 0
    train(tiny("run_dir=run", "trainer.max_steps=4"))
    status, output, _ = azcore(*TINY, "command=arena", "checkpoint=run/checkpoints/last.ckpt")
    assert status == 0
    assert "random" in output
    status, _, errors = azcore("command=arena", "game=go", "checkpoint=run/checkpoints/last.ckpt")
    assert status == 2
    assert "this checkpoint's game must be" in errors


class TestResume:
    """What a resumed run refuses, and that it loses nothing by refusing."""

    @pytest.fixture
    def run(self, tiny: Tiny, tmp_path: Path) -> Path:
        train(tiny("run_dir=run", "trainer.max_steps=8"))
        return tmp_path / "run"

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["seed=2"], "cannot change seed: the run has 1, got 2"),
            (["network.blocks=2"], "cannot change network.blocks"),
            (["selfplay.num_games=8"], "cannot change selfplay.num_games"),
            (["learner=default"], "goes on with the run's own learner"),
            (["scale=paper"], "goes on with the run's own scale, got scale=paper"),
        ],
    )
    def test_changes_that_would_not_be_exact(
        self,
        azcore: Callable[..., tuple[int, str, str]],
        run: Path,
        arguments: list[str],
        sentence: str,
    ) -> None:
        before = (run / "checkpoints/last.ckpt").read_bytes()
        status, _, errors = azcore("game=tic_tac_toe", "resume=run", *arguments)
        assert status == 2
        assert sentence in errors
        assert (run / "checkpoints/last.ckpt").read_bytes() == before

    def test_longer_run(self, azcore: Callable[..., tuple[int, str, str]], run: Path) -> None:
        status, output, _ = azcore("game=tic_tac_toe", "resume=run", "trainer.max_steps=12")
        assert status == 0
        assert "going on from step 8" in output
        assert "step 12" in output
        assert "max_steps: 12" in (run / "config.yaml").read_text()  # kept for the next time

    def test_two_processes_at_once(
        self, azcore: Callable[..., tuple[int, str, str]], run: Path
    ) -> None:
        with (run / "lock").open("w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            status, _, errors = azcore("game=tic_tac_toe", "resume=run")
        assert status == 2
        assert "is in use" in errors

    def test_lost_checkpoint_does_not_cost_the_games(
        self, azcore: Callable[..., tuple[int, str, str]], run: Path
    ) -> None:
        (run / "checkpoints/last.ckpt").unlink()
        games = (run / "games/records.azg").read_bytes()
        status, _, errors = azcore("game=tic_tac_toe", "resume=run")
        assert status == 2
        assert "last.ckpt must be there to go on" in errors
        assert (run / "games/records.azg").read_bytes() == games

    @pytest.mark.parametrize("damage", ["cut", "flipped"])
    @pytest.mark.parametrize("file", ["checkpoints/last.ckpt", "games/records.azg"])
    def test_damaged_files(
        self, azcore: Callable[..., tuple[int, str, str]], run: Path, file: str, damage: str
    ) -> None:
        path = run / file
        whole = path.read_bytes()
        middle = len(whole) // 2
        if damage == "cut":
            path.write_bytes(whole[:middle])
        else:
            path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        damaged = path.read_bytes()
        status, _, errors = azcore("game=tic_tac_toe", "resume=run", "trainer.max_steps=12")
        assert status == 2
        assert Path(file).name in errors
        assert path.read_bytes() == damaged

    def test_no_write_permission_or_full_disk(
        self,
        azcore: Callable[..., tuple[int, str, str]],
        run: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before = (run / "checkpoints/last.ckpt").read_bytes()

        def full(_descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        status, _, errors = azcore("game=tic_tac_toe", "resume=run", "trainer.max_steps=12")
        assert status == 2
        assert "No space left on device" in errors
        assert (run / "checkpoints/last.ckpt").read_bytes() == before
        monkeypatch.undo()

    def test_moved_run(self, azcore: Callable[..., tuple[int, str, str]], run: Path) -> None:
        moved = shutil.move(run, run.with_name("moved"))
        status, _, _ = azcore("game=tic_tac_toe", f"resume={moved}", "trainer.max_steps=12")
        assert status == 0


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_is_there(command: str) -> None:
    assert callable(resolve_name(cli.COMMANDS[command]))
