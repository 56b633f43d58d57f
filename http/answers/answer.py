"""The answer of an endpoint, independent of the server, and the finished answer with all headers.

A finished answer has its headers as pairs for frameworks, and as bytes for HTTP/1.1. Shared headers are encoded once:
to encode them for each answer would cost more than many answers do.

Shared headers are about caching, CORS, and the protection of web pages. They depend on the path.
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

# Bytes rendered between two checkpoints: some tens of ordinary statuses, or one of the largest with its author.
BYTES_AT_ONCE = 512 * 1024

Headers = tuple[tuple[str, str], ...]


EXPOSED = "Link, X-RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id, Mastodon-Async-Refresh"
# A browser caches a preflight for a day: the rules change with releases only.
PREFLIGHT_AGE = "86400"

# Paths with public answers: files, and the documents, feeds and pages of accounts, statuses, hashtags and emoji. Web
# clients of other origins may read them.
PUBLIC = (
    "/media/", "/media_proxy/", "/avatars/", "/headers/", "/emojis/", "/@", "/users/", "/tags/", "/actor",
    "/manifest.json",
)  # fmt: skip
NOT_PUBLIC = ("/inbox", ".atom")  # inboxes are for servers alone, and `.atom` has no answer or leads elsewhere
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
    """A response. `dispatch` adds the shared headers, and makes a `FinishedAnswer` of it.

    A `stream` replaces a body that is too large for memory. Its length is among the headers.
    """

    body: bytes = b""
    status: int = 200
    headers: Headers = ()
    content_type: str = JSON
    stream: Callable[[], AsyncIterator[bytes]] | None = None


# The API's answer without content: an empty object, never 204.
EMPTY = Answer(b"{}")
OK = Answer(b"OK", content_type="text/plain; charset=utf-8")


def json(value: object, status: int = 200, headers: Headers = ()) -> Answer:
    """Return a JSON answer from plain data. Frequent answers are made of rendered bytes instead."""
    return Answer(orjson.dumps(value), status, headers)


async def in_steps(bodies: Iterable[bytes]) -> list[bytes]:
    """Return the rendered bodies, with a checkpoint after each `BYTES_AT_ONCE` bytes.

    A post of another server may have half a megabyte with its author: a page of 40 takes a tenth of a second.
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
        """Return these headers without the headers in `names`."""
        if not names:
            return self
        found = self._shorter.get(names)
        if found is None:
            kept = tuple(header for header in self.headers if header[0] not in names)
            found = self._shorter[names] = SharedHeaders(kept)
        return found


class FinishedAnswer:
    """An answer with all headers, except its type and its length."""

    __slots__ = ("_lines", "_own", "_shared", "body", "content_type", "status", "stream")

    def __init__(self, answer: Answer, shared: SharedHeaders, *extra: tuple[str, str]) -> None:
        """Finish an answer with shared headers, and with extra headers of its own.

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

        With `closes` it has `Connection: close`. With `head_only` it has no body.
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
    """Return the head up to the length of the body."""
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return b"%b%bcontent-length: " % (line, _lines((("Content-Type", content_type),)))


def _lines(headers: Headers) -> bytes:
    """Return the lines of headers. Raises ValueError for a line break, because a client could inject headers by it."""
    text = "".join([f"{name.lower()}: {value}\r\n" for name, value in headers])
    if not text.count("\n") == text.count("\r") == len(headers):
        raise ValueError(f"A header of the answer has a line break in it: {[name for name, _ in headers]}")
    return text.encode()


@lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return b"date: %b\r\n" % formatdate(second, usegmt=True).encode()


OF_API, OF_PAGES = SharedHeaders(REST_WITH_CORS), SharedHeaders(PAGE)
OF_PUBLIC = SharedHeaders(PAGE + CORS)  # without `Vary: Authorization`, because the answers are public

# Sources of frame-ancestors, the sites that may show a page in a frame.
ANY_SITE, NO_SITE = "*", "'none'"
FRAMED = f"frame-ancestors {ANY_SITE};"


def varied(answer: Answer, name: str) -> Answer:
    """Return the answer with a header of the request added to `Vary`."""
    named = [part for header, value in answer.headers if header == "Vary" for part in value.split(", ")]
    others = tuple((header, value) for header, value in answer.headers if header != "Vary")
    return replace(answer, headers=(*others, ("Vary", ", ".join(dict.fromkeys([*named, name])))))


def cors_methods(path: str) -> str | None:
    """Return the methods that other origins may use on a path; None if they may use none."""
    if path.endswith(NOT_PUBLIC):
        return None
    return next((methods for prefix, methods in CORS_METHODS.items() if path.startswith(prefix)), None)


def family(path: str, own: Headers = ()) -> SharedHeaders:
    """Return the shared headers of a path, without the headers that the answer sets itself.

    A page whose policy lets other sites frame it gets no X-Frame-Options, because that header can't allow it.
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
    """Return the headers that answer a preflight. It names all headers, because `*` does not cover Authorization."""
    return (
        ("Access-Control-Allow-Methods", methods),
        ("Access-Control-Allow-Headers", wanted_headers or "Authorization, Content-Type, Idempotency-Key"),
        ("Access-Control-Max-Age", PREFLIGHT_AGE),
    )


def page_policy(form_targets: str = "", *, framed: bool = False, live: bool = False) -> Headers:
    """Return the content security policy of a web page. Other sites may frame the page only with `framed`.

    A `live` page may run script files of this server, which may open server-sent events here. Inline scripts are never
    allowed.

    Browsers apply `form-action` to the redirect after a form too. So `form_targets` has the scheme or origin of the app
    to which a form redirects.
    """
    scripts = "script-src 'self'; connect-src 'self'; " if live else ""
    policy = (
        f"default-src 'none'; {scripts}style-src 'self'; img-src 'self'; media-src 'self'; manifest-src 'self'; "
        f"base-uri 'none'; frame-ancestors {ANY_SITE if framed else NO_SITE}; form-action 'self' {form_targets}"
    )
    return (("Content-Security-Policy", policy.rstrip()),)
