"""Where self-play and matches run: the group `backend` of the settings."""

import re
from dataclasses import dataclass, replace
from typing import Annotated

from azcore.settings import Checked, Test, one_of, or_null, require, within

NAMES = ("auto", "inline", "process", "ray")
MOST_PROCESSES = 1024  # more than a machine has cores
MOST_ACTORS = 100_000  # more than Ray has been tried with
MOST_RESTARTS = 1000
MOST_UNITS = 1024.0  # CPUs or GPUs of an actor
LONGEST_WAIT = 86_400.0  # seconds: a day
ADDRESS = re.compile(r"auto|(ray://)?([\w.-]+|\[[\da-fA-F:]+\]):\d{1,5}")


AN_ADDRESS: Test = (
    lambda text: ADDRESS.fullmatch(text) is not None,
    "auto, HOST:PORT, ray://HOST:PORT or null",
)
UNITS: Test = (lambda count: 0 <= count <= MOST_UNITS, f"0 to {MOST_UNITS:,.0f}")
WAIT: Test = (lambda seconds: 1 <= seconds <= LONGEST_WAIT, f"1 to {LONGEST_WAIT:,.0f}")


@dataclass(frozen=True, kw_only=True)
class BackendSettings(Checked, group="backend"):
    """Where self-play and matches run; the numbers and reasons are in `conf/backend`."""

    name: Annotated[str, one_of(NAMES)]
    processes: Annotated[int | None, or_null(within(1, MOST_PROCESSES))]  # None: one a worker
    restarts: Annotated[int, within(0, MOST_RESTARTS)]
    address: Annotated[str | None, AN_ADDRESS]  # of a Ray cluster; None: the run starts its own
    actors: Annotated[int | None, or_null(within(1, MOST_ACTORS))]  # None: one a worker
    num_cpus: Annotated[float | None, or_null(UNITS)]  # of an actor; None: one a worker
    num_gpus: Annotated[float, UNITS]  # of an actor
    wait: Annotated[float, WAIT]  # seconds

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_of("process", "which has no separate processes", "processes")
        self._require_of("ray", "which has no actors", "address", "actors", "num_cpus", "num_gpus")

    def on(self, device_type: str) -> "BackendSettings":
        """These settings for a device, as torch names it, with `auto` resolved."""
        if self.name != "auto":
            return self
        is_shared = device_type == "cuda" or self.processes is not None
        return replace(self, name="process" if is_shared else "inline")

    def _require_of(self, name: str, why: str, *keys: str) -> None:
        for key in keys:
            value = getattr(self, key)
            is_of = self.name == name or (name == "process" and self.name == "auto")
            require(
                not value or is_of,
                f"backend.{key}",
                f"{'0' if key == 'num_gpus' else 'null'} with backend={self.name}, {why}",
                value,
            )

    def members_for(self, workers: int) -> int:
        """The number of processes or actors for these workers; 0: they run in this process.

        Raises:
            SettingError: more of them than workers.
        """
        if self.name == "inline":
            return 0
        key, stated = (
            ("actors", self.actors) if self.name == "ray" else ("processes", self.processes)
        )
        members = workers if stated is None else stated
        require(
            members <= workers, f"backend.{key}", f"at most selfplay.workers, {workers}", members
        )
        return members

    def require_device(self, device_type: str) -> None:
        """Check that Ray's actors have the device type on which the run measures its network.

        Raises:
            SettingError: only one of the two has a GPU.
        """
        if self.name == "ray":
            is_gpu = device_type == "cuda"
            require(
                (self.num_gpus > 0) == is_gpu,
                "backend.num_gpus",
                "above 0 with device=cuda, as each actor needs a part of one"
                if is_gpu
                else f"0 with device={device_type}, on which the run measures its network",
                self.num_gpus,
            )
