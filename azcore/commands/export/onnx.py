"""`what=onnx`: the network of a checkpoint as an ONNX file with a card."""

from typing import Any

import numpy as np

from azcore.assembly.parts import Config
from azcore.commands.export.checkpoint import from_and_to
from azcore.commands.export.settings import Exported
from azcore.commands.info import facts
from azcore.commands.result import write_result
from azcore.errors import SettingError, os_errors_as
from azcore.game import FloatArray, Game
from azcore.game.registry import received
from azcore.networks.checkpoint import network_of
from azcore.networks.onnx_export import difference_from_torch, onnx_of
from azcore.storage.checkpoint import KEY, read_checkpoint

POSITIONS = 4  # compared between the file and torch


def export_onnx(config: Config, settings: Exported) -> int:
    """Write the network of `checkpoint` to `out`, and print its card; 0.

    Raises:
        AzcoreError: a setting or the checkpoint cannot be used, or the file computes other values
            than torch; nothing was written.
    """
    path, out = from_and_to(config, ".onnx")
    checkpoint = read_checkpoint(path)
    identity: dict[str, Any] = checkpoint[KEY]["game"]
    game = received(identity["name"], identity["settings"])
    network, _ = network_of(checkpoint, path, game)
    maximum = ", ".join(f"{value:g}" for value in game.observation_maximum)
    card = {
        **{title: text for title, text in facts(path, checkpoint).items() if title != "file"},
        "game version": str(game.version),
        "observations": f"planes of whole numbers with these maxima: {maximum}",
        "policy_logits": "of all actions, legal or not",
        "values": "from -1 to 1, view of the player to move",
    }
    card["holds"] = "weights alone"
    content = onnx_of(network, game, card)
    difference = difference_from_torch(content, network, positions(game))
    with os_errors_as(SettingError, f"out={out} cannot be written"):
        out.write_bytes(content)
    for title, text in card.items():
        print(f"{title}: {text}")
    print(f"checked against torch in {POSITIONS} positions: largest difference {difference:.1g}")
    print(f"written to {out}, {len(content) / 1e6:.2f} MB")
    write_result(config, file=out, card=card, difference_from_torch=difference)
    return 0


def positions(game: Game) -> FloatArray:
    """The network's inputs for the first positions of a random game."""
    state, rng = game.initial_state(), np.random.default_rng(1)
    seen: list[FloatArray] = []
    while len(seen) < POSITIONS:
        seen.append(game.observation(state))
        legal = np.flatnonzero(game.legal_action_mask(state))
        state = game.step(state, int(rng.choice(legal)))
        if game.is_terminal(state):
            state = game.initial_state()
    return np.stack(seen)
