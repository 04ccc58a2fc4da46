"""The console on which commands print their tables."""

from rich.console import Console

PAGE = 160  # characters a line where no terminal sets the width


def table_console(*, markup: bool = True, soft_wrap: bool = False) -> Console:
    """Standard output; lines to a file or a pipe, which have no width, are not cut.

    With `soft_wrap` a terminal breaks long lines itself, so that paths are copied whole.
    """
    console = Console(highlight=False, markup=markup, soft_wrap=soft_wrap)
    if console.is_terminal:
        return console
    return Console(highlight=False, markup=markup, soft_wrap=True, width=PAGE)
