"""ASGI as far as Troupe uses it without a framework, which would double the cost of a plain request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from .answers.answer import Answer, Headers

# Dicts; every server and framework has types of its own for them, which agree in nothing else.
Scope = Any
Message = Any
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers]


async def send_answer(send: Send, answer: Answer, prefix: str = "http") -> None:
    """A finished answer; with the prefix `websocket.http` it refuses a handshake."""
    length = ("Content-Length", str(len(answer.body)))
    headers = encoded((("Content-Type", answer.content_type), length, *answer.headers))
    await send({"type": f"{prefix}.response.start", "status": answer.status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": answer.body, "more_body": False})
