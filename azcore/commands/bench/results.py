"""Rows of figures: their fields, the table, and the file that stores them.

`bench.json` is `{"format", "machine", "peers", "failed", "rows"}`; a row is `Row` as an object.
"""

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from azcore.assembly.parts import LearningSettings
from azcore.commands.result import write_json
from azcore.networks.probe import processor
from azcore.selfplay.sizes import available_cores
from azcore.storage.card import commit

FORMAT = 2  # 1 was a bare list of rows


@dataclass(frozen=True)
class Figure:
    """A row without its game and program."""

    what: str
    value: float
    unit: str
    at: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    game: str
    settings: Mapping[str, Any]  # of the game, such as its board size
    what: str
    at: Mapping[str, int] = field(default_factory=dict)  # what varies between rows of one `what`
    value: float
    unit: str
    peer: str | None = None  # None: azcore itself
    note: str = ""  # on how it was measured, if programs differ in it


def machine(settings: LearningSettings) -> dict[str, Any]:
    """The conditions, besides the program, that the figures depend on."""
    device = settings.device
    on_gpu = device.type == "cuda"
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(40, "-dirty") or None,
        "cpu": processor(),
        "cores": available_cores(),
        "device": torch.cuda.get_device_name(device) if on_gpu else str(device),
        "precision": settings.evaluation.precision,
        "backend": settings.evaluation.backend,
        "threads": settings.evaluation.threads,
        "torch_threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("azcore", "numba", "numpy", "torch")},
    }


def write_results(
    path: Path,
    *,
    machine: Mapping[str, Any],
    peers: Mapping[str, Mapping[str, str]],
    failed: Sequence[str],
    rows: Iterable[Row],
) -> None:
    """Write all results as JSON, atomically.

    Args:
        machine: see `machine`.
        peers: the versions of their packages, by peer.
        failed: sentences about failed measurements.
    """
    content = {
        "format": FORMAT,
        "machine": dict(machine),
        "peers": dict(peers),
        "failed": list(failed),
        "rows": [asdict(row) for row in rows],
    }
    write_json(path, content, str(path.absolute()))


def print_table(console: Console, title: str, rows: Sequence[Row], peers: Sequence[str]) -> None:
    """A line for each figure, a column for each program, and the notes below."""
    console.print(title, soft_wrap=True)
    table = Table()
    table.add_column("what", no_wrap=True)
    for name in ("azcore", *peers):
        table.add_column(name, justify="right")
    table.add_column("unit")
    lines: dict[tuple[str, str], dict[str | None, Row]] = {}
    for row in rows:
        at = ", ".join(f"{name}={number:,}" for name, number in row.at.items())
        lines.setdefault((row.what, at), {})[row.peer] = row
    for (what, at), line in lines.items():
        values = [f"{line[p].value:,}" if p in line else "" for p in (None, *peers)]
        table.add_row(f"{what}, {at}" if at else what, *values, next(iter(line.values())).unit)
    console.print(table)
    for row in rows:
        if row.note:
            console.print(f"{row.peer or 'azcore'} {row.what}: {row.note}", soft_wrap=True)
