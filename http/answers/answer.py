"""The answer of an endpoint, independent of the server, and the finished answer: with all its headers.

A finished answer has them as pairs for frameworks, and as bytes for HTTP/1.1. What many answers share is encoded once.
Writing out all headers for each answer costs more than many answers.

The headers that many answers share are those of caching, CORS, and the protection of web pages. The path decides.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

import orjson
import trio

JSON = "application/json; charset=utf-8"

# Rendered at once, before others have a turn: some tens of ordinary statuses, or one of the largest with its author.
BYTES_AT_ONCE = 512 * 1024

Headers = tuple[tuple[str, str], ...]


EXPOSED = "Link, X-RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id, Mastodon-Async-Refresh"
# A browser caches a preflight for a day: the rules change with releases only.
PREFLIGHT_AGE = "86400"

# Paths whose answers are the same for everybody and need no cookie: files, which web clients of other origins store,
# and the documents, feeds and pages of accounts, statuses, hashtags and emoji, which they read.
PUBLIC = (
    "/media/", "/media_proxy/", "/avatars/", "/headers/", "/emojis/", "/@", "/users/", "/tags/", "/actor",
    "/manifest.json",
)  # fmt: skip
NOT_PUBLIC = ("/inbox", ".atom")  # inboxes are for servers alone, and the feeds of OStatus are gone
CORS_METHODS = {
    "/api/": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "/oauth/token": "POST, OPTIONS",
    "/oauth/revoke": "POST, OPTIONS",
    "/oauth/userinfo": "GET, POST, OPTIONS",
    "/.well-known/": "GET, OPTIONS",
    "/nodeinfo/": "GET, OPTIONS",
    **dict.fromkeys(PUBLIC, "GET, HEAD, OPTIONS"),
}
WITH_CORS = tuple(CORS_METHODS)

# Answers of the API are personal. No cache on the way may store them.
NOSNIFF = ("X-Content-Type-Options", "nosniff")
REST: Headers = (("Cache-Control", "private, no-store"), ("Vary", "Authorization"), NOSNIFF)
CORS: Headers = (("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", EXPOSED))
REST_WITH_CORS: Headers = REST + CORS
PAGE: Headers = (
    ("Cache-Control", "private, no-store"),
    ("X-Frame-Options", "DENY"),
    NOSNIFF,
    ("Referrer-Policy", "no-referrer"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `dispatch` adds the headers that every answer has, and makes a `FinishedAnswer` of it.

    A body that is too large for memory is given as a `stream`, with its length among the headers.
    """

    body: bytes = b""
    status: int = 200
    headers: Headers = ()
    content_type: str = JSON
    stream: Callable[[], AsyncIterator[bytes]] | None = None


# Where there is nothing to answer, the API sends an empty object, never 204.
EMPTY = Answer(b"{}")
OK = Answer(b"OK", content_type="text/plain; charset=utf-8")


def json(value: object, status: int = 200, headers: Headers = ()) -> Answer:
    """Return a JSON answer from plain data. Frequent answers are made of prepared bytes instead."""
    return Answer(orjson.dumps(value), status, headers)


async def in_steps(bodies: Iterable[bytes]) -> list[bytes]:
    """Return bodies that are made one after the other. Others have a turn after each `BYTES_AT_ONCE` of them.

    A post of another server, with its author, may have half a megabyte: forty of them take a tenth of a second.
    """
    made: list[bytes] = []
    size = whole = 0
    for body in bodies:
        made.append(body)
        size += len(body)
        if size >= BYTES_AT_ONCE:
            whole, size = whole + size, 0
            await trio.lowlevel.checkpoint()
    if whole:
        await trio.lowlevel.checkpoint()  # before they are joined
    return made


def array(items: list[bytes], headers: Headers = ()) -> Answer:
    """Return a JSON array of items that are already rendered."""
    return Answer(b"[%b]" % b",".join(items), 200, headers)


def redirect(location: str, headers: Headers = ()) -> Answer:
    """Return a 302 that leads the browser to `location`."""
    return Answer(b"", 302, (("Location", location), *headers), "text/html; charset=utf-8")


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


OF_API, OF_PAGES = SharedHeaders(REST_WITH_CORS), SharedHeaders(PAGE)
OF_PUBLIC = SharedHeaders(PAGE + CORS)  # not personal: the same for each Authorization

# Sources of frame-ancestors, the sites that may show a page in a frame.
ANY_SITE, NO_SITE = "*", "'none'"
FRAMED = f"frame-ancestors {ANY_SITE};"


def varied(answer: Answer, name: str) -> Answer:
    """Return an answer that depends on a header of the request, so that no cache shows it to others."""
    named = [one for header, value in answer.headers if header == "Vary" for one in value.split(", ")]
    others = tuple((header, value) for header, value in answer.headers if header != "Vary")
    return replace(answer, headers=(*others, ("Vary", ", ".join(dict.fromkeys([*named, name])))))


def cors_methods(path: str) -> str | None:
    """Return the methods that other origins may use on a path; None if they may use none."""
    if path.endswith(NOT_PUBLIC):
        return None
    return next((methods for prefix, methods in CORS_METHODS.items() if path.startswith(prefix)), None)


def family(path: str, own: Headers = ()) -> SharedHeaders:
    """Return the headers of every answer on a path, without those that the answer sets itself.

    A page whose own policy lets other sites frame it gets no X-Frame-Options, which knows no such permission.
    """
    shared = _shared(path)
    if not own:
        return shared
    named = {name for name, _ in own}
    if any(FRAMED in value for _, value in own):
        named.add("X-Frame-Options")
    return shared.without(frozenset(named & shared.names))


def _shared(path: str) -> SharedHeaders:
    if path.startswith(PUBLIC):
        return OF_PAGES if path.endswith(NOT_PUBLIC) else OF_PUBLIC
    return OF_API if path.startswith(WITH_CORS) else OF_PAGES


def preflight(methods: str, wanted_headers: str | None) -> Headers:
    """Return the headers that answer a preflight. They are named, because `*` does not cover Authorization."""
    return (
        ("Access-Control-Allow-Methods", methods),
        ("Access-Control-Allow-Headers", wanted_headers or "Authorization, Content-Type, Idempotency-Key"),
        ("Access-Control-Max-Age", PREFLIGHT_AGE),
    )


def page_policy(form_targets: str = "", *, framed: bool = False, live: bool = False) -> Headers:
    """Return the content security policy of a web page, which other sites may show in a frame only if it is `framed`.

    A `live` page may run scripts of this server, which may ask this server for events. No page has a script of its own.

    Browsers apply `form-action` to the redirect after a form too. So a page with a form that leads to an app names the
    app's scheme or origin.
    """
    scripts = "script-src 'self'; connect-src 'self'; " if live else ""
    policy = (
        f"default-src 'none'; {scripts}style-src 'self'; img-src 'self'; media-src 'self'; manifest-src 'self'; "
        f"base-uri 'none'; frame-ancestors {ANY_SITE if framed else NO_SITE}; form-action 'self' {form_targets}"
    )
    return (("Content-Security-Policy", policy.rstrip()),)
