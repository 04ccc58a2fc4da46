"""Files that anyone may have made, read as data.

Their size is bounded, their values are plain, nothing in them is looked up or executed, and no link
is followed when something is written beside them.
"""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path
from typing import Any

import yaml

from azcore.errors import SettingError

MAX_YAML = 1 << 18  # bytes, which take two seconds to parse; the settings of a run are some 4,000


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads no aliases, by which a short file comes to any length."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it must hold no alias")
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> dict[str, Any]:
    """A file of settings by name, of anyone: plain values, nothing in them is looked up.

    Raises:
        SettingError: it is too large, cannot be read, or holds something else.
    """
    text = read_text(path, MAX_YAML)
    try:
        values = yaml.load(text, _Loader)
        plain = _is_plain(values)
    except Exception as error:  # PyYAML lets through whatever a crafted scalar raises
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


def read_text(path: Path, limit: int) -> str:
    """A text file of anyone.

    Raises:
        SettingError: it has more than `limit` bytes, is no UTF-8, or cannot be read.
    """
    try:
        if not path.is_file():  # a pipe would be waited for
            raise SettingError(f"{path} cannot be read: it is no file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise SettingError(f"{path} must have at most {limit:,} bytes")
        return data.decode()
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingError(
            f"{path} cannot be read: it must be text in UTF-8, {error.reason} at byte {error.start}"
        ) from error


def require_no_links(folder: Path) -> None:
    """Refuse a folder with a link in it, by which writing there would write elsewhere.

    Raises:
        SettingError: naming the link, or whatever is neither file nor folder.
    """
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            require_no_link(Path(place, name))


def require_no_link(path: Path) -> None:
    """Refuse what writing to `path` would be led elsewhere by.

    Raises:
        SettingError: it is neither a file nor a folder, if it is there.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SettingError(
            f"{path} must be a file or a folder, for a run is written in its own folder alone; got "
            f"{'a link' if stat.S_ISLNK(mode) else 'neither'}"
        )


def shortened(value: object) -> str:
    """A value of anyone's for a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
