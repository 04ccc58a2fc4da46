"""Starts the processes that evaluate positions for those of self-play, one for each GPU."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from azcore.assembly.parts import RunSettings
from azcore.networks import build_network
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.served import EvaluationServer, unpacked
from azcore.selfplay.processes import begin_of, end_with_its_programs


class ServerProcess:
    """A process that runs an `EvaluationServer`; it ends when it is closed, or with this process.

    Args:
        settings: of the run, with a complete evaluator.
        device: where it runs.

    Attributes:
        address: see `EvaluationSettings.server`.
    """

    def __init__(self, settings: RunSettings, device: torch.device) -> None:
        self._folder = tempfile.mkdtemp(prefix="azcore-")  # nobody else may look inside
        self.address = str(Path(self._folder) / "evaluations")
        self._ours, its = socket.socketpair()
        with its, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.address)
            listener.listen(1024)  # clients may come before it is ready
            self._process = subprocess.Popen(
                [sys.executable, "-c", begin_of(__name__), str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno(), listener.fileno()],
                process_group=0,  # Ctrl-C is for the process that it works for
            )
            self._ours.sendall(pickle.dumps((listener.fileno(), replace(settings, device=device))))
        self._ours.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it."""
        end_with_its_programs(self._process)
        self._ours.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def servers_of(settings: RunSettings) -> Sequence[ServerProcess]:
    """A server for each GPU of this machine, where processes would share it; else none."""
    device = settings.device
    if settings.backend.name != "process" or device.type != "cuda":
        return []
    if str(device) != "cuda":
        return [ServerProcess(settings, device)]
    count = torch.cuda.device_count()
    return [ServerProcess(settings, torch.device("cuda", number)) for number in range(count)]


def serve(descriptor: int) -> None:
    """What such a process does.

    Args:
        descriptor: of its end of the socket pair, from which it reads what to do.
    """
    with open(os.dup(descriptor), "rb") as given:
        listener, settings = pickle.load(given)
    blank = build_network(settings.game, settings.network, settings.seed)

    def make(weights: bytes) -> NetworkEvaluator:
        evaluator = settings.evaluator(unpacked(weights, blank))
        assert isinstance(evaluator, NetworkEvaluator)
        return evaluator

    EvaluationServer(make, settings.game).serve(socket.socket(fileno=listener))
