"""The ways to run a network."""

from __future__ import annotations

import pytest
import torch

from networks.test_networks import (
    Backend,
    by_cuda_graphs,
    by_openvino,
    by_torch,
    by_torch_on_gpu,
    needs_gpu,
    needs_openvino,
)


@pytest.fixture(
    name="run_by",
    params=[
        by_torch,
        pytest.param(by_openvino, marks=needs_openvino),
        pytest.param(by_torch_on_gpu, marks=needs_gpu),
        pytest.param(by_cuda_graphs, marks=needs_gpu),
    ],
)
def run_by_fixture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Each way to run a network, in true float32 on a GPU too."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    backend: Backend = request.param
    return backend
