"""Limits the number of connections, and how long a client may keep the server waiting.

By itself, uvicorn waits forever for a request or for a client that does not read, and its
`limit_concurrency` refuses new clients but keeps silent ones. When the process has no descriptors
left, asyncio prints a traceback for each connection that it cannot accept, many thousands a second.
"""

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

LARGEST_MESSAGE = 1 << 18  # bytes of a request: a pasted game
BACKLOG = 64  # connections that the kernel accepts before the server does
PATIENCE = 15.0  # seconds for a request's headers, or without reading any of a response
LOOK_AGAIN = 1  # seconds between two checks for idle clients
MOST = 256  # connections beyond one per visitor, for the room
OWN_FILES = 32  # descriptors for everything except connections
# asyncio accepts up to BACKLOG connections in each of its loop's three turns before it closes one.
SPARE = OWN_FILES + 3 * BACKLOG


def server_of(app: ASGIApp, visitors: int) -> uvicorn.Server:
    """A server for HTTP and web sockets with at most `visitors` rooms; it logs only errors."""
    crowd = _Crowd(MOST + visitors)

    class Connection(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            crowd.add(self)

        def send_400_response(self, msg: str) -> None:
            if self.conn.our_state is h11.IDLE:
                super().send_400_response(msg)
            else:  # bytes after a request are not HTTP, so nobody reads the response
                self.cycle.disconnected = True
                self.transport.close()

    config = uvicorn.Config(
        app,
        http=Connection,
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        log_level="error",  # warnings concern what strangers send
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
    """At most `most` connections of one server; fewer if the process may not open so many files."""

    def __init__(self, most: int) -> None:
        self._most = max(1, min(most, _files(most + SPARE) - SPARE))
        self.connections: set[Any] = set()
        # The last observed activity of each, and since when it has not changed.
        self._seen: dict[Any, tuple[object, float]] = {}
        self._warned = False

    def add(self, newcomer: H11Protocol) -> None:
        """Add a connection; above the limit, close the one that has been idle longest."""
        self._seen[newcomer] = _deeds(newcomer), newcomer.loop.time()
        if len(self.connections) <= self._most:
            return
        if not self._warned:
            self._warned = True
            print(
                f"azcore: the limit of {self._most} open connections is reached; each new one "
                "closes the one idle longest",
                file=sys.stderr,
            )
        silent = [c for c in self.connections if _waits(c)]  # the newcomer is one of them
        closed = min(silent, key=lambda c: self._seen.get(c, (None, newcomer.loop.time()))[1])
        closed.transport.abort()
        self._seen[closed] = None, math.inf  # leaves `connections` later; never closed twice

    async def look(self) -> None:
        """Close the connections that have kept the server waiting too long."""
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
    """How many files the process may open, after raising the limit to `wanted` if possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        return files
    return soft


def _waits(connection: Any) -> bool:
    """Whether the server waits for the client to send or read; pings check web sockets."""
    if connection.transport.is_closing():
        return True
    if not isinstance(connection, H11Protocol):
        return not connection.handshake_initiated
    cycle = connection.cycle
    return cycle is None or cycle.response_complete or connection.flow.write_paused


def _deeds(connection: Any) -> tuple[Any, int]:
    """A client's progress: the current request, and the number of unread bytes."""
    return getattr(connection, "cycle", None), connection.transport.get_write_buffer_size()
