"""The console on which commands print their tables."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

PAGE = 160  # characters a line where no terminal sets the width


def table_console(*, markup: bool = True, soft_wrap: bool = False) -> Console:
    """Standard output; lines to a file or a pipe, which have no width, are not cut.

    With `soft_wrap` a terminal breaks long lines itself, so that paths are copied whole.
    """
    console = Console(highlight=False, markup=markup, soft_wrap=soft_wrap)
    if console.is_terminal:
        return console
    return Console(highlight=False, markup=markup, soft_wrap=True, width=PAGE)


def plain_table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """A table without lines: columns to the left, then numbers to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table
