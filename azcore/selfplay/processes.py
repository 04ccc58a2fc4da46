"""Members in separate processes on this machine.

Python's threads share one lock; processes do not, and one that dies does not affect the others.
Each inherits one end of a socket pair, so there is no port.
"""

import contextlib
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Protocol

from azcore.game.crashes import likely_cause_of
from azcore.selfplay.channel import Channel, Launcher, LostMemberError
from azcore.selfplay.member import Answer, Recipe, Request, RequestServer


class Closable(Protocol):
    """An object that holds resources until it is closed."""

    def close(self) -> None: ...


class ProcessLauncher(Launcher):
    """Starts processes on this machine.

    Args:
        environment: variables of the processes, in addition to this one's.
        servers: that the processes use; closed after them.
    """

    called = "process"

    def __init__(
        self,
        count: int,
        environment: dict[str, str] | None = None,
        servers: Sequence[Closable] = (),
    ) -> None:
        self.count, self._environment = count, environment or {}
        self._servers = servers

    def launch(self, recipe: Recipe, numbers: Sequence[int], member: int) -> Channel:
        return ProcessChannel((recipe, numbers, member), self._environment)

    def published(self, packed: bytes) -> bytes:
        return packed

    def close(self) -> None:
        for server in self._servers:
            server.close()


class ProcessChannel(Channel):
    """A process and the connection to it; `what` are the arguments of its `RequestServer`."""

    def __init__(
        self, what: tuple[Recipe, Sequence[int], int], environment: dict[str, str]
    ) -> None:
        ours, its = socket.socketpair()
        with its:
            self.process = subprocess.Popen(
                [sys.executable, "-c", begin_of(__name__), str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env={**os.environ, **environment},
                process_group=0,  # Ctrl-C is for its parent process
            )
        self._connection = Connection(ours.detach())
        # It may be answering and not read until that is received, so do not wait here.
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send_all, daemon=True)
        self._sender.start()
        self._outgoing.put(pickle.dumps(what))

    def send(self, request: Request) -> None:
        self._outgoing.put(pickle.dumps(request))

    def _send_all(self) -> None:
        with contextlib.suppress(OSError):  # the member is lost
            while (packed := self._outgoing.get()) is not None:
                self._connection.send_bytes(packed)

    def receive(self) -> Answer:
        try:
            answer: Answer = self._connection.recv()
        except (EOFError, OSError):
            self.end()
            status = self.process.wait()
            self._sender.join()  # nobody reads, so it exits at once
            self._connection.close()
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            cause = likely_cause_of(status)
            raise LostMemberError(how, cause and f"; {cause}") from None
        return answer

    def end(self) -> None:
        self._outgoing.put(None)
        end_with_its_programs(self.process)

    def is_better_elsewhere(self) -> bool:
        return False


def end_with_its_programs(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own group, and the programs that it started."""
    if process.returncode is None:  # afterwards, another process may have its number
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def begin_of(module: str) -> str:
    """The code of a process that calls a module's `serve` with its end of a socket pair.

    Importing the rest takes seconds, so it first watches for the end of its parent, however it
    ends: the system then closes the connection. With -m, the module's classes would belong to
    __main__.
    """
    return f"""
import os, select, signal, sys, threading
def watch():
    hangup = select.poll()
    hangup.register(int(sys.argv[1]), 0)
    hangup.poll()
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # and the programs that it has begun
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from {module} import serve
serve(int(sys.argv[1]))
"""


def serve(descriptor: int) -> None:
    """The main function of such a process: answer all requests over the connection `descriptor`."""
    connection, sending = Connection(descriptor), threading.Lock()

    def send(answer: Answer) -> None:
        with sending:
            connection.send(answer)

    server = RequestServer(*connection.recv())
    with contextlib.suppress(EOFError, OSError):  # the requesting process has ended
        while True:
            server.ask(connection.recv(), send)
