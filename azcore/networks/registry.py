"""Finds networks by name among the installed packages, and builds them."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from azcore.errors import SettingError
from azcore.game import Game
from azcore.networks.contract import NetworkSettings
from azcore.plugins import loaded, named
from azcore.settings import build, require, unknown_key

GROUP = "azcore.networks"


def network_settings(values: Mapping[str, Any]) -> NetworkSettings:
    """The group `network` of a configuration, as the settings of the network that it names.

    Raises:
        SettingError: the network is unknown, or a setting is missing, unknown or invalid.
    """
    require(isinstance(values, Mapping), "network", "settings by name", values)
    if "name" not in values:
        raise SettingError("network.name is not set")
    name = values["name"]
    point = named(GROUP, name, "network.name")
    kind = loaded(point, NetworkSettings)  # type: ignore[type-abstract]
    known = {field.name for field in fields(kind)}
    if unknown := [str(key) for key in values if key not in known]:
        sentence = unknown_key(f"network.{unknown[0]}", [f"network.{key}" for key in known])
        # Other networks may have the setting: a method may need another one.
        raise SettingError(sentence if sentence.endswith("?") else f"{sentence} in network={name}")
    return build(kind, values, "network")


def build_network(game: Game, settings: NetworkSettings, seed: int) -> nn.Module:
    """A network for a game with weights drawn from `seed` alone.

    Its attribute `built_from` is equal for networks that differ only in their weights.

    Raises:
        SettingError: the network does not fit into memory, or cannot play the game.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            network = settings.build(game)
        except (RuntimeError, MemoryError) as error:
            raise SettingError(
                f"network.blocks={settings.blocks} with network.channels={settings.channels} "
                f"cannot be built: {error}"
            ) from error
    facts = (game.observation_shape, game.plane_ages, game.num_actions, game.action_planes)
    network.built_from = (settings, facts)  # type: ignore[assignment]  # mypy wants a tensor here
    return network


def network_outline(game: Game, settings: NetworkSettings, most_parameters: int) -> nn.Module:
    """A network's shapes, without memory for its weights.

    Args:
        settings: the network's settings, possibly from an untrusted file.
        most_parameters: the most trainable tensors that it may have.

    Raises:
        SettingError: it has more; raised when the first excess tensor is made.
    """
    with torch.device("meta"), _at_most(most_parameters):
        return settings.build(game)


@contextmanager
def _at_most(parameters: int) -> Iterator[None]:
    """Refuse more than `parameters` parameters in modules made on this thread."""
    thread, count = threading.get_ident(), 0

    def counted(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal count
        if threading.get_ident() == thread and parameter is not None:
            count += 1
            if count > parameters:
                raise SettingError(f"a network must have at most {parameters} tensors, got more")

    hook = register_module_parameter_registration_hook(counted)
    try:
        yield
    finally:
        hook.remove()
