"""Starts the processes that evaluate positions for self-play processes, one per GPU."""

import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from azcore.assembly.parts import RunSettings
from azcore.networks import build_network
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.served import EvaluationServer, unpacked
from azcore.selfplay.processes import begin_of, end_with_its_programs

SERVED = ("cuda_graphs", "torch", "compile")  # values of `evaluator.backend`: NetworkEvaluators
LONGEST_FOLDER = 60  # characters; the system allows a socket about a hundred


class ServerProcess:
    """A process that runs an `EvaluationServer`, until it is closed or this process ends.

    Args:
        settings: the run's settings, with a complete evaluator.

    Attributes:
        address: see `EvaluationSettings.server`.
    """

    def __init__(self, settings: RunSettings, device: torch.device) -> None:
        self._folder = tempfile.mkdtemp(prefix="azcore-", dir=_folder_of_sockets())
        self.address = str(Path(self._folder) / "evaluations")
        self._ours, its = socket.socketpair()
        try:
            with its, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(self.address)
                listener.listen(1024)  # clients may connect before it is ready
                self._process = subprocess.Popen(
                    [sys.executable, "-c", begin_of(__name__), str(its.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[its.fileno(), listener.fileno()],
                    process_group=0,  # Ctrl-C is for its parent process
                )
                given = listener.fileno(), replace(settings, device=device)
                self._ours.sendall(pickle.dumps(given))
            self._ours.shutdown(socket.SHUT_WR)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)  # the process ends with the socket
            self._ours.close()
            raise

    def close(self) -> None:
        end_with_its_programs(self._process)
        self._ours.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _folder_of_sockets() -> str | None:
    """A private folder with a path short enough for sockets; None: the usual folder."""
    return "/tmp" if len(tempfile.gettempdir()) > LONGEST_FOLDER else None


def servers_of(settings: RunSettings, members: int) -> list[ServerProcess]:
    """A server for each GPU that `members` processes would share, if any."""
    device = settings.device
    is_shared = settings.backend.name == "process" and device.type == "cuda"
    if not is_shared or settings.evaluation.backend not in SERVED:
        return []
    devices = [device]
    if str(device) == "cuda":
        count = min(torch.cuda.device_count(), members)
        devices = [torch.device("cuda", number) for number in range(count)]
    servers: list[ServerProcess] = []
    try:
        for each in devices:
            servers.append(ServerProcess(settings, each))
    except BaseException:
        for server in servers:
            server.close()
        raise
    return servers


def serve(descriptor: int) -> None:
    """The main function of the process, which reads its task from the socket `descriptor`."""
    with open(os.dup(descriptor), "rb") as given:
        listener, settings = pickle.load(given)
    blank = build_network(settings.game, settings.network, settings.seed)

    def make(weights: bytes) -> NetworkEvaluator:
        evaluator = settings.evaluator(unpacked(weights, blank))
        assert isinstance(evaluator, NetworkEvaluator)
        return evaluator

    EvaluationServer(make, settings.game).serve(socket.socket(fileno=listener))
