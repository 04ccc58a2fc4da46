"""Where the members of a run or of a tournament are, as the group `backend` says."""

from __future__ import annotations

from collections.abc import Callable

from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.processes import ProcessQuarters
from azcore.selfplay.ray_actors import RayQuarters
from azcore.selfplay.remote import Quarters


def quarters_of(
    backend: BackendSettings,
    members: int,
    workers: int,
    say: Callable[[str], None],
    environment: dict[str, str],
) -> Quarters:
    """Where so many members are that share the workers.

    Args:
        backend: where that is, elsewhere than in this process.
        members: how many.
        workers: that they share.
        say: called with a sentence.
        environment: of the members.

    Raises:
        SettingError: the backend cannot have them.
    """
    if backend.name == "process":
        return ProcessQuarters(members, environment)
    return RayQuarters(
        count=members,
        workers=workers,
        placement=backend,
        say=say,
        environment={"GOMP_SPINCOUNT": "10000", **environment},  # see azcore.cli.application
    )
