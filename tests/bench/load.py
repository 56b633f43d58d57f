"""A load generator that costs little itself: blocking sockets behind one selector, requests that are bytes already."""

from __future__ import annotations

import base64
import os
import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
OK = b"HTTP/1.1 20"  # 200, and 202 for what is done later
PATIENCE = 30.0
TEXT = 0x81  # a whole text message of a WebSocket, and no ping


@dataclass(slots=True)
class Load:
    """What came of it."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)  # of each request, in seconds
    wrong: list[bytes] = field(default_factory=list)  # answers other than 200

    def wait(self, share: float) -> float:
        """The wait that this share of the requests did not exceed."""
        return sorted(self.waits)[min(len(self.waits) - 1, int(len(self.waits) * share))]


def request(method: str, path: str, token: str | None = None, body: bytes = b"") -> bytes:
    """A request as it goes over the line."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: application/json"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if body:
        lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Caller:
    """One connection that asks, waits for the answer, and asks again."""

    __slots__ = ("began", "buffer", "line", "missing")

    def __init__(self, port: int) -> None:
        self.line = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.missing = -1  # bytes of the answer that have not come; below zero while its head hasn't
        self.began = 0.0

    def ask(self, what: bytes) -> None:
        self.buffer, self.missing, self.began = b"", -1, time.perf_counter()
        self.line.sendall(what)

    def take(self) -> bool:
        """Read what has come; whether the answer is complete."""
        piece = self.line.recv(1 << 18)
        if not piece:
            raise ConnectionError("The server hung up")
        self.buffer += piece
        if self.missing < 0:
            head, end, body = self.buffer.partition(b"\r\n\r\n")
            length = LENGTH.search(head + b"\r\n") if end else None
            if length is None:
                return False
            self.missing = int(length[1]) - len(body)
        else:
            self.missing -= len(piece)
        return self.missing <= 0

    @property
    def body(self) -> bytes:
        return self.buffer.partition(b"\r\n\r\n")[2]

    def call(self, what: bytes) -> bytes:
        """One request and its answer's body."""
        self.ask(what)
        while not self.take():
            pass
        if not self.buffer.startswith(OK):
            raise AssertionError(self.buffer.decode())
        return self.body

    def close(self) -> None:
        self.line.close()


def press(port: int, requests: Iterator[bytes], callers: int, enough: Callable[[int, float], bool]) -> Load:
    """Keep so many connections busy until `enough` says so of the answers and the seconds."""
    load, began = Load(), time.perf_counter()
    with selectors.DefaultSelector() as selector:
        crowd = [Caller(port) for _ in range(callers)]
        for caller in crowd:
            selector.register(caller.line, selectors.EVENT_READ, caller)
            caller.ask(next(requests))
        busy = callers
        while busy:
            busy -= sum(_serve(key.data, requests, load, began, enough) for key, _ in selector.select(PATIENCE))
        load.seconds = time.perf_counter() - began
        for caller in crowd:
            caller.close()
    return load


def _serve(
    caller: Caller, requests: Iterator[bytes], load: Load, began: float, enough: Callable[[int, float], bool]
) -> bool:
    """Whether this caller has done its part."""
    if not caller.take():
        return False
    now = time.perf_counter()
    load.waits.append(now - caller.began)
    if not caller.buffer.startswith(OK):
        load.wrong.append(caller.buffer)
    if enough(len(load.waits), now - began):
        return True
    caller.ask(next(requests))
    return False


class Listener:
    """A WebSocket that counts what it is sent."""

    __slots__ = ("_buffer", "heard", "line")

    def __init__(self, port: int, path: str, token: str) -> None:
        self.line = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.heard: list[bytes] = []
        self._buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Authorization: Bearer {token}", "", "",
        ]  # fmt: skip
        self.line.sendall("\r\n".join(lines).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.line.recv(4096)
        if b" 101 " not in head:
            raise AssertionError(head.decode())

    def take(self) -> int:
        """Read what has come; how many messages it was."""
        self._buffer += self.line.recv(1 << 18)
        before = len(self.heard)
        while (frame := self._frame()) is not None:
            kind, payload = frame
            if kind == TEXT:
                self.heard.append(payload)
        return len(self.heard) - before

    def _frame(self) -> tuple[int, bytes] | None:
        """The next whole frame's kind and payload. A server's frames are not masked."""
        if len(self._buffer) < 4:
            return None
        kind, length, start = self._buffer[0], self._buffer[1], 2
        if length >= 126:
            start = 4 if length == 126 else 10
            length = int.from_bytes(self._buffer[2:start])
        if len(self._buffer) < start + length:
            return None
        payload, self._buffer = self._buffer[start : start + length], self._buffer[start + length :]
        return kind, payload

    def close(self) -> None:
        self.line.close()


def hear(listeners: Sequence[Listener], messages: int) -> list[float]:
    """When each of so many messages arrived, all listeners together; fewer when they do not come."""
    times: list[float] = []
    with selectors.DefaultSelector() as selector:
        for listener in listeners:
            selector.register(listener.line, selectors.EVENT_READ, listener)
        while len(times) < messages and (ready := selector.select(2.0)):
            for key, _ in ready:
                count = key.data.take()
                times += [time.perf_counter()] * count
    return times
