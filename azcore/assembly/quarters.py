"""Where the members of a run or of a tournament are, as the group `backend` says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.processes import Closable, ProcessQuarters
from azcore.selfplay.ray_actors import RayQuarters
from azcore.selfplay.remote import Quarters


def quarters_of(
    backend: BackendSettings,
    members: int,
    workers: int,
    say: Callable[[str], None],
    environment: dict[str, str],
    servers: Sequence[Closable] = (),
) -> Quarters:
    """Where so many members are that share the workers.

    Args:
        backend: where that is, elsewhere than in this process.
        members: how many.
        workers: that they share.
        say: called with a sentence.
        environment: of the members.
        servers: what members on this machine use; closed with them.

    Raises:
        SettingError: the backend cannot have them.
    """
    if backend.name == "process":
        return ProcessQuarters(members, environment, servers)
    assert backend.name == "ray"
    return RayQuarters(
        count=members,
        workers=workers,
        placement=backend,
        say=say,
        environment={"GOMP_SPINCOUNT": "10000", **environment},  # see azcore.cli.application
    )
