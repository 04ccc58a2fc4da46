"""The place of a process among the ranks of a learner: its rank, node and address."""

import os
from dataclasses import dataclass, replace

import torch
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment

from azcore.errors import SettingError
from azcore.learner.trainer_settings import TrainerSettings
from azcore.settings import require

_OF_NODES = ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK")  # Lightning's and torch's names


@dataclass(frozen=True)
class Place:
    """The place of a process among the ranks."""

    rank: int = 0
    size: int = 1
    local: int = 0  # number on its node
    node: int = 0
    devices: int = 1  # ranks of a node
    meeting: str = ""  # as torch's `init_method`; empty: a file that rank 0 creates
    is_begun: bool = False  # by another program, which starts all ranks

    @property
    def is_on_one_node(self) -> bool:
        return self.devices == self.size


def place_here(settings: TrainerSettings) -> Place:
    """The place of the process that a command line started.

    Raises:
        SettingError: the launcher's environment lacks it or contradicts the settings.
    """
    if settings.ranks == 1:
        return Place()
    place = Place(size=settings.ranks, devices=settings.devices)
    for name, kind in (("torchrun", TorchElasticEnvironment), ("srun", SLURMEnvironment)):
        if kind.detect():
            return _begun_by(name, kind(), place)
    if settings.num_nodes == 1:
        return place
    missing = [name for name in _OF_NODES if not os.environ.get(name)]
    require(
        not missing,
        "trainer.num_nodes",
        f"1, unless each node's environment sets {', '.join(_OF_NODES)}, or torchrun or srun "
        "starts the ranks",
        f"{settings.num_nodes} without {', '.join(missing)}",
    )
    found = LightningEnvironment()
    try:
        node, port = found.node_rank(), found.main_port
    except ValueError as error:
        raise SettingError(f"NODE_RANK and MASTER_PORT must be whole numbers: {error}") from error
    within = 0 <= node < settings.num_nodes
    require(within, "NODE_RANK", f"0 to {settings.num_nodes - 1}", node)
    return replace(
        place, rank=node * settings.devices, node=node, meeting=f"tcp://{found.main_address}:{port}"
    )


def _begun_by(name: str, found: ClusterEnvironment, place: Place) -> Place:
    """The place that another program assigned to this process."""
    require(
        found.world_size() == place.size,
        "trainer.devices x trainer.num_nodes",
        f"{found.world_size()}, as many ranks as {name} has started",
        place.size,
    )
    meeting = "env://"  # torchrun keeps the place itself
    if not isinstance(found, TorchElasticEnvironment):
        meeting = f"tcp://{found.main_address}:{found.main_port}"
    return replace(
        place,
        rank=found.global_rank(),
        local=found.local_rank(),
        node=found.node_rank(),
        meeting=meeting,
        is_begun=True,
    )


def learns_on(settings: TrainerSettings) -> str:
    """`cuda` or `cpu`: the ranks' device type."""
    is_gpu = settings.accelerator != "cpu" and torch.cuda.is_available()
    return "cuda" if is_gpu else "cpu"
