"""Selects how a network runs for search: the `Backend`, the device, and the precision.

A package registers a backend by an entry point of group `azcore.evaluators`: a name for
`evaluator.backend`, and a subclass of `Backend`. azcore finds its own the same way.
"""

import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import nn

from azcore.game import Game
from azcore.networks import openvino_evaluator
from azcore.networks.cuda_graphs import CudaGraphEvaluator
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.openvino_evaluator import OpenVinoEvaluator
from azcore.plugins import loaded, named
from azcore.search.evaluators import Evaluator
from azcore.settings import ONE_OR_MORE, Checked, one_of, or_null, require

GROUP = "azcore.evaluators"
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, kw_only=True)
class EvaluatorSettings(Checked, group="evaluator"):
    """How to evaluate positions; the numbers and reasons are in `conf/evaluator`."""

    backend: str
    precision: Annotated[str, one_of(("auto", *PRECISIONS))]
    threads: Annotated[int | None, or_null(ONE_OR_MORE)]
    random_symmetry: bool
    cache: Annotated[int, (lambda size: size >= 0, "0 or more positions")]  # positions; 0: none


@dataclass(frozen=True, kw_only=True)
class Conditions:
    game: Game  # the game of the observations
    device: torch.device
    dtype: torch.dtype  # float32 or bfloat16
    cores: int  # of the CPU, for all callers together
    callers: int  # concurrent threads, each with `Evaluator.for_another_thread`


class Backend(ABC):
    """Makes evaluators from networks."""

    def wanted_instead(self, device: torch.device) -> str | None:
        """What `evaluator.backend` must be if this backend cannot run; None: it can run."""
        return None

    @abstractmethod
    def evaluator(self, network: nn.Module, conditions: Conditions) -> Evaluator:
        """An evaluator with a copy of a network's current weights, so that training can continue.

        Args:
            network: returns logits [S, A] and values [S] for observations [S, C, H, W].

        Raises:
            SettingError: the backend cannot run this network under these conditions.
        """


class TorchBackend(Backend):
    """torch in eager mode."""

    compiled = False

    def evaluator(self, network: nn.Module, conditions: Conditions) -> Evaluator:
        cores, callers = conditions.cores, conditions.callers
        return NetworkEvaluator(
            network=network,
            device=conditions.device,
            dtype=conditions.dtype,
            threads=None if callers == 1 else max(1, cores // callers),
            compiled=self.compiled,
        )


class CompileBackend(TorchBackend):
    """torch.compile."""

    compiled = True

    def wanted_instead(self, device: torch.device) -> str | None:
        compiler = os.environ.get("CXX", "g++")
        if device.type != "cpu" or shutil.which(compiler) is not None:
            return None
        return f"torch on {device}, unless there is a C++ compiler ({compiler}, or what CXX names)"


class CudaGraphBackend(Backend):
    """torch, with the kernels of a batch launched at once."""

    def wanted_instead(self, device: torch.device) -> str | None:
        if device.type == "cuda" and torch.version.cuda is not None:
            return None
        return f"torch on {device}, unless it is an NVIDIA GPU"

    def evaluator(self, network: nn.Module, conditions: Conditions) -> Evaluator:
        return CudaGraphEvaluator(
            network=network, game=conditions.game, device=conditions.device, dtype=conditions.dtype
        )


class OpenVinoBackend(Backend):
    """OpenVINO, on a CPU."""

    def wanted_instead(self, device: torch.device) -> str | None:
        if device.type == "cpu" and openvino_evaluator.is_installed():
            return None
        return f"torch on {device}, unless it is a CPU and azcore[openvino] is installed"

    def evaluator(self, network: nn.Module, conditions: Conditions) -> Evaluator:
        return OpenVinoEvaluator(
            network=network,
            game=conditions.game,
            dtype=conditions.dtype,
            threads=conditions.cores,
            callers=conditions.callers,
        )


def backend_named(name: str) -> Backend:
    """An installed backend.

    Raises:
        SettingError: the name is unknown, or it cannot be loaded.
    """
    point = named(GROUP, name, "evaluator.backend", "auto")
    return loaded(point, Backend)()  # type: ignore[type-abstract]


def require_runnable(name: str, device: torch.device) -> None:
    """Refuse a value of `evaluator.backend`.

    Raises:
        SettingError: the name is unknown, or it cannot run on the device.
    """
    if name != "auto":
        wanted = backend_named(name).wanted_instead(device)
        require(wanted is None, "evaluator.backend", str(wanted), name)


def choose_device(device: str | None) -> torch.device:
    """The device to use: for `auto`, CUDA if there is a GPU, else the CPU; else torch's name.

    Raises:
        SettingError: torch does not know the device, or it is missing.
    """
    require(device is not None, "device", "auto, or a device as torch names it", device)
    assert device is not None
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()  # torch's `meta` stores no data, so this fails
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0]
        require(False, "device", f"auto, or a device of this machine ({reason})", device)
    return found
