"""Request bodies, taken from the network as they are read.

Quart receives a body as fast as it arrives and keeps it in memory until it is read, so every request could take as much
memory as the largest upload. Here more of a body is received only when the endpoint reads it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import trio

from ..answers.errors import Malformed
from ..asgi import Message, Receive

# The methods whose body is read although it has no type.
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
KEY = "troupe.body"  # the key of a body in its request's scope

# If an answer is ready and the body was not read to its end, this much of it is read and dropped, so that the
# connection can be used again.
LEFT_BYTES = 1024 * 1024
LEFT_SECONDS = 5  # and this is how long it may take


class Body:
    """One request's body; read once."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = trio.Event()
        self._empty_sent = False
        self._gone = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._ended.is_set():
            event = await self._receive()
            if event["type"] == "http.disconnect":
                self._gone = True
                self._ended.set()
                raise Malformed("The request body ended too early")
            if not event.get("more_body", False):
                self._ended.set()
            if event.get("body"):
                yield event["body"]

    async def receive(self) -> Message:
        """Return events for the framework: an empty body, and later that the client has disconnected."""
        if not self._empty_sent:
            self._empty_sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._ended.wait()
        return {"type": "http.disconnect"} if self._gone else await self._receive()

    async def leave(self) -> bool:
        """Drop the rest of the body. Return True if the end was reached within the limits.

        Raises Malformed if the client is gone before.
        """
        left = LEFT_BYTES
        with trio.move_on_after(LEFT_SECONDS):
            async for chunk in self:
                left -= len(chunk)
                if left < 0:
                    break
        return self._ended.is_set()


def may_have_body(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """True if a request may have a body that an endpoint reads: one with a type, or one of a method that writes.

    Some clients name no type. A length need not be announced by HTTP/2.
    """
    return b"content-type" in headers or (method in WRITING and headers.get(b"content-length") != b"0")
