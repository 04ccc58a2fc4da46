"""Compiles the kernels of search, again after a change to a file of this folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from azcore import bits
from azcore.game.compilation import compiled

SOURCES: tuple[str | Path, ...] = (*Path(__file__).parent.glob("*.py"), bits.__file__)


def kernel(function: Callable[..., Any]) -> Any:
    """A function over trees, compiled on its first call."""
    return compiled(function, sources=SOURCES)
