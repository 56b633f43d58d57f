"""The handover of a connection to a stream, and the framing of its bytes.

In hypercorn each message to each subscriber passes scopes, channels and a state machine, which cost several times as
much as sending. Each request has several tasks, which hold more memory than the stream. So a stream takes its
connection over from hypercorn, and does the framing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..asgi import Scope
from ..server.stream_sockets import StreamOwner

SHORT, LONG = 125, 0xFFFF
CLOSE, PING, PONG = 0x88, 0x89, 0x8A  # first bytes of unfragmented control frames


class StreamConnection(Protocol):
    """A connection with one request at a time."""

    def hand_over(self, new_owner: StreamOwner) -> bool:
        """Give the socket to a stream, and end hypercorn's tasks. Return False if hypercorn has to keep the socket."""
        ...

    def set_read_timeout(self, seconds: float) -> None:
        """From now on, close if the client sends nothing for this time."""
        ...

    def reset_read_timeout(self) -> None:
        """Begin the read timeout again, because the client has accepted bytes."""
        ...


def connection_of(scope: Scope) -> StreamConnection | None:
    """Return the connection of a request; None if it can't be handed over.

    In HTTP/2, requests share a connection; HTTP/1.0 has no chunks; and other servers offer no handover.
    """
    return scope.get("state", {}).get("connection") if scope["http_version"] == "1.1" else None


def text_frame(text: bytes) -> bytes:
    """Return a text message as an unmasked frame (RFC 6455, section 5.2)."""
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
    """Adds the framing to frames. Caches the last result, because many connections send a frame in a row."""

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
