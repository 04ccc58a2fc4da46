"""Checkpoints: saved at the end of each generation, thinned with age, and used to resume.

last.ckpt    everything needed to resume, written at the end of each generation
step-N.ckpt  rated weights. Whole at first, so that a run can return there; with age,
             fewer stay whole and the rest keep only their weights: see `is_kept_whole`

Only finite values are saved, so a run can continue from each checkpoint.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor

from azcore.errors import CheckpointError, DivergedError
from azcore.learner.module import LearnerModule
from azcore.learner.team import Team
from azcore.storage.checkpoint import is_whole, read_checkpoint, weights_alone, write_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory, unused


class DivergenceGuard(Callback):
    """Ends a run whose loss or weights are not finite, before it uses or saves them.

    The loop calls it when a generation ends, so it never waits for a GPU before then. The error
    names the run's last checkpoint.
    """

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._losses: list[Tensor] = []  # of the steps since the last check, on their device

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._losses.append(outputs["loss"].detach())

    def check(self, trainer: Trainer, module: LearnerModule) -> None:
        """Check losses, weights and momentum.

        Raises:
            DivergedError: the message names the first step that went wrong and its learning rate.
        """
        last, losses = trainer.global_step, self._losses
        self._losses = []
        wrong = (~torch.isfinite(torch.stack(losses))).nonzero() if losses else torch.empty(0)
        if len(wrong):
            parts = trainer.accumulate_grad_batches  # losses of a step
            steps, which = len(losses) // parts, int(wrong[0]) // parts
            self._refuse(module, "loss", last - steps + 1 + which)
        if not _is_finite(module.state_dict()):
            self._refuse(module, "weights", last)
        if not all(_is_finite(state) for o in trainer.optimizers for state in o.state.values()):
            self._refuse(module, "momentum", last)

    def _refuse(self, module: LearnerModule, what: str, step: int) -> None:
        rate = module.learning_rate(step - 1)
        last = self._run.last_checkpoint
        saved = "there is no earlier checkpoint"
        if last.exists():
            saved = f"to continue, resume from {last} with lower learner.learning_rates"
        raise DivergedError(
            f"training diverged: at step {step:,}, with learning rate {rate:.3g}, the {what} must "
            f"be finite, got inf or nan; {saved}"
        )


def _is_finite(tensors: Mapping[str, Any]) -> bool:
    found = [t for t in tensors.values() if isinstance(t, Tensor) and t.is_floating_point()]
    return all(bool(torch.isfinite(tensor).all()) for tensor in found)


class SafeCheckpointIO(TorchCheckpointIO):
    """Lightning's checkpoint files: whole, checked, never executed; the team gets what it reads."""

    def __init__(self, team: Team) -> None:
        self._team = team

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        write_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        checkpoint = read_checkpoint(Path(path))
        self._team.send(Path(path).read_bytes() if self._team.is_many else b"")
        return checkpoint


class Checkpoints:
    """Saves checkpoints and thins out old ones, while the other ranks of the team wait."""

    def __init__(self, run: RunDirectory, team: Team) -> None:
        self._run, self._team = run, team
        self.require_in_place = run.require_in_place

    def save(self, trainer: Trainer, rated_step: int | None) -> None:
        """Save the run; `rated_step`: optimizer steps of the weights that were rated last."""
        run = self._run
        if self._team.is_many:
            self._team.meet()
        trainer.save_checkpoint(run.last_checkpoint)
        if rated_step != trainer.global_step:
            return
        link(run.last_checkpoint, run.step_checkpoint(trainer.global_step))
        rated = [path for step, path in run.step_checkpoints().items() if step > 0]
        for number, path in enumerate(rated, 1):
            # Thins one or two per rating; rereading all would take longer each time.
            if is_kept_whole(number, len(rated) - 1) and not is_kept_whole(number, len(rated)):
                write_checkpoint(weights_alone(read_checkpoint(path)), path)


def is_kept_whole(number: int, count: int) -> bool:
    """Whether rated checkpoint `number` of `count`, counted from 1, stays whole.

    The last two do, and one in 2^k of those that are older by 2^k to 2^(k+1) - 1 ratings: about
    log2(count) in all, spread over the run. A thinned checkpoint is never needed whole again.
    """
    age = count - number
    return number % (1 << (age // 2).bit_length()) == 0


def require_way_back(run: RunDirectory, to: Path, checkpoint: Mapping[str, Any]) -> None:
    """Refuse to go back to a checkpoint that is misnamed or not whole.

    Raises:
        CheckpointError: the message names the whole checkpoints if this one is not whole.
    """
    step = checkpoint["global_step"]
    if to.stem != f"step-{step}":
        raise CheckpointError(f"{to} must hold the step in its name, got step {step}")
    if not is_whole(checkpoint):
        whole = [p for p in run.step_checkpoints().values() if is_whole(read_checkpoint(p))]
        names = ", ".join(sorted(path.name for path in whole)) or "none"
        raise CheckpointError(
            f"{to} holds only weights; a run can resume from whole checkpoints: {names}"
        )


def rewind(run: RunDirectory, to: Path, say: Callable[[str], None]) -> None:
    """Make an earlier checkpoint the last one; move the run's later files to a folder.

    The caller first restores everything in the checkpoint, so that a refused checkpoint changes
    nothing. If the process is killed midway, the same call completes the work. `AlphaGoZero` writes
    the best player's file again.
    """
    checkpoint = read_checkpoint(to)
    step, last = checkpoint["global_step"], run.last_checkpoint
    aside = unused(run.path / "aside" / f"back-to-step-{step}")
    aside.mkdir(parents=True)
    later = [path for at, path in run.step_checkpoints().items() if at > step]
    for path in (last, run.best_checkpoint, *later):
        if path.exists():
            link(path, aside / path.name)
    for path in (run.metrics, run.matches, run.gate):
        if path.exists():
            shutil.copyfile(path, aside / path.name)
    with (aside / run.records.name).open("wb") as rest:
        GameFile(run.records).copy_from(checkpoint["SelfPlayData"]["record_bytes"], rest)
    run.best_checkpoint.unlink(missing_ok=True)
    write_checkpoint(checkpoint, last)
    for path in later:
        path.unlink()
    say(f"back at step {step:,}; the run's later files are now in {aside}")


def link(source: Path, target: Path) -> None:
    """Link or copy a file to another name; azcore never changes a checkpoint in place."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
