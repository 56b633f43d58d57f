"""A load generator that costs little itself: blocking sockets behind one selector, requests that are bytes already.

It sends what wrk can't: each request another one. Pages that are asked for again and again are wrk's (`wrk.py`).
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
OK = b"HTTP/1.1 20"  # 200, and 202 for what is done later
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to, in operations and seconds."""

    count: int
    seconds: float
    p50: float
    p99: float


@dataclass(slots=True)
class Load:
    """The answers of a run."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list[float])  # of each request, in seconds
    wrong: list[bytes] = field(default_factory=list[bytes])  # answers other than 200

    def wait(self, share: float) -> float:
        """The wait that this share of the requests did not exceed."""
        return sorted(self.waits)[min(len(self.waits) - 1, int(len(self.waits) * share))]

    def outcome(self, operations: int | None = None) -> Outcome:
        """The run in figures; an error if an answer was wrong. Without a number, each wait was an operation."""
        if self.wrong:
            raise AssertionError(self.wrong[0].decode())
        return Outcome(operations or len(self.waits), self.seconds, self.wait(0.5), self.wait(0.99))


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
        """Read what has come; return True if the answer is complete."""
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
    def succeeded(self) -> bool:
        return self.buffer.startswith(OK)

    @property
    def body(self) -> bytes:
        return self.buffer.partition(b"\r\n\r\n")[2]

    def call(self, what: bytes) -> bytes:
        """One request and its answer's body."""
        self.ask(what)
        while not self.take():
            pass
        if not self.succeeded:
            raise AssertionError(self.buffer.decode())
        return self.body

    def timed(self, what: bytes, load: Load) -> bytes:
        """As `call`; the load is told how long it took."""
        start = time.perf_counter()
        body = self.call(what)
        load.waits.append(time.perf_counter() - start)
        return body

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
    """Return True if this caller has done its part."""
    if not caller.take():
        return False
    now = time.perf_counter()
    load.waits.append(now - caller.began)
    if not caller.succeeded:
        load.wrong.append(caller.buffer)
    if enough(len(load.waits), now - began):
        return True
    caller.ask(next(requests))
    return False
