"""Runs that begin with the weights of another (`init`), or with all that it had (`fork`)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from azcore.commands.train import train
from azcore.errors import AzcoreError
from azcore.storage.checkpoint import KEY, read_checkpoint, weights_of
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import differences, read_config
from azcore.storage.table import Table
from conftest import TINY, compose, smoke_sizes
from run_kit import fingerprint, train_until

Tiny = Callable[..., dict[str, Any]]
CommandLine = Callable[..., tuple[int, str, str]]


def checkpoint(run: str, name: str = "last") -> dict[str, Any]:
    return read_checkpoint(Path(run, "checkpoints", f"{name}.ckpt"))


def origin(run: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path(run, "config.yaml").read_text())["origin"]
    return found


def contents(folder: str) -> dict[str, bytes]:
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four generations; weights rated after 0, 8 and 16 steps."""
    folder = tmp_path_factory.mktemp("made")
    train(compose(*TINY, f"run_dir={folder}/run"))
    return folder / "run"


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same in the current directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path / "run")
    return "run"


# -- init ------------------------------------------------------------------------------------------


def test_begins_with_given_weights_and_all_else_anew(tiny: Tiny, run: str) -> None:
    """Through a change of algorithm and optimizer; records and steps are the new run's own."""
    before = contents(run)
    changes = ["algorithm=alphagozero", "gate.games=2", "gate.num_simulations=2", "seed=5"]
    other = ["learner.optimizer=adamw", "learner.learning_rates=[1e-30]", "learner.milestones=[]"]
    config = tiny(*changes, *other, "init=run@step-8", "run_dir=new", "trainer.max_steps=4")
    assert train(config) == 0
    given, first, last = checkpoint(run, "step-8"), checkpoint("new", "step-0"), checkpoint("new")
    for name, tensor in weights_of(given).items():
        assert tensor.equal(weights_of(first)[name]), name
        if "running_" not in name and "num_batches" not in name:  # rates are almost nothing
            assert tensor.allclose(weights_of(last)[name], atol=1e-5), name
    assert (first["global_step"], last["global_step"]) == (0, 4)
    assert last["lr_schedulers"][0]["last_epoch"] == 4
    (best,) = [state["best"] for state in last["callbacks"].values() if "best" in state]
    assert best.keys() == weights_of(given).keys()  # who plays first: the given weights
    records = list(GameFile(Path("new/games/records.azg")).read())
    assert {record.seed for record in records} == {5}
    assert contents(run) == before
    told = origin("new")
    assert told["how"] == "init"
    assert told["step"] == 8
    assert told["checkpoint"] == str(Path(run, "checkpoints/step-8.ckpt").resolve())
    assert told["sha256"].encode() == Path(told["checkpoint"]).read_bytes()[-64:]
    assert last[KEY]["origin"] == told


def test_the_first_player_has_the_given_weights(tiny: Tiny, run: str) -> None:
    """The games of the first generation are theirs, not those of random weights."""
    for name, init in (("a", []), ("b", ["init=run"]), ("c", ["init=run/checkpoints/last.ckpt"])):
        assert train(tiny(f"run_dir={name}", *init, "trainer.max_steps=4")) == 0
    games = [Path(name, "games/records.azg").read_bytes() for name in "abc"]
    assert games[0] != games[1] == games[2]


def test_an_average_begins_with_the_given_weights(tiny: Tiny, run: str) -> None:
    averaged = ["learner.weight_averaging=0.99", "init=run", "run_dir=new", "trainer.max_steps=4"]
    assert train(tiny(*averaged)) == 0
    given, first = weights_of(checkpoint(run)), weights_of(checkpoint("new", "step-0"))
    assert all(tensor.equal(first[name]) for name, tensor in given.items())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("network.channels=8", "the network of these weights must have channels 8 .*, got 4"),
        ("network=sep_res", "must have name 'sep_res' like this run, got 'dual_res'"),
        ("game=tic_tac_toe_plain", "must have name 'tic_tac_toe_plain' .*, got 'tic_tac_toe'"),
        ("init=nowhere", "nowhere: cannot read this checkpoint"),
        ("init=run@step-3", r"run@step-3 has no checkpoint run/checkpoints/step-3.ckpt; .* step-8"),
        ("init=run@all", "checkpoint must be one, got run@all, which names 3"),
        ("init=run/config.yaml", "not an azcore checkpoint"),
        ("fork=run", "init and fork both set what a run begins from"),
    ],
)
def test_weights_that_cannot_be_begun_with(tiny: Tiny, run: str, change: str, told: str) -> None:
    with pytest.raises(AzcoreError, match=told):
        train(tiny("run_dir=new", "init=run", change))
    assert not Path("new").exists()


SIZES = ["game=go", "game.komi=0.5", "game.other_sizes=[2]", "trainer.max_steps=4"]


def test_weights_of_another_board_size_are_begun_with_if_they_fit(
    tiny: Tiny, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pooled = [*SIZES, "network=pooled_res"]
    assert train(tiny(*pooled, "game.board_size=3", "run_dir=small")) == 0
    large = tiny(*pooled, "game.board_size=4", "init=small", "trainer.max_steps=8")
    capsys.readouterr()
    assert train({**large, "run_dir": "whole"}) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "last.ckpt, step 4, of board_size 3 (here 4), a fresh optimizer" in told
    given, first = weights_of(checkpoint("small")), weights_of(checkpoint("whole", "step-0"))
    assert all(tensor.equal(first[name]) for name, tensor in given.items())
    assert checkpoint("whole")[KEY]["game"]["settings"]["board_size"] == 4
    # Resumed before its first checkpoint, from the copy of these weights.
    halves = {**large, "run_dir": "halves"}
    train_until(halves, 2)
    Path("halves/checkpoints/last.ckpt").unlink(missing_ok=True)
    for table in ("metrics.csv", "matches.csv"):
        Path("halves", table).unlink(missing_ok=True)
    shutil.rmtree("small")
    assert train({**halves, "init": None, "resume": "halves"}) == 0
    assert fingerprint(Path("halves")) == fingerprint(Path("whole"))


def test_weights_of_another_board_size_are_refused_if_they_do_not_fit(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(tiny(*SIZES, "game.board_size=3", "run_dir=small")) == 0
    for changes, of_what, tensor in (
        (["game.board_size=4"], "board_size 3 .here 4.", "policy"),
        (["game.board_size=3", "game.other_sizes=[]"], "other_sizes .2. .here not set.", "tower"),
    ):
        wanted = rf"these weights of {of_what} do not fit this run's network: the tensor .*{tensor}"
        with pytest.raises(AzcoreError, match=wanted):
            train(tiny(*SIZES, *changes, "run_dir=new", "init=small"))
    assert not Path("new").exists()


def test_stopped_before_its_first_checkpoint_it_begins_with_the_same_weights(
    tiny: Tiny, run: str
) -> None:
    config = tiny("init=run", "trainer.max_steps=8")
    assert train({**config, "run_dir": "whole"}) == 0
    halves = {**config, "run_dir": "halves"}
    train_until(halves, 2)
    Path("halves/checkpoints/last.ckpt").unlink()
    for table in ("metrics.csv", "matches.csv"):
        Path("halves", table).unlink()
    shutil.rmtree(run)  # the weights are the new run's own by now
    assert train({**config, "init": None, "resume": "halves"}) == 0
    assert fingerprint(Path("halves")) == fingerprint(Path("whole"))
    assert origin("halves") == origin("whole")


def test_the_same_command_line_resumes_it_and_another_origin_is_refused(
    azcore: CommandLine, run: str
) -> None:
    begins = [*TINY, "run_dir=new", "trainer.max_steps=4"]
    assert azcore(*begins, "init=run")[0] == 0
    longer = [*begins[:-1], "resume=latest", "trainer.max_steps=8"]
    assert azcore(*longer, "init=run")[0] == 0
    assert checkpoint("new")["global_step"] == 8
    assert origin("new")["how"] == "init"  # it stays written
    for other in ("init=run@8", "fork=run"):
        status, _, errors = azcore(*longer, other)
        assert (status, errors.count("\n")) == (2, 1)
        assert "resume=" in errors
        assert f"got {other}" in errors
    status, _, errors = azcore(*TINY, "run_dir=run", "resume=latest", "init=new")
    assert "the run began from random weights, got init=new" in errors


def test_a_network_that_ships_begins_it_and_the_same_words_resume_it(azcore: CommandLine) -> None:
    words = ["game=go", "game.board_size=5", "game.komi=24.5"]
    words += ["game.other_komis=[0.5,6.5,12.5,18.5]", "algorithm=azcore", "init=pretrained"]
    words += smoke_sizes("arena", "evaluator", "learner")
    words += ["run_dir=new", "search.num_simulations=2", "selfplay.num_games=2"]
    words += ["replay.window_start=null", "arena.every_generations=9"]
    assert azcore(*words, "trainer.max_steps=4")[0] == 0
    assert azcore(*words, "trainer.max_steps=8", "resume=latest")[0] == 0
    assert checkpoint("new")["global_step"] == 8


# -- fork ------------------------------------------------------------------------------------------


def test_a_fork_goes_on_as_its_run_would(azcore: CommandLine, tiny: Tiny, run: str) -> None:
    """From the end of a generation, and from within one."""
    for stop in (8, 6):
        train_until(tiny(f"run_dir=half-{stop}"), stop)
        before = contents(f"half-{stop}")
        status, output, _ = azcore(f"fork=half-{stop}", "game=tic_tac_toe", f"run_dir=other-{stop}")
        assert status == 0, output
        assert "which stays unchanged" in output
        other = Path(f"other-{stop}")
        assert fingerprint(other) == fingerprint(Path(run))
        assert contents(f"half-{stop}") == before
        rows = Table(RunDirectory(other).metrics, []).rows()
        assert [row["generation"] for row in rows] == ["0", "1", "2", "3"]
        told = origin(f"other-{stop}")
        assert (told["how"], told["step"]) == ("fork", stop)
        assert checkpoint(f"other-{stop}")[KEY]["origin"] == told
        assert differences(read_config(RunDirectory(other)), tiny()) == []


def test_a_fork_of_an_earlier_step(azcore: CommandLine, run: str) -> None:
    """It leaves what came after that step to the other run."""
    before = contents(run)
    whole = fingerprint(Path(run))
    for name in ("run@step-8", "run/checkpoints/step-8.ckpt"):
        shutil.rmtree("other", ignore_errors=True)
        assert azcore(f"fork={name}", "game=tic_tac_toe", "run_dir=other")[0] == 0
        assert fingerprint(Path("other")) == whole
    assert contents(run) == before
    steps = [row["player"] for row in Table(RunDirectory(Path("other")).matches, []).rows()]
    assert sorted(set(steps)) == ["step-16", "step-8"]


def test_a_fork_keeps_what_suited_the_machine_of_its_run(
    azcore: CommandLine, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = RunDirectory(Path(run)).read_sizes()
    assert sizes.workers is not None
    many = sizes.workers + 1
    monkeypatch.setattr("azcore.selfplay.sizes.available_cores", lambda: many)
    assert azcore("fork=run@8", "game=tic_tac_toe", "run_dir=other")[0] == 0
    assert RunDirectory(Path("other")).read_sizes() == sizes
    assert fingerprint(Path("other")) == fingerprint(Path(run))


def test_a_fork_may_change_what_depends_on_no_state(azcore: CommandLine, run: str) -> None:
    known = GameFile(Path("run/games/records.azg")).size()
    changes = ["seed=9", "search.num_simulations=5", "method=warmup", "trainer.max_steps=20"]
    status, _, errors = azcore("fork=run", "game=tic_tac_toe", "run_dir=other", *changes)
    assert (status, errors) == (0, "")
    config = read_config(RunDirectory(Path("other")))
    assert config["search"]["num_simulations"] == 5
    assert config["learner"]["warmup_steps"] > 0
    assert config["network"]["channels"] == 4  # the run's own
    old, new = (Path(name, "games/records.azg").read_bytes() for name in ("run", "other"))
    assert new[:known] == old
    assert {record.seed for record in GameFile(Path("other/games/records.azg")).read(known)} == {9}
    assert checkpoint("other")["global_step"] == 20
    assert checkpoint("run")["global_step"] == 16


def test_a_fork_of_a_run_that_has_forgotten_games(azcore: CommandLine, tiny: Tiny) -> None:
    """Places in the file stay what they were."""
    few = ["replay.games_on_disk=8", "replay.window_games=8", "trainer.max_steps=40"]
    assert train(tiny(*few, "run_dir=whole")) == 0
    train_until(tiny(*few, "run_dir=half"), 32)
    assert GameFile(Path("half/games/records.azg")).forgotten.games > 0
    assert azcore("fork=half", "game=tic_tac_toe", "run_dir=other")[0] == 0
    assert fingerprint(Path("other")) == fingerprint(Path("whole"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["fork=run", "network.channels=8"],
            "cannot change network.channels: the run has 4, got 8",
        ),
        (["fork=run", "selfplay.num_games=8"], "cannot change selfplay.num_games"),
        (["fork=run", "algorithm=alphagozero"], "cannot change gate.enabled.* init=RUN takes its"),
        (["fork=run", "algorithm=azcore"], "cannot change (learner|network)"),
        (["fork=run", "learner.optimizer=adamw"], "cannot change learner.optimizer"),
        (["fork=run", "method=muon"], "cannot change learner.optimizer"),
        (["fork=run@step-0"], "step-0.ckpt holds only weights"),
        (["fork=run@step-3"], "has no checkpoint run/checkpoints/step-3.ckpt"),
        (["fork=nowhere"], "fork=nowhere: nowhere is not a run directory"),
        (["fork=run", "run_dir=run"], "run_dir run already holds a run"),
        (["fork=run", "command=arena"], "fork is for command=train"),
    ],
)
def test_forks_that_cannot_be(azcore: CommandLine, run: str, words: list[str], told: str) -> None:
    before = contents(".")
    if not any(word.startswith(("run_dir=", "command=")) for word in words):
        words = [*words, "run_dir=other"]
    status, _, errors = azcore("game=tic_tac_toe", *words)
    assert (status, errors.count("\n")) == (2, 1), errors
    assert re.search(told, errors), errors
    assert {
        name: data for name, data in contents(".").items() if "other/lock" not in name
    } == before


def test_what_a_fork_needs_must_be_there(azcore: CommandLine, run: str) -> None:
    Path("run/metrics.csv").rename("metrics.csv")
    Path("run/metrics.csv").symlink_to("../metrics.csv")
    status, _, errors = azcore("fork=run", "game=tic_tac_toe", "run_dir=other")
    assert (status, "got a link" in errors) == (2, True)
    Path("run/metrics.csv").unlink()
    records = Path("run/games/records.azg")
    records.write_bytes(records.read_bytes()[:-50])
    status, _, errors = azcore("fork=run", "game=tic_tac_toe", "run_dir=other")
    assert status == 2
    assert "games that the checkpoint needs are missing" in errors
    assert not Path("other/checkpoints/last.ckpt").exists()
    Path("run/checkpoints/last.ckpt").unlink()
    for name, told in (
        ("run", "has no checkpoint run/checkpoints/last.ckpt"),
        ("run/checkpoints/last.ckpt", "the checkpoint run/checkpoints/last.ckpt does not exist"),
    ):
        assert told in azcore(f"fork={name}", "run_dir=other", "game=tic_tac_toe")[2]


def test_a_sweep_of_forks(azcore: CommandLine, run: str) -> None:
    words = ["--multirun", "hydra.sweep.dir=sweep", "game=tic_tac_toe", "fork=run@8", "seed=2,3"]
    status, output, errors = azcore(*words, "trainer.max_steps=12")
    assert status == 0, output + errors
    runs = sorted(Path("sweep").glob("seed=*"))
    assert len(runs) == 2
    assert fingerprint(runs[0]) != fingerprint(runs[1])
    assert [checkpoint(str(path))["global_step"] for path in runs] == [12, 12]
    before = contents("sweep")
    status, output, _ = azcore(*words, "trainer.max_steps=12")
    assert (status, output.count("is finished")) == (0, 2)
    assert {k: v for k, v in contents("sweep").items() if "lock" not in k} == {
        k: v for k, v in before.items() if "lock" not in k
    }
    earlier = fingerprint(runs[0])
    shutil.copy("run/checkpoints/step-8.ckpt", runs[0] / "checkpoints/last.ckpt")
    assert azcore(*words, "trainer.max_steps=12")[0] == 0
    assert fingerprint(runs[0]) == earlier
    shutil.copy("run/checkpoints/step-8.ckpt", runs[0] / "checkpoints/last.ckpt")
    assert "got fork=run" in azcore(*words, "trainer.max_steps=12", "fork=run")[2]
