"""`command=export what=onnx`: another program computes what torch does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import azcore as package
from azcore.assembly.entrants import checkpoint_of
from azcore.networks.checkpoint import load_network
from azcore.networks.onnx_export import onnx_of

onnx = pytest.importorskip("onnx")
CommandLine = Callable[..., tuple[int, str, str]]
EXPORT = ("command=export", "what=onnx", "checkpoint=pretrained/go9")


def test_openvino_computes_what_torch_does(azcore: CommandLine, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    status, told, _ = azcore(*EXPORT, "out=go9.onnx")
    assert status == 0
    assert "written to go9.onnx" in told
    assert "checked against torch in 4 positions: largest difference " in told
    game = package.make("go", board_size=9)
    state, observations = game.initial_state(), []
    rng = np.random.default_rng(1)
    for _ in range(7):
        observations.append(game.observation(state))
        legal = np.flatnonzero(game.legal_action_mask(state))
        state = game.step(state, int(rng.choice(legal)))
    planes = np.stack(observations)
    exactly = {"INFERENCE_PRECISION_HINT": "f32"}  # or bfloat16, where a CPU has it
    run = openvino.Core().compile_model(str(tmp_path / "go9.onnx"), "CPU", exactly)
    found = run(planes)
    network, _ = load_network(checkpoint_of("pretrained/go9"), game)
    with torch.inference_mode():
        logits, values = network.eval()(torch.from_numpy(planes))
    assert found["policy_logits"].shape == (7, 82)
    np.testing.assert_allclose(found["policy_logits"], logits, atol=1e-3)
    np.testing.assert_allclose(found["values"], values, atol=1e-4)
    model = onnx.load(tmp_path / "go9.onnx")
    card = {entry.key: entry.value for entry in model.metadata_props}
    assert card["game"].startswith("go board_size 9, komi 7.5")
    assert card["values"] == "from -1 to 1, view of the player to move"
    assert "licence" in card


def test_a_file_that_computes_something_else_is_not_written(
    azcore: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import azcore.commands.export.onnx as command

    def altered(network: torch.nn.Module, *others: Any) -> bytes:
        with torch.no_grad():
            parameter = next(network.parameters())
            kept = parameter.clone()
            parameter.mul_(1.01)
            content = onnx_of(network, *others)
            parameter.copy_(kept)
        return content

    monkeypatch.setattr(command, "onnx_of", altered)
    status, _, error = azcore(*EXPORT, "out=go9.onnx")
    assert status == 2
    assert "the ONNX file must reproduce torch's policy_logits to within 0.001" in error
    assert not (tmp_path / "go9.onnx").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*EXPORT,), "what=onnx needs checkpoint=RUN out=NAME.onnx"),
        ((*EXPORT, "out=go9.ckpt"), "out must be a file that ends in .onnx"),
        ((*EXPORT, "out=there.onnx"), "already exists"),
        (
            ("command=export", "what=planes"),
            "what must be one of checkpoint, games, onnx, page, picture, story, got 'planes'",
        ),
    ],
)
def test_refuses(azcore: CommandLine, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "there.onnx").touch()
    status, _, error = azcore(*words)
    assert status == 2
    assert said in error


def test_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "from azcore.networks.onnx_export import onnx_of\n"
        "onnx_of(None, None, {})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        "SettingError: what=onnx needs the library onnx: pip install 'azcore[onnx]'" in run.stderr
    )
