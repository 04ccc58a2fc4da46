"""Writes the report of a run while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch

from azcore.report.report import Report

SHARE = 0.01  # of the run's time that its reports may take


class GenerationReports:
    """Writes report.html at the end of each generation, once the checkpoint is there.

    While another report would take more than its share of the time since the last one, it waits for
    a later generation.

    Args:
        run_dir: of the run.
        device: where the network is asked about the games shown.
        say: told once if the report cannot be written.
    """

    def __init__(self, run_dir: Path, device: torch.device, say: Callable[[str], None]) -> None:
        self._report = Report(run_dir, device)
        self._say: Callable[[str], None] | None = say
        self._seconds = 0.0  # that the last report took
        self._since = time.perf_counter()

    def show(self) -> None:
        """Write the report, unless the last one was written a moment ago."""
        began = time.perf_counter()
        if self._seconds > SHARE * (began - self._since):
            return
        try:
            self._report.write()
        except Exception as error:  # a report is no reason to stop, whatever a game's texts do
            if self._say is not None:
                self._say(no_report(error))
            self._say = None
        self._since = time.perf_counter()
        self._seconds = self._since - began


def no_report(error: Exception) -> str:
    """Says that a report could not be written, and why."""
    reason = error.strerror if isinstance(error, OSError) else repr(error)
    return f"no report: {reason:.200}"
