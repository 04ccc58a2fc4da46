"""Makes importlib.metadata.entry_points read the installed packages once.

A run of azcore asks twenty times, and numba whenever it loads compiled code. Each time all packages
are read, which took a fifth of the time of tests.
"""

import importlib.metadata
import os
import sys
from functools import cache
from typing import Any

_read = importlib.metadata.entry_points


@cache
def _read_once(path: tuple[tuple[str, int], ...], **chosen: str) -> Any:
    return _read(**chosen)


def _entry_points(**chosen: str) -> Any:
    """Of the folders on the path of imports, each with the time of its last change."""
    path = [(folder, os.stat(folder).st_mtime_ns) for folder in sys.path if os.path.isdir(folder)]
    return _read_once(tuple(path), **chosen)


importlib.metadata.entry_points = _entry_points
