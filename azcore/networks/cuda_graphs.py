"""Runs a network for search on an NVIDIA GPU as CUDA graphs, one for each size of batch.

Python launches every kernel of a network by itself, some sixty for six blocks, and holds the lock
of the interpreter meanwhile, for which the threads of self-play then wait. A graph launches them
all in one call that needs no lock.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from copy import copy
from typing import Any

import torch
from torch import nn

from azcore.errors import SettingError, first_line
from azcore.game import ByteArray, FloatArray, Game
from azcore.networks.evaluator import NetworkEvaluator

# Two streams that are captured at once would share a generator of random numbers.
_CAPTURE = threading.Lock()
# By stream: torch has 32 and then gives them out again, and nobody may use one that is captured.
_TURNS: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
# Torch's map of cuBLAS workspaces, one for all threads, has had a lock since 2.10.
WORKSPACES_ARE_LOCKED = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)
WARM_UPS = 2  # runs before a capture, in which libraries choose their kernels
USES_BEFORE_CAPTURE = 2  # of a size: a capture takes 20 to 60 ms, as long as many evaluations
TRIES_AGAIN = 10_000  # uses of a size after which it is captured, if there was no memory for it


def size_of_graph(positions: int) -> int:
    """The size of the graph that evaluates so many positions: at most an eighth of it is wasted.

    Sizes have four significant bits, so that there are few.
    """
    step = 1 << max(0, (positions - 1).bit_length() - 4)
    return -(-positions // step) * step


class CudaGraphEvaluator(NetworkEvaluator):
    """Evaluates leaves with torch on a copy of the weights, launching each batch in one call.

    Args:
        network: returns logits [S, A] and values [S] for observations [S, C, H, W], by the same
            kernels whatever the observations.
        game: of the observations.
        device: where to run, a CUDA device.
        dtype: precision to run in.

    Raises:
        SettingError: the network cannot be captured.
        torch.OutOfMemoryError: there is no memory for it, or for a batch later.
    """

    def __init__(
        self, *, network: nn.Module, game: Game, device: torch.device, dtype: torch.dtype
    ) -> None:
        super().__init__(network=network, device=device, dtype=dtype)
        self._shape = game.observation_shape
        self.uses_before_capture = USES_BEFORE_CAPTURE
        self._begin()
        try:
            with self._turn:
                self._captured(1)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # torch may raise anything for such a network
            raise SettingError(
                f"evaluator.backend=cuda_graphs cannot run this network: {first_line(error)}"
            ) from error

    def _begin(self) -> None:
        assert self._stream is not None
        self._turn = _TURNS[self._stream.cuda_stream]
        self._graphs: dict[int, _Graph] = {}
        self._uses: Counter[int] = Counter()
        self._pool: Any = None  # torch's handle of the memory that this thread's graphs share

    def for_another_thread(self) -> CudaGraphEvaluator:
        other = copy(self)
        other._own_stream()
        other._begin()
        return other

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        with self._turn:
            graph = self._graph_for(size)
            if graph is None:
                return super().evaluate(observations)
            with self._on_stream(), torch.inference_mode():
                graph.load(self._pinned(observations))
                graph.replay()
                return self._fetched(graph.policy_logits[:size], graph.values[:size])

    def prepare(self, observations: ByteArray) -> None:
        if len(observations):
            with self._turn:
                self._captured(size_of_graph(len(observations)))
        super().prepare(observations)

    def prepared(self, observations: ByteArray) -> Callable[[], object]:
        self.prepare(observations)
        graph = self._graphs[size_of_graph(len(observations))]
        with self._turn, self._on_stream(), torch.inference_mode():
            graph.load(self._pinned(observations))

        def evaluate() -> None:
            with self._turn, self._on_stream():
                graph.replay()
                assert self._stream is not None
                self._stream.synchronize()

        return evaluate

    def _graph_for(self, positions: int) -> _Graph | None:
        """The graph for a batch; None as long as its size is rare, or with no positions."""
        size = size_of_graph(positions)
        if size in self._graphs or not positions:
            return self._graphs.get(size)
        self._uses[size] += 1
        if self._uses[size] <= self.uses_before_capture:
            return None
        try:
            return self._captured(size)
        except torch.OutOfMemoryError:  # a graph keeps its own; without one, batches share it
            self._uses[size] = -TRIES_AGAIN
            return None

    def _captured(self, size: int) -> _Graph:
        if size not in self._graphs:
            with _CAPTURE, self._on_stream(), torch.inference_mode():
                if self._pool is None:
                    # Graphs of earlier weights leave their memory to nobody until it is given back.
                    torch.cuda.empty_cache()
                    self._pool = torch.cuda.graph_pool_handle()
                self._graphs[size] = _Graph(self, self._shape, size, self._pool)
        return self._graphs[size]


class _Graph:
    """The kernels that evaluate batches of one size, with the memory that they read and write.

    Args:
        evaluator: whose network to capture, on the stream that is current.
        shape: of an observation.
        size: of the batches.
        pool: torch's handle of memory, shared with graphs that never run at the same time.
    """

    def __init__(
        self,
        evaluator: CudaGraphEvaluator,
        shape: tuple[int, ...],
        size: int,
        pool: Any,
    ) -> None:
        self._observations = torch.zeros((size, *shape), dtype=torch.uint8, device=evaluator.device)
        for _ in range(WARM_UPS):
            evaluator.forward(evaluator.widened(self._observations))
        torch.cuda.current_stream().synchronize()
        # Workspaces of the warm-ups would be freed by whoever tidies up, such as Lightning, while
        # the graph still uses them. Those made during the capture lie in the graph's own memory.
        _forget_workspaces()
        graph = torch.cuda.CUDAGraph()
        # Other threads go on evaluating, and may allocate memory.
        graph.capture_begin(pool, capture_error_mode="thread_local")
        try:
            logits, values = evaluator.forward(evaluator.widened(self._observations))
            self.policy_logits, self.values = logits.float(), values.float()
        except BaseException:
            with contextlib.suppress(Exception):
                graph.capture_end()  # fails, and then leaves the allocator in the middle of it
            with contextlib.suppress(Exception):
                torch._C._cuda_endAllocateToPool(evaluator.device.index or 0, pool)
            raise
        graph.capture_end()
        _forget_workspaces()  # nobody else may use the graph's
        self.replay = graph.replay

    def load(self, observations: torch.Tensor) -> None:
        """Copy bytes [S, C, H, W] to the first rows; the others keep what they held."""
        self._observations[: len(observations)].copy_(observations, non_blocking=True)


def _forget_workspaces() -> None:
    """Let cuBLAS ask for new memory to work in, where other threads may be using it meanwhile."""
    if WORKSPACES_ARE_LOCKED:
        torch._C._cuda_clearCublasWorkspaces()
