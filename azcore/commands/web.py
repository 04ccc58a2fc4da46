"""`command=web`: a web page for play and analysis, also next to a training run."""

import contextlib
import ctypes
import multiprocessing
import os
import secrets
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.types import ASGIApp

from azcore import interrupts
from azcore.assembly.web_settings import WebSettings, web_settings
from azcore.commands.engine import loaded
from azcore.engine.server import Loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.errors import SettingError
from azcore.interrupts import SIGNALS
from azcore.search.settings import search_settings
from azcore.selfplay.sizes import available_cores
from azcore.storage.run_directory import holds_a_run_in_use
from azcore.web.app import make_app
from azcore.web.connections import BACKLOG, server_of
from azcore.web.inside import Inside
from azcore.web.pace import Pace
from azcore.web.planes import Planes
from azcore.web.players import Players
from azcore.web.requests import Later, Tell
from azcore.web.room import Room
from azcore.web.runs import Runs

LARGE_ARRAY = 1 << 20  # bytes; a visitor's tree has several of some megabytes
M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
_PATIENCE = 5.0  # seconds that the page next to a run has to end
_MOMENT = 1.0  # seconds until it ends without visitors


def serve_page(config: Mapping[str, Any]) -> int:
    """Serve the page until Ctrl-C or SIGTERM. Returns 130."""
    settings = _settings(config)
    listening = listen(settings)
    address = _address(settings, listening.getsockname()[1])
    print(f"azcore is at {address} until Ctrl-C", flush=True)
    _serve(config, settings, listening, address)
    print()
    return interrupts.STATUS


class PageBeside:
    """A run's page, in a separate process; `is_over` is set when the run has ended."""

    def __init__(self, process: BaseProcess, is_over: Event, address: str) -> None:
        self._process, self._is_over, self._address = process, is_over, address

    def stay(self, say: Callable[[str], None]) -> None:
        """Keep serving after the run until the visitors leave, or until a signal.

        Off the main thread, where no signal arrives, the page does not stay.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        before = {n: signal.signal(n, lambda *_: self._process.terminate()) for n in SIGNALS}
        try:
            self._is_over.set()
            self._process.join(_MOMENT)
            if self._process.is_alive():
                say(f"the page stays open until everyone leaves, or until Ctrl-C: {self._address}")
            self._process.join()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def page_beside(
    config: Mapping[str, Any], run: Path, say: Callable[[str], None]
) -> Iterator[PageBeside]:
    """Serve the page of a run, and of those next to it, in a process during the `with` block."""
    settings = _settings(config)
    runs = Path(settings.runs)
    if runs.resolve() not in run.resolve().parents:
        runs = run.parent
    settings = replace(settings, runs=str(runs))
    with listen(settings) as listening:
        address = _address(settings, listening.getsockname()[1])
        name = run.resolve().relative_to(runs.resolve())
        watching = _address(settings, listening.getsockname()[1], f"watch#{_query(run=name)}")
        context = multiprocessing.get_context("spawn")
        is_over = context.Event()
        process = context.Process(
            target=_serve_until_left,
            args=(config, settings, listening, address, is_over),
            daemon=True,
        )
        process.start()
        say(f"to watch this run: {watching}")
        try:
            yield PageBeside(process, is_over, watching)
        finally:
            process.terminate()
            process.join(_PATIENCE)
            process.kill()  # no effect if it has ended


def _serve_until_left(
    config: Mapping[str, Any],
    settings: WebSettings,
    listening: socket.socket,
    address: str,
    is_over: Event,
) -> None:
    """Serve the page in this process.

    It ends with the process that started it, or after the run when the last visitor leaves.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))  # until the server handles them
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(0)

    def leave_last(server: uvicorn.Server) -> None:
        is_over.wait()
        while server.server_state.connections:
            time.sleep(_MOMENT / 4)
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    _serve(config, settings, listening, address, leave_last)


def _settings(config: Mapping[str, Any]) -> WebSettings:
    """The group `web`, with a token if needed."""
    settings = web_settings(config)
    if settings.token is None and not settings.is_private:
        return replace(settings, token=secrets.token_hex(12))
    return settings


def _serve(
    config: Mapping[str, Any],
    settings: WebSettings,
    listening: socket.socket,
    address: str,
    watch: Callable[[uvicorn.Server], None] | None = None,
) -> None:
    """Serve the page, with `watch` on a separate thread."""
    return_large_arrays()
    app = page(config, settings)
    os.nice(settings.niceness)
    server = server_of(app, settings.visitors)
    if watch is not None:
        threading.Thread(target=watch, args=(server,), daemon=True).start()
    if settings.open and _has_display():
        threading.Timer(0.5, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):  # how uvicorn reports its shutdown
        server.run(sockets=[listening])


def return_large_arrays() -> None:
    """Make glibc return each large array of this process to the system when it is freed.

    By default, each large array that is freed raises the size from which glibc maps memory, up to
    32 MB. Smaller ones share heaps, which the trees of departed visitors fragment.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)


def page(config: Mapping[str, Any], settings: WebSettings) -> ASGIApp:
    """The page as an ASGI application."""
    leaves = {name: getattr(settings, name) for name in ("num_simulations", "leaves_per_tree")}
    own = {**config, "search": {**config["search"], **leaves}}
    engine, search = engine_settings(own), thinking_search(own)
    alone = {**config["search"], "leaves_per_tree": 1}
    gumbel = search_settings({**config, "search": alone}).gumbel

    def load(checkpoint: str | None, game: str) -> Loaded:
        own = config["game"] if config["game"]["name"] == game else {"name": game}
        return loaded({**config, "checkpoint": checkpoint, "game": own})

    runs = Path(settings.runs)
    pace = Pace(settings.share, available_cores(), lambda: holds_a_run_in_use(runs))
    players = Players(load, runs, pace)

    def room(send: Tell, later: Later) -> Room:
        return Room(
            players=players, search=search, engine=engine, settings=settings, send=send, later=later
        )

    def inside(send: Tell, _: Later) -> Inside:
        return Inside(players=players, search=search, gumbel=gumbel, send=send)

    def sees(send: Tell, _: Tell) -> Planes:
        return Planes(players=players, send=send)

    return make_app(players, Runs(runs), room, inside, sees, settings, settings.token)


def listen(settings: WebSettings) -> socket.socket:
    """A socket on the host and port of the settings.

    Raises:
        SettingError: there is no such host, or the port is taken.
    """
    listening = None
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(BACKLOG)
    except OSError as error:
        if listening is not None:
            listening.close()
        raise SettingError(
            f"web.host={settings.host} web.port={settings.port}: cannot listen: "
            f"{error.strerror or error}; web.port=0 takes any free port"
        ) from error
    return listening


def _address(settings: WebSettings, port: int, path: str = "") -> str:
    """The address of a page; its path may end in a fragment."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    path, hash_sign, fragment = path.partition("#")
    query = "" if settings.token is None else f"?{_query(token=settings.token)}"
    return f"http://{host}:{port}/{path}{query}{hash_sign}{fragment}"


def _query(**values: object) -> str:
    return urlencode({name: str(value) for name, value in values.items()})


def _has_display() -> bool:
    """Whether there is a desktop with a browser."""
    wanted = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return sys.platform == "darwin" or wanted
