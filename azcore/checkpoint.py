"""Checkpoints on disk: whole or not at all, checked before they are believed, never executed.

A checkpoint is a file as `torch.save` writes it, with one addition: the comment field of the ZIP
archive holds the SHA-256 of everything before it, so that a single altered byte is noticed. torch
and Lightning read such files as they read their own.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import torch
from torch import nn

from azcore.errors import CheckpointError
from azcore.game import Game
from azcore.networks import NetworkSettings, build_network
from azcore.settings import build

FORMAT = 1  # raised when the meaning of a field changes
KEY = "azcore"  # our part of a Lightning checkpoint
_END = struct.Struct("<4s4H2LH")  # end-of-archive record of the ZIP format, comment length last
_COMMENT = 64  # a SHA-256 in hexadecimal


def write_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write a checkpoint so that at any moment `path` is the old file or the new one, whole.

    Raises:
        CheckpointError: the disk refuses; the old file is untouched.
    """
    buffer = io.BytesIO()
    torch.save(checkpoint, buffer)
    data = buffer.getvalue()[:-2] + struct.pack("<H", _COMMENT)
    data += hashlib.sha256(data).hexdigest().encode()
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CheckpointError(f"{path}: could not write a checkpoint: {error}") from error


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint's content on the CPU, verified; loading executes nothing.

    Raises:
        CheckpointError: missing, cut, altered, or not a checkpoint of azcore.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot read this checkpoint: {error.strerror}") from error
    body, comment = data[:-_COMMENT], data[-_COMMENT:]
    if len(body) < _END.size or _END.unpack_from(body, len(body) - _END.size)[0] != b"PK\x05\x06":
        raise CheckpointError(f"{path}: this is not an azcore checkpoint, or its end was cut off")
    if hashlib.sha256(body).hexdigest().encode() != comment:
        raise CheckpointError(f"{path}: this checkpoint's bytes were altered (checksum mismatch)")
    try:
        checkpoint: dict[str, Any] = torch.load(
            io.BytesIO(data), map_location="cpu", weights_only=True
        )
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError) as error:
        raise CheckpointError(f"{path}: this checkpoint cannot be loaded: {error}") from error
    ours = checkpoint.get(KEY) if isinstance(checkpoint, dict) else None
    if not isinstance(ours, dict) or ours.get("format") != FORMAT:
        got = ours.get("format") if isinstance(ours, dict) else None
        raise CheckpointError(f"{path}: checkpoints must have format {FORMAT}, got {got!r}")
    return checkpoint


def describe_run(game: Game, network: NetworkSettings) -> dict[str, Any]:
    """What a checkpoint says of itself: plain values only."""
    return {
        "format": FORMAT,
        "game": game.identity,
        "network": {name: getattr(network, name) for name in network.__dataclass_fields__},
    }


def require_same_run(checkpoint: dict[str, Any], expected: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint whose game, version, settings or network are not the expected ones.

    Raises:
        CheckpointError: naming both sides.
    """
    for what in ("game", "network"):
        if checkpoint[KEY][what] != expected[what]:
            raise CheckpointError(
                f"{path}: this checkpoint's {what} must be {expected[what]}, "
                f"got {checkpoint[KEY][what]}"
            )


def load_network(path: Path, game: Game) -> tuple[nn.Module, int]:
    """The network of a checkpoint and how many optimizer steps it has seen.

    Raises:
        CheckpointError: see `read_checkpoint`; or it is of another game, version or settings.
    """
    return network_of(read_checkpoint(path), path, game)


def network_of(checkpoint: dict[str, Any], path: Path, game: Game) -> tuple[nn.Module, int]:
    """The same of a checkpoint that has been read, from `path`."""
    ours = checkpoint[KEY]
    if ours["game"] != game.identity:
        raise CheckpointError(
            f"{path}: this checkpoint's game must be {game.identity}, got {ours['game']}"
        )
    network = build_network(game, build(NetworkSettings, ours["network"], "network"), seed=0)
    prefix = "network."
    weights = {
        name.removeprefix(prefix): value
        for name, value in checkpoint["state_dict"].items()
        if name.startswith(prefix)
    }
    network.load_state_dict(weights)
    return network, int(checkpoint["global_step"])
