"""A network as an ONNX file, which other programs can run without azcore or torch."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn

from azcore.errors import CheckpointError, SettingError
from azcore.game import FloatArray, Game
from azcore.networks.folding import folded

OPSET = 17  # of 2022, which every runtime in use reads
INPUT, OUTPUTS = "observations", ("policy_logits", "values")
CLOSE = 1e-3  # largest difference by another order of float32, as a share of the largest output


def onnx_of(network: nn.Module, game: Game, card: Mapping[str, str]) -> bytes:
    """The content of an ONNX file.

    Its input is `observations`, float32 [N, C, H, W] of whole numbers as in `Game.observation`, for
    any N. Its outputs are `policy_logits` [N, A] over all actions, legal or not, and
    `values` [N] in [-1, 1], view of the player to move.

    Args:
        network: the network of the game; it leaves out heads for auxiliary targets.
        card: texts by title, stored as the file's metadata.

    Raises:
        SettingError: the library onnx is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise SettingError(
            "what=onnx needs the library onnx: pip install 'azcore[onnx]'"
        ) from error

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


def difference_from_torch(content: bytes, network: nn.Module, observations: FloatArray) -> float:
    """The largest difference between an ONNX file and its network, as a share of the outputs.

    The reference evaluator of the ONNX standard runs the file, in float32.

    Args:
        observations: float32 [N, C, H, W], some positions.

    Raises:
        CheckpointError: the file computes other values.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    found = ReferenceEvaluator(onnx.load_from_string(content)).run(None, {INPUT: observations})
    with torch.inference_mode():
        wanted = folded(network).cpu()(torch.from_numpy(observations))
    largest = 0.0
    for name, mine, theirs in zip(OUTPUTS, wanted, found, strict=True):
        own = mine.numpy()
        share = float(np.abs(own - theirs).max() / max(1.0, np.abs(own).max()))
        if not share <= CLOSE:  # nor if a value is not a number
            raise CheckpointError(
                f"the ONNX file must reproduce torch's {name} to within {CLOSE:g}, got a "
                f"difference of {share:g}: this network cannot be exported"
            )
        largest = max(largest, share)
    return largest
