"""Launchers of the members of a run or of a tournament, by the group `backend`."""

from collections.abc import Callable, Sequence

from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.channel import Launcher
from azcore.selfplay.processes import Closable, ProcessLauncher
from azcore.selfplay.ray_actors import RayLauncher


def launcher_of(
    backend: BackendSettings,
    members: int,
    workers: int,
    say: Callable[[str], None],
    environment: dict[str, str],
    servers: Sequence[Closable] = (),
) -> Launcher:
    """The launcher for this many members, which share the workers.

    Args:
        backend: any but in this process.
        servers: that members on this machine use; closed with them.

    Raises:
        SettingError: the backend cannot provide them.
    """
    if backend.name == "process":
        return ProcessLauncher(members, environment, servers)
    assert backend.name == "ray"
    return RayLauncher(
        count=members,
        workers=workers,
        placement=backend,
        say=say,
        environment={"GOMP_SPINCOUNT": "10000", **environment},  # see azcore.cli.application
    )
