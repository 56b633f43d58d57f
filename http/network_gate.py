"""The gate in front of everything: clients of networks without access get a 403 on every path and stream."""

from __future__ import annotations

from time import perf_counter

from .access.context import HttpContext
from .access.rates import NO_ROUTE
from .addresses import client_address, forwarded_for
from .answers.errors import Forbidden
from .asgi import Application, Receive, Scope, Send, send_answer
from .dispatch import answer_to_error, with_headers
from .intake.request import request_of


class NetworkGate:
    """An ASGI application around another one, which gets the requests of all other clients."""

    def __init__(self, context: HttpContext, inner: Application) -> None:
        self._context = context
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Servers without such blocks pay for one attribute.
        if self._context.blocks.networks.bar_some and scope["type"] != "lifespan" and self._is_barred(scope):
            await self._refuse(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    def _is_barred(self, scope: Scope) -> bool:
        peer = (scope.get("client") or ("127.0.0.1", 0))[0]
        trusted = self._context.settings.trusted_proxies
        return is_barred(self._context, client_address(peer, forwarded_for(scope["headers"]), trusted))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket = scope["type"] == "websocket"
        if websocket:
            await receive()  # `websocket.connect`
        began = perf_counter()
        request = request_of(scope, self._context.new_request_id)
        answer = answer_to_error(self._context, request, Forbidden("This action is not allowed"))
        self._context.counts.of(request.method, NO_ROUTE).add(answer.status, perf_counter() - began)
        await send_answer(send, with_headers(answer, request), "websocket.http" if websocket else "http")


def is_barred(context: HttpContext, address: str) -> bool:
    """True if the clients of an address may not use the server."""
    return context.blocks.networks.severity_for(address, context.clock.now()) == "no_access"
