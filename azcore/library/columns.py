"""A table as a dict of columns, which `pandas.DataFrame` accepts and which prints as a table."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from azcore.library.html import escaped, table_of
from azcore.storage.untrusted import printable

ROWS = 12  # shown; a longer table shows its first and last ones
WIDEST = 40  # letters of a cell


class Columns(dict[str, list[Any]]):
    """Lists of equal length by column name; a cell without a value is nan.

    `columns["loss"]` is a list; `pandas.DataFrame(columns)` and `polars.DataFrame(columns)` accept
    the whole.
    """

    @classmethod
    def of_rows(cls, names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> "Columns":
        """A table of rows, which may lack some columns."""
        listed = list(rows)
        return cls({name: [row.get(name, math.nan) for row in listed] for name in names})

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values()), []))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in order, each a dict by the names of the columns."""
        for i in range(self.height):
            yield {name: column[i] for name, column in self.items()}

    def head(self, rows: int) -> "Columns":
        """The first rows."""
        return Columns({name: column[:rows] for name, column in self.items()})

    def _shown(self) -> list[list[str]]:
        """The cells as texts, names first; only columns with a value in some row."""
        names = [name for name, column in self.items() if any(map(_has_value, column))]
        every = list(range(self.height))
        if len(every) > ROWS:
            every = [*every[: ROWS // 2], -1, *every[-(ROWS // 2) :]]
        cells = [["…" if i < 0 else cell_text(self[name][i]) for name in names] for i in every]
        return [names, *cells]

    def __repr__(self) -> str:
        if not self.height:
            return f"no rows of {', '.join(self) or 'no columns'}"
        rows = self._shown()
        numeric = self._numeric(rows[0])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if is_number else cell.ljust(width)
                for cell, width, is_number in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> str:
        if not self.height:
            return f"<p>{escaped(repr(self))}</p>"
        names, *cells = self._shown()
        return table_of(names, cells, self._numeric(names))

    def _numeric(self, names: list[str]) -> list[bool]:
        return [all(isinstance(cell, int | float) for cell in self[name]) for name in names]


def _has_value(cell: Any) -> bool:
    return not (isinstance(cell, float) and math.isnan(cell))


def cell_text(cell: Any) -> str:
    """A cell in a few letters; empty for nan."""
    if isinstance(cell, float):
        if math.isnan(cell):
            return ""
        if cell.is_integer() and abs(cell) >= 1000:
            return f"{cell:,.0f}"
        return f"{cell:.4g}"
    text = f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
    text = printable(text)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
