"""Plain requests: unambiguous requests of HTTP/1.1 that have arrived as a whole.

httptools reads them, at a tenth of h11's cost, and they are answered without hypercorn. hypercorn gets all other
requests on the connection: unusual, large or incomplete requests, and requests that change the connection. The rules
below may leave valid requests to hypercorn. They must never accept a request that h11 refuses or reads differently,
also in its length, because the next request begins at its end.
"""

from __future__ import annotations

import re
import select
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from string import ascii_letters, digits
from types import SimpleNamespace
from typing import Protocol
from urllib.parse import unquote

import httptools
import trio

from . import limits

BLANK_LINE = b"\r\n\r\n"
VERSION = b" HTTP/1.1"
METHODS = {name: name.decode() for name in (b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE")}
WITHOUT_BODY = ("GET", "HEAD")
BEGINNINGS = tuple(b"%b /" % name for name in METHODS)
# The characters of a target (RFC 3986), without `#`, because clients do not send the fragment.
OF_TARGETS = (ascii_letters + digits + "-._~!$&'()*+,;=:@%/?[]").encode()
# The value of the header `Host`: a name or an address, and a port (RFC 9110, section 7.2).
HOST = re.compile(rb"(?:[\w.~!$&'()*+,;=%-]*|\[[\dA-Fa-f:.]+\])(?::\d*)?")

# Larger requests are left to hypercorn, which has higher bounds.
LARGEST_HEAD = 16 * 1024
LARGEST_BODY = 64 * 1024
MOST_HEADERS = 64
# Clients repeat their heads, so heads of up to this many bytes are cached.
LONGEST_REMEMBERED = 1024
REMEMBERED = 2048

# Values of `Connection` that need no action. `upgrade` has no effect without a header `Upgrade`. Proxies that
# are configured to pass upgrades on send it with every request.
KEPT = (b"keep-alive", b"upgrade")
# Headers that change how a message or the connection is read.
UNPLAIN = frozenset({b"transfer-encoding", b"upgrade", b"expect", b"te", b"trailer", b"http2-settings"})


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """A complete request."""

    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]  # names in lower case, in the order in which they came
    body: bytes


# A parsed head: the request without its body, and the length of the body.
Head = tuple[PlainRequest, int]


class Recogniser:
    """Finds plain requests. It keeps no state of a connection, so all connections share it."""

    def __init__(self) -> None:
        self._begin()
        self._remembered = lru_cache(REMEMBERED)(self._head)

    def first(self, data: bytes) -> tuple[PlainRequest, int] | None:
        """Return the request at the start of the data, and its length; None if it is not plain."""
        end = data.find(BLANK_LINE) + len(BLANK_LINE)
        if not len(BLANK_LINE) < end <= LARGEST_HEAD:
            return None
        found = self._remembered(data[:end]) if end <= LONGEST_REMEMBERED else self._head(data[:end])
        if found is None:
            return None
        request, length = found
        if not length:
            return request, end
        if end + length > len(data):
            return None
        body = data[end : end + length]
        return PlainRequest(request.method, request.path, request.query, request.headers, body), end + length

    def _head(self, head: bytes) -> Head | None:
        """Read a head. None if the request is not plain."""
        # The parser keeps spaces at the end of a value, and h11 removes them.
        if not head.startswith(BEGINNINGS) or not head.isascii() or b" \r\n" in head or b"\t\r\n" in head:
            return None
        line = head[: head.index(b"\r\n")]
        name, _, target = line.removesuffix(VERSION).partition(b" ")
        if not line.endswith(VERSION) or target.startswith(b"//") or target.translate(None, OF_TARGETS):
            return None
        return self._read(head, METHODS[name], target)

    def _read(self, head: bytes, method: str, target: bytes) -> Head | None:
        headers = self._parse(head)
        if headers is None:
            return None
        fields = dict(headers)
        if not _is_plain(headers, fields):
            return None
        length = _length(fields)
        if length is None or (length and method in WITHOUT_BODY):
            return None
        path, _, query = target.partition(b"?")
        text = path.decode("ascii")
        return PlainRequest(method, unquote(text) if "%" in text else text, query, tuple(headers), b""), length

    def _parse(self, head: bytes) -> list[tuple[bytes, bytes]] | None:
        """Return the headers, or None if the parser refuses the head."""
        self._headers: list[tuple[bytes, bytes]] = []
        try:
            self._parser.feed_data(head)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._begin()
            return None
        if not self._reusable:
            self._begin()  # The parser waits for a body, which `first` reads, or accepts no further request.
        self._reusable = False
        return self._headers

    def _begin(self) -> None:
        called = SimpleNamespace(on_header=self._take_header, on_message_complete=self._end)
        self._parser = httptools.HttpRequestParser(called)
        self._reusable = False

    def _take_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def _end(self) -> None:
        self._reusable = self._parser.should_keep_alive()  # known only until the next request


def _is_plain(headers: list[tuple[bytes, bytes]], fields: dict[bytes, bytes]) -> bool:
    if not UNPLAIN.isdisjoint(fields) or len(headers) > MOST_HEADERS or not HOST.fullmatch(fields.get(b"host", b"/")):
        return False
    if len(fields) < len(headers):
        names = [name for name, _ in headers]
        if any(names.count(name) > 1 for name in (b"host", b"content-length", b"connection")):
            return False
    return fields.get(b"connection", b"keep-alive").lower() in KEPT


def _length(fields: dict[bytes, bytes]) -> int | None:
    """Return the length of the body; None if the header is not a number or too large."""
    text = fields.get(b"content-length", b"0")
    if not text.isdigit() or len(text) > len(str(LARGEST_BODY)) or (length := int(text)) > LARGEST_BODY:
        return None
    return length


# Called with a plain request and the client's address. Returns the answer as HTTP/1.1 bytes; None for hypercorn.
FastAnswer = Callable[[PlainRequest, str], Awaitable[bytes] | None]


class WaitingConnection(Protocol):
    """A connection whose client waits for an answer."""

    def fileno(self) -> int: ...

    def leave(self) -> None:
        """End the connection, because the client has closed it."""
        ...

    def end_rest(self) -> None:
        """End the connection, because the client has sent no request for too long."""
        ...


class FastRequests:
    """Finds plain requests and their answers, and ends connections that clients have left."""

    def __init__(self, answer: FastAnswer) -> None:
        self._recogniser = Recogniser()
        self._answer = answer
        self.waiting: set[WaitingConnection] = set()
        # Connections that wait for a request after a plain request, and when they are closed; the earliest comes first.
        self.resting: dict[WaitingConnection, float] = {}

    def first(self, data: bytes, client: str) -> tuple[Awaitable[bytes], int] | None:
        """Return the answer to the request at the start of the data, and the request's length; None for hypercorn."""
        found = self._recogniser.first(data)
        if found is None:
            return None
        request, length = found
        answer = self._answer(request, client)
        return None if answer is None else (answer, length)

    async def watch(self) -> None:
        """End connections whose clients have left during an answer, or have sent no request for too long.

        A connection does not read while it answers: most answers take less time than the start of a task that reads. A
        client that shuts down only its sending side looks as if it had left, so it gets `limits.LEFT` seconds: only a
        connection that is found twice is ended.
        """
        before: set[WaitingConnection] = set()
        while True:
            await trio.sleep(limits.LEFT)
            left = set(self._left())
            for connection in left & before:
                connection.leave()
            before = left
            for connection in self._rested():
                del self.resting[connection]
                connection.end_rest()

    def _rested(self) -> list[WaitingConnection]:
        now = trio.current_time()
        return [connection for connection, _ in takewhile(lambda resting: resting[1] <= now, self.resting.items())]

    def _left(self) -> list[WaitingConnection]:
        waiting = {connection.fileno(): connection for connection in self.waiting}
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, select.POLLRDHUP)  # errors are reported in any case
        return [waiting[descriptor] for descriptor, _ in poll.poll(0)] if waiting else []
