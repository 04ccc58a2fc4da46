"""The console on which commands print their tables."""

from __future__ import annotations

from rich.console import Console

PAGE = 160  # characters a line where no terminal sets the width


def table_console() -> Console:
    """Standard output; lines in a file or a pipe, which has no width, are not cut."""
    console = Console(highlight=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, soft_wrap=True, width=PAGE)
