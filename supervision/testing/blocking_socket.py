"""The bytes between asyncpg and PostgreSQL, sent and received while nothing else runs.

asyncpg's protocol does no I/O: it writes to a transport, and is given the bytes that arrive. Here both are calls of a
blocking socket. asyncio's own transport asks the kernel for events and runs a pass of the loop for each answer.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

MOST_BYTES = 1 << 18  # of an answer, that are received at once


class BlockingSocket:
    """The socket of one connection, after asyncio has opened it."""

    # Any: the parts of asyncpg's connection are not public.
    def __init__(self, connection: Any) -> None:
        transport = connection._transport
        self._protocol = connection._protocol
        self._socket: socket.socket = transport._sock
        self._socket.setblocking(True)
        self._owed = b""
        self._expected = b""
        transport.write = self._send

    def defer_answer(self, statements: Statements) -> None:
        """Send these statements together with the next message. Their answer comes with that of the message."""
        self._owed, self._expected = statements.request, statements.answer

    def receive(self) -> None:
        """Wait for bytes of PostgreSQL, and hand them to asyncpg."""
        data = self._socket.recv(MOST_BYTES)
        if not data:
            self._protocol.connection_lost(None)
            return
        if self._expected:
            data = self._without_expected(data)
        self._protocol.data_received(data)

    def _send(self, data: bytes | memoryview) -> None:
        if self._owed:
            data, self._owed = self._owed + data, b""
        self._socket.sendall(data)

    def _without_expected(self, data: bytes) -> bytes:
        expected, self._expected = self._expected, b""
        while len(data) < len(expected) and (more := self._socket.recv(MOST_BYTES)):
            data += more
        if not data.startswith(expected):
            raise ConnectionError(f"PostgreSQL has answered {data[:200]} in place of {expected}")
        return data[len(expected) :]


class Statements:
    """Prepared statements without parameters and rows, as a part of a message that asyncpg ends with its own."""

    def __init__(self, *tags: tuple[str, str]) -> None:
        """`tags` are the names of the statements, and what PostgreSQL calls them when they are done."""
        self.request = b"".join(_bound(name.encode()) for name, _ in tags)
        self.answer = b"".join(_completed(tag.encode()) for _, tag in tags)


def _bound(name: bytes) -> bytes:
    """Return Bind and Execute, for the portal without a name."""
    return _message(b"B", b"\0" + name + b"\0" + bytes(6)) + _message(b"E", bytes(5))


def _completed(tag: bytes) -> bytes:
    """Return BindComplete and CommandComplete."""
    return _message(b"2", b"") + _message(b"C", tag + b"\0")


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body
