"""The little of ASGI that streams need; they are served without a framework, which would cost as much again."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from ..answer import Answer, Headers
from ..headers import request_id
from ..house import House
from ..request import Request

# Dicts; every server and framework has types of its own for them, which agree in nothing else.
Scope = Any
Message = Any
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]


def request_of(house: House, scope: Scope, body: AsyncIterable[bytes] | None = None) -> Request:
    """The request of a scope, with its body where that is of interest."""
    peer = (scope.get("client") or ("127.0.0.1", 0))[0]
    request = Request(
        scope.get("method", "GET"), scope["path"], scope["query_string"], scope["headers"], peer, body or _nothing()
    )
    request.request_id = request_id(request.header(b"x-request-id"), house.secret)
    return request


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers]


async def send_answer(send: Send, answer: Answer, prefix: str = "http") -> None:
    """A finished answer; with the prefix `websocket.http` it refuses a handshake."""
    length = ("Content-Length", str(len(answer.body)))
    headers = encoded((("Content-Type", answer.content_type), length, *answer.headers))
    await send({"type": f"{prefix}.response.start", "status": answer.status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": answer.body, "more_body": False})


async def _nothing() -> AsyncIterator[bytes]:
    for chunk in ():
        yield chunk
