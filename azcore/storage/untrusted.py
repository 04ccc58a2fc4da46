"""Reads files from unknown sources as data.

It limits their size, accepts plain values only, resolves and executes nothing, and never follows a
link when writing next to them.
"""

import math
import os
import stat
from pathlib import Path
from typing import Any

import yaml

from azcore.errors import SettingError

MAX_YAML = 1 << 18  # bytes, which take two seconds to parse; the settings of a run take some 4,000


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Refuses aliases, which could expand a short file to any length."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it must not contain aliases")
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read an untrusted file of settings by name: plain values, with nothing resolved.

    Raises:
        SettingError: it is too large, cannot be read, or contains anything else.
    """
    text = read_text(path, MAX_YAML)
    try:
        values = yaml.load(text, _Loader)
        plain = _is_plain(values)
    except Exception as error:  # PyYAML passes on any error that a crafted scalar raises
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise SettingError(f"{path} cannot be read: {why}") from error
    if not isinstance(values, dict):
        raise SettingError(f"{path} must hold settings, got {type(values).__name__}")
    if not plain:
        raise SettingError(f"{path} must hold finite numbers, texts and lists of them, by name")
    return values


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(_is_plain(each) for each in value)
    if isinstance(value, int):
        return abs(value) < 2**64
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str)


def read_text(path: Path, limit: int, errors: str = "strict") -> str:
    """Read an untrusted text file.

    Args:
        errors: how to handle decoding errors; `replace` also reads bytes that are not UTF-8.

    Raises:
        SettingError: it has more than `limit` bytes, is not UTF-8, or cannot be read.
    """
    try:
        if not path.is_file():  # reading a pipe could block
            raise SettingError(f"{path} cannot be read: not a regular file")
        with path.open("rb") as file:
            is_large = os.fstat(file.fileno()).st_size > limit
            data = b"" if is_large else file.read(limit + 1)
        if is_large or len(data) > limit:
            raise SettingError(f"{path} must have at most {limit:,} bytes")
        return data.decode(errors=errors)
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingError(
            f"{path} cannot be read: it must be text in UTF-8, {error.reason} at byte {error.start}"
        ) from error


def require_no_links(folder: Path) -> None:
    """Refuse a folder that contains a link, which would redirect writes.

    Raises:
        SettingError: the message names the link, or anything else that is neither file nor folder.
    """
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            require_no_link(Path(place, name))


def require_no_link(path: Path) -> None:
    """Refuse a path that would redirect writes.

    Raises:
        SettingError: it exists and is neither a file nor a folder.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SettingError(
            f"{path} must be a file or a folder, since a run writes only in its own folder; got "
            f"{'a link' if stat.S_ISLNK(mode) else 'neither'}"
        )


def shortened(value: object) -> str:
    """An untrusted value, shortened for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def printable(text: str) -> str:
    """The text without control characters, which could steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
