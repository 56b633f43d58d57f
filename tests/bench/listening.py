"""WebSockets that listen to home timelines, many at once."""

from __future__ import annotations

import base64
import os
import selectors
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .load import PATIENCE
from .machine import PROC

PATH = "/api/v1/streaming?stream=user"
TEXT, PING, PONG = 0x81, 0x89, 0x8A  # whole messages of a WebSocket
MASKED = 0x80  # as a client's messages must be; with a mask of zeros they stay as they are
TENDED = 100  # sockets; after so many more, the pings of those that are open already are answered
QUIET = 2.0  # seconds without a message after which the others are not waited for
# Of a client that stops reading: the kernel takes the less for it the smaller its buffer and its packets are.
SMALL = {(socket.SOL_SOCKET, socket.SO_RCVBUF): 4096, (socket.IPPROTO_TCP, socket.TCP_MAXSEG): 536}
ESTABLISHED = "01"


def _connected(port: int, options: dict[tuple[int, int], int] | None = None) -> socket.socket:
    line = socket.socket()
    for (level, option), value in (options or {}).items():
        line.setsockopt(level, option, value)
    line.settimeout(PATIENCE)
    line.connect(("127.0.0.1", port))
    return line


class Listener:
    """A WebSocket that counts what it is sent."""

    __slots__ = ("_buffer", "heard", "line")

    def __init__(self, port: int, token: str, *, reads: bool = True) -> None:
        self.line = _connected(port) if reads else _connected(port, SMALL)
        self.heard = 0
        self._buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {PATH} HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Authorization: Bearer {token}", "", "",
        ]  # fmt: skip
        self.line.sendall("\r\n".join(lines).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.line.recv(4096)
        if b" 101 " not in head:
            raise AssertionError(head.decode())

    def take(self) -> int:
        """Read what has come; return how many messages it was."""
        if not (piece := self.line.recv(1 << 18)):
            raise ConnectionError("The server hung up")
        self._buffer += piece
        before = self.heard
        while (frame := self._frame()) is not None:
            kind, payload = frame
            self.heard += kind == TEXT
            if kind == PING:  # without an answer the server closes the connection
                self.line.sendall(bytes((PONG, MASKED | len(payload), 0, 0, 0, 0)) + payload)
        return self.heard - before

    def _frame(self) -> tuple[int, bytes] | None:
        """Take the next whole frame away, and return its kind and payload. A server's frames are not masked."""
        if len(self._buffer) < 2:
            return None
        kind, length, start = self._buffer[0], self._buffer[1], 2
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(self._buffer) < start:
                return None
            length = int.from_bytes(self._buffer[2:start])
        if len(self._buffer) < start + length:
            return None
        payload, self._buffer = self._buffer[start : start + length], self._buffer[start + length :]
        return kind, payload

    def close(self) -> None:
        self.line.close()


class Audience:
    """Listeners behind one selector."""

    def __init__(self, port: int, tokens: Sequence[str]) -> None:
        self._listeners: list[Listener] = []
        self._posts = 0
        self._due = 0  # messages that have not come
        self._selector = selectors.DefaultSelector()
        for token in tokens:
            listener = Listener(port, token)
            self._listeners.append(listener)
            self._selector.register(listener.line, selectors.EVENT_READ, listener)
            if len(self) % TENDED == 0:
                self._take(0.0)

    def __len__(self) -> int:
        return len(self._listeners)

    def hear(self) -> list[float]:
        """Wait until there is one more message for each, and what came too late for the last posts. Return when each
        arrived; fewer if some do not come.
        """
        self._posts += 1
        self._due += len(self)
        return self._wait(QUIET)

    def _wait(self, quiet: float) -> list[float]:
        times: list[float] = []
        while self._due and (more := self._take(quiet)) is not None:
            times += more
        return times

    def _take(self, seconds: float) -> list[float] | None:
        """Read what comes, and answer pings. Return when each message arrived; None if nothing comes for so long."""
        times: list[float] = []
        if not (ready := self._selector.select(seconds)):
            return None
        for key, _ in ready:
            listener: Listener = key.data
            missing = max(0, self._posts - listener.heard)
            count = listener.take()
            self._due -= min(count, missing)
            times += [time.perf_counter()] * count
        return times

    def lost(self) -> int:
        """The number of messages until now that are missing, or are there twice. Late ones are waited for."""
        self._wait(PATIENCE)
        return sum(abs(listener.heard - self._posts) for listener in self._listeners)

    def close(self) -> None:
        self._selector.close()
        for listener in self._listeners:
            listener.close()


@contextmanager
def audience(port: int, tokens: Sequence[str]) -> Generator[Audience]:
    """A listener for each token, while inside."""
    made = Audience(port, tokens)
    try:
        yield made
    finally:
        made.close()


def unsent(port: int, listener: Listener) -> int | None:
    """The bytes that the kernel holds for a listener at the server's end. None if its connection has ended."""
    ends = f":{port:04X}", f":{listener.line.getsockname()[1]:04X}"
    for family in ("tcp", "tcp6"):
        for line in (PROC / "net" / family).read_text().splitlines()[1:]:
            _, local, remote, state, queues, *_ = line.split()
            if (local[-5:], remote[-5:]) == ends and state == ESTABLISHED:
                return int(queues.partition(":")[0], 16)
    return None
