"""ASGI types and answers, for requests that are answered without the framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from .answers.answer import FinishedAnswer, Headers

# Dicts. Each server and framework has its own types for them, which are not compatible with each other.
Scope = Any
Message = Any  # the same
# The key of the Host headers in the scope of a request that a framework gets without them.
HOSTS = "troupe.hosts"
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[object, object, None]]


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers]


async def send_answer(send: Send, answer: FinishedAnswer, prefix: str = "http") -> None:
    """Send a finished answer. With the prefix `websocket.http` it refuses a handshake."""
    length = ("Content-Length", str(len(answer.body)))
    headers = encoded((("Content-Type", answer.content_type), length, *answer.headers))
    await send({"type": f"{prefix}.response.start", "status": answer.status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": answer.body, "more_body": False})
