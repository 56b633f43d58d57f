"""The socket of a stream, past hypercorn, and the bytes that go over it.

In hypercorn each message to each subscriber passes scopes, channels and a state machine, which costs several times as
much as sending; and each request has several tasks, which hold more memory than the stream. So the connection of a
stream is handed over to this room, which adds the framing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..asgi import Scope
from ..server.stream_sockets import StreamOwner

SHORT, LONG = 125, 0xFFFF
CLOSE, PING, PONG = 0x88, 0x89, 0x8A  # whole messages


class StreamConnection(Protocol):
    """A connection with one request at a time."""

    def hand_over(self, new_owner: StreamOwner) -> bool:
        """Give the socket to a stream, and end all that hypercorn does with it. False if the server has to keep it."""
        ...

    def set_read_timeout(self, seconds: float) -> None:
        """From now on, close if the client sends nothing for this time."""
        ...

    def reset_read_timeout(self) -> None:
        """Begin the read timeout again, because the client has accepted bytes."""
        ...


def connection_of(scope: Scope) -> StreamConnection | None:
    """Return the connection of a request; None if it has others too, or if the server offers none.

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


def control_frame(kind: int, payload: bytes = b"") -> bytes:
    """Return a CLOSE, PING or PONG. The payload has at most 125 bytes."""
    return b"%c%c%b" % (kind, len(payload), payload)


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
