"""How a training starts: fresh, from a checkpoint, with given weights, or as a fork."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from azcore.algorithms.checkpoints import require_way_back
from azcore.algorithms.display import TrainingDisplay
from azcore.algorithms.metrics import METRICS
from azcore.algorithms.origin import (
    FORK,
    INIT,
    copy_run,
    initial_weights,
    of_other_settings,
    origin_of,
    remove_copy,
)
from azcore.assembly.entrants import checkpoint_of
from azcore.assembly.parts import Config, RunSettings
from azcore.errors import CheckpointError
from azcore.networks.checkpoint import describe_run, require_resumable, require_same_run
from azcore.storage.checkpoint import is_whole, like, read_checkpoint, require_sizes
from azcore.storage.run_directory import RunDirectory, find_run
from azcore.storage.table import Table


@dataclass(frozen=True, kw_only=True)
class Start:
    """What a run starts from or resumes; empty: random weights."""

    checkpoint: str | None = None  # from which Lightning resumes
    weights: Mapping[str, Tensor] | None = None  # to begin with at step 0
    first: dict[str, Any] | None = None  # a checkpoint of these weights to keep
    origin: dict[str, Any] = field(default_factory=dict)  # see `azcore.algorithms.origin`


@contextlib.contextmanager
def starting(
    run: RunDirectory,
    config: Config,
    origin: dict[str, Any],
    settings: RunSettings,
    terminal: TrainingDisplay,
) -> Iterator[Start]:
    """Finds what the run starts from or resumes; deletes its copies if a later step fails."""
    if config["resume"]:
        run.open()
        yield _resumed(run, config["resume"], origin, settings, terminal)
    elif config[FORK]:
        try:
            yield _forking(run, config[FORK], settings, terminal)
        except BaseException:
            if run.is_open and not run.config.exists():
                remove_copy(run)
            raise
    elif config[INIT]:
        yield _beginning_with(checkpoint_of(config[INIT]), settings, terminal)
    else:
        yield Start()


def _resumed(
    run: RunDirectory,
    resume: str,
    origin: dict[str, Any],
    settings: RunSettings,
    terminal: TrainingDisplay,
) -> Start:
    """A resumed run; if it was stopped before its first checkpoint, it starts again."""
    checkpoint = _checkpoint_to_resume(run, resume, settings, terminal)
    if checkpoint is None and origin.get("how") == INIT:
        start = _beginning_with(run.first_checkpoint, settings, terminal)
        return Start(weights=start.weights, origin=origin)
    return Start(checkpoint=checkpoint, origin=origin)


def _beginning_with(path: Path, settings: RunSettings, terminal: TrainingDisplay) -> Start:
    """A run that starts with another run's weights."""
    expected = describe_run(settings.game, settings.network)
    weights, checkpoint = initial_weights(path, settings.game, expected)
    step = checkpoint["global_step"]
    others = of_other_settings(checkpoint, settings.game)
    source = f"{path}, step {step:,}" + (f",{others}" if others else "")
    terminal.say(f"starts with the weights of {source}, a fresh optimizer and step 0")
    return Start(weights=weights, first=checkpoint, origin=origin_of(INIT, path, checkpoint))


def _forking(
    run: RunDirectory, fork: str, settings: RunSettings, terminal: TrainingDisplay
) -> Start:
    """A new run with a copy of another run's state at a checkpoint."""
    path = checkpoint_of(fork)
    source = find_run(str(path), settings.game.name, FORK)
    if not path.exists():
        raise CheckpointError(f"fork={fork}: the checkpoint {path} does not exist")
    _checkpoint_to_resume(source, str(path), settings, terminal)
    checkpoint = read_checkpoint(path)
    run.open_new()
    copy_run(source, checkpoint, run)
    terminal.say(f"a fork of {source.path}, which stays unchanged")
    return Start(checkpoint=str(run.last_checkpoint), origin=origin_of(FORK, path, checkpoint))


def _checkpoint_to_resume(
    run: RunDirectory, resume: str, settings: RunSettings, terminal: TrainingDisplay
) -> str | None:
    """The last checkpoint or the given one; None if the run was stopped before its first."""
    path = run.last_checkpoint
    goes_back = Path(resume).match("step-*.ckpt")
    if goes_back:
        path = Path(resume)
    elif not path.exists():
        generations = len(Table(run.metrics, list(METRICS)).rows())
        if generations > 1:  # the run may write one row before its checkpoint
            raise CheckpointError(f"resuming needs {path}: the run has {generations} generations")
        terminal.say("no checkpoint yet: the run begins again, with the same seed")
        return None
    checkpoint = read_checkpoint(path)
    if goes_back:
        require_way_back(run, path, checkpoint)
    if not is_whole(checkpoint):
        raise CheckpointError(
            f"{path} holds only weights, so no run can resume from it; init={run.path} begins a "
            "new run with them"
        )
    require_same_run(checkpoint, describe_run(settings.game, settings.network), path)
    require_resumable(checkpoint, settings.game, path)
    if not settings.supervised.enabled:
        sizes = asdict(settings.selfplay) | run.read_sizes().known()
        require_sizes(checkpoint, sizes["num_games"], sizes["workers"], path)
    seconds_trained(checkpoint, path)
    terminal.say(f"resuming from step {checkpoint['global_step']:,} of {run.path}")
    return str(path)


def seconds_trained(checkpoint: dict[str, Any], path: Path) -> float:
    """The seconds counted by Lightning's timer.

    Raises:
        CheckpointError: they are not a number.
    """
    empty = {"Timer": {"time_elapsed": {"train": 0.0}}}
    timer = like(checkpoint.get("callbacks"), empty, f"{path}: callbacks").get("Timer", {})
    return float(timer.get("time_elapsed", {}).get("train", 0.0))
