"""A request, independent of the server and the framework, and its body.

Quart receives a body as fast as it arrives and holds it in memory until it is read, so every request could take as much
memory as the largest upload. Here a body is received only as fast as the endpoint reads it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import count

import trio

from ...actors.kernel.message import Origin
from ...storage.secrets import without_dashes
from ..answers.errors import HttpError, Malformed, TooLarge
from ..asgi import HOSTS, Message, Receive, Scope
from ..server.addresses import FORWARDED_FOR, Network, client_address, forwarded_for
from .decoding import Pairs, Tree, nest, read_form, read_json, read_plain, read_untyped, read_urlencoded
from .multipart import read_multipart

# The parameters in which a client may send its token. No answer repeats them.
TOKEN_PARAMETERS = ("access_token", "bearer_token")
# The bound of bodies without files. Endpoints that take files declare their own.
LARGEST_BODY = 1024 * 1024
# The time for a body, so that a slow client cannot hold a connection for long. Endpoints with larger limits allow a
# minute more for every four MiB.
BODY_SECONDS = 60
BYTES_A_SECOND = 64 * 1024

JSON_TYPES = frozenset({"application/json", "application/jsonrequest", "text/json", "text/x-json"})
READERS = {"": read_untyped, "application/x-www-form-urlencoded": read_form, "text/plain": read_plain}
# A larger form is decoded in a thread: a megabyte of escapes takes a tenth of a second.
LARGE_FORM = 64 * 1024

# The methods whose body is read also without a `Content-Type`.
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
BODY_KEY = "troupe.body"  # the key of a body in its request's scope

# If the body was not read to its end before the answer, at most this much of it is read and dropped, so that the
# connection can be used again.
LEFT_BYTES = 1024 * 1024
LEFT_SECONDS = 5

# Ids of requests: the length of the random beginning (132 bits), and the form of ids that clients send. None begins
# with a dash, because `troupe request` takes it for an option then.
BEGINNING = 22
REQUEST_ID = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]{0,63}")
RawHeaders = Iterable[tuple[bytes, bytes]]


class SlowBody(HttpError):
    status = 408


class Compressed(HttpError):
    """A body in an encoding that is not read; the header says which one is (RFC 9110, section 12.5.3)."""

    status = 415

    def __init__(self) -> None:
        super().__init__("The request body must not be compressed", headers=(("Accept-Encoding", "identity"),))


class Request:
    """Method, path, headers and parameters. The body is read once, when the parameters are first needed."""

    __slots__ = (
        "_body",
        "_headers",
        "_parameters",
        "_query",
        "_raw_headers",
        "method",
        "path",
        "peer",
        "query_string",
        "request_id",
        "trace",
    )

    def __init__(
        self,
        method: str,
        path: str,
        query_string: bytes,
        headers: RawHeaders,
        peer: str,
        body: AsyncIterable[bytes],
        request_id: str = "-",
    ) -> None:
        self.method = method
        self.path = path
        self.query_string = query_string
        self.peer = peer
        self.request_id = request_id
        self.trace = ""  # the `traceparent` of its span, if it is traced
        self._raw_headers = headers
        self._headers = dict(headers)
        self._body = body
        self._query: Pairs | None = None
        self._parameters: Tree | None = None

    def raw_header(self, name: bytes) -> bytes | None:
        """Return a header by its lower-case name, as it was sent; None if the request has none."""
        return self._headers.get(name)

    def header(self, name: bytes) -> str | None:
        """Return a header by its lower-case name; None if the request has none."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def joined_header(self, name: bytes) -> str | None:
        """Return all lines of a header by its lower-case name, joined by commas; None if the request has none."""
        lines = [value.decode("latin-1") for header, value in self._raw_headers if header.lower() == name]
        return ", ".join(lines) if lines else None

    @property
    def headers(self) -> dict[str, str]:
        """All headers by their lower-case names. Repeated headers are joined by commas."""
        joined: dict[str, str] = {}
        for name, value in self._raw_headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            joined[key] = f"{joined[key]}, {text}" if key in joined else text
        return joined

    @property
    def query(self) -> Pairs:
        """The pairs of the query string, in order."""
        if self._query is None:
            self._query = read_urlencoded(self.query_string) if self.query_string else []
        return self._query

    @property
    def query_texts(self) -> list[tuple[str, str]]:
        """The query's pairs without files, which a query string does not have."""
        return [(name, value) for name, value in self.query if isinstance(value, str)]

    @property
    def origin(self) -> Origin:
        """The origin of the messages that this request causes."""
        return Origin(self.request_id, (), self.trace)

    @property
    def has_body(self) -> bool:
        """True if there may be a body to read."""
        return may_have_body(self.method, self._headers)

    async def raw_body(self, limit: int = LARGEST_BODY) -> bytes:
        """Return the bytes of the body, which a signature covers."""
        self._check_length(limit)
        try:
            with trio.fail_after(BODY_SECONDS + limit // BYTES_A_SECOND):
                return b"".join([chunk async for chunk in self._limited(limit)])
        except trio.TooSlowError:
            raise SlowBody("The request body took too long") from None

    async def parameters(self, body_limit: int = LARGEST_BODY) -> Tree:
        """Return query and body in one nested dict. Parameters of the body replace those of the query."""
        if self._parameters is None:
            tree = nest(self.query) if self.query_string else {}
            if self.has_body:
                tree |= await self._read_body(body_limit)
            self._parameters = tree
        return self._parameters

    async def _read_body(self, limit: int) -> Tree:
        # It is not read: a few bytes of a compressed body may become any number.
        if (self.joined_header(b"content-encoding") or "").strip().lower() not in ("", "identity"):
            raise Compressed
        self._check_length(limit)
        try:
            with trio.fail_after(BODY_SECONDS + limit // BYTES_A_SECOND):
                return await self._read_as(self.header(b"content-type") or "", limit)
        except trio.TooSlowError:
            raise SlowBody("The request body took too long") from None

    async def _read_as(self, content_type: str, limit: int) -> Tree:
        # A proxy may have joined two headers by a comma.
        kind = content_type.partition(";")[0].partition(",")[0].strip().lower()
        if kind.startswith("multipart/"):
            return nest(await read_multipart(content_type, self._limited(limit)))
        # A body without files is read into memory, so the larger bound of endpoints with files does not apply.
        raw = b"".join([chunk async for chunk in self._limited(min(limit, LARGEST_BODY))])
        if (read := READERS.get(kind)) is not None:
            return read(raw) if len(raw) <= LARGE_FORM else await trio.to_thread.run_sync(read, raw)
        return read_json(raw) if kind in JSON_TYPES or kind.endswith("+json") else {}

    def _check_length(self, limit: int) -> None:
        declared = self._headers.get(b"content-length", b"0")
        if not declared.isdigit():
            raise Malformed("Content-Length is not a number")
        if int(declared) > limit:
            raise TooLarge

    async def _limited(self, limit: int) -> AsyncIterable[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > limit:
                raise TooLarge
            yield chunk

    def address(self, trusted: Sequence[Network] = ()) -> str:
        """Return the client's address: from the trusted proxies, else the peer's."""
        return client_address(self.peer, self.forwarded_for, trusted) if trusted else self.peer

    @property
    def forwarded_for(self) -> str | None:
        """The value of X-Forwarded-For; None if there is none."""
        return forwarded_for(self._raw_headers) if FORWARDED_FOR in self._headers else None


def request_of(scope: Scope, new_id: Callable[[], str], body: AsyncIterable[bytes] | None = None) -> Request:
    """Return the request of an ASGI scope. `new_id` makes its id if the client sent no valid id."""
    peer = (scope.get("client") or ("127.0.0.1", 0))[0]
    headers = [*scope["headers"], *scope.get(HOSTS, ())]
    request = Request(
        scope.get("method", "GET"), scope["path"], scope["query_string"], headers, peer, body or ArrivedBody(b"")
    )
    request.request_id = request_id(request.header(b"x-request-id"), new_id)
    return request


def request_ids(secret: str) -> Callable[[], str]:
    """Return a function that makes request ids: a beginning that no other process has, and a number.

    A random id for each request would cost more than many answers do.
    """
    start, numbers = without_dashes(secret[:BEGINNING]), count(1)
    return lambda: f"{start}-{next(numbers):x}"


def request_id(given: str | None, make: Callable[[], str]) -> str:
    """Return the client's id for the request if it is fit for a log, else a new id."""
    return given if given is not None and REQUEST_ID.fullmatch(given) else make()


class Body:
    """The body of a request, which can be read once."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = trio.Event()
        self._empty_sent = False
        self._gone = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._ended.is_set():
            event = await self._receive()
            if event["type"] == "http.disconnect":
                self._gone = True
                self._ended.set()
                raise Malformed("The request body ended too early")
            if not event.get("more_body", False):
                self._ended.set()
            if event.get("body"):
                yield event["body"]

    async def receive(self) -> Message:
        """Return ASGI events for the framework: first an empty body, later the disconnection of the client."""
        if not self._empty_sent:
            self._empty_sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._ended.wait()
        return {"type": "http.disconnect"} if self._gone else await self._receive()

    async def leave(self) -> bool:
        """Drop the rest of the body. Return True if the end was reached within the limits.

        Raises Malformed if the client is gone before.
        """
        left = LEFT_BYTES
        with trio.move_on_after(LEFT_SECONDS):
            async for chunk in self:
                left -= len(chunk)
                if left < 0:
                    break
        return self._ended.is_set()


def may_have_body(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """True if a request may have a body that an endpoint reads: it has a `Content-Type`, or its method is in `WRITING`.

    Some clients send no type, and HTTP/2 does not require a length.
    """
    return b"content-type" in headers or (method in WRITING and headers.get(b"content-length") != b"0")


class ArrivedBody:
    """A body that has arrived as a whole."""

    __slots__ = ("_left",)

    def __init__(self, body: bytes) -> None:
        self._left = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        body, self._left = self._left, b""
        return body
