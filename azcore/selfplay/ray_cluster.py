"""A connection to a Ray cluster, or to one that this process starts and stops.

Ray pickles between its machines: anyone who reaches a cluster can run code on it. One started here
listens on the loopback interface alone and requires a token that only this process and those of the
cluster know. Its files are in a private folder, which is deleted with it.
"""

import atexit
import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from azcore.errors import LostProcessError, SettingError

# Read as ray is imported, or by the processes that it starts.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # sends nothing
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Ray's future default; else each import warns
}
# Ray's switch for systems whose firewalls ask about open ports; it also works here.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# Ray's default is a file in the home, maybe readable by all. Ray keeps a process's first one.
TOKEN = {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
LONGEST_FOLDER = 20  # characters; Ray adds some 85, and the system allows a socket 107
LOOK_AT_HEAD = 5.0  # seconds between checks of the head
# Seconds without the head after which Ray kills the process (Ray 2.60, ray_config_def.h), whatever
# it is doing.
OF_RAY = "RAY_gcs_rpc_server_reconnect_timeout_s", 60.0
_ASK = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level=50)"


class RayCluster:
    """A connection, closed at the end unless it existed before.

    Args:
        address: auto, HOST:PORT or ray://HOST:PORT; None: start a cluster on this machine.
        cpus: the number for its actors, if it starts here.
        wait: seconds within which it must answer.

    Raises:
        SettingError: ray is not installed, or no cluster answers.
    """

    def __init__(self, address: str | None, cpus: int, wait: float) -> None:
        own = {} if address else LOOPBACK
        if not address and "RAY_AUTH_TOKEN_PATH" not in os.environ:
            own = own | TOKEN
        for name, value in {**ENVIRONMENT, **own}.items():
            os.environ.setdefault(name, value)
        self._folder: str | None = None
        self.head = HeadNode(None, 0.0)
        atexit.register(self._leave)  # registered before Ray's own, so called after it
        try:
            import ray
        except ImportError:
            raise SettingError(
                "backend=ray needs the package ray: pip install 'azcore[ray]'"
            ) from None
        self.ray: Any = ray
        self._is_ours = not ray.is_initialized()
        if not self._is_ours:
            self.head = HeadNode.of(ray, address)
            return
        if address:
            _require_answer(address, wait)
        options: dict[str, Any] = {}
        if not address:
            is_long = len(tempfile.gettempdir()) > LONGEST_FOLDER
            self._folder = tempfile.mkdtemp(prefix="azcore-ray-", dir="/tmp" if is_long else None)
            options = {"num_cpus": cpus, "include_dashboard": False, "_temp_dir": self._folder}
        with signals_kept(), contextlib.nullcontext() if address else _private_files():
            try:
                ray.init(
                    address=address or "local", log_to_driver=False, logging_level=50, **options
                )
            except Exception as error:
                where = f"backend.address={address or 'null'}"
                raise SettingError(f"{where}: Ray does not start: {_reason(str(error))}") from error
        _silence(ray)
        self.head = HeadNode.of(ray, address)

    def most(self) -> tuple[float, float]:
        """CPUs and GPUs of the node with the most of them; 0 without a node."""
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        each = [(float(node.get("CPU", 0)), float(node.get("GPU", 0))) for node in nodes]
        return max(each, key=lambda node: node[::-1], default=(0.0, 0.0))

    def has_node_for(self, cpus: float, gpus: float) -> bool:
        """Whether some node could fit an actor of this size when idle."""
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        return any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes)

    def _leave(self) -> None:
        """Exit if the head is lost: Ray would wait for it, then exit as abruptly."""
        if self.head.is_lost:
            with contextlib.suppress(OSError, ValueError):  # closed or not read
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(1)

    def close(self) -> None:
        """Disconnect; stop a cluster that was started here."""
        self.head.leave()
        if self._is_ours:
            self._is_ours = False
            if self.head.is_lost:  # Ray would wait for the head
                atexit.unregister(self.ray.shutdown)
                return
            with signals_kept():
                self.ray.shutdown()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)


class HeadNode:
    """The head of a cluster, without which Ray continues for a while and then kills the process.

    Args:
        address: HOST:PORT; None: never checked, since only Ray's client knows it.
        patience: seconds that it may be silent.

    Attributes:
        is_lost: whether it has been silent for longer.
    """

    def __init__(self, address: str | None, patience: float) -> None:
        self.address, self.patience, self.is_lost = address, patience, False
        self._is_left = threading.Event()

    @classmethod
    def of(cls, ray: Any, address: str | None) -> "HeadNode":
        """The head of Ray's connection, with half of Ray's own patience."""
        name, seconds = OF_RAY
        patience = float(os.environ.get(name, seconds)) / 2
        if address is not None and address.startswith("ray://"):
            return cls(None, patience)
        return cls(str(ray.get_runtime_context().gcs_address), patience)

    def watch(
        self,
        say: Callable[[str], None],
        then: Callable[[LostProcessError], None],
        every: float = LOOK_AT_HEAD,
    ) -> None:
        """Check it every `every` seconds on a thread, until `leave`."""

        def look() -> None:
            while not self._is_left.wait(every):
                try:
                    self.require(say)
                except LostProcessError as error:
                    then(error)
                    return

        threading.Thread(target=look, name="head of the Ray cluster", daemon=True).start()

    def require(self, say: Callable[[str], None] = lambda _: None) -> None:
        """Wait until it answers.

        Raises:
            LostProcessError: it is lost.
        """
        end, is_reported = time.monotonic() + self.patience, False
        while not self._is_left.is_set() and not self._answers():
            if self.is_lost or time.monotonic() > end:
                self.is_lost = True
                raise LostProcessError(
                    f"the head of the Ray cluster, {self.address}, is lost, and the cluster with "
                    "it; continue with resume=latest on another cluster, or with backend=inline"
                )
            if not is_reported:
                is_reported = True
                say(
                    f"the head of the Ray cluster, {self.address}, does not respond; the run ends "
                    f"in {self.patience:g} s unless it recovers"
                )
            time.sleep(min(1.0, self.patience / 10))

    def _answers(self) -> bool:
        if self.address is None:
            return True
        host, _, port = self.address.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5.0):
            return True
        return False

    def leave(self) -> None:
        """Stop watching."""
        self._is_left.set()


def _require_answer(address: str, wait: float) -> None:
    """Try to connect in a separate process: here Ray would wait for minutes, then exit."""
    asking = [sys.executable, "-c", _ASK, address]
    try:
        asked = subprocess.run(
            asking, capture_output=True, text=True, timeout=wait, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise SettingError(
            f"backend.address={address}: no Ray cluster answered within {wait:g} s; start one with "
            "ray start --head, or leave backend.address=null to let the run start its own"
        ) from None
    if asked.returncode:
        raise SettingError(
            f"backend.address={address}: no Ray cluster to join: {_reason(asked.stderr)}"
        )


def _reason(text: str) -> str:
    """The last line of a traceback or message, without the name of the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    last = (errors or lines or ["no reason given"])[-1]
    return re.sub(r"^[\w.]*(Error|Exception): ", "", last)


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Make new files private to this user: here, and permanently in processes started meanwhile."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def signals_kept() -> Iterator[None]:
    """Restore our signal handler, which Ray replaces with one that kills the process.

    Raises:
        KeyboardInterrupt: the signal arrived meanwhile; our handler would raise it, too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGTERM, kept)


def _silence(ray: Any) -> None:
    """Suppress the cluster's page-long reports of lost nodes on standard output.

    Ray prints them even in silent mode; the pool reports their effect on the run.
    """
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
