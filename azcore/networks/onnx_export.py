"""A network as an ONNX file, which other programs run without azcore or torch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn

from azcore.errors import SettingError
from azcore.game import Game
from azcore.networks.folding import folded

OPSET = 17  # of 2022, which every runtime in use reads
INPUT, OUTPUTS = "observations", ("policy_logits", "values")


def onnx_of(network: nn.Module, game: Game, card: Mapping[str, str]) -> bytes:
    """The content of an ONNX file.

    Its input is `observations`, float32 [N, C, H, W] of whole numbers as `Game.observation` gives
    them, for any N. Its outputs are `policy_logits` [N, A] over all actions, legal or not, and
    `values` [N] in [-1, 1], view of the player to move.

    Args:
        network: of the game; heads for auxiliary targets are left out.
        game: has the shape of observations.
        card: texts by title, stored as the file's metadata.

    Raises:
        SettingError: the library onnx is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise SettingError("what=onnx needs the library onnx: pip install azcore[onnx]") from error

    example = torch.zeros(2, *game.observation_shape)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / "network.onnx"
        # torch's newer exporter needs one more library and gives the same graph.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            folded(network).cpu(),
            (example,),
            path,
            dynamo=False,
            opset_version=OPSET,
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "N"} for name in (INPUT, *OUTPUTS)},
        )
        model = onnx.load(path)
    model.producer_name, model.producer_version = "azcore", ""
    onnx.helper.set_model_props(model, dict(card))
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
