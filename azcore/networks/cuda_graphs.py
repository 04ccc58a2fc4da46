"""Runs a network for search on an NVIDIA GPU as CUDA graphs, one per batch size.

Python launches every kernel of a network separately, about sixty for six blocks, and meanwhile
holds the interpreter's lock, for which the threads of self-play then wait. A graph launches them
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
from azcore.networks.evaluator import HostMemory, NetworkEvaluator
from azcore.networks.fusing import can_fuse, fused, planes_taken

# Two streams captured at once would share a generator of random numbers.
_CAPTURE = threading.Lock()
# By stream: torch reuses its 32 streams, and nobody may use one during its capture.
_TURNS: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
# Torch's map of cuBLAS workspaces, one for all threads, has had a lock since 2.10.
WORKSPACES_ARE_LOCKED = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)
WARM_UPS = 2  # runs before a capture, in which libraries choose their kernels
USES_BEFORE_CAPTURE = 2  # of a size: a capture takes 20 to 60 ms, as long as many evaluations
TRIES_AGAIN = 10_000  # uses of a size after which to retry a capture that ran out of memory


def size_of_graph(positions: int) -> int:
    """The size of the graph for this many positions: it wastes at most an eighth.

    Sizes have four significant bits, so that there are few.
    """
    step = 1 << max(0, (positions - 1).bit_length() - 4)
    return -(-positions // step) * step


class CudaGraphEvaluator(NetworkEvaluator):
    """Evaluates leaves with torch on a copy of the weights, launching each batch in one call.

    Args:
        network: returns logits [S, A] and values [S] for observations [S, C, H, W], by the same
            kernels for all observations.

    Raises:
        SettingError: the network cannot be captured.
        torch.OutOfMemoryError: out of memory, here or at a later batch.
    """

    def __init__(
        self, *, network: nn.Module, game: Game, device: torch.device, dtype: torch.dtype
    ) -> None:
        super().__init__(network=network, device=device, dtype=dtype)
        self._game = game
        self._shape = game.observation_shape
        self._planes = game.observation_shape[0]  # of the network's input, see `fused`
        self.uses_before_capture = USES_BEFORE_CAPTURE
        self._begin(None)
        try:
            with self._turn:
                self._fuse()
                self._captured(1)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # torch may raise anything for such a network
            raise SettingError(
                f"evaluator.backend=cuda_graphs cannot run this network: {first_line(error)}"
            ) from error

    def _fuse(self) -> None:
        """Use cuDNN's fused kernels if they exist for this network and precision."""
        if not can_fuse():
            return
        plain = self._network
        assert isinstance(plain, nn.Module)
        instead = fused(plain)
        with self._on_stream(), torch.inference_mode():
            draw = torch.Generator(self.device).manual_seed(1)  # leaves the run's own unchanged
            observations = torch.randint(
                0, 2, (4, *self._shape), device=self.device, generator=draw
            )
            planes = planes_taken(plain, instead, self.widened(observations))
        if planes is not None:
            self._network, self._planes = instead, planes

    def _begin(self, host: HostMemory | None) -> None:
        assert self._stream is not None
        self._turn = _TURNS[self._stream.cuda_stream]
        self._graphs: dict[int, _Graph] = {}
        self._uses: Counter[int] = Counter()
        self._pool: Any = None  # torch's handle of the memory shared by this thread's graphs
        # A server blocks instead of spinning, as its clients need the cores.
        self._ended = None if host is None else self._blocking_event()
        self._host = host

    def _blocking_event(self) -> torch.cuda.Event:
        return torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]

    def _pinned_memory(self, positions: int) -> HostMemory:
        logits = (positions, self._game.num_actions)
        return HostMemory(
            torch.zeros((positions, *self._shape), dtype=torch.uint8).pin_memory().numpy(),
            torch.zeros(logits).pin_memory().numpy(),
            torch.zeros(positions).pin_memory().numpy(),
        )

    def for_another_thread(self) -> CudaGraphEvaluator:
        other = copy(self)
        other._own_stream()
        other._begin(None)
        return other

    def with_memory(self, host: HostMemory) -> CudaGraphEvaluator:
        other = copy(self)
        other._own_stream()
        other._begin(host)
        return other

    def load(self, other: NetworkEvaluator) -> None:
        with self._turn:  # another thread may capture a shared stream
            super().load(other)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        with self._turn:
            graph = self._graph_for(size)
            if graph is None or graph.host is None:
                return super().evaluate(observations)
            graph.host.observations[:size] = observations
            self._run(graph)
            return graph.host.policy_logits[:size], graph.host.values[:size]

    def evaluate_held(self, positions: int) -> None:
        with self._turn:
            graph = self._graph_for(positions)
            if graph is None:
                super().evaluate_held(positions)
            else:
                self._run(graph)

    def prepare(self, observations: ByteArray) -> None:
        if len(observations):
            with self._turn:
                self._captured(size_of_graph(len(observations)))
        super().prepare(observations)

    def prepared(self, observations: ByteArray) -> Callable[[], object]:
        with self._turn:
            graph = self._new_graph(size_of_graph(len(observations)), None)
            graph.load(observations)

        def evaluate() -> None:
            with self._turn:
                self._run(graph)

        return evaluate

    def _run(self, graph: _Graph) -> None:
        """Launch a graph and wait for its results, without the interpreter's lock."""
        assert self._stream is not None
        with self._on_stream():
            graph.replay()
            if self._ended is None:
                self._stream.synchronize()
            else:
                self._ended.record(self._stream)
                self._ended.synchronize()

    def widened(self, observations: torch.Tensor) -> torch.Tensor:
        size, planes, *board = observations.shape
        wide = torch.zeros((size, self._planes, *board), dtype=self.dtype, device=self.device)
        wide = wide.contiguous(memory_format=torch.channels_last)
        wide[:, :planes].copy_(observations)  # in one step, as in the graph
        return wide

    def _graph_for(self, positions: int) -> _Graph | None:
        """The graph for a batch; None for rare sizes and empty batches."""
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
            if self._host is None or size > len(self._host.values):
                self._host = self._pinned_memory(size)  # smaller graphs keep theirs
            self._graphs[size] = self._new_graph(size, self._host)
        return self._graphs[size]

    def _new_graph(self, size: int, host: HostMemory | None) -> _Graph:
        with _CAPTURE, self._on_stream(), torch.inference_mode():
            if self._pool is None:
                # The memory of earlier weights' graphs is unusable until it is released.
                torch.cuda.empty_cache()
                self._pool = torch.cuda.graph_pool_handle()
            observations = torch.zeros((size, *self._shape), dtype=torch.uint8, device=self.device)
            wide = self.widened(observations)
            return _Graph(self.forward, observations, wide, host, self._pool)


class _Graph:
    """The kernels that evaluate batches of one size, with the memory that they read and write.

    Args:
        forward: gives logits and values of widened observations, on the stream that is current.
        observations: uint8 [S, C, H, W], on the device.
        wide: the same, widened.
        host: where observations come from and results go; None: they stay on the device.
        pool: torch's handle of memory, shared with graphs that never run at the same time.
    """

    def __init__(
        self,
        forward: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
        observations: torch.Tensor,
        wide: torch.Tensor,
        host: HostMemory | None,
        pool: Any,
    ) -> None:
        size, planes = observations.shape[:2]

        def run() -> tuple[torch.Tensor, torch.Tensor]:
            if host is not None:
                given = torch.from_numpy(host.observations[:size])
                observations.copy_(given, non_blocking=True)
            wide[:, :planes].copy_(observations)
            logits, values = forward(wide)
            return logits.float(), values.float()

        for _ in range(WARM_UPS):
            run()
        torch.cuda.current_stream().synchronize()
        # A cleanup, such as Lightning's, would free workspaces of the warm-ups while the graph
        # still uses them. Workspaces made during the capture lie in the graph's own memory.
        _forget_workspaces()
        graph = torch.cuda.CUDAGraph()
        # Other threads continue to evaluate, and may allocate memory.
        graph.capture_begin(pool, capture_error_mode="thread_local")
        try:
            results = run()
            if host is not None:
                for place, result in zip((host.policy_logits, host.values), results, strict=True):
                    torch.from_numpy(place[:size]).copy_(result, non_blocking=True)
        except BaseException:
            with contextlib.suppress(Exception):
                graph.capture_end()  # fails, and would leave the allocator in mid-capture
            with contextlib.suppress(Exception):
                torch._C._cuda_endAllocateToPool(wide.device.index or 0, pool)
            raise
        graph.capture_end()
        _forget_workspaces()  # nobody else may use the graph's
        self.replay, self.host = graph.replay, host
        self._observations = observations
        self._held = wide, results  # the graph reads and writes them

    def load(self, observations: ByteArray) -> None:
        """Copy observations to the device, for a graph that does not."""
        with torch.inference_mode():
            self._observations[: len(observations)].copy_(torch.from_numpy(observations))


def _forget_workspaces() -> None:
    """Let cuBLAS allocate new workspaces, even while other threads use the old ones."""
    if WORKSPACES_ARE_LOCKED:
        torch._C._cuda_clearCublasWorkspaces()
