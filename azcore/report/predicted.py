"""What a run's network predicts of the last game, as plain values for the page.

Only networks that predict more than policy and value are asked: see `azcore.search.predictions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.game.registry import make
from azcore.networks.predictor import predictor_of
from azcore.networks.saved import network_of
from azcore.search.predictions import Prediction
from azcore.storage.checkpoint import KEY, read_checkpoint

MOST_POSITIONS = 200  # predicted, so that the page stays small
STEPS = 10  # an ownership of 1 on the page


def predicted(
    checkpoint: Path, game: Game, states: Sequence[Any], device: torch.device
) -> dict[str, Any] | None:
    """The predictions of a game's positions in the view of seat 0.

    Args:
        checkpoint: of the run; a missing one predicts nothing.
        game: of the states.
        states: the positions of one game from its beginning; a terminal one is left out.
        device: where the network runs.

    Returns:
        None if the network predicts policy and value alone; else its `step` and `positions`, or a
        `note` why it cannot be asked.
    """
    if not checkpoint.is_file():
        return None
    try:
        saved = read_checkpoint(checkpoint)
        identity = saved[KEY]["game"]
        learned = make(identity["name"], **identity["settings"])
        network, step = network_of(saved, checkpoint, learned)
        shapes = [(one.num_actions, one.observation_shape) for one in (learned, game)]
        if shapes[0] != shapes[1]:
            raise AzcoreError("it was made for another board")
        predictor = predictor_of(network, learned, device)
        if predictor is None:
            return None
        shown = [state for state in states[:MOST_POSITIONS] if not game.is_terminal(state)]
        found = predictor.predict(game, shown)
    except (AzcoreError, LookupError, TypeError, RuntimeError) as error:  # torch: no memory
        return {"note": f"The network of {checkpoint.name} cannot be asked: {error}"}
    return {
        "step": step,
        "positions": [
            _plain(one if game.current_player(state) == 0 else one.of_other_player())
            for state, one in zip(shown, found, strict=True)
        ],
    }


def _plain(prediction: Prediction) -> dict[str, Any]:
    """A prediction without what is None; cells row by row, in tenths."""
    plain: dict[str, Any] = {}
    if prediction.chances is not None:
        plain["chances"] = [round(chance, 3) for chance in prediction.chances]
    if prediction.ownership is not None:
        plain["ownership"] = np.rint(STEPS * prediction.ownership).astype(int).tolist()
    if prediction.score is not None:
        plain["score"] = round(prediction.score, 1)
    if prediction.plies_left is not None:
        plain["plies_left"] = round(prediction.plies_left)
    return plain
