"""Writes files as a whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal


@contextlib.contextmanager
def replacing(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """A new file that replaces `path` once the block has ended and the disk has its content.

    After an error, a kill or a power cut, `path` is the whole old file or the whole new one. Until
    then the new file's name ends in `.tmp`; a link of that name is removed, not followed.

    Args:
        path: the file's path; its folder exists.
        mode: "w" writes text as UTF-8.

    Raises:
        OSError: the file cannot be written.
    """
    new = path.with_name(f"{path.name}.tmp")
    is_text = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    try:
        new.unlink(missing_ok=True)
        with open(new, mode.replace("w", "x"), **is_text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
