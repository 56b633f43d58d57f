"""The way around the server below: what a stream says goes to its socket by one system call.

Through hypercorn each message of each subscriber visits scopes, channels and a state machine, which costs several times
what sending does. What it would put around a message is put here, and it is told nothing: no state of its depends on
what was sent between the first of an answer and its last.
"""

from __future__ import annotations

from typing import Protocol

from ..asgi import Scope

SHORT, LONG = 125, 0xFFFF


class Wire(Protocol):
    """A connection that carries one stream and nothing else."""

    def expect_traffic(self, within: float) -> None:
        """From now on, end when nothing was heard for so many seconds."""
        ...

    def hear(self) -> None:
        """The client has shown that it is there."""
        ...

    def limit_buffer(self, size: int) -> None:
        """From now on, leave no more than so many bytes with the kernel."""
        ...

    def write_now(self, data: bytes) -> memoryview:
        """Write what can be written without waiting; the rest, which is for `write`."""
        ...

    async def write(self, data: memoryview) -> None:
        """Write, after whatever is being written. Ends the connection when it is cancelled."""
        ...


def wire_of(scope: Scope) -> Wire | None:
    """The wire under a request, where the server offers one. Later versions of HTTP share theirs among requests, and
    earlier ones know no chunks."""
    return scope.get("state", {}).get("wire") if scope["http_version"] == "1.1" else None


def text_frame(text: bytes) -> bytes:
    """A WebSocket's text message in one frame, as servers send it: not masked (RFC 6455, section 5.2)."""
    size = len(text)
    if size <= SHORT:
        return b"\x81%c%b" % (size, text)
    if size <= LONG:
        return b"\x81\x7e%b%b" % (size.to_bytes(2), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8), text)


def chunk(body: bytes) -> bytes:
    """A piece of a body whose length nobody knows (RFC 9112, section 7.1)."""
    return b"%x\r\n%b\r\n" % (len(body), body)
