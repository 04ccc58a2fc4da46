"""A CSV table that a run appends to and a resumed run truncates."""

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from azcore.atomic import replacing
from azcore.errors import SettingError, os_errors_as
from azcore.storage.untrusted import read_text, shortened

MAX_TABLE = 1 << 26  # bytes; one row per generation takes some 300
# Cells, plus 8 for each row, which determine the memory; 150,000 rows of the widest table.
MAX_CELLS = 1 << 23
MAX_ROW = 1 << 16  # bytes
MAX_COUNT = 2**53  # a float counts exactly up to here
COUNTED = frozenset(("generation", "step", "trial"))  # columns of whole numbers, in any table


def rows_of(path: Path, errors: str = "strict") -> Iterator[dict[Any, Any]]:
    """The rows of an untrusted table, without an unfinished last line.

    Args:
        path: the file's path; no rows if it does not exist.

    Yields:
        each row as from `csv.DictReader`: too few or too many cells show as None.

    Raises:
        SettingError: the file is larger than any run's, or cannot be read.
        csv.Error: the rest is not a table.
    """
    if not path.exists():
        return
    whole, ends, _ = read_text(path, MAX_TABLE, errors).rpartition("\n")
    cells = length = 0

    def lines() -> Iterator[str]:
        nonlocal length
        for line in io.StringIO(whole + ends, newline=""):
            length += len(line)
            if length > MAX_ROW:
                raise csv.Error(f"a row has more than {MAX_ROW:,} characters")
            yield line

    for row in csv.DictReader(lines()):
        cells, length = cells + len(row) + 8, 0
        if cells > MAX_CELLS:
            raise SettingError(f"{path} has too many rows and columns for a run's table")
        yield row


class Table:
    """A CSV file of appended rows; `keep_before` removes those that a resumed run will repeat.

    Args:
        columns: its header; the first is the generation, for `keep_before`.
    """

    def __init__(self, path: Path, columns: list[str]) -> None:
        self.path, self.columns = path, columns

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Add rows; missing cells stay empty.

        Raises:
            SettingError: writing fails.
        """
        reported = os_errors_as(SettingError, f"{self.path} cannot be written to")
        with reported, self.path.open("a+", newline="", encoding="utf-8") as file:
            self._drop_cut_row(file)
            writer = csv.DictWriter(file, self.columns)
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(rows)

    @staticmethod
    def _drop_cut_row(file: TextIO) -> None:
        """Cut off an incomplete last row, which an interrupted writer left."""
        end = file.buffer.seek(0, os.SEEK_END)
        if end:
            file.buffer.seek(max(0, end - MAX_ROW))
            tail = file.buffer.read()
            if not tail.endswith(b"\n"):
                file.buffer.truncate(end - len(tail) + tail.rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)

    def rows(self, needed: Iterable[str] = ()) -> list[dict[str, str]]:
        """All complete rows, without a last one left incomplete by an interrupted writer.

        Raises:
            SettingError: the file is not such a table.
        """
        try:
            rows = list(rows_of(self.path))
        except csv.Error as error:
            raise SettingError(f"{self.path} must be a table in CSV: {error}") from error
        for number, row in enumerate(rows, 1):
            if None in row or None in row.values():
                raise SettingError(
                    f"{self.path} must have a value for each column, got more or fewer in row "
                    f"{number}"
                )
        for column in needed if rows else ():
            self.text(rows[0], column)
        return rows

    def text(self, row: Mapping[str, str], column: str) -> str:
        """The cell of a row in a column.

        Raises:
            SettingError: there is no such column.
        """
        if column not in row:
            raise SettingError(f"{self.path} must have a column {column}")
        return row[column]

    def number(self, row: Mapping[str, str], column: str) -> float:
        """The cell as a number.

        Raises:
            SettingError: it is not a number, or not finite.
        """
        text = self.text(row, column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise SettingError(f"{self.path}: {column} must be a number, got {shortened(text)}")
        return value

    def whole(self, row: Mapping[str, str], column: str) -> int:
        """The cell as a count.

        Raises:
            SettingError: it is not a whole number of 0 or more.
        """
        text = self.text(row, column)
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= MAX_COUNT):
            raise SettingError(
                f"{self.path}: {column} must be a whole number, 0 or more, got {shortened(text)}"
            )
        return int(text)

    def keep_before(self, generation: int) -> None:
        """Drop rows of `generation` and later: the resumed run writes them again.

        Raises:
            SettingError: a count in the file is not a whole number, or a column is unknown.
        """
        if not self.path.exists():
            return
        rows = self.rows()
        for row in rows:
            for column in COUNTED.intersection(self.columns):
                self.whole(row, column)
        earlier = [row for row in rows if self.whole(row, self.columns[0]) < generation]
        for column in earlier[0] if earlier else ():
            if column not in self.columns:
                raise SettingError(
                    f"{self.path} has a column {shortened(column)} that azcore does not know"
                )
        if earlier:
            self.replace(earlier)
        else:
            self.path.unlink()

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replace all rows by these, atomically.

        Raises:
            SettingError: writing fails.
        """
        reported = os_errors_as(SettingError, f"{self.path} cannot be written to")
        with reported, replacing(self.path) as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(rows)
