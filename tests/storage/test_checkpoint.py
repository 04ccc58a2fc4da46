"""Checkpoints are whole, checked and never executed."""

from __future__ import annotations

import copy
import io
import os
import pickle
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import azcore
from azcore.errors import CheckpointError
from azcore.networks import build_network, network_settings
from azcore.networks.checkpoint import describe_run, load_network, require_same_run
from azcore.networks.towers import DualRes
from azcore.storage.checkpoint import read_checkpoint, write_checkpoint
from azcore.storage.run_settings import ADDED_TO_NETWORKS
from conftest import compose
from trust_kit import signed_archive

GAME = azcore.make("tic_tac_toe")
NETWORK = DualRes(
    name="dual_res", blocks=1, channels=2, policy_head="auto", value_hidden=2, history=None
)


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


def test_a_network_may_lack_settings_that_came_later(tmp_path: Path) -> None:
    settings = network_settings(compose("network=pooled_res")["network"])
    old = {**example(), "azcore": copy.deepcopy(describe_run(GAME, settings))}
    network = build_network(GAME, settings, seed=1)
    old["state_dict"] = {f"network.{k}": v for k, v in network.state_dict().items()}
    assert ADDED_TO_NETWORKS["pooled_res"]
    for name, value in ADDED_TO_NETWORKS["pooled_res"].items():
        if isinstance(value, dict):
            for inner in value:
                del old["azcore"]["network"][name][inner]
        else:
            del old["azcore"]["network"][name]
    path = tmp_path / "old.ckpt"
    write_checkpoint(old, path)
    require_same_run(read_checkpoint(path), describe_run(GAME, settings), path)
    assert load_network(path, GAME)[0].built_from == network.built_from


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


# -- right checksums, crafted content ----------------------------------------------------------


def refused(path: Path, told: str) -> None:
    """In one sentence, without torch's advice, and before memory is asked for."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match=told) as caught:
        load_network(path, GAME)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "weights_only" not in sentence
    assert len(sentence) < 600
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000, f"{grown} KiB"


def changed(*keys: Any, to: Any) -> dict[str, Any]:
    checkpoint: Any = example()
    inside = checkpoint
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = to
    return checkpoint  # type: ignore[no-any-return]


def laughter(layers: int) -> list[Any]:
    """A few hundred bytes that are 10^layers values."""
    value: list[Any] = ["ha"]
    for _ in range(layers):
        value = [value] * 10
    return value


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


WEIGHT = "network.tower.1.0.weight"  # [2, 2, 3, 3]
LARGE = 10**7


@pytest.mark.parametrize(
    ("checkpoint", "told"),
    [
        ({"azcore": {"format": 1}}, "cannot be used: KeyError 'game'"),
        (changed("azcore", "game", to=[]), "game must be a name, a version and settings"),
        (changed("azcore", "game", "name", to=["x"]), "the game's name must be a short text"),
        (changed("azcore", "game", "settings", to={"a": {}}), "the game's a must be a short text"),
        (changed("azcore", "game", "settings", to={"a": "x" * 10**7}), "the game's a must be"),
        (changed("azcore", "game", "version", to=10**5000), "cannot be loaded"),
        (changed("azcore", "format", to="x" * 10**7), "must have format 1, got 'xx"),
        (changed("azcore", "network", to=None), "its network must be settings by name"),
        (changed("azcore", "network", to={}), "network.name is not set"),
        (changed("azcore", "network", "name", to=[1]), "network.name must be one of"),
        (
            changed("azcore", "network", "blocks", to=LARGE),
            "must have at most .* tensors",
        ),
        (
            changed("azcore", "network", "channels", to=LARGE),
            r"must be torch.float32 \[10000000, 2",
        ),
        (changed("azcore", "network", "channels", to=10**12), "network cannot be used"),
        (
            changed("azcore", "network", "value_hidden", to=LARGE),
            r"\[10000000, 9\], got .*\[2, 9\]",
        ),
        (changed("global_step", to="x"), "global_step must be 0 or more"),
        (changed("global_step", to=-1), "global_step must be 0 or more"),
        (changed("state_dict", to=[]), "state_dict must be tensors by name"),
        (changed("state_dict", to={}), "at most 0 tensors, got more"),
        (changed("state_dict", 5, to=torch.zeros(1)), "state_dict must be tensors by name"),
        (changed("state_dict", "network.x", to=torch.zeros(1)), "'x' is not one of this network's"),
        (changed("state_dict", WEIGHT, to=torch.zeros(2, 2, 3)), r"got .*\[2, 2, 3\]"),
        (changed("state_dict", WEIGHT, to=torch.zeros(2, 2, 3, 3).double()), "float64"),
        (changed("state_dict", WEIGHT, to=torch.full((2, 2, 3, 3), torch.nan)), "must be finite"),
        (changed("state_dict", WEIGHT, to=torch.zeros(2, 2, 3, 3).to_sparse()), "sparse"),
        (changed("state_dict", WEIGHT, to=torch.zeros(2, 2, 3, 3, device="meta")), "meta"),
        (changed("more", to=torch.zeros(1).expand(10**13)), "not be larger than the file"),
        (changed("more", to=bytearray(5)), "only plain values and tensors, got .*bytearray"),
        (changed("more", to={1, 2}), "only plain values and tensors, got .*set"),
        (changed("more", to=laughter(20)), "not be larger than the file"),
        (changed("more", to=nested(300)), "at most 30 deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_crafted_content_is_refused(tmp_path: Path, checkpoint: dict[str, Any], told: str) -> None:
    path = tmp_path / "lie.ckpt"
    write_checkpoint(checkpoint, path)
    refused(path, told)


def rewritten(path: Path, edit: Callable[[str, bytes], bytes], compression: int) -> None:
    """The archive with other entries, and the right checksum."""
    archive = io.BytesIO()
    with (
        zipfile.ZipFile(path) as old,
        zipfile.ZipFile(archive, "w", compression, compresslevel=9) as new,
    ):
        for entry in old.infolist():
            new.writestr(entry.filename, edit(entry.filename, old.read(entry)))
    path.write_bytes(signed_archive(archive))


def test_archives_that_grow_are_refused(path: Path) -> None:
    rewritten(path, lambda _, data: data, zipfile.ZIP_STORED)
    assert load_network(path, GAME)[1] == 12
    rewritten(path, lambda _, data: data, zipfile.ZIP_DEFLATED)
    refused(path, "its entries must not be compressed")


def test_storages_longer_than_their_entry_are_refused(path: Path) -> None:
    """Or whatever lies behind it in memory would be read."""

    def longer(name: str, data: bytes) -> bytes:
        if not name.endswith("data.pkl"):
            return data
        assert data.count(b"K$tq")  # of 36 numbers: 2 x 2 x 3 x 3
        return data.replace(b"K$tq", b"J\xff\xff\xff\x0ftq")

    rewritten(path, longer, zipfile.ZIP_STORED)
    refused(path, "cannot be loaded")


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
        b"\x80\x02ctorch\nSize\n)R.",
        b"\x80\x02" + b"(" * 10**5 + b".",
        b"\x80\x02" + b"]" + b"q\x00h\x00a" * 3 + b".",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        b"\x80\x02.",
        b"",
    ],
)
def test_pickles_that_are_no_checkpoint_are_refused(path: Path, pickled: bytes) -> None:
    rewritten(
        path, lambda name, data: pickled if name.endswith("data.pkl") else data, zipfile.ZIP_STORED
    )
    refused(path, r"cannot be loaded|must have format")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ckpt")
    refused(tmp_path / "pipe.ckpt", "not a regular file")
    refused(Path("/dev/zero"), "not a regular file")
