"""A learner on two ranks (two processes on the CPU, by gloo) learns what it learns on one."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from azcore.algorithms.follower import tell_followers
from azcore.algorithms.place import Place, place_here
from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.learner.team import Team
from azcore.learner.trainer_settings import trainer_settings
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from conftest import TINY
from process_kit import gone
from run_kit import fingerprint, train_until

Tiny = Callable[..., dict[str, Any]]

CPU = [
    "trainer.accelerator=cpu",
    "selfplay.workers=1",
    "evaluator.threads=1",
    "arena.every_generations=100",
]
TWO = [*CPU, "trainer.devices=2"]
# What a batch can hold and a step can do, with the network that rounds alike on both sides: SGD.
MUCH = [
    "game=go",
    "game.board_size=3",
    "replay.surprise_share=0.5",
    "learner.weight_averaging=0.8",
    "trainer.gradient_clip_val=1",
    "trainer.max_time=00:01:00:00",
    "network=pooled_res",
    "network.blocks=1",
    "network.channels=8",
    "network.activation=mish",  # smooth: a rectifier makes steps of what rounding leaves near 0
    "network.value=wdl",
    "network.auxiliary.ownership=true",
    "network.auxiliary.score=true",
    "network.auxiliary.later_values=true",
    "learner.learning_rates=[0.04]",  # which is the same however long a run is
    "learner.milestones=[]",
    "trainer.max_steps=8",
]
LOSSES = ("loss", "policy_loss", "value_loss", "ownership_loss", "score_loss", "later_values_loss")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Two processes have more threads than a small machine has cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def losses(run: Path) -> list[list[float]]:
    with RunDirectory(run).metrics.open() as file:
        return [[float(row[name]) for name in LOSSES if row[name]] for row in csv.DictReader(file)]


def weights(run: Path) -> dict[str, torch.Tensor]:
    checkpoint = read_checkpoint(RunDirectory(run).last_checkpoint)
    latest = checkpoint.get("latest_weights", {})
    return {**checkpoint["state_dict"], **{f"latest.{name}": t for name, t in latest.items()}}


def moves(run: Path) -> list[list[int]]:
    return [record.actions.tolist() for record in GameFile(RunDirectory(run).records).read()]


def assert_same(one: Path, other: Path) -> None:
    """The same weights, statistics, losses within float tolerance, and the same moves."""
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        torch.testing.assert_close(second[name], tensor, rtol=1e-4, atol=2e-5, msg=name)
    assert len(losses(one)) == len(losses(other)) == 2
    for row, with_it in zip(losses(one), losses(other), strict=True):
        assert len(row) > 2
        assert with_it == pytest.approx(row, rel=1e-4, abs=1e-5)
    assert moves(one) == moves(other)


def test_two_ranks_learn_what_one_does_and_resume_to_the_byte(tiny: Tiny, tmp_path: Path) -> None:
    """Stopped in the middle of a generation, and resumed: from a window that rank 0 sends."""
    assert train(tiny(*MUCH, *CPU, "run_dir=one")) == 0
    assert train(tiny(*MUCH, *TWO, "run_dir=two")) == 0
    assert_same(tmp_path / "one", tmp_path / "two")
    assert train(tiny(*MUCH, *TWO, "run_dir=halves", "trainer.max_steps=6")) == 0
    assert train({**tiny(*MUCH, *TWO), "resume": "halves"}) == 0
    assert fingerprint(tmp_path / "halves") == fingerprint(tmp_path / "two")


LARGE = pytest.mark.long(
    short="tests/algorithms/test_ranks.py::test_two_ranks_compile_in_half_precision"
)


@pytest.mark.parametrize(
    ("blocks", "channels"), [(1, 8), pytest.param(4, 32, marks=LARGE)], ids=["small", "large"]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.jit")  # as torch compiles
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # the same
def test_two_ranks_compile_in_half_precision(
    tiny: Tiny, tmp_path: Path, blocks: int, channels: int
) -> None:
    """Near the losses of one rank that does not compile: bfloat16 has three digits."""
    half = [
        "game=tic_tac_toe",
        "network=pooled_res",
        f"network.channels={channels}",
        f"network.blocks={blocks}",
        "network.auxiliary.reply=true",
        "network.auxiliary.later_values=true",
        "trainer.max_steps=8",
        "trainer.precision=bf16-mixed",
        "learner.batch_size=256",
    ]
    assert train(tiny(*half, *CPU, "run_dir=one")) == 0
    assert train(tiny(*half, *TWO, "learner.compile=true", "run_dir=two")) == 0
    for row, compiled in zip(losses(tmp_path / "one"), losses(tmp_path / "two"), strict=True):
        assert compiled == pytest.approx(row, rel=0.03, abs=0.01)


def test_norms_of_each_rank_are_averaged(tiny: Tiny, tmp_path: Path) -> None:
    """Where nothing is learned, the first norm sees the same values on one rank and on two."""
    nothing = ["learner.learning_rates=[1e-30]", "learner.milestones=[]", "trainer.max_steps=4"]
    assert train(tiny(*CPU, *nothing, "run_dir=one")) == 0
    apart = [*TWO, *nothing, "learner.sync_batch_norm=false", "run_dir=two"]
    assert train(tiny(*apart)) == 0
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    means = [name for name in one if name.endswith("running_mean")]
    torch.testing.assert_close(two[means[0]], one[means[0]], rtol=1e-5, atol=1e-6)
    later = [name for name in one if name.endswith("running_var")][1:]
    assert any(not torch.allclose(two[name], one[name], rtol=1e-5) for name in later)


def test_passes_of_a_step_learn_what_one_pass_does(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where batch norm takes no notice of the batch."""

    def frozen(norm: nn.BatchNorm2d, x: torch.Tensor) -> torch.Tensor:
        mean, variance = norm.running_mean, norm.running_var
        return nn.functional.batch_norm(x, mean, variance, norm.weight, norm.bias, eps=norm.eps)

    monkeypatch.setattr(nn.BatchNorm2d, "forward", frozen)
    more = [*CPU, "learner.weight_averaging=0.8", "trainer.max_steps=8"]
    assert train(tiny(*more, "run_dir=one")) == 0
    parts = [*more, "trainer.accumulate_grad_batches=4"]
    assert train(tiny(*parts, "run_dir=four")) == 0
    assert_same(tmp_path / "one", tmp_path / "four")
    train_until(tiny(*parts, "run_dir=halves"), 6)
    assert train({**tiny(*parts), "resume": "halves"}) == 0
    assert fingerprint(tmp_path / "halves") == fingerprint(tmp_path / "four")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (["trainer.devices=0"], "trainer.devices must be 1 to 1,024, got 0"),
        (["trainer.strategy=fsdp"], "trainer.strategy must be one of auto, ddp, got 'fsdp'"),
        (["trainer.devices=1000"], "of this machine, got 1000"),
        (
            ["trainer.devices=2", "learner.batch_size=17"],
            "learner.batch_size must be a multiple of 2, twice that or more, to divide equally "
            "by trainer.devices x trainer.num_nodes x trainer.accumulate_grad_batches, got 17",
        ),
        (["trainer.accumulate_grad_batches=16"], "a multiple of 16, twice that or more"),
        (["trainer.num_nodes=2"], "2 without MASTER_ADDR, MASTER_PORT, NODE_RANK"),
        (["+trainer.sync_batchnorm=true"], "learner.sync_batch_norm sets it"),
    ],
)
def test_what_cannot_be_is_refused(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: list[str], sentence: str
) -> None:
    for name in ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingError, match=re.escape(sentence)):
        train(tiny("run_dir=run", "trainer.accelerator=cpu", *changed))
    assert not (tmp_path / "run").exists()


def test_the_place_of_a_process(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = trainer_settings(tiny("trainer.devices=2", "trainer.num_nodes=2")["trainer"])
    assert place_here(trainer_settings(tiny()["trainer"])) == Place()
    by_hand = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "4000", "NODE_RANK": "1"}
    for name, value in by_hand.items():
        monkeypatch.setenv(name, value)
    there = Place(rank=2, size=4, node=1, devices=2, meeting="tcp://10.0.0.1:4000")
    assert place_here(settings) == there
    monkeypatch.setenv("NODE_RANK", "2")
    with pytest.raises(SettingError, match="NODE_RANK must be 0 to 1, got 2"):
        place_here(settings)
    by_torchrun = {"TORCHELASTIC_RUN_ID": "x", "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}
    for name, value in {**by_torchrun, "GROUP_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    found = Place(rank=3, size=4, local=1, node=1, devices=2, meeting="env://", is_begun=True)
    assert place_here(settings) == found
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(SettingError, match="3, as many ranks as torchrun has started, got 4"):
        place_here(settings)


# -- kills -----------------------------------------------------------------------------------------


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for path in found for word in path.read_text().split()]


@contextlib.contextmanager
def running(run: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A run on two ranks that has made a generation, and the process of rank 1."""
    words = [*TINY, *TWO, "trainer.max_steps=1000000", "learner.steps_per_generation=2"]
    with subprocess.Popen(
        [sys.executable, "-m", "azcore", *words, f"run_dir={run}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=run.parent,
    ) as process:
        try:
            assert process.stdout is not None
            assert any(" generation 1 " in line for line in process.stdout)
            (rank_1,) = children(process.pid)
            yield process, rank_1
        finally:
            process.kill()


def test_a_lost_rank_ends_the_run(tmp_path: Path) -> None:
    with running(tmp_path / "run") as (process, rank_1):
        os.kill(rank_1, signal.SIGKILL)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors == "azcore: rank 1 of the learner ended by signal 9\n"
    assert "stopped, saved up to" in output
    assert gone([rank_1])


KILLED = pytest.mark.long(short="tests/algorithms/test_ranks.py::test_all_ranks_end_with_the_run")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=KILLED)])
def test_all_ranks_end_with_the_run(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path / "run") as (process, rank_1):
        process.send_signal(number)
        output, errors = process.communicate(timeout=120)
    is_killed = number == signal.SIGKILL
    assert process.returncode == (-number if is_killed else 130)
    assert errors == ""
    assert is_killed or "resume with" in output
    assert gone([rank_1])


def test_all_ranks_take_the_steps_that_rank_0_chose(compose: Callable[..., dict[str, Any]]) -> None:
    class Sent(Team):
        def send(self, data: bytes) -> None:
            self.data = data

    config = compose("game=tic_tac_toe", "learner.steps_per_generation=null")
    settings = settings_from(config, RunSettings)
    chosen = replace(settings, learner=replace(settings.learner, steps_per_generation=7))
    team = Sent(size=2)
    tell_followers(team, chosen, resumes=False)
    told = json.loads(team.data)["config"]
    assert told["learner"] == {**config["learner"], "steps_per_generation": 7}
    assert told["network"] == config["network"]
