"""The server: access control, and the web socket between a page and its room.

Every response depends on the URL alone, and no HTTP request has a body. A page sends its room
requests over the web socket, as JSON of at most `LARGEST_MESSAGE` bytes (`connections.py`). The
server accepts web sockets from its own page only.
"""

import asyncio
import contextlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from azcore import report
from azcore.assembly.web_settings import WebSettings
from azcore.errors import AzcoreError
from azcore.report.side_by_side import SIDE_BY_SIDE
from azcore.web.levels import describe_levels
from azcore.web.players import Players
from azcore.web.requests import Later, Tell
from azcore.web.runs import Runs
from azcore.web.texts import languages, texts
from azcore.web.view import Plain

STATIC = Path(__file__).with_name("static")
# Scripts that the page shares with reports, each of which is one self-contained file.
OF_REPORTS = [
    Path(report.__file__).with_name(name)
    for name in ("chart.js", "chart.css", "films.js", "films.css")
]
MOST_WAITING = 64  # requests of a page in the queue; with more, the server disconnects it
MOST_UNREAD = 64  # messages that a page has not received yet; with more, its requests wait
VIEWS = ("/", "/inside", "/sees", "/watch")  # where a link with a token may point
COOKIE = "azcore-token"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANYWHERE = ("0.0.0.0", "::")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A report holds scripts and text from a stranger's run, so it gets no origin and loads nothing.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:"
)
POLICY_HEADER = "content-security-policy"
HEADERS = {
    POLICY_HEADER: POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
TRY_AGAIN = 1013  # close codes of RFC 6455
NOT_ALLOWED = 1008
FAULT = 1011
LOG = logging.getLogger("uvicorn.error")


class PageSession(Protocol):
    """The session of one page while its web socket is open: `Room`, `Inside` or `Planes`."""

    def do(self, request: object) -> None:
        """Execute a request."""

    def close(self) -> None:
        """Handle the page's disconnection."""


MakeRoom = Callable[[Tell, Later], PageSession]


def make_app(
    players: Players,
    runs: Runs,
    make_room: MakeRoom,
    make_inside: MakeRoom,
    make_sees: MakeRoom,
    settings: WebSettings,
    token: str | None,
) -> ASGIApp:
    """The page as an ASGI application.

    Args:
        make_room: makes a room from its `send` and `later`.
        make_inside: makes a room of the page that shows a search.
        make_sees: makes a room of the page that shows the network's input.
        token: the token that a visitor must present; None: no token.
    """
    visitors = Visitors(settings.visitors)

    def listed(_: Request) -> JSONResponse:
        return JSONResponse(runs.listed())

    @_or_404
    def curves(request: Request) -> Response:
        return JSONResponse(runs.curves(request.query_params.get("run", "")))

    @_or_404
    def games(request: Request) -> Response:
        return JSONResponse(runs.games(request.query_params.get("run", "")))

    @_or_404
    def report_of(request: Request) -> Response:
        page = runs.report(request.query_params.get("run", ""))
        return HTMLResponse(page, headers={POLICY_HEADER: REPORT_POLICY})

    @_or_404
    def side_by_side(request: Request) -> Response:
        query = request.query_params
        page = runs.side_by_side(query.getlist("run"))
        kept = f'attachment; filename="{SIDE_BY_SIDE}"' if query.get("save") else "inline"
        headers = {POLICY_HEADER: REPORT_POLICY, "content-disposition": kept}
        return HTMLResponse(page, headers=headers)

    def welcome(make: MakeRoom) -> Callable[[WebSocket], Awaitable[None]]:
        return lambda socket: visitors.welcome(socket, make)

    def players_json(_: Request) -> JSONResponse:
        found = [entry.plain for entry in players.entries()]
        levels = {group: describe_levels(group != "search") for group in ("shipped", "search")}
        return JSONResponse({"players": found, "levels": levels})

    @_or_404
    def board(request: Request) -> Response:
        picture = players.picture(request.query_params.get("player", ""))
        return Response(picture, media_type="image/svg+xml")

    routes = [
        Route("/", _file(STATIC / "index.html")),
        Route("/players.json", players_json),
        Route("/board.svg", board),
        *(Route(f"/texts/{name}.json", _translations(name)) for name in languages()),
        *(Route(f"/static/{path.name}", _file(path)) for path in OF_REPORTS),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(
            Route(f"/{name}", _file(STATIC / f"{name}.html"))
            for name in ("inside", "sees", "watch")
        ),
        Route("/runs.json", listed),
        Route("/run.json", curves),
        Route("/games.json", games),
        Route("/report", report_of),
        Route("/side-by-side", side_by_side),
        WebSocketRoute("/room", welcome(make_room)),
        WebSocketRoute("/inside/room", welcome(make_inside)),
        WebSocketRoute("/sees/room", welcome(make_sees)),
    ]
    return Guard(Starlette(routes=routes), settings.host, token)


def _translations(language: str) -> Callable[[Request], JSONResponse]:
    return lambda _: JSONResponse(texts(language))


def _file(path: Path) -> Callable[[Request], FileResponse]:
    return lambda _: FileResponse(path)


def _or_404(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """The response of a function, or its error as a response."""

    def answered(request: Request) -> Response:
        try:
            return answer(request)
        except AzcoreError as error:
            return PlainTextResponse(str(error), status_code=404)

    return answered


class Guard:
    """Admits visitors, and adds the headers that restrict what the browser does with the page.

    Another site's page can make a visitor's browser send requests here. So the host must be one of
    ours (another site's name could resolve to this address), and a web socket must come from our
    own page.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self._app, self._token = app, token
        # With a token, any host name is safe: the cookie with the token belongs to one name.
        self._hosts = None if host in ANYWHERE and token else {*LOOPBACK, host}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(HTTPConnection(scope))
        if scope["type"] == "websocket":
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": NOT_ALLOWED, "reason": refusal})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._app
        given = HTTPConnection(scope).query_params.get("token")
        if refusal is not None and self._knows(given) and self._is_our_host(Headers(scope=scope)):
            place = scope["path"] if scope["path"] in VIEWS else "/"
            response = RedirectResponse(place, status_code=303)
            assert given is not None
            # Lax, so that links on other pages work; a web socket must come from our own.
            response.set_cookie(COOKIE, given, httponly=True, samesite="lax")
            app = response
        elif refusal is not None:
            app = PlainTextResponse(refusal, status_code=403)
        await app(scope, receive, send_with_headers)

    def _refusal(self, connection: HTTPConnection) -> str | None:
        """Why the server refuses a visitor."""
        headers = connection.headers
        if not self._is_our_host(headers):
            return "this server has a different name"
        if connection.scope["type"] == "websocket":
            scheme, _, host = headers.get("origin", "").partition("://")
            if scheme not in ("http", "https") or host != headers.get("host"):
                return "this server accepts connections from its own page alone"
        if self._token is not None and not self._knows(connection.cookies.get(COOKIE)):
            return "open the address with the token, which the server printed"
        return None

    def _is_our_host(self, headers: Headers) -> bool:
        try:
            name = urlsplit(f"//{headers.get('host', '')}").hostname
        except ValueError:
            return False
        return name is not None and (self._hosts is None or name in self._hosts)

    def _knows(self, given: str | None) -> bool:
        token = self._token
        return token is not None and hmac.compare_digest((given or "").encode(), token.encode())


class Visitors:
    """All open pages; each has a room while its web socket is open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    async def welcome(self, socket: WebSocket, make_room: MakeRoom) -> None:
        """Serve one page until it closes."""
        await socket.accept()
        if self._count >= self._most:
            await socket.close(TRY_AGAIN, f"all {self._most} places are taken; try again later")
            return
        self._count += 1
        try:
            await self._talk(socket, make_room)
        finally:
            self._count -= 1

    async def _talk(self, socket: WebSocket, make_room: MakeRoom) -> None:
        loop = asyncio.get_running_loop()
        requests: asyncio.Queue[object] = asyncio.Queue()
        answers = _Answers()
        busy = asyncio.Lock()  # with a request

        def from_any_thread(put: Callable[[Any], None]) -> Callable[[Any], None]:
            def call(message: Any) -> None:
                with contextlib.suppress(RuntimeError):  # the server has shut down
                    loop.call_soon_threadsafe(put, message)

            return call

        room = make_room(from_any_thread(answers.put), from_any_thread(requests.put_nowait))

        async def do(request: object) -> None:
            async with busy:
                await run_in_threadpool(room.do, request)

        async def dispatch() -> None:
            while True:
                request = await requests.get()
                await answers.are_few()
                # A disconnect does not stop the thread, and the room must not close before it ends.
                await asyncio.shield(do(request))

        async def answer() -> None:
            while True:
                for message in await answers.take():
                    await socket.send_text(json.dumps(message, separators=(",", ":")))

        async def watch(work: Callable[[], Awaitable[None]]) -> None:
            """Do the work; log an exception and close the connection."""
            try:
                await work()
            except WebSocketDisconnect:
                pass
            except Exception:
                LOG.exception("a visitor's room failed")
                with contextlib.suppress(RuntimeError):  # closed already
                    await socket.close(FAULT, "server error; see the server's terminal")

        tasks = [asyncio.create_task(watch(work)) for work in (dispatch, answer)]
        try:
            while True:
                request = _read(await socket.receive_text())
                if request == {"do": "alive"}:  # answered at once, even while the room is busy
                    answers.put({"what": "alive"})
                    continue
                if requests.qsize() >= MOST_WAITING:
                    await socket.close(NOT_ALLOWED, "too many requests at once")
                    return
                requests.put_nowait(request)
        except (WebSocketDisconnect, RuntimeError, KeyError):  # closed here; not text but bytes
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            async with busy:
                await run_in_threadpool(room.close)


class _Answers:
    """Queued messages to a page; a newer one replaces those that it makes obsolete.

    So a slow page skips search reports, and one that never reads uses bounded memory.
    """

    def __init__(self) -> None:
        self._waiting: list[Plain] = []
        self._came, self._taken = asyncio.Event(), asyncio.Event()

    def put(self, message: Plain) -> None:
        what = message["what"]
        if what == "alive":
            self._waiting = [waiting for waiting in self._waiting if waiting["what"] != what]
        elif what == "thought" and self._waiting and self._waiting[-1]["what"] == what:
            self._waiting.pop()
        self._waiting.append(message)
        self._came.set()

    async def take(self) -> list[Plain]:
        """All queued messages, at least one."""
        await self._came.wait()
        self._came.clear()
        taken, self._waiting = self._waiting, []
        self._taken.set()
        return taken

    async def are_few(self) -> None:
        """Wait until the page has received enough of them."""
        while len(self._waiting) > MOST_UNREAD:
            self._taken.clear()
            await self._taken.wait()


def _read(text: str) -> object:
    """A request; None if it is not JSON, which the room refuses."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
