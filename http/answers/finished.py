"""The finished answer: with all its headers, for frameworks as pairs and for HTTP/1.1 as bytes.

What many answers share is encoded once. Writing out all headers for each answer costs more than many answers.
"""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from .answer import Answer, Headers


class SharedHeaders:
    """Headers that many answers have."""

    __slots__ = ("_shorter", "headers", "lines", "names")

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        self.names = frozenset(name for name, _ in headers)
        self.lines = _lines(headers)
        self._shorter: dict[frozenset[str], SharedHeaders] = {}

    def without(self, names: frozenset[str]) -> SharedHeaders:
        """Return these headers without the named ones."""
        if not names:
            return self
        found = self._shorter.get(names)
        if found is None:
            kept = tuple(header for header in self.headers if header[0] not in names)
            found = self._shorter[names] = SharedHeaders(kept)
        return found


class FinishedAnswer:
    """An answer as it leaves the server. Its type and its length are not among the headers."""

    __slots__ = ("_lines", "_own", "_shared", "body", "content_type", "status", "stream")

    def __init__(self, answer: Answer, shared: SharedHeaders, *extra: tuple[str, str]) -> None:
        """Finish an answer with the headers that many have, and with extra ones of its own.

        Raises ValueError for a header with a line break in it.
        """
        self.status = answer.status
        self.content_type = answer.content_type
        self.body = answer.body
        self.stream = answer.stream
        self._own = answer.headers + extra
        self._lines = _lines(self._own)
        self._shared = shared

    @property
    def headers(self) -> Headers:
        return self._own + self._shared.headers

    def http_1(self, *, closes: bool = False, head_only: bool = False) -> bytes:
        """Return the answer as HTTP/1.1 sends it.

        With `closes` it says that the connection closes after it. With `head_only` it is without its body.
        """
        return b"%b%d\r\n%b%b%b%b\r\n%b" % (
            _start(self.status, self.content_type), len(self.body), self._lines, self._shared.lines,
            b"connection: close\r\n" if closes else b"", _date(int(time.time())), b"" if head_only else self.body,
        )  # fmt: skip


def head_of(status: HTTPStatus, headers: Headers) -> bytes:
    """Return the head of an answer without a length. Raises ValueError for a header with a line break in it."""
    line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    return b"%b%b%b\r\n" % (line, _lines(headers), _date(int(time.time())))


@lru_cache(maxsize=256)
def _start(status: int, content_type: str) -> bytes:
    """Return what comes before the length of the body."""
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return b"%b%bcontent-length: " % (line, _lines((("Content-Type", content_type),)))


def _lines(headers: Headers) -> bytes:
    """Return the lines of headers. A line break in a value, which could be a client's, would begin another header."""
    text = "".join([f"{name.lower()}: {value}\r\n" for name, value in headers])
    if not text.count("\n") == text.count("\r") == len(headers):
        raise ValueError(f"A header of the answer has a line break in it: {[name for name, _ in headers]}")
    return text.encode()


@lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return b"date: %b\r\n" % formatdate(second, usegmt=True).encode()
