"""Checkpoints on disk: written atomically, verified before use, never executed.

A checkpoint is a file as `torch.save` writes it, with one addition: the comment field of the ZIP
archive holds the SHA-256 of everything before it, which reveals any altered byte. torch and
Lightning read such files as they read their own.

Anyone can compute that checksum, so it does not make a file trustworthy. The reader therefore
accepts only files that take no more memory than they have bytes and hold only plain values and
plain tensors. It builds a network only if the tensors have exactly the shapes that its settings
imply.
"""

import hashlib
import io
import math
import pickle
import re
import reprlib
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from azcore.atomic import replacing
from azcore.errors import AzcoreError, CheckpointError, os_errors_as
from azcore.storage.game_record import require_identity
from azcore.storage.run_settings import completed_network

_PLAIN = "it must hold only plain values and tensors"
FORMAT = 1  # increased when the meaning of a field changes
short_repr = reprlib.Repr()  # of a checkpoint's own description, in errors
short_repr.maxstring = short_repr.maxother = 60
short_repr.maxdict = 20
KEY = "azcore"  # our part of a Lightning checkpoint
HALF = "half"  # in our part: large weights were rounded to half precision
PLAYS = ("state_dict", "global_step", KEY)  # parts of a checkpoint that a player needs
_END = struct.Struct("<4s4H2LH")  # end-of-archive record of the ZIP format, comment length last
_COMMENT = 64  # a SHA-256 in hexadecimal
_ENTRY = b"PK\x01\x02"  # begins an entry of a ZIP archive's directory
_MOST_ENTRIES = 100_000  # of an archive, one per tensor; a network has about a hundred
_PREFIX = "network."  # of the weights' names in a Lightning checkpoint
# The globals of a pickle that torch would look up, and those that a checkpoint needs. Some of the
# others allocate as much memory as the file asks for.
_GLOBAL = re.compile(rb"c((?:torch|collections|_codecs|builtins|__builtin__)[\w.]*\n[\w.]+)\n")
_KNOWN_GLOBAL = re.compile(
    rb"collections\nOrderedDict|torch\n\w+Storage|torch._utils\n_rebuild_(tensor_v2|parameter)"
)
_MOST_DEPTH = 30  # of nested values; Lightning's take 10
# Exceptions from reading an untrusted file.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    struct.error,
    zipfile.BadZipFile,
)


def write_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write a checkpoint atomically: `path` is always the whole old file or the whole new one.

    Raises:
        CheckpointError: writing fails; the old file is untouched.
    """
    buffer = io.BytesIO()
    torch.save(checkpoint, buffer)
    data = buffer.getvalue()[:-2] + struct.pack("<H", _COMMENT)
    data += hashlib.sha256(data).hexdigest().encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise CheckpointError(f"{path}: could not write a checkpoint: {error}") from error


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The verified content of a checkpoint, on the CPU; loading executes nothing.

    Raises:
        CheckpointError: missing, truncated, altered, or not a checkpoint of azcore.
    """
    if path.exists() and not path.is_file():  # reading a pipe or device may never end
        raise CheckpointError(f"{path}: cannot read this checkpoint: not a regular file")
    with os_errors_as(CheckpointError, f"{path}: cannot read this checkpoint"):
        data = path.read_bytes()
    body, comment = data[:-_COMMENT], data[-_COMMENT:]
    if len(body) < _END.size or _END.unpack_from(body, len(body) - _END.size)[0] != b"PK\x05\x06":
        raise CheckpointError(f"{path}: this is not an azcore checkpoint, or it is truncated")
    if hashlib.sha256(body).hexdigest().encode() != comment:
        raise CheckpointError(f"{path}: this checkpoint's bytes were altered (checksum mismatch)")
    with reporting_faults(f"{path}: this checkpoint cannot be loaded"):
        _require_plain_archive(data)
        checkpoint = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        _require_plain(checkpoint, len(data))
    ours = checkpoint.get(KEY) if isinstance(checkpoint, dict) else None
    if not isinstance(ours, dict) or ours.get("format") != FORMAT:
        got = ours.get("format") if isinstance(ours, dict) else None
        raise CheckpointError(
            f"{path}: checkpoints must have format {FORMAT}, got {reprlib.repr(got)}"
        )
    with reporting_faults(f"{path}: this checkpoint cannot be used"):
        _require_parts(checkpoint)
    ours["network"] = completed_network(ours["network"])
    if ours.pop(HALF, False) is True:
        checkpoint["state_dict"] = {
            name: tensor.float() if tensor.dtype == torch.float16 else tensor
            for name, tensor in checkpoint["state_dict"].items()
        }
    return checkpoint  # type: ignore[no-any-return]


def read_player(path: Path) -> dict[str, Any]:
    """The parts of a checkpoint that a player needs, which callers must not change.

    A command line reads the same file several times: for its game, and for its network. So the last
    two are cached while their files are unchanged.

    Raises:
        CheckpointError: as `read_checkpoint`.
    """
    try:
        found = path.stat()
    except OSError:
        return weights_alone(read_checkpoint(path))  # raises the reason
    return _remembered(path, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


@lru_cache(maxsize=2)
def _remembered(path: Path, stamp: tuple[int, ...]) -> dict[str, Any]:
    return weights_alone(read_checkpoint(path))


def digest_of(path: Path) -> str:
    """The SHA-256 at the end of a checkpoint's file, in hexadecimal."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _COMMENT))
        return file.read().decode("ascii", "replace")


def digest_of_weights(checkpoint: Mapping[str, Any]) -> str:
    """The SHA-256 of the weights of a checkpoint alone, in hexadecimal."""
    digest = hashlib.sha256()
    for name, tensor in sorted(checkpoint["state_dict"].items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def short_reason(error: BaseException) -> str:
    """The reason in one sentence, without torch's advice to load the refused file anyway."""
    text = str(error)
    if isinstance(error, AzcoreError):
        return text
    if found := re.search(r"GLOBAL (\S+)", text):
        return f"{_PLAIN}, got {found[1]:.100}"
    if "weights_only" in text or "Weights only" in text:
        return _PLAIN
    line = next(iter(text.splitlines()), "").rstrip(". ")
    return line if type(error) is ValueError and line else f"{type(error).__name__} {line:.200}"


@contextmanager
def reporting_faults(what: str) -> Iterator[None]:
    """Raise each of `FAULTS` as a CheckpointError: what failed, then the reason."""
    try:
        yield
    except FAULTS as error:
        raise CheckpointError(f"{what}: {short_reason(error)}") from error


def _require_plain_archive(data: bytes) -> None:
    """Refuse a ZIP archive that takes more memory than its file has bytes.

    Raises:
        ValueError: an entry is compressed, the entries overlap, or there are too many.
        Other errors of `zipfile`, for other content.
    """
    if data.count(_ENTRY) > _MOST_ENTRIES:
        raise ValueError(f"it must have at most {_MOST_ENTRIES:,} entries")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its entries must not be compressed")
        if sum(entry.file_size for entry in entries) > len(data):
            raise ValueError("its entries must not be larger than the file")
        for entry in entries:
            if "data.pkl" in entry.filename.lower():
                for found in _GLOBAL.findall(archive.read(entry)):
                    if not _KNOWN_GLOBAL.fullmatch(found):
                        name = found.decode(errors="replace").replace("\n", ".")
                        raise ValueError(f"{_PLAIN}, got {name:.100}")


def _require_plain(value: object, most: int) -> None:
    """Refuse anything but a tree of plain values and dense tensors, no larger than its file.

    Args:
        most: bytes of the file. A value takes at least one, unless it occurs several times, which
            is how a few bytes can grow into a tree too large to walk.
    """
    left = most
    level: list[object] = [value]
    for _ in range(_MOST_DEPTH):
        following: list[object] = []
        left -= len(level)
        for one in level:
            kind = type(one)
            if kind in (dict, OrderedDict):
                following += one.keys()  # type: ignore[attr-defined]
                following += one.values()  # type: ignore[attr-defined]
            elif kind in (list, tuple):
                following += one  # type: ignore[arg-type]
            elif kind in (Tensor, nn.Parameter):
                assert isinstance(one, Tensor)
                if one.layout != torch.strided or one.is_quantized or one.device.type != "cpu":
                    raise ValueError("its tensors must be dense")
                left -= one.numel() * one.element_size()
            elif kind not in (int, float, bool, str, type(None)):
                raise ValueError(f"{_PLAIN}, got {kind.__name__}")
            if left < len(following):
                raise ValueError("its content must not be larger than the file")
        if not following:
            return
        level = following
    raise ValueError(f"its values must be nested at most {_MOST_DEPTH} deep")


def _require_parts(checkpoint: dict[str, Any]) -> None:
    """Refuse a checkpoint without the parts that every reader needs; the error names the part."""
    require_identity(checkpoint[KEY]["game"])
    # Its content is checked when a network is built from it.
    require_part(type(checkpoint[KEY]["network"]) is dict, "its network", "settings by name")
    step, weights = checkpoint["global_step"], checkpoint["state_dict"]
    require_part(type(step) is int and 0 <= step < 2**63, "global_step", "0 or more")
    fits = isinstance(weights, dict) and all(
        type(name) is str and isinstance(tensor, Tensor) for name, tensor in weights.items()
    )
    require_part(fits, "state_dict", "tensors by name")


def require_part(condition: bool, what: str, wanted: str) -> None:
    if not condition:
        raise ValueError(f"{what} must be {wanted}, got something else")


def like(saved: Any, expected: Any, what: str) -> Any:
    """Plain values of a checkpoint, which must have the structure of expected ones.

    Args:
        saved: values of a checkpoint.
        expected: `saved` must have its lengths and types. Numbers may differ, but must be finite
            and, if they are whole, not negative.

    Returns:
        `saved` without unexpected keys; the caller handles missing ones.

    Raises:
        CheckpointError: the message names the place.
    """
    if isinstance(expected, dict) and isinstance(saved, dict):
        return {
            key: like(saved[key], expected[key], f"{what}, {key}")
            for key in expected.keys() & saved.keys()
        }
    if isinstance(expected, list) and isinstance(saved, list) and len(expected) == len(saved):
        return [
            like(*pair, f"{what}, {i}") for i, pair in enumerate(zip(saved, expected, strict=True))
        ]
    fits = type(saved) is type(expected) and not isinstance(expected, dict | list)
    if type(expected) is float:
        fits = type(saved) in (int, float) and math.isfinite(saved)
    elif type(expected) is int:
        fits = fits and 0 <= saved < 2**62
    if not fits:
        raise CheckpointError(
            f"{what} must have the type of {expected!r:.100}, got {reprlib.repr(saved)}"
        )
    return saved


def require_sizes(
    checkpoint: dict[str, Any], num_games: int | None, workers: int | None, path: Path
) -> None:
    """Refuse sizes of self-play that differ from those of the games in play.

    Args:
        num_games: games of all workers; None: unknown.
        workers: threads; None: unknown.

    Raises:
        CheckpointError: the message names both sides.
    """
    with reporting_faults(f"{path}: a run cannot resume from this checkpoint"):
        source = checkpoint["SelfPlayData"]["source"]
        saved = [len(worker["games"]) for worker in source["workers"]]
    for key, was, now in (("num_games", sum(saved), num_games), ("workers", len(saved), workers)):
        if now not in (None, was):
            raise CheckpointError(
                f"{path}: selfplay.{key} must stay {was} as in the checkpoint, got {now}"
            )


def is_whole(checkpoint: Mapping[str, Any]) -> bool:
    """Whether a run can resume from it; if not, it holds only weights."""
    return "optimizer_states" in checkpoint


def weights_alone(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that a player needs, without the optimizer and the games in play."""
    return {name: checkpoint[name] for name in PLAYS}


def halved(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """`weights_alone` in half the bytes: kernels and matrices as float16, which readers widen.

    Biases and batch norms, whose variances may be tiny, stay unchanged: they are few.

    Raises:
        CheckpointError: a weight is too large for half precision.
    """
    weights = {
        name: tensor.half() if tensor.dtype == torch.float32 and tensor.dim() > 1 else tensor
        for name, tensor in checkpoint["state_dict"].items()
    }
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise CheckpointError(
                f"{name} must fit half precision, below 65,504, got "
                f"{float(checkpoint['state_dict'][name].abs().max()):.3g}"
            )
    own = {**checkpoint[KEY], HALF: True}
    return {**weights_alone(checkpoint), "state_dict": weights, KEY: own}


def weights_of(checkpoint: dict[str, Any]) -> dict[str, Tensor]:
    """The network's tensors by their names in the network."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in checkpoint["state_dict"].items()
        if name.startswith(_PREFIX)
    }


def require_same_tensor(got: object, wanted: Tensor, what: str) -> None:
    """Refuse a tensor of another shape or type than `wanted`, or one that is not finite.

    Raises:
        ValueError: the message names `what`.
    """
    if not isinstance(got, Tensor) or got.shape != wanted.shape or got.dtype != wanted.dtype:
        kind = f"{got.dtype} {list(got.shape)}" if isinstance(got, Tensor) else "none"
        raise ValueError(f"{what} must be {wanted.dtype} {list(wanted.shape)}, got {kind}")
    if not bool(got.isfinite().all()):
        raise ValueError(f"the numbers of {what} must be finite")
