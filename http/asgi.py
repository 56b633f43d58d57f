"""ASGI types and answers, for requests that are answered without the framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from .answers.answer import FinishedAnswer, Headers

# `Any`: the type of a value depends on its key. The types that servers and frameworks have for these dicts are not
# compatible with each other.
Scope: TypeAlias = Mapping[str, Any]
Message: TypeAlias = dict[str, Any]  # as above
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
