"""What tests of whole runs share."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from azcore.algorithms import display
from azcore.commands.train import train
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.run_directory import RunDirectory


def fingerprint(run_dir: Path) -> tuple[str, str]:
    """Digests of all that training has made: weights with optimizer, and game records."""
    run = RunDirectory(run_dir)
    checkpoint = read_checkpoint(run.last_checkpoint)
    digest = hashlib.sha256()
    best = [
        tensor
        for state in checkpoint["callbacks"].values()
        for tensor in state.get("best", {}).values()  # of the gate, where there is one
    ]
    momentum = checkpoint["optimizer_states"][0]["state"]
    tensors = [
        *best,
        *checkpoint["state_dict"].values(),
        *checkpoint.get("latest_weights", {}).values(),  # where their average is the one above
        *(tensor for kept in momentum.values() for tensor in kept.values()),
    ]
    for tensor in tensors:
        digest.update(tensor.numpy().tobytes())
    digest.update(str(checkpoint["global_step"]).encode())
    return digest.hexdigest(), hashlib.sha256(run.records.read_bytes()).hexdigest()


_MADE: dict[str, Path] = {}  # by settings


def train_once(config: dict[str, Any]) -> Path:
    """The run that `train` makes; a copy if this process has made it before.

    For tests that need a run and do not test how it is made, neither under a patch nor with files
    of the current directory in the settings.
    """
    key = json.dumps({**config, "run_dir": None}, sort_keys=True)
    if key not in _MADE:
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        assert train({**config, "run_dir": f"{folder}/run"}) == 0
        _MADE[key] = Path(folder) / "run"
    return Path(shutil.copytree(_MADE[key], config["run_dir"])).absolute()


def train_until(config: dict[str, Any], step: int) -> None:
    """Train, asking Lightning to stop at a step, as a Timer or EarlyStopping would."""
    original = display.LearnerProgress.on_train_batch_end

    def stop(self: Any, trainer: Any, *args: Any, **kwargs: Any) -> None:
        trainer.should_stop = trainer.global_step >= step

    display.LearnerProgress.on_train_batch_end = stop  # type: ignore[method-assign]
    try:
        train(config)
    finally:
        display.LearnerProgress.on_train_batch_end = original  # type: ignore[method-assign]
