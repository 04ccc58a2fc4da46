"""Runs a network for search with OpenVINO, the fastest maintained CPU backend we measured.

It is 20 to 120 % faster than torch's eager mode; which precision is faster depends on the machine
(`docs/performance.md` has the tables). Optional: `pip install 'azcore[openvino]'`.
"""

import importlib.util
import sys
import threading
import warnings
from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

from azcore.errors import SettingError, first_line
from azcore.game import ByteArray, FloatArray, Game
from azcore.networks.folding import folded
from azcore.search.evaluators import Evaluator

_REFUSED = "evaluator.backend must be torch for this network, which OpenVINO cannot run"
PRECISIONS = {torch.float32: "f32", torch.bfloat16: "bf16"}


def is_installed() -> bool:
    """Whether OpenVINO can be imported; importing it takes a moment."""
    return importlib.util.find_spec("openvino") is not None


def _openvino() -> Any:
    """The library, without its telemetry."""
    # None makes the import fail, which OpenVINO handles.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


@cache
def _core() -> Any:
    """The one OpenVINO core of this process, which is never released.

    OpenVINO gives the thread that first uses a core's CPU plugin another stack for signals. It
    unmaps that stack when the core is destroyed, on any thread and at any time. The next signal,
    such as Ctrl-C, would then kill the process.
    """
    return _openvino().Core()


class OpenVinoEvaluator(Evaluator):
    """Evaluates leaves with OpenVINO on a copy of the weights, so that training can continue.

    Args:
        dtype: float32 or bfloat16.
        callers: concurrent threads, each with its own evaluator; they share the cores.

    Raises:
        SettingError: OpenVINO cannot run this network or take its weights.
    """

    def __init__(
        self, *, network: nn.Module, game: Game, dtype: torch.dtype, threads: int, callers: int
    ) -> None:
        options = {
            "INFERENCE_PRECISION_HINT": PRECISIONS[dtype],
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": min(callers, threads),
            "ENABLE_CPU_PINNING": False,  # the search uses these cores too
        }
        model = _graph_of(network, game).with_weights_of(network)
        self._compiled: Any = _core().compile_model(model, "CPU", options)
        self._request: Any = self._compiled.create_infer_request()

    def for_another_thread(self) -> "OpenVinoEvaluator":
        other = copy(self)
        other._request = self._compiled.create_infer_request()
        return other

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self._give(observations)
        self._request.infer()
        policy_logits, values = (self._request.get_output_tensor(i).data for i in range(2))
        return policy_logits, values

    def prepared(self, observations: ByteArray) -> Callable[[], object]:
        self._give(observations)
        return self._request.infer  # type: ignore[no-any-return]

    def _give(self, observations: ByteArray) -> None:
        # Keep a reference, since the request reads this memory but does not own it.
        self._observations = np.ascontiguousarray(observations)
        tensor = _openvino().Tensor(self._observations, shared_memory=True)
        self._request.set_input_tensor(tensor)


class _Graph:
    """A network as an OpenVINO graph that accepts new weights at any time.

    Making the graph takes a third of a second, since torch traces the network. Writing new weights,
    which happens every generation, takes milliseconds.
    """

    def __init__(self, network: nn.Module, game: Game) -> None:
        openvino = _openvino()
        traced = _plain_copy(network)
        # Memory addresses identify the constants. The weights get arbitrary numbers, since the
        # graph would omit the zero biases of a new network.
        weights = traced.state_dict()
        for tensor in weights.values():
            tensor.uniform_(0.5, 1.0)
        names = {tensor.data_ptr(): name for name, tensor in weights.items()}
        with warnings.catch_warnings():
            # Hide warnings about how OpenVINO reads a module; torch.export would take 1 s more.
            warnings.filterwarnings("ignore", message=".*", module="torch.jit")
            example = torch.zeros(2, *game.observation_shape)
            # Traced here, since OpenVINO would make torch run the network again to compare, which
            # takes half a second of imports. The tests compare the evaluators instead.
            graph = torch.jit.trace(traced, example, check_trace=False)  # type: ignore[no-untyped-call]
            self._model: Any = openvino.convert_model(graph, example_input=example)
        self._names: dict[str, str] = {}  # name of a constant -> name of its weights
        for operation in self._model.get_ordered_ops():
            if operation.get_type_name() == "Constant":
                name = names.get(operation.data.ctypes.data)
                if name is not None:
                    self._names[operation.friendly_name] = name
        missing = set(weights) - set(self._names.values())
        if missing:
            raise SettingError(
                f"{_REFUSED}: its graph lacks the weights {', '.join(sorted(missing))}"
            )
        preparation = openvino.preprocess.PrePostProcessor(self._model)
        preparation.input().tensor().set_element_type(openvino.Type.u8)
        self._model = preparation.build()
        self._traced = traced  # whose memory the constants share

    def with_weights_of(self, network: nn.Module) -> Any:
        """A copy of the graph with the weights of `network`, without shared memory."""
        constant = _openvino().op.Constant
        weights = _plain_copy(network).state_dict()
        model = self._model.clone()
        for operation in model.get_ordered_ops():
            name = self._names.get(operation.friendly_name)
            if name is not None and operation.get_type_name() == "Constant":
                values = weights[name].numpy().reshape(list(operation.shape))
                operation.output(0).replace(constant(values, shared_memory=False).output(0))
        return model


def _plain_copy(network: nn.Module) -> nn.Module:
    """A folded copy in float32 and in NumPy's memory layout, whatever the training format."""
    copied = folded(network).float().cpu().requires_grad_(False)
    return copied.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload,no-any-return]


# Networks that differ only in their weights share a graph, since torch never frees a trace: with
# one per rated checkpoint, a run grew by 3 MB a rating. A network that failed has its error here.
# Settings may contain unhashable values.
_graphs: list[tuple[object, _Graph | SettingError]] = []
_making = threading.Lock()  # a graph, or the core: one thread at a time


def _graph_of(network: nn.Module, game: Game) -> _Graph:
    key = network.built_from
    with _making:
        _core()
        graph = next((graph for known, graph in _graphs if known == key), None)
        if graph is None:
            try:
                graph = _Graph(network, game)
            except SettingError as error:
                graph = error
            except Exception as error:  # torch and OpenVINO may raise anything for such a network
                graph = SettingError(f"{_REFUSED}: it cannot be read ({first_line(error)})")
            _graphs.append((key, graph))
    if isinstance(graph, SettingError):
        raise graph
    return graph
