"""What a run keeps: nothing that is not finite, enough to go back, and not everything for ever."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from azcore.algorithms import checkpoints
from azcore.algorithms.checkpoints import is_kept_whole
from azcore.commands.train import train
from azcore.errors import AzcoreError, CheckpointError, DivergedError
from azcore.game.registry import make
from azcore.learner.module import LearnerModule
from azcore.networks.checkpoint import load_network
from azcore.storage.checkpoint import is_whole, read_checkpoint, write_checkpoint
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from run_kit import fingerprint, train_once, train_until

Tiny = Callable[..., dict[str, Any]]
# Almost everybody becomes the best player.
GATE = ["algorithm=alphagozero", "gate.every_generations=1", "gate.games=2", "gate.threshold=0.01"]


def poisoned(monkeypatch: pytest.MonkeyPatch, step: int, what: str) -> None:
    """At one optimizer step the loss, a weight or a moment of batch norm becomes nan."""
    original = LearnerModule.training_step

    def training_step(self: LearnerModule, batch: dict[str, torch.Tensor], index: int) -> Any:
        loss = original(self, batch, index)
        if self.global_step + 1 != step:
            return loss
        if what == "loss":
            return loss * torch.nan
        tensor = next(t for name, t in self.state_dict().items() if name.endswith(what))
        tensor.flatten()[0] = torch.nan
        return loss.detach() * 0 + sum(p.sum() for p in self.parameters()) * 0

    monkeypatch.setattr(LearnerModule, "training_step", training_step)


@pytest.mark.parametrize(
    ("what", "step", "told"),
    [
        ("loss", 7, r"at step 7, with learning rate 0\.0\d+, the loss must be finite"),
        ("running_mean", 8, r"at step 8, .* the weights must be finite"),
    ],
)
def test_nothing_is_saved_once_training_diverged(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, step: int, told: str
) -> None:
    """Nor is anything played: ratings would be of such weights too."""
    config = tiny("run_dir=run", "arena.every_generations=1")
    with monkeypatch.context() as patch:
        poisoned(patch, step, what)
        with pytest.raises(DivergedError, match=f"{told}.*resume from .*last.ckpt with lower"):
            train(config)
    run = RunDirectory(tmp_path / "run")
    assert read_checkpoint(run.last_checkpoint)["global_step"] == 4
    assert list(run.step_checkpoints()) == [0, 4]
    assert train({**config, "resume": "run"}) == 0
    train_once(tiny("run_dir=whole", "arena.every_generations=1"))
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")


def test_training_that_diverges_at_once(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, 1, "loss")
    with pytest.raises(DivergedError, match=r"at step 1, .* there is no earlier checkpoint"):
        train(tiny("run_dir=run"))
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["step-0.ckpt"]


def test_a_rate_that_is_far_too_high(tiny: Tiny) -> None:
    """By itself, without a fault that was planted."""
    with pytest.raises(DivergedError, match=r"with learning rate 6\.25e\+29, the loss"):
        train(tiny("run_dir=run", "learner.learning_rates=[1e31,1,1,1]"))


def test_a_rate_that_is_far_too_high_for_all_that_azcore_predicts(tiny: Tiny) -> None:
    whole = ["game=go", "game.board_size=3", "algorithm=azcore", "learner.warmup_steps=0"]
    with pytest.raises(DivergedError, match=r"the loss must be finite, got inf or nan"):
        train(tiny("run_dir=run", "learner.learning_rates=[1e31,1,1]", *whole))


def test_which_checkpoints_are_kept_whole() -> None:
    kept = [number for number in range(1, 101) if is_kept_whole(number, 100)]
    assert kept == [64, 80, 88, 96, 98, 99, 100]
    for count in range(1, 300):
        now = {number for number in range(1, count + 1) if is_kept_whole(number, count)}
        later = {number for number in range(1, count + 1) if is_kept_whole(number, count + 1)}
        assert later <= now
        assert count in now


def test_rated_checkpoints_are_thinned_to_their_weights(tiny: Tiny, tmp_path: Path) -> None:
    train_once(tiny("run_dir=run", "arena.every_generations=1", "trainer.max_steps=24"))
    run = RunDirectory(tmp_path / "run")
    rated = run.step_checkpoints()
    whole = [step for step, path in rated.items() if is_whole(read_checkpoint(path))]
    assert list(rated) == [0, 4, 8, 12, 16, 20, 24]
    assert whole == [16, 20, 24]
    assert rated[4].stat().st_size < rated[24].stat().st_size * 2 / 3
    _, step = load_network(rated[4], make("tic_tac_toe"))
    assert step == 4


def test_a_run_goes_back_to_an_earlier_checkpoint(tiny: Tiny, tmp_path: Path) -> None:
    """And from there the same way again; nothing of what it had done is lost."""
    config = tiny("run_dir=run", "arena.every_generations=1")
    train_once(config)
    run = RunDirectory(tmp_path / "run")
    first = fingerprint(run.path)
    records = run.records.read_bytes()
    train_until({**config, "resume": "run/checkpoints/step-8.ckpt"}, 12)
    aside = tmp_path / "run/aside/back-to-step-8"
    assert list(run.step_checkpoints()) == [0, 4, 8, 12]
    assert [row["step"] for row in Table(run.metrics, []).rows()] == ["4", "8", "12"]
    assert read_checkpoint(aside / "last.ckpt")["global_step"] == 16
    assert read_checkpoint(aside / "step-16.ckpt")["global_step"] == 16
    assert len(Table(aside / "metrics.csv", []).rows()) == 4
    assert records.endswith((aside / "records.azg").read_bytes())
    assert train({**config, "resume": "run"}) == 0
    assert fingerprint(run.path) == first


def test_a_run_directory_may_be_called_like_a_checkpoint(tiny: Tiny, tmp_path: Path) -> None:
    config = tiny("run_dir=step-4")
    train_until(config, 4)
    train_until({**config, "resume": "step-4"}, 8)
    assert not (tmp_path / "step-4/aside").exists()


def test_a_run_cannot_go_back_to_weights_alone(tiny: Tiny, tmp_path: Path) -> None:
    config = tiny("run_dir=run", "arena.every_generations=1", "trainer.max_steps=24")
    train_once(config)
    before = fingerprint(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"step-4.ckpt holds only weights.*step-16.ckpt"):
        train({**config, "resume": "run/checkpoints/step-4.ckpt"})
    assert fingerprint(tmp_path / "run") == before
    assert not (tmp_path / "run/aside").exists()


def _of_another_network(checkpoint: dict[str, Any]) -> None:
    checkpoint["azcore"]["network"]["channels"] = 6


def _of_another_optimizer(checkpoint: dict[str, Any]) -> None:
    checkpoint["optimizer_states"][0]["state"][0]["momentum_buffer"] = torch.zeros(3)


def _of_more_records(checkpoint: dict[str, Any]) -> None:
    checkpoint["SelfPlayData"]["record_bytes"] *= 1000


def _of_another_batch(checkpoint: dict[str, Any]) -> None:
    state = checkpoint["loops"]["fit_loop"]["state_dict"]["combined_loader"][0]
    state["batch"] = 10**6


def _of_another_step(checkpoint: dict[str, Any]) -> None:
    checkpoint["global_step"] = 12


def test_going_back_to_what_no_run_goes_on_from_changes_nothing(tiny: Tiny, tmp_path: Path) -> None:
    config = tiny("run_dir=run", "arena.every_generations=1")
    train_once(config)
    run = RunDirectory(tmp_path / "run")
    path, before = run.step_checkpoint(8), fingerprint(run.path)
    good, metrics = path.read_bytes(), run.metrics.read_bytes()
    for lie, told in (
        (_of_another_network, "network must be"),
        (_of_another_optimizer, "momentum 0 must be"),
        (_of_more_records, "must hold at least .* bytes of records"),
        (_of_another_batch, "batch must be 0 to 3"),
        (_of_another_step, "must hold the step in its name, got step 12"),
    ):
        path.write_bytes(good)
        checkpoint = read_checkpoint(path)
        lie(checkpoint)
        write_checkpoint(checkpoint, path)
        with pytest.raises(AzcoreError, match=told) as caught:
            train({**config, "resume": str(path)})
        assert len(str(caught.value).splitlines()) == 1
        assert fingerprint(run.path) == before
        assert run.metrics.read_bytes() == metrics
        assert list(run.step_checkpoints()) == [0, 4, 8, 12, 16]
        assert not (run.path / "aside").exists()


class Killed(BaseException):
    """What no handler expects."""


def test_going_back_may_be_killed_at_any_moment(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each change of a file in turn; the same again, and the run goes its old way."""
    config = tiny("run_dir=run", *GATE, "arena.every_generations=1")
    assert train(config) == 0
    run = RunDirectory(tmp_path / "run")
    first, kept = fingerprint(run.path), {path.name for path in run.checkpoints.iterdir()}
    back = run.step_checkpoint(8)
    moment, is_over = 0, False
    while not is_over:
        shutil.rmtree(run.path / "aside", ignore_errors=True)
        shutil.copytree(run.path, tmp_path / "once", symlinks=True)
        once = RunDirectory(tmp_path / "once")
        left = moment

        def counted(change: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Killed
                return change(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for place, name in (
                (os, "link"),
                (Path, "mkdir"),
                (Path, "unlink"),
                (Path, "replace"),
                (shutil, "copyfileobj"),
            ):
                patch.setattr(place, name, counted(getattr(place, name)))
            with contextlib.suppress(Killed):
                checkpoints.rewind(once, once.step_checkpoint(8), print)
                is_over = True
        checkpoints.rewind(once, once.step_checkpoint(8), print)
        assert read_checkpoint(once.last_checkpoint)["global_step"] == 8
        assert list(once.step_checkpoints()) == [0, 4, 8]
        asides = [path for folder in (once.path / "aside").iterdir() for path in folder.iterdir()]
        assert kept - {"step-0.ckpt", "step-4.ckpt", "step-8.ckpt"} <= {
            path.name for path in asides
        }
        assert any(run.records.read_bytes().endswith(p.read_bytes()) for p in asides)
        shutil.rmtree(once.path)
        moment += 1
    assert moment > 10
    checkpoints.rewind(run, back, print)  # and then killed, before records are cut off
    assert train({**config, "resume": "run"}) == 0
    assert fingerprint(run.path) == first
    assert {path.name for path in run.checkpoints.iterdir()} == kept
    for path in (run.metrics, run.matches, run.gate):
        steps = [row["step"] for row in Table(path, []).rows()]
        assert steps == sorted(steps, key=int)
        assert steps[-1] == "16"


def test_the_best_player_goes_back_too(tiny: Tiny, tmp_path: Path) -> None:
    config = tiny("run_dir=run", *GATE, "arena.every_generations=1")
    train_once(config)
    run = RunDirectory(tmp_path / "run")
    best = {
        step: read_checkpoint(run.step_checkpoint(step))["callbacks"]["AlphaGoZero"]
        for step in (8, 16)
    }
    assert best[8]["best_step"] < best[16]["best_step"]
    train_until({**config, "resume": "run/checkpoints/step-8.ckpt"}, 9)
    found = read_checkpoint(run.best_checkpoint)
    assert found["global_step"] == best[8]["best_step"]
    for name, tensor in best[8]["best"].items():
        assert torch.equal(found["state_dict"][f"network.{name}"], tensor)
    aside = read_checkpoint(run.path / "aside/back-to-step-8/best.ckpt")
    assert aside["global_step"] == best[16]["best_step"]
