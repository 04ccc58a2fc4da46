"""Crowds of connections, before anybody has said who they are."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from websockets.sync.client import connect

from azcore.assembly.web_settings import WebSettings, web_settings
from azcore.web import connections
from web_kit import PATIENCE, served_app

LARGE = 30_000_000  # bytes of an answer, more than the kernel holds for a client that does not read
UPGRADE = (
    "GET /room HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n"
)


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """An application: a large answer, and web sockets that say `x` to every message."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * LARGE})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": "x"})


@pytest.fixture(name="settings")
def settings_fixture(compose: Any, tmp_path: Path) -> WebSettings:
    config = compose("command=web", f"web.runs={tmp_path}", "web.visitors=1")
    return web_settings({**config, "web": {**config["web"], "port": 0, "open": False}})


class Clients:
    """Connections to a server, all closed at the end."""

    def __init__(self, place: str, stack: contextlib.ExitStack) -> None:
        self._at, self._stack = ("127.0.0.1", int(place.partition(":")[2])), stack

    def new(self, says: str = "") -> socket.socket:
        client = self._stack.enter_context(socket.create_connection(self._at, 10.0))
        client.sendall(says.encode())
        return client


def is_closed(client: socket.socket) -> bool:
    """Whether the server closes a connection soon, whatever it has sent before."""
    until = time.monotonic() + 10.0
    try:
        while time.monotonic() < until:
            if not client.recv(1 << 20):
                return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


def test_clients_that_keep_the_server_waiting_are_cut_off(
    settings: WebSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.4)
    monkeypatch.setattr(connections, "LOOK_AGAIN", 0)
    with served_app(answer, settings) as place, contextlib.ExitStack() as stack:
        clients = Clients(place, stack)
        socket_of_page = stack.enter_context(connect(f"ws://{place}/room"))
        waits = {
            "says nothing": clients.new(),
            "ends no headers": clients.new("GET / HTTP/1.1\r\nHost: x\r\n"),
            "ends no body": clients.new("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"),
            "begins no web socket": clients.new(f"{UPGRADE}Content-Length: 5\r\n\r\nhello"),
        }
        reads_nothing = clients.new("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        reads = clients.new("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        read = 0
        while more := reads.recv(1 << 18):  # for some 2 seconds
            read += len(more)
            time.sleep(2 / (LARGE >> 18))
        assert read > LARGE
        assert {name for name, client in waits.items() if not is_closed(client)} == set()
        got = 0
        with contextlib.suppress(ConnectionError):
            while more := reads_nothing.recv(1 << 20):
                got += len(more)
        assert got < LARGE
        socket_of_page.send("anything")  # nobody waits for a page
        assert socket_of_page.recv(PATIENCE) == "x"


def test_a_crowd_that_says_nothing_keeps_nobody_out(
    settings: WebSettings, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(connections, "MOST", 4)
    with served_app(answer, settings) as place, contextlib.ExitStack() as stack:
        clients = Clients(place, stack)
        socket_of_page = stack.enter_context(connect(f"ws://{place}/room"))
        silent = [clients.new() for _ in range(20)]
        visitor = clients.new("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert visitor.recv(15) == b"HTTP/1.1 200 OK"
        assert all(is_closed(client) for client in silent[:15])
        newest = silent[-1]
        newest.settimeout(0.1)
        assert not is_closed(newest)
        socket_of_page.send("anything")
        assert socket_of_page.recv(PATIENCE) == "x"
        said = capsys.readouterr().err
    assert said == (
        "azcore: the limit of 5 open connections is reached; each new one closes the one idle "
        "longest\n"
    )


def test_what_is_no_http_is_refused_without_a_word(settings: WebSettings, capsys: Any) -> None:
    begun = threading.Event()

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            begun.set()
            await send({"type": "http.response.start", "status": 405, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    with served_app(refuse, settings) as place, contextlib.ExitStack() as stack:
        clients = Clients(place, stack)
        assert clients.new("\0\1\r\n\r\n").recv(99).startswith(b"HTTP/1.1 400")
        chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n"
        assert is_closed(clients.new(chunked))
        assert begun.wait(PATIENCE)
    assert capsys.readouterr().err == ""


def test_as_many_connections_as_the_process_may_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(connections.resource, "setrlimit", lambda _, pair: allowed.append(pair))
    for soft, hard, most in ((10_000, 10_000, 300), (256, 10_000, 300), (256, 256, 32), (9, 9, 1)):
        monkeypatch.setattr(connections.resource, "getrlimit", lambda _, p=(soft, hard): p)
        assert connections._Crowd(300)._most == most
    assert allowed == [(300 + connections.SPARE, 10_000), (256, 256), (9, 9)]
