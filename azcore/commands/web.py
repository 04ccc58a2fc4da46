"""`command=web`: a page to play and analyse on."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from azcore.commands.engine import loaded, thinking_search
from azcore.engine.server import Loaded
from azcore.engine.thinker import EngineSettings
from azcore.errors import SettingError
from azcore.search.settings import SearchSettings
from azcore.settings import build
from azcore.web.app import LARGEST_MESSAGE, make_app
from azcore.web.inside import Inside
from azcore.web.orders import Later, Tell
from azcore.web.room import Room
from azcore.web.runs import Runs
from azcore.web.sees import Sees
from azcore.web.settings import WebSettings
from azcore.web.shelf import Shelf

BACKLOG = 128  # connections that wait to be accepted


def serve_page(config: Mapping[str, Any]) -> int:
    """Serve the page until Ctrl-C or SIGTERM; 130.

    Raises:
        AzcoreError: a setting cannot be used, or the port is taken.
    """
    settings = build(WebSettings, config["web"], "web")
    token = settings.token
    if token is None and not settings.is_private:
        token = secrets.token_hex(12)
    app = page(config, settings, token)
    listening = listen(settings)
    address = _address(settings, listening.getsockname()[1], token)
    print(f"azcore is at {address} until Ctrl-C", flush=True)
    os.nice(settings.niceness)
    server = server_of(app)
    if settings.open and _has_display():
        threading.Timer(0.5, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn has shut down, and says so in this way
        server.run(sockets=[listening])
    print()
    return 130


def page(config: Mapping[str, Any], settings: WebSettings, token: str | None) -> ASGIApp:
    """The page as an application.

    Raises:
        AzcoreError: a setting cannot be used.
    """
    engine = build(EngineSettings, config["engine"], "engine")
    search = thinking_search(config)
    gumbel = build(SearchSettings, config["search"], "search").gumbel

    def load(checkpoint: str | None, game: str) -> Loaded:
        own = config["game"] if config["game"]["name"] == game else {"name": game}
        return loaded({**config, "checkpoint": checkpoint, "game": own})

    shelf = Shelf(load, Path(settings.runs))

    def room(send: Tell, later: Later) -> Room:
        return Room(
            shelf=shelf, search=search, engine=engine, settings=settings, send=send, later=later
        )

    def inside(send: Tell, _: Later) -> Inside:
        return Inside(shelf=shelf, search=search, gumbel=gumbel, send=send)

    def sees(send: Tell, _: Tell) -> Sees:
        return Sees(shelf=shelf, send=send)

    return make_app(shelf, Runs(Path(settings.runs)), room, inside, sees, settings, token)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server that speaks HTTP and web sockets, and logs nothing but faults."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )


def listen(settings: WebSettings) -> socket.socket:
    """A socket on the host and port of the settings.

    Raises:
        SettingError: there is no such host, or the port is taken.
    """
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(BACKLOG)
    except OSError as error:
        raise SettingError(
            f"web.host={settings.host} web.port={settings.port}: cannot listen there: "
            f"{error.strerror or error}; web.port=0 takes any free port"
        ) from error
    return listening


def _address(settings: WebSettings, port: int, token: str | None) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}/" + ("" if token is None else f"?token={token}")


def _has_display() -> bool:
    """Whether there is a desktop to open a browser on."""
    wanted = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return sys.platform == "darwin" or wanted
