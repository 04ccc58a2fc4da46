"""`result=FILE.json`: the result of a command, for scripts."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azcore.atomic import replacing
from azcore.errors import SettingError, os_errors_as


def write_result(config: Mapping[str, Any], **found: object) -> None:
    """Write a command's result as one JSON object to the file in `result`, if set."""
    if config.get("result") is None:
        return
    path = Path(str(config["result"]))
    write_json(path, _plain(found), f"result={path}")


def write_json(path: Path, content: object, where: str) -> None:
    """Write a JSON file: atomically, unless it is a link or a special file such as /dev/stdout.

    Raises:
        SettingError: it cannot be written, beginning with `where`.
    """
    with os_errors_as(SettingError, f"{where} cannot be written"):
        is_plain = not path.is_symlink() and (path.is_file() or not path.exists())
        with replacing(path) if is_plain else path.open("w") as file:
            file.write(json.dumps(content, indent=1) + "\n")


def _plain(value: Any) -> Any:
    """A value for JSON: paths become strings, and non-finite numbers become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
