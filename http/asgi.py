"""ASGI types and answers, for requests that are answered without the framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from .answers.answer import FinishedAnswer, Headers

# Scopes and messages are dicts. The types that servers and frameworks have for them are not compatible.
Scope = Any
Message = Any  # a dict too
# The key of the Host headers in a scope from whose headers `app.without_host` has removed them.
HOSTS = "troupe.hosts"
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[object, object, None]]


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return headers as ASGI wants them: bytes, with names in lower case."""
    return [(name.lower().encode(), value.encode()) for name, value in headers]


async def send_answer(send: Send, answer: FinishedAnswer, prefix: str = "http") -> None:
    """Send a finished answer. With the prefix `websocket.http` it refuses a handshake."""
    length = ("Content-Length", str(len(answer.body)))
    headers = encoded((("Content-Type", answer.content_type), length, *answer.headers))
    await send({"type": f"{prefix}.response.start", "status": answer.status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": answer.body, "more_body": False})
