"""Checkpoints are whole, checked and never executed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

import azcore
from azcore.checkpoint import describe_run, load_network, read_checkpoint, write_checkpoint
from azcore.errors import CheckpointError
from azcore.networks import NetworkSettings, build_network

GAME = azcore.make("tic_tac_toe")
NETWORK = NetworkSettings(name="dual_res", blocks=1, channels=2, policy_head="auto", value_hidden=2)


def example() -> dict[str, Any]:
    network = build_network(GAME, NETWORK, seed=1)
    return {
        "azcore": describe_run(GAME, NETWORK),
        "global_step": 12,
        "state_dict": {f"network.{k}": v for k, v in network.state_dict().items()},
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoints" / "last.ckpt"
    write_checkpoint(example(), path)
    return path


def test_round_trip_and_plain_torch_reads_it(path: Path) -> None:
    network, step = load_network(path, GAME)
    expected = build_network(GAME, NETWORK, seed=1).state_dict()
    assert step == 12
    assert all(torch.equal(v, expected[k]) for k, v in network.state_dict().items())
    assert torch.load(path, weights_only=True)["global_step"] == 12


def test_altered_bytes_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    for i in range(0, len(whole), 13):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :])
        with pytest.raises(CheckpointError, match=r"last\.ckpt"):
            read_checkpoint(path)


def test_cut_files_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"last\.ckpt"):
            read_checkpoint(path)


def test_missing_file_and_directory_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.ckpt", tmp_path):
        with pytest.raises(CheckpointError, match="cannot read"):
            read_checkpoint(path)


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "trap.ckpt"
    write_checkpoint({**example(), "trap": Trap()}, path)
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        read_checkpoint(path)
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError):
        read_checkpoint(path)
    assert not (tmp_path / "sprung").exists()


def test_foreign_checkpoints_are_refused(path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"game must be .*'go'.*got .*tic_tac_toe"):
        load_network(path, azcore.make("go", board_size=5))
    write_checkpoint({"state_dict": {}}, path)
    with pytest.raises(CheckpointError, match="format 1, got None"):
        read_checkpoint(path)


def test_failed_write_keeps_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        write_checkpoint(example(), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
