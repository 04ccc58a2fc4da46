"""A run directory that somebody has sent is resumed as far as it is what it seems to be."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from azcore.commands.train import train
from azcore.errors import AzcoreError, CheckpointError, GameFileError
from azcore.storage.checkpoint import read_checkpoint, write_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import OF_ORIGIN
from trust_kit import mutated

Tiny = Callable[..., dict[str, Any]]
GATE = ["algorithm=alphagozero", "gate.every_generations=1", "gate.games=2"]
STEPS = "trainer.max_steps=8"


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two generations with a gate."""
    from conftest import TINY, compose

    folder = tmp_path_factory.mktemp("sent")
    train(compose(*TINY, *GATE, STEPS, f"run_dir={folder / 'run'}"))
    return folder / "run"


def received(sent: Path, tmp_path: Path) -> RunDirectory:
    shutil.copytree(sent, tmp_path / "run", dirs_exist_ok=True)
    return RunDirectory(tmp_path / "run")


def go_on(tiny: Tiny) -> None:
    train({**tiny(*GATE, "trainer.max_steps=12", "run_dir=run"), "resume": "run"})


Checkpoint = dict[str, Any]


def first_game(checkpoint: Checkpoint) -> dict[str, Any]:
    """A game in play of some plies."""
    workers = checkpoint["SelfPlayData"]["source"]["workers"]
    games = [game for worker in workers for game in worker["games"]]
    return max(games, key=lambda game: len(game["actions"]))  # type: ignore[no-any-return]


def _set(*keys: Any, to: Any) -> Callable[[Checkpoint], None]:
    def change(checkpoint: Checkpoint) -> None:
        for key in keys[:-1]:
            checkpoint = checkpoint[key]
        checkpoint[keys[-1]] = to

    return change


def _drop(name: str) -> Callable[[Checkpoint], None]:
    def change(checkpoint: Checkpoint) -> None:
        del checkpoint[name]

    return change


def _in_play(name: str, to: Any) -> Callable[[Checkpoint], None]:
    def change(checkpoint: Checkpoint) -> None:
        first_game(checkpoint)[name] = to

    return change


LIES = [
    (_drop("state_dict"), "state_dict"),
    (_drop("global_step"), "global_step"),
    (_drop("callbacks"), "callbacks"),
    (_drop("loops"), "loops"),
    (_drop("lr_schedulers"), "lr_schedulers"),
    (_drop("optimizer_states"), "holds only weights, so no run can resume from it"),
    (_drop("SelfPlayData"), "SelfPlayData"),
    (_drop("pytorch-lightning_version"), "pytorch-lightning_version"),
    (_set("global_step", to=-1), "global_step must be 0 or more"),
    (
        _set("callbacks", "AlphaGoZero", "best", to={}),
        "cannot use the best player of this checkpoint: the tensor",
    ),
    (
        _set("callbacks", "AlphaGoZero", "best_step", to="x"),
        "best_step must have the type of 0, got 'x'",
    ),
    (_set("callbacks", "GenerationMetrics", "seconds", to=None), "seconds must have the type of"),
    (_set("SelfPlayData", "record_bytes", to=-1), "record_bytes must be 1 or more, got -1"),
    (_set("SelfPlayData", "record_bytes", to=True), "record_bytes must be 1 or more, got True"),
    (
        _set("SelfPlayData", "record_bytes", to=5),
        "the record is truncated|there is no game record here",
    ),
    (_set("SelfPlayData", "total_positions", to=7), "must hold 7 positions"),
    (_set("SelfPlayData", "source", to={}), "cannot resume from this checkpoint: KeyError"),
    (_set("loops", "fit_loop", to={}), "cannot resume from this checkpoint: KeyError"),
    (
        _set("loops", "fit_loop", "epoch_progress", "total", "ready", to="x"),
        "ready must have the type of 0, got 'x'",
    ),
    (
        _set("optimizer_states", 0, "state", 0, "momentum_buffer", to=torch.zeros(3)),
        r"the optimizer's momentum 0 must be torch.float32 \[4, 2, 3, 3\], got .*\[3\]",
    ),
    (_set("lr_schedulers", 0, "base_lrs", to=["x"]), "base_lrs, 0 must have the type of"),
    (_set("state_dict", "network.more", to=torch.zeros(1)), "is not one of this network's"),
    (_set("latest_weights", to={}), "latest weights cannot be used: the tensor"),
    (_set("latest_weights", to=[1]), "latest weights cannot be used"),
    (_in_play("actions", [0]), "a game in play of this checkpoint has inconsistent parts"),
    (_in_play("actions", "odd"), "a game in play of this checkpoint has inconsistent parts"),
    (_in_play("actions", "\xff\xff"), "a game in play of this checkpoint has inconsistent parts"),
    (_in_play("visits", [[[0], [1]]]), "a game in play of this checkpoint has inconsistent parts"),
    (
        _in_play("visit_offsets", "\7\0\0\0"),
        "a game in play of this checkpoint has inconsistent parts",
    ),
    (_in_play("visit_counts", ""), "a game in play of this checkpoint has inconsistent parts"),
    (_in_play("opening_plies", -1), "a game in play of this checkpoint has inconsistent parts"),
    (
        _in_play("surprises", "\0\0\x80\xbf"),
        "a game in play of this checkpoint has inconsistent parts",
    ),
    (
        _in_play("root_values", "\0\0\xc0\x7f"),
        "a game in play of this checkpoint has inconsistent parts",
    ),
]


def lying(sent: Path, tmp_path: Path, lie: Callable[[Checkpoint], None]) -> RunDirectory:
    """A received run whose last checkpoint, its checksum right, holds a lie."""
    run = received(sent, tmp_path)
    checkpoint = read_checkpoint(run.last_checkpoint)
    lie(checkpoint)
    write_checkpoint(checkpoint, run.last_checkpoint)
    return run


@pytest.mark.parametrize(("lie", "told"), LIES)
def test_a_checkpoint_that_lies_is_refused_and_nothing_is_lost(
    sent: Path, tiny: Tiny, tmp_path: Path, lie: Callable[[Checkpoint], None], told: str
) -> None:
    run = lying(sent, tmp_path, lie)
    before, records = run.last_checkpoint.read_bytes(), run.records.read_bytes()
    with pytest.raises(AzcoreError, match=told) as caught:
        go_on(tiny)
    assert len(str(caught.value).splitlines()) == 1
    assert run.last_checkpoint.read_bytes() == before
    assert run.records.read_bytes() == records


@pytest.mark.parametrize(("lie", "told"), LIES[::3])
def test_a_fork_or_the_weights_of_a_run_that_lies_are_refused(
    sent: Path, tiny: Tiny, tmp_path: Path, lie: Callable[[Checkpoint], None], told: str
) -> None:
    """In one sentence, or begun with, where the lie is none of the weights'."""
    run = lying(sent, tmp_path, lie)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    config = tiny(*GATE, "trainer.max_steps=12")
    with pytest.raises(AzcoreError) as caught:
        train({**config, "fork": "run", "run_dir": "other"})
    assert len(str(caught.value).splitlines()) == 1
    with contextlib.suppress(AzcoreError):
        train({**config, "init": "run", "run_dir": "third", "trainer": config["trainer"]})
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "origin",
    [
        ["x"],
        {"how": "init", "checkpoint": "/etc/passwd", "step": 3, "sha256": "x"},
        {"how": "fork", "checkpoint": ["x"], "step": "x", "more": {"a": 1}},
        {"how": "init"},
    ],
)
def test_what_a_run_says_of_its_origin_is_repeated_and_no_more(
    sent: Path, tiny: Tiny, tmp_path: Path, origin: Any
) -> None:
    """Nothing is read from there, not even before the first checkpoint."""
    run = received(sent, tmp_path)
    told = yaml.safe_load(run.config.read_text()) | {"origin": origin}
    run.config.write_text(yaml.safe_dump(told))
    config = {**tiny(*GATE, "trainer.max_steps=12"), "resume": "run"}
    train(config)
    kept = yaml.safe_load(run.config.read_text()).get("origin", {})
    assert kept == {
        key: value
        for key, value in (origin.items() if isinstance(origin, dict) else ())
        if type(value) is OF_ORIGIN.get(key)
    }
    for path in (run.last_checkpoint, run.metrics, run.matches, run.gate):
        path.unlink()
    if kept.get("how") == "init":
        with pytest.raises(CheckpointError, match=r"init.ckpt: cannot read this checkpoint"):
            train(config)


def test_a_game_in_play_that_is_over_is_refused(sent: Path, tiny: Tiny, tmp_path: Path) -> None:
    run = received(sent, tmp_path)
    checkpoint = read_checkpoint(run.last_checkpoint)
    moves = {"actions": [0, 3, 1, 4, 2], "visits": [[[], []]] * 5, "opening_plies": 0}  # as in 0.2
    values = {"root_values": [0.0] * 5, "best_child_values": [0.0] * 5}
    first_game(checkpoint).update(moves | values)
    write_checkpoint(checkpoint, run.last_checkpoint)
    with pytest.raises(CheckpointError, match="a game in play of this checkpoint is over"):
        go_on(tiny)


def test_records_against_the_rules_are_refused(sent: Path, tiny: Tiny, tmp_path: Path) -> None:
    run = received(sent, tmp_path)
    records = list(GameFile(run.records).read())
    lie = replace(records[0], actions=np.roll(records[0].actions, 1))
    size = run.records.stat().st_size
    run.records.unlink()
    GameFile(run.records).append([lie, *records[1:]])
    assert run.records.stat().st_size == size
    with pytest.raises(GameFileError, match=r"byte 0: (ply .* is|the rules' outcome|a game must)"):
        go_on(tiny)


@pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`")  # a state of no callback
def test_a_checkpoint_deletes_no_file_of_its_choice(sent: Path, tiny: Tiny, tmp_path: Path) -> None:
    """Lightning's own callback takes away what a checkpoint calls the last one."""
    run = received(sent, tmp_path)
    folder = run.checkpoints.resolve()
    (tmp_path / "diary").write_text("dear")
    checkpoint = read_checkpoint(run.last_checkpoint)
    path = f"{folder}/../../diary"
    state = {"dirpath": str(folder), "best_model_path": path, "last_model_path": path}
    checkpoint["callbacks"]["ModelCheckpoint"] = state
    write_checkpoint(checkpoint, run.last_checkpoint)
    go_on(tiny)
    assert (tmp_path / "diary").read_text() == "dear"
    assert read_checkpoint(run.last_checkpoint)["global_step"] == 12


def test_any_change_is_refused_or_harmless(sent: Path, tiny: Tiny, tmp_path: Path) -> None:
    for seed in range(6):
        run = received(sent, tmp_path)
        whole = read_checkpoint(run.last_checkpoint)
        write_checkpoint(mutated(whole, np.random.default_rng(seed)), run.last_checkpoint)
        with contextlib.suppress(AzcoreError):
            go_on(tiny)
        shutil.rmtree(run.path)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"network": {"blocks": 10**6}}, "network must be .*'blocks': 1000000"),
        ({"network": {"channels": 10**7}}, "network must be .*'channels': 10000000"),
        ({"network": {"value_hidden": 10**9}}, "network must be "),
        ({"selfplay": {"num_games": 10**6}}, "num_games must stay 4 as in the checkpoint"),
        ({"selfplay": {"workers": 1024, "num_games": None}}, "workers must stay . as in the"),
    ],
)
def test_nothing_is_built_that_the_checkpoint_has_not(
    sent: Path,
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: dict[str, dict[str, Any]],
    told: str,
) -> None:
    """A few words in a file of settings may ask for any memory and any number of threads."""
    run = received(sent, tmp_path)
    run.sizes.unlink()
    before = run.last_checkpoint.read_bytes()
    config = tiny(*GATE, "trainer.max_steps=12")
    for group, values in setting.items():
        config[group] = {**config[group], **values}
    monkeypatch.setattr("azcore.commands.train.Training", None)
    with pytest.raises(CheckpointError, match=told):
        train({**config, "resume": "run"})
    assert run.last_checkpoint.read_bytes() == before


@pytest.mark.parametrize("sizes", ['{"workers": 1000000}', '{"num_games": 4, "workers": 1025}'])
def test_sizes_that_lie_start_no_threads(
    sent: Path, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: str
) -> None:
    run = received(sent, tmp_path)
    run.sizes.write_text(sizes)
    monkeypatch.setattr("azcore.commands.train.Training", None)
    with pytest.raises(CheckpointError, match=r"selfplay\.workers must stay . as in the"):
        go_on(tiny)
