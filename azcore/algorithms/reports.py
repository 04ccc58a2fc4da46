"""Writes the report of a run while it trains."""

import time
from collections.abc import Callable
from pathlib import Path

import torch

from azcore.report.report import Report

SHARE = 0.01  # of the run's time that its reports may take


class GenerationReports:
    """Writes report.html at the end of each generation, after the checkpoint.

    It skips a generation if the report would take more than its share of the time since the last
    one.

    Args:
        device: where the network evaluates the games shown.
        say: called once if the report cannot be written.
    """

    def __init__(self, run_dir: Path, device: torch.device, say: Callable[[str], None]) -> None:
        self._report = Report(run_dir, device)
        self._say: Callable[[str], None] | None = say
        self._seconds = 0.0  # of writing the last report
        self._since = time.perf_counter()

    def show(self) -> None:
        """Write the report, unless the last one is recent."""
        began = time.perf_counter()
        if self._seconds > SHARE * (began - self._since):
            return
        try:
            self._report.write()
        except Exception as error:  # a report must not stop the run, whatever a game's texts do
            if self._say is not None:
                self._say(no_report(error))
            self._say = None
        self._since = time.perf_counter()
        self._seconds = self._since - began


def no_report(error: Exception) -> str:
    """A sentence that explains the missing report."""
    reason = error.strerror if isinstance(error, OSError) else repr(error)
    return f"no report: {reason:.200}"
