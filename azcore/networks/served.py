"""One process evaluates positions for others on its machine, through shared memory.

Processes that use a GPU separately take turns on it: fifteen, with batches of 512 positions of a
9x9 board, reached half the rate of as many streams in one process (docs/performance.md). Each would
also import CUDA's libraries, hold a copy of the weights and capture its own graphs.

A client's batch is evaluated alone, so its results do not depend on other clients. One socket
carries a few bytes for each batch, or the descriptor of a file in memory: of packed weights, or of
the space for observations and results.
"""

import contextlib
import copy
import hashlib
import mmap
import os
import pickle
import socket
import struct
import threading
import traceback
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from azcore.errors import AzcoreError, LostProcessError, first_line
from azcore.game import ByteArray, FloatArray, Game
from azcore.networks.evaluator import HostMemory, NetworkEvaluator
from azcore.search.evaluators import Evaluator

# Kinds of message, and what follows: a digest; a capacity in positions; a number of positions;
# nothing, for weights that are no longer used.
WEIGHTS, MEMORY, EVALUATE, LEAVE = b"w", b"m", b"e", b"l"
DONE, FAILED = b"+", b"-"  # after FAILED: the reason
NUMBER = struct.Struct("<Q")
LONGEST = 4096  # bytes of a message
ALIGNED = 4096  # bytes: where each array begins
SLOTS_KNOWN = 2  # for which a client keeps graphs: the weights in use, and the next ones

MakeEvaluator = Callable[[bytes], NetworkEvaluator]  # from packed weights


def packed(network: nn.Module) -> bytes:
    """The current weights of a network, for another process of azcore."""
    weights = network.state_dict()
    return pickle.dumps({name: tensor.cpu().numpy() for name, tensor in weights.items()})


def unpacked(weights: bytes, blank: nn.Module) -> nn.Module:
    """A copy of a network with weights from `packed`, of this or another process."""
    arrays = pickle.loads(weights)
    network = copy.deepcopy(blank)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return network


def memory_of(descriptor: int, game: Game, positions: int) -> tuple[mmap.mmap, HostMemory]:
    """A file in memory, resized for this many positions."""
    shapes = (positions, *game.observation_shape), (positions, game.num_actions), (positions,)
    sizes = [int(np.prod(shape)) * size for shape, size in zip(shapes, (1, 4, 4), strict=True)]
    places = np.cumsum([0, *(-(-size // ALIGNED) * ALIGNED for size in sizes)]).tolist()
    os.ftruncate(descriptor, places[-1])
    block = mmap.mmap(descriptor, places[-1])
    whole = np.frombuffer(block, np.uint8)
    parts = [whole[at : at + size] for at, size in zip(places, sizes, strict=False)]
    return block, HostMemory(
        parts[0].reshape(shapes[0]),
        parts[1].view(np.float32).reshape(shapes[1]),
        parts[2].view(np.float32),
    )


# -- clients --------------------------------------------------------------------------------------


class ServedEvaluator(Evaluator):
    """A client of an `EvaluationServer` on this machine.

    Args:
        address: path of the server's socket.
        packed: weights, in the format of the server's `MakeEvaluator`.

    Raises:
        LostProcessError: the server has ended, here or at an evaluation.
        AzcoreError: the server cannot evaluate.
    """

    def __init__(self, address: str, packed: bytes, game: Game) -> None:
        self._address, self._packed, self._game = address, packed, game
        try:  # a channel that served earlier weights has graphs there
            self._channel = _unused[address].pop()
        except IndexError:
            self._channel = _Channel(address, game)
        weakref.finalize(self, _give_back, address, self._channel).atexit = False
        self._channel.ask(WEIGHTS + hashlib.sha256(packed).digest(), _file_of(packed))

    def for_another_thread(self) -> "ServedEvaluator":
        return ServedEvaluator(self._address, self._packed, self._game)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        return self._channel.evaluate(observations)


class _Channel:
    """A connection to a server, and the memory that both share."""

    def __init__(self, address: str, game: Game) -> None:
        self._game = game
        self._host: HostMemory | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.connect(address)
        except OSError as error:
            raise _lost() from error

    def __del__(self) -> None:
        self._socket.close()

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        if self._host is None or size > len(self._host.values):
            room = 1 << max(0, size - 1).bit_length()  # as for a graph of this size
            file = os.memfd_create("azcore")
            _, host = memory_of(file, self._game, room)
            self.ask(MEMORY + NUMBER.pack(room), file)
            self._host = host
        self._host.observations[:size] = observations
        self.ask(EVALUATE + NUMBER.pack(size))
        return self._host.policy_logits[:size], self._host.values[:size]

    def ask(self, message: bytes, file: int | None = None) -> None:
        """Send a message and wait until it is done; closes an attached file."""
        try:
            socket.send_fds(self._socket, [message], [] if file is None else [file])
            answer = self._socket.recv(LONGEST)
        except OSError as error:
            raise _lost() from error
        finally:
            if file is not None:
                os.close(file)
        if not answer:
            raise _lost()
        if answer != DONE:
            raise AzcoreError(answer[len(FAILED) :].decode())


_unused: defaultdict[str, list[_Channel]] = defaultdict(list)  # by address


def _give_back(address: str, channel: _Channel) -> None:
    with contextlib.suppress(AzcoreError):
        channel.ask(LEAVE)
        _unused[address].append(channel)


def _lost() -> LostProcessError:
    return LostProcessError("the process that evaluates positions for this one has ended")


def _file_of(content: bytes) -> int:
    file = os.memfd_create("azcore")
    with open(os.dup(file), "wb") as writing:
        writing.write(content)
    return file


# -- the server -----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Slot:
    """Weights on the device."""

    evaluator: NetworkEvaluator
    digest: bytes
    users: int = 1


class EvaluationServer:
    """Evaluates for clients, each on its own thread.

    New weights, of a network of the same shape, replace unused ones in an evaluator that keeps its
    graphs.
    """

    def __init__(self, make: MakeEvaluator, game: Game) -> None:
        self._make, self.game = make, game
        self._slots: list[_Slot] = []
        self._changing = threading.Lock()

    def serve(self, listener: socket.socket) -> None:
        """Accept clients forever; a client leaves by closing its socket."""
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_Client(self, client).answer, daemon=True).start()

    def slot_with(self, digest: bytes, packed: bytes, known: Collection[_Slot]) -> _Slot:
        """The weights of a digest, for one more user, which has graphs for the `known` ones."""
        with self._changing:
            for slot in self._slots:
                if slot.digest == digest:
                    slot.users += 1
                    return slot
            new = self._make(packed)
            free = [s for s in self._slots if not s.users and s.evaluator.can_load(new)]
            if not free:
                self._slots.append(_Slot(new, digest))
                return self._slots[-1]
            slot = min(free, key=lambda slot: slot not in known)
            slot.evaluator.load(new)
            slot.digest, slot.users = digest, 1
            return slot

    def leave(self, slot: _Slot | None) -> None:
        if slot is not None:
            with self._changing:
                slot.users -= 1


class _Client:
    """The server's state of a client."""

    def __init__(self, server: EvaluationServer, connection: socket.socket) -> None:
        self._server, self._connection = server, connection
        self._slot: _Slot | None = None
        self._memory: _SharedMemory | None = None
        self._own: dict[_Slot, NetworkEvaluator] = {}

    def answer(self) -> None:
        """Answer all messages until the client disconnects."""
        try:
            while True:
                message, files, _, _ = socket.recv_fds(self._connection, LONGEST, 1)
                if not message:
                    return
                try:
                    self._do(message[:1], message[1:], files)
                    reply = DONE
                except Exception as error:  # reported to this client; the others continue
                    if not isinstance(error, AzcoreError):
                        traceback.print_exc()
                    reply = FAILED + first_line(error).encode()[: LONGEST - 1]
                finally:
                    for file in files:
                        os.close(file)
                self._connection.send(reply)
        except OSError:
            pass  # the client disconnected in the middle of a message
        finally:
            self._server.leave(self._slot)
            self._own.clear()
            if self._memory is not None:
                self._memory.close()
            self._connection.close()

    def _do(self, kind: bytes, rest: bytes, files: list[int]) -> None:
        if kind == EVALUATE:
            assert self._slot is not None
            assert self._memory is not None
            if self._slot not in self._own:
                if len(self._own) == SLOTS_KNOWN:
                    del self._own[next(iter(self._own))]
                held = self._slot.evaluator.with_memory(self._memory.host)
                self._own[self._slot] = held
            self._own[self._slot].evaluate_held(*NUMBER.unpack(rest))
        elif kind == MEMORY:
            assert self._slot is not None
            self._own.clear()
            if self._memory is not None:
                self._memory.close()
                self._memory = None
            (positions,), device = NUMBER.unpack(rest), self._slot.evaluator.device
            self._memory = _SharedMemory(files[0], self._server.game, positions, device)
        else:
            self._server.leave(self._slot)
            self._slot = None
            if kind == WEIGHTS:
                with mmap.mmap(files[0], 0) as packed:
                    self._slot = self._server.slot_with(rest, packed[:], self._own)


class _SharedMemory:
    """A client's memory, from and to which the device may copy."""

    def __init__(self, file: int, game: Game, positions: int, device: torch.device) -> None:
        block, self.host = memory_of(file, game, positions)
        self._address = self.host.observations.ctypes.data
        self._runtime: Any = None
        self._device = device
        if device.type == "cuda":
            self._runtime = torch.cuda.cudart()  # type: ignore[no-untyped-call]
            with torch.cuda.device(device):
                error = self._runtime.cudaHostRegister(self._address, len(block), 0)
            torch.cuda.check_error(int(error))

    def close(self) -> None:
        if self._runtime is not None:
            with torch.cuda.device(self._device):
                self._runtime.cudaHostUnregister(self._address)
