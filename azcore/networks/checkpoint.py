"""The network of a checkpoint: describes it, checks it against the weights, and builds it."""

import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from azcore.errors import CheckpointError
from azcore.game import Game
from azcore.networks import NetworkSettings, build_network, network_settings
from azcore.networks.registry import network_outline
from azcore.storage.checkpoint import (
    FAULTS,
    FORMAT,
    KEY,
    read_player,
    reporting_faults,
    require_part,
    require_same_tensor,
    short_reason,
    short_repr,
    weights_of,
)

_PARTS = {  # of a checkpoint to resume from, and their types
    "callbacks": dict,
    "loops": dict,
    "lr_schedulers": list,
    "optimizer_states": list,
    "pytorch-lightning_version": str,
    "SelfPlayData": dict,
}


def require_resumable(checkpoint: dict[str, Any], game: Game, path: Path) -> None:
    """Refuse a checkpoint from which a run cannot resume, by its outermost parts.

    Its weights must be those of the network that it names.

    Raises:
        CheckpointError: the message names the part.
    """
    with reporting_faults(f"{path}: a run cannot resume from this checkpoint"):
        for name, kind in _PARTS.items():
            require_part(type(checkpoint.get(name)) is kind, name, f"a {kind.__name__}")
        for name in ("optimizer_states", "lr_schedulers"):
            require_part(len(checkpoint[name]) == 1, name, "one")
        version = checkpoint["pytorch-lightning_version"]
        require_part(
            bool(re.fullmatch(r"\d+(\.\w+){1,5}", version)), "Lightning's version", "a version"
        )
        for name, state in checkpoint["callbacks"].items():
            require_part(type(name) is str and type(state) is dict, "callbacks", "states by name")
        _require_network(checkpoint, game)


def describe_run(game: Game, network: NetworkSettings) -> dict[str, Any]:
    """A checkpoint's own description, in plain values."""
    return {
        "format": FORMAT,
        "game": game.identity,
        "network": {
            name: list(value) if isinstance(value := getattr(network, name), tuple) else value
            for name in network.__dataclass_fields__
        },
    }


def require_same_run(checkpoint: dict[str, Any], expected: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint whose game, version, settings or network differ from the expected ones.

    Raises:
        CheckpointError: the message names both sides.
    """
    for what in ("game", "network"):
        if checkpoint[KEY][what] != expected[what]:
            raise CheckpointError(
                f"{path}: this checkpoint's {what} must be {expected[what]}, "
                f"got {short_repr.repr(checkpoint[KEY][what])}"
            )


def load_network(path: Path, game: Game) -> tuple[nn.Module, int]:
    """The network of a checkpoint and the number of its optimizer steps.

    Raises:
        CheckpointError: as `read_checkpoint`; or it is of another game, version or settings.
    """
    return network_of(read_player(path), path, game)


def network_of(checkpoint: dict[str, Any], path: Path, game: Game) -> tuple[nn.Module, int]:
    """`load_network` for a checkpoint that was already read from `path`."""
    ours = checkpoint[KEY]
    if not game.is_played_as(ours["game"]):
        raise CheckpointError(
            f"{path}: this checkpoint's game must be {game.identity}, "
            f"got {short_repr.repr(ours['game'])}"
        )
    with reporting_faults(f"{path}: this checkpoint's network cannot be used"):
        network = build_network(game, _require_network(checkpoint, game), seed=0)
        network.load_state_dict(weights_of(checkpoint))
    return network, int(checkpoint["global_step"])


def require_fitting(checkpoint: dict[str, Any], game: Game) -> None:
    """Refuse weights that a network for `game` cannot load, whatever the settings of their game.

    Raises:
        ValueError: the message names what does not fit.
    """
    try:
        _require_network(checkpoint, game)
    except FAULTS as error:
        raise ValueError(short_reason(error)) from error


def _require_network(checkpoint: dict[str, Any], game: Game) -> NetworkSettings:
    """The settings of a checkpoint's network; refuses weights of other shapes."""
    settings = network_settings(checkpoint[KEY]["network"])
    weights = weights_of(checkpoint)
    require_weights(weights, network_outline(game, settings, len(weights)))
    return settings


def require_weights(weights: Mapping[str, Any], network: nn.Module) -> None:
    """Refuse weights that differ from those of `network` in name, shape or type, or are not finite.

    Args:
        network: the network, or an outline of it without memory.

    Raises:
        ValueError: the message names the tensor.
    """
    expected = network.state_dict()
    for name in {**expected, **weights}:
        if name not in weights or name not in expected:
            fault = "is missing" if name in expected else "is not one of this network's"
            raise ValueError(f"the tensor {reprlib.repr(name)} {fault}")
        require_same_tensor(weights[name], expected[name], f"the tensor {name}")
