"""The origin of a run that did not start from random weights: another run's weights or state.

    init=RUN        only the weights: another algorithm, optimizer and schedule, from step 0 on;
                    and other settings of the game, such as its size, if the network fits
    fork=RUN@step-8 weights, optimizer, games in play and records: it continues like that run

Both create a new run in its own directory and leave the other run unchanged. The new run's settings
and each of its checkpoints name its origin.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from azcore.algorithms.checkpoints import link
from azcore.assembly.entrants import checkpoint_of
from azcore.errors import CheckpointError, GameFileError
from azcore.game import Game
from azcore.networks.checkpoint import require_fitting
from azcore.storage.checkpoint import (
    KEY,
    digest_of,
    like,
    read_checkpoint,
    short_repr,
    weights_alone,
    weights_of,
    write_checkpoint,
)
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory

INIT, FORK = "init", "fork"


def origin_of(how: str, path: Path, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """A run's record of its origin, in plain values; `how` is `INIT` or `FORK`."""
    return {
        "how": how,
        "checkpoint": str(path.resolve()),
        "step": int(checkpoint["global_step"]),
        "sha256": digest_of(path),
    }


def require_same_origin(config: Mapping[str, Any], origin: Mapping[str, Any]) -> None:
    """Refuse to resume a run with another origin.

    Args:
        origin: that the run has stored; empty if it began with random weights.

    Raises:
        AzcoreError: the message names both.
    """
    began = (origin.get("how"), origin.get("checkpoint"))
    for how in (INIT, FORK):
        if config[how] and began != (how, str(checkpoint_of(config[how]).resolve())):
            words = f"from {began[0]}={began[1]}" if origin else "from random weights"
            raise CheckpointError(
                f"resume={config['resume']}: the run began {words:.300}, got {how}={config[how]}"
            )


def initial_weights(
    path: Path, game: Game, expected: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights that play in a checkpoint, as initial weights of a run, and the checkpoint.

    Args:
        expected: the new run's own description, see `describe_run`.

    Raises:
        CheckpointError: it cannot be read, is of another game or network, or does not fit the
            game's settings; naming the setting or the tensor.
    """
    checkpoint = read_checkpoint(path)
    theirs, settings = checkpoint[KEY], {"settings": expected["game"]["settings"]}
    _require_same(
        {**theirs["game"], **settings}, expected["game"], f"{path}: the game of these weights"
    )
    _require_same(theirs["network"], expected["network"], f"{path}: the network of these weights")
    try:
        require_fitting(checkpoint, game)
    except ValueError as error:
        raise CheckpointError(
            f"{path}: these weights{of_other_settings(checkpoint, game)} do not fit this run's "
            f"network: {error}"
        ) from error
    return weights_of(checkpoint), checkpoint


def of_other_settings(checkpoint: Mapping[str, Any], game: Game) -> str:
    """` of board_size 7 (here 9)`: how the game of some weights differs; empty if it does not."""
    theirs, ours = checkpoint[KEY]["game"]["settings"], game.settings
    different = [
        f"{key:.40} {_described(theirs, key)} (here {_described(ours, key)})"
        for key in {**ours, **theirs}
        if ours.get(key) != theirs.get(key)
    ]
    return f" of {', '.join(different)}" if different else ""


def _described(settings: Mapping[str, Any], key: str) -> str:
    return short_repr.repr(settings[key]) if key in settings else "not set"


def _require_same(got: Mapping[str, Any], wanted: Mapping[str, Any], what: str) -> None:
    for key in {**wanted, **got}:
        here, there = wanted.get(key), got.get(key)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            _require_same(there, here, f"{what}, {key}")
        elif here != there:
            raise CheckpointError(
                f"{what} must have {key} {here!r:.80} like this run, got {short_repr.repr(there)}"
            )


def keep_first_weights(run: RunDirectory, checkpoint: Mapping[str, Any]) -> None:
    """Save a run's initial weights, for a resume before its first checkpoint."""
    write_checkpoint(weights_alone(checkpoint), run.first_checkpoint)


def copy_run(source: RunDirectory, checkpoint: dict[str, Any], target: RunDirectory) -> None:
    """Copy a run's state at a checkpoint into an empty run directory, without its settings.

    The other run may be training meanwhile: its records grow, and its other files are replaced as a
    whole. This call reports records that it closes or drops just then as missing; another call
    finds them.

    Args:
        checkpoint: one of its whole checkpoints.
        target: an open run directory.

    Raises:
        CheckpointError, GameFileError: the checkpoint's records are missing.
        SettingError: the other run contains a link, which could lead to other files.
    """
    source.require_no_links()
    step = checkpoint["global_step"]
    size = like(checkpoint["SelfPlayData"].get("record_bytes"), 0, "a checkpoint's record_bytes")
    try:
        with target.records.open("wb") as file:
            GameFile(source.records).copy_before(size, file)
        for at, path in source.step_checkpoints().items():
            if at <= step:
                link(path, target.step_checkpoint(at))
        for old, new in (
            (source.sizes, target.sizes),
            (source.metrics, target.metrics),
            (source.matches, target.matches),
            (source.gate, target.gate),
        ):
            if old.exists():
                shutil.copyfile(old, new)
    except OSError as error:
        raise GameFileError(
            f"{error.filename or source.path}: could not copy this run: {error.strerror}"
        ) from error
    write_checkpoint(checkpoint, target.last_checkpoint)


def remove_copy(run: RunDirectory) -> None:
    """Undo `copy_run` for a run that fails to start."""
    for path in (
        *(run.records, run.sizes, run.metrics, run.matches, run.gate),
        *(run.last_checkpoint, run.first_checkpoint, *run.step_checkpoints().values()),
    ):
        path.unlink(missing_ok=True)
