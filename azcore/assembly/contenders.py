"""The players of a run's own matches, in the form that jobs carry."""

from dataclasses import replace
from pathlib import Path

from torch import nn

from azcore.arena.spread import Contender
from azcore.assembly.parts import RunSettings
from azcore.assembly.selfplay import NetworkWeights
from azcore.networks.checkpoint import describe_run, network_of, require_same_run
from azcore.storage.checkpoint import read_checkpoint

RANDOM = Contender(name="random")


def trained(
    settings: RunSettings, network: nn.Module, version: int, name: str, num_simulations: int
) -> Contender:
    """A player with a network's weights after `version` optimizer steps; training may continue."""
    return Contender(
        name=name,
        search=replace(settings.search, num_simulations=num_simulations),
        weights=NetworkWeights(settings, network, version).packed(),
        version=version,
    )


def saved(settings: RunSettings, path: Path, name: str, num_simulations: int) -> Contender:
    """A player that searches with the weights of a checkpoint of the run.

    Raises:
        CheckpointError: it cannot be used, or is of another game or network.
    """
    checkpoint = read_checkpoint(path)
    require_same_run(checkpoint, describe_run(settings.game, settings.network), path)
    network, version = network_of(checkpoint, path, settings.game)
    return trained(settings, network, version, name, num_simulations)


def baseline(settings: RunSettings) -> Contender:
    """The player `search`, see `azcore.assembly.parts.search_baseline`."""
    plain = settings.search.baseline()
    return Contender(
        name="search", search=replace(plain, num_simulations=settings.arena.num_simulations)
    )
