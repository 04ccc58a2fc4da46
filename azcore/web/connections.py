"""How many connections the server holds, and how long a client may keep it waiting.

uvicorn alone waits without end for a request and for a client that does not read, and its
`limit_concurrency` refuses new clients but keeps silent ones. When the process has no descriptors
left, asyncio prints a traceback for each connection that it cannot accept, many thousands a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import resource
import sys
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

LARGEST_MESSAGE = 1 << 18  # bytes of an order: a pasted game
BACKLOG = 64  # connections that the kernel accepts before the server does
PATIENCE = 15.0  # seconds for the headers of a request, and without reading any of an answer
LOOK_AGAIN = 1  # seconds between two looks at who keeps the server waiting
MOST = 256  # connections besides those of visitors, each of whom has one to its room
OWN_FILES = 32  # descriptors for everything but connections
# asyncio accepts up to BACKLOG in each of the three turns of its loop until it closes one again.
SPARE = OWN_FILES + 3 * BACKLOG


def server_of(app: ASGIApp, visitors: int) -> uvicorn.Server:
    """A server that speaks HTTP and web sockets, and logs nothing but faults.

    Args:
        app: the application.
        visitors: that it has rooms for.
    """
    crowd = _Crowd(MOST + visitors)

    class Connection(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            crowd.add(self)

        def send_400_response(self, msg: str) -> None:
            if self.conn.our_state is h11.IDLE:
                super().send_400_response(msg)
            else:  # what follows a request is no HTTP, so nobody reads its answer
                self.cycle.disconnected = True
                self.transport.close()

    config = uvicorn.Config(
        app,
        http=Connection,
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        log_level="error",  # warnings are of what strangers send
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        callback_notify=crowd.look,
        timeout_notify=LOOK_AGAIN,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    crowd.connections = server.server_state.connections
    return server


class _Crowd:
    """The connections of one server.

    Args of the constructor:
        most: connections; fewer if the process may not open so many files.
    """

    def __init__(self, most: int) -> None:
        self._most = max(1, min(most, _files(most + SPARE) - SPARE))
        self.connections: set[Any] = set()
        # What each was last seen to have done, and since when that is all.
        self._seen: dict[Any, tuple[object, float]] = {}
        self._warned = False

    def add(self, newcomer: H11Protocol) -> None:
        """Another connection; if there are too many, the one that has waited longest is closed."""
        self._seen[newcomer] = _deeds(newcomer), newcomer.loop.time()
        if len(self.connections) <= self._most:
            return
        if not self._warned:
            self._warned = True
            print(
                f"azcore: {self._most} connections are open, which is the limit; each new one "
                "closes the one that has been silent for longest",
                file=sys.stderr,
            )
        silent = [c for c in self.connections if _waits(c)]  # the newcomer is one of them
        closed = min(silent, key=lambda c: self._seen.get(c, (None, newcomer.loop.time()))[1])
        closed.transport.abort()
        self._seen[closed] = None, math.inf  # it leaves `connections` later, and is closed once

    async def look(self) -> None:
        """Close the connections that have kept the server waiting for too long."""
        now = asyncio.get_running_loop().time()
        seen, self._seen = self._seen, {}
        for connection in list(self.connections):
            deeds = _deeds(connection)
            before, since = seen.get(connection, (None, now))
            if not _waits(connection) or deeds != before:
                since = now
            if now - since >= PATIENCE:
                connection.transport.abort()
            self._seen[connection] = deeds, since


def _files(wanted: int) -> int:
    """How many files the process may open, which is raised to `wanted` if the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        return files
    return soft


def _waits(connection: Any) -> bool:
    """Whether it is the client's turn to send or to read; pings look after web sockets."""
    if connection.transport.is_closing():
        return True
    if not isinstance(connection, H11Protocol):
        return not connection.handshake_initiated
    cycle = connection.cycle
    return cycle is None or cycle.response_complete or connection.flow.write_paused


def _deeds(connection: Any) -> tuple[Any, int]:
    """What changes as a client makes requests and reads: the request and the bytes unread."""
    return getattr(connection, "cycle", None), connection.transport.get_write_buffer_size()
