"""A page's server on a thread, and the page's side of the web socket."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from starlette.types import ASGIApp
from websockets.sync.client import ClientConnection, connect

from azcore.assembly.web_settings import WebSettings, web_settings
from azcore.commands.web import listen, page
from azcore.web.connections import server_of

Message = dict[str, Any]
PATIENCE = 60.0  # seconds for an answer on a busy machine


@contextmanager
def served(config: dict[str, Any], token: str | None = None) -> Iterator[str]:
    """`127.0.0.1:PORT` of a running server."""
    settings = web_settings({**config, "web": {**config["web"], "port": 0, "open": False}})
    with served_app(page(config, replace(settings, token=token)), settings) as place:
        yield place


@contextmanager
def served_app(app: ASGIApp, settings: WebSettings) -> Iterator[str]:
    """The same of an application."""
    listening = listen(settings)
    server = server_of(app, settings.visitors)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    until = time.monotonic() + PATIENCE
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    yield f"127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(PATIENCE)
    assert not thread.is_alive()


class Page:
    """What a page does, without a browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[Message] = []

    def tell(self, order: object) -> None:
        self.socket.send(json.dumps(order))

    def hear(self, what: str, **wanted: Any) -> Message:
        """The next message of a kind and with these values."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            message: Message = json.loads(self.socket.recv(timeout=PATIENCE))
            self.heard.append(message)
            if message["what"] == what and all(message[k] == v for k, v in wanted.items()):
                return message
            if message["what"] == "error" and what != "error":
                raise AssertionError(message["message"])
        raise AssertionError(f"no {what} came")

    def open(self, player: str, **order: Any) -> Message:
        self.tell({"do": "open", "player": player, **order})
        return self.hear("position")

    def play(self, position: Message, *clicks: str) -> None:
        """Make the action of these clicks."""
        [action] = [a for a, path in position["paths"].items() if path == list(clicks)]
        self.tell({"do": "play", "action": int(action), "ply": position["ply"]})


@contextmanager
def visit(place: str, **options: Any) -> Iterator[Page]:
    """A page of the server at a place."""
    options.setdefault("origin", f"http://{place}")
    with connect(f"ws://{place}/room", **options) as socket:
        yield Page(socket)
