"""The ASGI layers and the fast path. Both find endpoints in one table (`router.py`), and `dispatch` makes all answers.

The connection reads plain requests itself (`server/plain.py`), because hypercorn and ASGI cost several times what most
answers cost. `FastPath` answers plain requests for the API and inboxes. All others come through hypercorn to an ASGI
application. Its layers, from the outermost to the innermost:

    NormalizedPaths   normalizes the path, which limits, headers and endpoints are found by
    RequestBodies     receives a body as fast as an endpoint reads it
    NetworkGate       refuses clients of networks that staff have blocked
    Routes            serves WebSockets, server-sent events, and requests of the API that are not plain
    WebFramework      answers everything else by Quart: pages, bodies without a type, unknown paths, other methods

`framework.py` and `server/listener.py` are the only modules that know which framework is used.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from time import perf_counter

import trio

from .access.context import HttpContext
from .access.rates import NO_ROUTE
from .answers.errors import Forbidden
from .asgi import HOSTS, Application, Message, Receive, Scope, Send, send_answer
from .dispatch import answer_to_error, respond, with_headers
from .intake.request import BODY_KEY, ArrivedBody, Body, Request, may_have_body, request_id, request_of
from .router import Endpoint, all_paths
from .server.addresses import client_address, forwarded_for
from .server.plain import PlainRequest
from .streaming.frames import SseFrames, WebSocketFrames
from .streaming.sse import serve_sse
from .streaming.websocket import refuse_websocket, serve_websocket

SLASHES = re.compile("//+")
# Paths below this without an endpoint are streams.
STREAMS = "/api/v1/streaming"
READING = ("GET", "HEAD")


class FastPath:
    """Answers plain requests."""

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._paths = all_paths()

    def answer(self, plain: PlainRequest, client: str) -> Awaitable[bytes] | None:
        """Return the answer to a plain request, as HTTP/1.1 sends it; None if hypercorn has to answer it."""
        found = self._paths.find(plain.method, plain.path)
        if found is None or found[0].framework:
            return None
        context = self._context
        body = ArrivedBody(plain.body)
        request = Request(plain.method, plain.path, plain.query, plain.headers, client, body)
        if context.blocks.networks.bar_some and _is_barred(context, request.address(context.settings.trusted_proxies)):
            return None  # `NetworkGate` refuses it.
        request.request_id = request_id(request.header(b"x-request-id"), context.new_request_id)
        return self._answer(*found, request)

    async def _answer(self, endpoint: Endpoint, path: dict[str, str], request: Request) -> bytes:
        answer = await respond(self._context, endpoint, request, path)
        return answer.http_1(head_only=request.method == "HEAD")


def make_app(context: HttpContext, framework: Application) -> NormalizedPaths:
    """Return the layers in front of the web framework."""
    return NormalizedPaths(RequestBodies(NetworkGate(context, Routes(context, without_host(framework)))))


class NormalizedPaths:
    """ASGI middleware: the inner application gets normalized paths."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "/")
        if not path.startswith("/") or "//" in path:
            scope = {**scope, "path": normalized(path)}
        await self._inner(scope, receive, send)


def normalized(path: str) -> str:
    """Return a path with exactly one slash in front and between two segments.

    RFC 9112 allows a whole URL in place of a path. Apps join URLs and paths to `//api/v1/instance` or
    `/api/v1//instance`, which the reference server answers. The framework's router ignores further slashes in front, so
    without this a path with them would pass all checks of how a path begins.
    """
    _, colon, rest = path.partition("://")
    if colon and not path.startswith("/"):
        path = rest.partition("/")[2]
    return SLASHES.sub("/", f"/{path}")


class RequestBodies:
    """ASGI middleware: the inner application gets each body in the scope.

    No answer begins before the body has ended or its limits are reached. So the answer does not depend on how much of
    the body has arrived: an invalid body always gets a 400. A body that no endpoint reads is dropped first.
    """

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and may_have_body(scope["method"], dict(scope["headers"]))
        if scope["type"] != "http" or not (is_read or _is_announced(scope)):
            await self._inner(scope, receive, send)
            return
        body = Body(receive)

        async def send_after_body(event: Message) -> None:
            if event["type"] == "http.response.start" and not await body.leave() and scope["http_version"] < "2":
                event = event | {"headers": [*event.get("headers", ()), (b"connection", b"close")]}
            await send(event)

        if not is_read:
            await body.leave()
        await self._inner({**scope, BODY_KEY: body}, body.receive, send_after_body)


def _is_announced(scope: Scope) -> bool:
    """True if the headers announce a body. HTTP/2 does not require an announcement."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and int(value) > 0)
        for name, value in scope["headers"]
    )


class NetworkGate:
    """ASGI middleware: clients of blocked networks get a 403 on every path and stream."""

    def __init__(self, context: HttpContext, inner: Application) -> None:
        self._context = context
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Without such blocks, a request costs only this attribute.
        if self._context.blocks.networks.bar_some and scope["type"] != "lifespan" and self._is_barred(scope):
            await self._refuse(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    def _is_barred(self, scope: Scope) -> bool:
        peer = (scope.get("client") or ("127.0.0.1", 0))[0]
        trusted = self._context.settings.trusted_proxies
        return _is_barred(self._context, client_address(peer, forwarded_for(scope["headers"]), trusted))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket = scope["type"] == "websocket"
        if websocket:
            await receive()  # `websocket.connect`
        began = perf_counter()
        request = request_of(scope, self._context.new_request_id)
        answer = answer_to_error(self._context, request, Forbidden("This action is not allowed"))
        self._context.counts.of(request.method, NO_ROUTE).add(answer.status, perf_counter() - began)
        await send_answer(send, with_headers(answer, request), "websocket.http" if websocket else "http")


def _is_barred(context: HttpContext, address: str) -> bool:
    """True if the clients of an address may not use the server."""
    return context.blocks.networks.severity_for(address, context.clock.now()) == "no_access"


class Routes:
    """ASGI middleware around the framework. It answers the API and the streams without the framework."""

    def __init__(self, context: HttpContext, framework: Application) -> None:
        self._context = context
        self._framework = framework
        self._paths = all_paths()
        streams, base_url = context.streams, context.settings.base_url
        self._sse = SseFrames(context.rendered, base_url, streams.server_sent)
        self._websocket = WebSocketFrames(context.rendered, base_url, streams.websockets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._answer(scope, receive, send)
            case "websocket" if _below_streams(scope["path"]) is None:
                await refuse_websocket(self._context, scope, receive, send)
            case "websocket":
                # The query or frames name the stream, whatever the path below the root is.
                await serve_websocket(self._context, self._websocket, scope, receive, send)
            case _:
                await self._framework(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        context, method, path = self._context, scope["method"], scope["path"]
        found = self._paths.find(method, path)
        if found is None and method in READING and (stream := _below_streams(path)):
            await serve_sse(context, self._sse, scope, stream, receive, send)
        elif found is None or found[0].framework or not _is_read(scope):
            await self._framework(scope, receive, send)
        else:
            endpoint, values = found
            request = request_of(scope, context.new_request_id, scope.get(BODY_KEY))
            await send_answer(send, await respond(context, endpoint, request, values))


def _below_streams(path: str) -> str | None:
    """Return the part of a path below the streaming API, without slashes around it; None for other paths."""
    if path != STREAMS and not path.startswith(f"{STREAMS}/"):
        return None
    return path[len(STREAMS) :].strip("/")


def _is_read(scope: Scope) -> bool:
    """True if the whole body will be read.

    HTTP/2 does not require the announcement of a body, and an unread body holds up the connection.
    """
    return BODY_KEY in scope or scope["http_version"] < "2"


def without_host(inner: Application) -> Application:
    """Return an application that gets no Host header, because the framework fails if the host is not a valid name.

    The header stays in the scope, because signatures cover it.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        hosts = [header for header in scope.get("headers", ()) if header[0] == b"host"]
        if hosts:
            others = [header for header in scope["headers"] if header[0] != b"host"]
            scope = {**scope, "headers": others, HOSTS: hosts}
        await inner(scope, receive, send)

    return serve


class WebFramework:
    """The web framework, imported by the first request that needs it.

    Its import takes a fifth of a second and 12 MiB. It happens in a thread, so that other requests do not wait.
    """

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._app: Application | None = None
        self._importing = trio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._app or await self._imported())(scope, receive, send)

    async def _imported(self) -> Application:
        async with self._importing:
            if self._app is None:
                self._app = await trio.to_thread.run_sync(_import, self._context)
        return self._app


def _import(context: HttpContext) -> Application:
    # Late: the web framework takes 47 ms, 168 modules and 8.5 MiB, and only pages need it.
    from .framework import application_of, make_quart

    return application_of(make_quart(context))
