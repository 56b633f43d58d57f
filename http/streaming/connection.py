"""Direct writes to a stream's socket, by one system call, without hypercorn.

In hypercorn each message to each subscriber passes scopes, channels and a state machine, which costs several times as
much as sending. So this room adds the framing and writes past hypercorn, whose state does not depend on the bytes
between the first and the last of an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..asgi import Scope

SHORT, LONG = 125, 0xFFFF


class StreamConnection(Protocol):
    """A connection with one stream only."""

    def set_read_timeout(self, seconds: float) -> None:
        """From now on, close if the client sends nothing for this time."""
        ...

    def reset_read_timeout(self) -> None:
        """Begin the read timeout again, because the client has accepted bytes."""
        ...

    def limit_buffer(self, size: int) -> None:
        """From now on, leave at most so many bytes in the kernel's buffer."""
        ...

    def write_now(self, data: bytes) -> memoryview | None:
        """Write as much of a message as possible without waiting. Return the rest, None if all is done.

        The rest is for `write`, in any number of pieces, and then `end_message`. Nothing else is written until then.
        """
        ...

    async def write(self, data: memoryview) -> None:
        """Write, after the writes that are in progress. If it is cancelled, the connection ends."""
        ...

    def end_message(self) -> None:
        """The rest of a message is written, or will never be."""
        ...


def connection_of(scope: Scope) -> StreamConnection | None:
    """Return the connection of a request for direct writes; None if the server offers none.

    In later versions of HTTP, requests share a connection, and HTTP/1.0 has no chunks.
    """
    return scope.get("state", {}).get("connection") if scope["http_version"] == "1.1" else None


def text_frame(text: bytes) -> bytes:
    """Return a WebSocket's text message in one frame, as servers send it: not masked (RFC 6455, section 5.2)."""
    size = len(text)
    if size <= SHORT:
        return b"\x81%c%b" % (size, text)
    if size <= LONG:
        return b"\x81\x7e%b%b" % (size.to_bytes(2), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8), text)


def chunk(body: bytes) -> bytes:
    """Return a chunk of a body of unknown length (RFC 9112, section 7.1)."""
    return b"%x\r\n%b\r\n" % (len(body), body)


class Wire:
    """Frames as the bytes of a connection. Many connections send the same frame in a row: it is framed once."""

    __slots__ = ("_bytes", "_frame", "_framed")

    def __init__(self, framed: Callable[[bytes], bytes]) -> None:
        self._framed = framed
        self._frame = self._bytes = b""

    def of(self, frames: list[bytes]) -> bytes:
        if len(frames) > 1:
            return b"".join(map(self._framed, frames))
        if frames[0] is not self._frame:
            self._frame, self._bytes = frames[0], self._framed(frames[0])
        return self._bytes
