"""One process evaluates for others: the same results, whatever weights and batches come and go."""

from __future__ import annotations

import gc
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import azcore
from azcore.errors import AzcoreError, LostProcessError
from azcore.game import ByteArray
from azcore.networks import build_network
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.served import (
    EvaluationServer,
    ServedEvaluator,
    _unused,
    memory_of,
    packed,
    unpacked,
)
from networks.test_networks import GAME, SETTINGS

NETWORKS = [build_network(GAME, SETTINGS, seed) for seed in range(3)]


def direct(network: torch.nn.Module) -> NetworkEvaluator:
    return NetworkEvaluator(network=network, device=torch.device("cpu"), dtype=torch.float32)


class Server(EvaluationServer):
    """One on threads of this process, which knows how often it has made an evaluator."""

    def __init__(self, address: Path) -> None:
        self.made = 0
        super().__init__(self._made, GAME)
        self.address = str(address)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.address)
        listener.listen()
        threading.Thread(target=self.serve, args=(listener,), daemon=True).start()

    def _made(self, weights: bytes) -> NetworkEvaluator:
        self.made += 1
        return direct(unpacked(weights, NETWORKS[0]))

    def client(self, number: int) -> ServedEvaluator:
        return ServedEvaluator(self.address, packed(NETWORKS[number]), GAME)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "socket")
    yield server
    gc.collect()
    _unused.pop(server.address, None)


def observations(size: int) -> ByteArray:
    return np.random.default_rng(size).integers(0, 9, (size, *GAME.observation_shape), np.uint8)


def assert_evaluates(client: ServedEvaluator, number: int, size: int) -> None:
    logits, values = client.evaluate(observations(size))
    wanted = direct(NETWORKS[number]).evaluate(observations(size))
    np.testing.assert_array_equal(logits, wanted[0])
    np.testing.assert_array_equal(values, wanted[1])


def test_results_are_those_of_the_network_itself(server: Server) -> None:
    one, other = server.client(0), server.client(1)
    for size in (5, 1, 8, 0, 33, 2):  # more than there is room for, and fewer
        assert_evaluates(one, 0, size)
        assert_evaluates(other, 1, size)
    assert_evaluates(one.for_another_thread(), 0, 7)
    assert server.made == 2  # loaded once, however many clients use them


def test_clients_on_threads_do_not_meet(server: Server) -> None:
    def evaluate(number: int) -> None:
        client = server.client(number % 3)
        for size in range(1, 40):
            assert_evaluates(client, number % 3, size)
        ended.append(number)

    ended: list[int] = []
    threads = [threading.Thread(target=evaluate, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == list(range(6))


def test_weights_that_nobody_uses_make_room(server: Server) -> None:
    """Generation after generation: two places, where an evaluator takes over new weights."""
    clients = [server.client(0), server.client(0)]
    for generation in range(1, 7):
        clients = [server.client(generation % 3) for _ in clients]
        gc.collect()
        for client in clients:
            assert_evaluates(client, generation % 3, 4)
    assert len(server._slots) == 2


def test_an_error_is_the_clients_to_raise(server: Server) -> None:
    with pytest.raises(AzcoreError, match="invalid load key"):
        ServedEvaluator(server.address, b"no weights", GAME)
    assert_evaluates(server.client(0), 0, 3)  # other clients are unaffected


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    address = str(tmp_path / "socket")
    with pytest.raises(LostProcessError, match="process that evaluates positions"):
        ServedEvaluator(address, b"", GAME)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen()

    def accept_and_leave() -> None:
        listener.accept()[0].close()
        listener.close()

    threading.Thread(target=accept_and_leave).start()
    with pytest.raises(LostProcessError):
        ServedEvaluator(address, b"", GAME)


def test_all_games_of_the_library_fit() -> None:
    """Places in the shared memory, for a game of thousands of actions."""
    game = azcore.make("chess")
    file = os.memfd_create("azcore")
    (_, one), (_, same) = memory_of(file, game, 3), memory_of(file, game, 3)
    for number, array in enumerate(one):
        array[...] = number + 1
    for number, array in enumerate(same):
        assert (array == number + 1).all()
    assert one.observations.shape == (3, *game.observation_shape)
    assert one.policy_logits.shape == (3, game.num_actions)
    os.close(file)
