"""Runs a network for search with torch, on a copy of its weights in the fastest form."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from azcore.game import ByteArray, FloatArray
from azcore.networks.folding import folded
from azcore.search.evaluators import Evaluator


class HostMemory(NamedTuple):
    """The memory of one thread's observations and results; a batch fills the first rows.

    For a GPU it is pinned, so that the GPU copies from and to it.
    """

    observations: ByteArray  # uint8 [R, C, H, W], with room for R positions
    policy_logits: FloatArray  # float32 [R, A]
    values: FloatArray  # float32 [R]


class NetworkEvaluator(Evaluator):
    """Evaluates leaves with torch on a copy of the weights, so that training can continue.

    Args:
        network: returns logits [S, A] and values [S] for observations [S, C, H, W].
        threads: cores for each evaluation on a CPU; None: torch's own setting.
        compiled: use torch.compile, at the first evaluation. The code serves batches of other
            sizes, except perhaps small ones, and all networks of the same shape.
    """

    def __init__(
        self,
        *,
        network: nn.Module,
        device: torch.device,
        dtype: torch.dtype,
        threads: int | None = None,
        compiled: bool = False,
    ) -> None:
        self.device, self.dtype, self._threads = device, dtype, threads
        copied = folded(network).to(device=device, dtype=dtype)
        copied = copied.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        copied.requires_grad_(False)
        self._network = torch.compile(copied, dynamic=True) if compiled else copied
        # Simultaneous first calls would each compile, and torch stores at most eight versions.
        self._first_calls = threading.Lock()
        self._is_ready = not compiled
        if self.device.type == "cuda":  # the copy was written on this thread's stream
            torch.cuda.current_stream(self.device).synchronize()
        self._host: HostMemory | None = None
        self._own_stream()

    def for_another_thread(self) -> NetworkEvaluator:
        other = copy(self)
        other._own_stream()
        return other

    def with_memory(self, host: HostMemory) -> NetworkEvaluator:
        """An equal evaluator for another thread, whose `evaluate_held` uses this memory."""
        other = self.for_another_thread()
        other._host = host
        return other

    def evaluate_held(self, positions: int) -> None:
        """Evaluate the first positions in the memory of `with_memory`, with results in it, too."""
        assert self._host is not None
        logits, values = NetworkEvaluator.evaluate(self, self._host.observations[:positions])
        self._host.policy_logits[:positions] = logits
        self._host.values[:positions] = values

    def can_load(self, other: NetworkEvaluator) -> bool:
        """Whether both networks have the same layers."""
        mine, its = self._network, other._network
        if not isinstance(mine, nn.Module) or not isinstance(its, nn.Module):
            return False
        return mine.state_dict().keys() == its.state_dict().keys()

    def load(self, other: NetworkEvaluator) -> None:
        """Copy the weights of a network that `can_load` allows, while no thread evaluates."""
        mine, its = self._network, other._network
        assert isinstance(mine, nn.Module)
        assert isinstance(its, nn.Module)
        with self._on_stream(), torch.inference_mode():
            for old, new in zip(mine.state_dict().values(), its.state_dict().values(), strict=True):
                old.copy_(new)
            if self._stream is not None:
                self._stream.synchronize()

    def _own_stream(self) -> None:
        """Make a stream on a GPU, so that each thread's copies and kernels queue separately."""
        self._stream: torch.cuda.Stream | None = None
        if self.device.type == "cuda":
            self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits [S, A] and values [S] of a batch that is already on the device."""
        if self._threads is not None and torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)  # of this thread; others keep theirs
        first = contextlib.nullcontext() if self._is_ready else self._first_calls
        with first, torch.inference_mode():
            policy_logits, values = self._network(observations)
        self._is_ready = True  # for this thread: other threads have copies
        return policy_logits, values

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        with self._on_stream():
            return self._fetched(*self.forward(self._loaded(observations)))

    def prepared(self, observations: ByteArray) -> Callable[[], object]:
        with self._on_stream():
            batch = self._loaded(observations)

        def evaluate() -> None:
            with self._on_stream():
                self.forward(batch)
                if self._stream is not None:
                    self._stream.synchronize()

        return evaluate

    def _on_stream(self) -> contextlib.AbstractContextManager[None]:
        if self._stream is None:
            return contextlib.nullcontext()
        return torch.cuda.stream(self._stream)

    def _loaded(self, observations: ByteArray) -> torch.Tensor:
        """The bytes, widened on the device, which transfers a quarter to half as much."""
        return self.widened(self._pinned(observations).to(self.device, non_blocking=True))

    def _pinned(self, observations: ByteArray) -> torch.Tensor:
        """The bytes in pinned memory, from which a GPU can copy at any time."""
        batch = torch.from_numpy(np.ascontiguousarray(observations))
        return batch if self._stream is None else batch.pin_memory()

    def widened(self, observations: torch.Tensor) -> torch.Tensor:
        """Bytes [S, C, H, W] on the device in the network's precision and layout."""
        # In two steps: torch converts type and layout in one step at half the speed.
        return observations.to(self.dtype).contiguous(memory_format=torch.channels_last)

    def _fetched(
        self, policy_logits: torch.Tensor, values: torch.Tensor
    ) -> tuple[FloatArray, FloatArray]:
        """Both results on the host; from a GPU through pinned memory, as non_blocking implies."""
        at_once = self._stream is not None
        policy_logits = policy_logits.float().to("cpu", non_blocking=at_once)
        values = values.float().to("cpu", non_blocking=at_once)
        if self._stream is not None:
            self._stream.synchronize()  # waits only for this thread's stream, without the GIL
        return policy_logits.numpy(), values.numpy()
