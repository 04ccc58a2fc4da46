"""Where self-play runs: the group `backend` of the settings."""

from __future__ import annotations

from dataclasses import dataclass

from azcore.settings import require

NAMES = ("inline", "process")
MOST_PROCESSES = 1024  # more than a machine has cores
MOST_RESTARTS = 1000


@dataclass(frozen=True, kw_only=True)
class BackendSettings:
    """Where the workers of self-play run; the numbers and reasons are in `conf/backend`."""

    name: str
    processes: int | None  # None: one for each worker
    restarts: int

    def __post_init__(self) -> None:
        require(self.name in NAMES, "backend.name", f"one of {', '.join(NAMES)}", self.name)
        require(
            self.processes is None or 1 <= self.processes <= MOST_PROCESSES,
            "backend.processes",
            f"1 to {MOST_PROCESSES:,}, or null",
            self.processes,
        )
        require(
            self.processes is None or self.name != "inline",
            "backend.processes",
            "null with backend=inline, which has no processes of its own",
            self.processes,
        )
        require(
            0 <= self.restarts <= MOST_RESTARTS,
            "backend.restarts",
            f"0 to {MOST_RESTARTS:,}",
            self.restarts,
        )

    def processes_for(self, workers: int) -> int:
        """The number of processes for so many workers; 0: they run in this one.

        Raises:
            SettingError: more processes than workers.
        """
        if self.name == "inline":
            return 0
        processes = workers if self.processes is None else self.processes
        require(
            processes <= workers,
            "backend.processes",
            f"at most selfplay.workers, {workers}",
            processes,
        )
        return processes
