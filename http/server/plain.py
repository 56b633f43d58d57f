"""Plain requests: those of HTTP/1.1 that can be read in one way only, and that have arrived as a whole.

httptools reads them, at a tenth of h11's cost, and they are answered without hypercorn. Everything else is left to
hypercorn, on the same connection: what is odd, what asks for something of the connection, what is large, and what is
not complete yet. So the rules below may leave valid requests to hypercorn, and must never take one that h11 refuses or
reads differently. That includes where it ends, because the next request begins there.
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
# What a target may consist of (RFC 3986), without the fragment, which no client sends.
OF_TARGETS = (ascii_letters + digits + "-._~!$&'()*+,;=:@%/?[]").encode()
# What the header `Host` may consist of: a name or an address, and a port (RFC 9110, section 7.2).
HOST = re.compile(rb"(?:[\w.~!$&'()*+,;=%-]*|\[[\dA-Fa-f:.]+\])(?::\d*)?")

# Requests beyond these bounds are left to hypercorn, which takes larger ones.
LARGEST_HEAD = 16 * 1024
LARGEST_BODY = 64 * 1024
MOST_HEADERS = 64
# Clients send the same heads again and again. Those of up to so many bytes are read once.
LONGEST_REMEMBERED = 1024
REMEMBERED = 2048

# Options of a connection that need nothing of the server: `upgrade` names no protocol without the header of that name.
# Proxies send it with every request if they are configured to pass upgrades on.
KEPT = (b"keep-alive", b"upgrade")
# Headers that change how a message or the connection is read. Proxies in front may know them or not.
UNPLAIN = frozenset({b"transfer-encoding", b"upgrade", b"expect", b"te", b"trailer", b"http2-settings"})


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """A complete request."""

    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]  # names in lower case, in the order in which they came
    body: bytes


# A head, read: the request without its body, and the length of the body.
Head = tuple[PlainRequest, int]


class Recogniser:
    """Finds plain requests. What it says of some bytes depends on them alone, so all connections share one."""

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
            self._begin()  # It waits for a body, which is read without it, or takes no further request.
        self._reusable = False
        return self._headers

    def _begin(self) -> None:
        called = SimpleNamespace(on_header=self._take_header, on_message_complete=self._end)
        self._parser = httptools.HttpRequestParser(called)
        self._reusable = False

    def _take_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def _end(self) -> None:
        self._reusable = self._parser.should_keep_alive()  # which it knows only until the next request


def _is_plain(headers: list[tuple[bytes, bytes]], fields: dict[bytes, bytes]) -> bool:
    if not UNPLAIN.isdisjoint(fields) or len(headers) > MOST_HEADERS or not HOST.fullmatch(fields.get(b"host", b"/")):
        return False
    if len(fields) < len(headers):
        names = [name for name, _ in headers]
        if any(names.count(name) > 1 for name in (b"host", b"content-length", b"connection")):
            return False
    return fields.get(b"connection", b"keep-alive").lower() in KEPT


def _length(fields: dict[bytes, bytes]) -> int | None:
    """Return the length of the body; None if it is no number or too large."""
    text = fields.get(b"content-length", b"0")
    if not text.isdigit() or len(text) > len(str(LARGEST_BODY)) or (length := int(text)) > LARGEST_BODY:
        return None
    return length


# Answers a plain request of the client with this address, as HTTP/1.1 sends it. None if hypercorn has to do it.
FastAnswer = Callable[[PlainRequest, str], Awaitable[bytes] | None]


class WaitingConnection(Protocol):
    """A connection whose client waits for an answer."""

    def fileno(self) -> int: ...

    def leave(self) -> None:
        """End the connection, because the client has closed it."""
        ...

    def end_rest(self) -> None:
        """End the connection, because the client has asked for nothing more for too long."""
        ...


class FastRequests:
    """Finds the plain requests in what clients send, and who answers them."""

    def __init__(self, answer: FastAnswer) -> None:
        self._recogniser = Recogniser()
        self._answer = answer
        self.waiting: set[WaitingConnection] = set()
        # Until when connections without a request stay open that had a plain one. The first to be closed comes first.
        self.resting: dict[WaitingConnection, float] = {}

    def first(self, data: bytes, client: str) -> tuple[Awaitable[bytes], int] | None:
        """Return the answer to the request at the start of the data, and its length; None if it is hypercorn's."""
        found = self._recogniser.first(data)
        if found is None:
            return None
        request, length = found
        answer = self._answer(request, client)
        return None if answer is None else (answer, length)

    async def watch(self) -> None:
        """End the connections of clients that have left instead of waiting for their answers, or that rest too long.

        A connection does not read while it answers, and most answers take less time than to start a task that would.
        A client that only sends no more looks the same: so those are ended that had left at the last look too.
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
        return [connection for connection, _ in takewhile(lambda one: one[1] <= now, self.resting.items())]

    def _left(self) -> list[WaitingConnection]:
        waiting = {connection.fileno(): connection for connection in self.waiting}
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, select.POLLRDHUP)  # errors are reported in any case
        return [waiting[descriptor] for descriptor, _ in poll.poll(0)] if waiting else []
