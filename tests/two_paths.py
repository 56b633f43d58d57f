"""Compares the fast path with the ordinary path, for each request that the fast path answers.

The paths differ before `respond` (`http/dispatch.py`) and after it: each makes a `Request` of the bytes that came, and
each writes the finished answer out. What `respond` does depends on the `Request` and the state of the server alone, so
it runs once, for the fast path. Then the ordinary path gets the same bytes, read by h11 as hypercorn reads them. It
must come to the same endpoint with an equal `Request`, and write the answer with the same status, headers and body.

To run each test again without the fast path would compare less: only what the test looks at, and never two answers of
one instant. But it shows what connections do, which these comparisons do not. So tests with sockets run twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from urllib.parse import unquote

import h11
import pytest
import trio

from troupe.http import app, dispatch, framework
from troupe.http.access.context import HttpContext
from troupe.http.answers.answer import FinishedAnswer
from troupe.http.asgi import Application, Message, Scope
from troupe.http.intake.request import Request, may_have_body
from troupe.http.router import Endpoint

from .replies import Reply, parsed

ADDRESS = "127.0.0.1"  # the address from which the clients of tests send
DATE = "date"  # The fast path writes it out. To answers of the ordinary path hypercorn adds it.

Parts = tuple[int, list[tuple[str, str]], bytes]  # status, headers in the order of their names, body


class Comparison:
    """One request, and what both paths make of it."""

    def __init__(self) -> None:
        self._requests: list[dict[str, object]] = []  # the fast path's, and the ordinary path's
        self._answer: FinishedAnswer | None = None
        self._body = b""

    async def respond(
        self, context: HttpContext, endpoint: Endpoint, request: Request, path: dict[str, str]
    ) -> FinishedAnswer:
        """Return the endpoint's answer to the fast path, and then the same one to the ordinary path."""
        self._requests.append(_facts(endpoint, request, path))
        if self._answer is None:
            self._answer = await dispatch.respond(context, endpoint, request, path)
        else:
            self._body = await request.raw_body()
        return self._answer

    async def check(self, app: Application, data: bytes, fast: Reply) -> None:
        """Send the request the ordinary way. Raise AssertionError if anything is not as on the fast path."""
        request, body = _read(data)
        answer = await _answer_of(app, request, body)
        of_the_fast_path = [*self._requests[:1], body if _is_read(request) else b"", _parts(fast)]
        of_the_other = [*self._requests[1:], self._body, answer]
        assert of_the_fast_path == of_the_other, f"fast path: {of_the_fast_path}\nordinary path: {of_the_other}"


_comparison = ContextVar[Comparison | None]("_comparison", default=None)


@asynccontextmanager
async def watched_paths() -> AsyncGenerator[None]:
    """Let comparisons see the requests of both paths, also in tests that undo all their patches."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (app, framework):
            patch.setattr(module, "respond", _respond)
        yield


async def compared(app: Application, data: bytes, answering: Awaitable[bytes]) -> Reply:
    """Return the answer of the fast path to a request, which the ordinary path has to give as well."""
    comparison = Comparison()
    token = _comparison.set(comparison)
    try:
        answer = parsed(data.partition(b" ")[0].decode(), await answering)
        await comparison.check(app, data, answer)
    finally:
        _comparison.reset(token)
    return answer


async def _respond(context: HttpContext, endpoint: Endpoint, request: Request, path: dict[str, str]) -> FinishedAnswer:
    running = _comparison.get() or dispatch
    return await running.respond(context, endpoint, request, path)


def _facts(endpoint: Endpoint, request: Request, path: dict[str, str]) -> dict[str, object]:
    """Return all of a request that an answer may depend on, except for its body, which can be read only once."""
    # Each path makes an id of its own if it does not take the client's.
    id = request.request_id if request.request_id == request.header(b"x-request-id") else None
    return {
        "endpoint": (endpoint.method, endpoint.path, path), "method": request.method, "path": request.path,
        "query": request.query_string, "headers": request.headers, "peer": request.peer, "id": id,
    }  # fmt: skip


def _read(data: bytes) -> tuple[h11.Request, bytes]:
    """Read a request as hypercorn does."""
    server, body = h11.Connection(h11.SERVER), b""
    server.receive_data(data)
    head = server.next_event()
    assert isinstance(head, h11.Request)
    while isinstance(event := server.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    return head, body


async def _answer_of(app: Application, request: h11.Request, body: bytes) -> Parts:
    """Return what an application answers to a request from hypercorn."""
    path, _, query = request.target.partition(b"?")
    scope: Scope = {
        "type": "http", "http_version": "1.1", "asgi": {"spec_version": "2.1", "version": "3.0"}, "scheme": "http",
        "method": request.method.decode(), "path": unquote(path.decode("ascii")), "raw_path": path,
        "query_string": query, "root_path": "", "headers": list(request.headers), "client": (ADDRESS, 50_000),
        "server": ("127.0.0.1", 3000), "state": {}, "extensions": {},
    }  # fmt: skip
    arriving = [body, b""] if body else [b""]
    sent: list[Message] = []

    async def receive() -> Message:
        if not arriving:
            await trio.sleep_forever()
        chunk = arriving.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(arriving)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
    written = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], sorted(headers), b"" if request.method == b"HEAD" else written


def _parts(answer: Reply) -> Parts:
    return answer.status, sorted(header for header in answer.headers if header[0] != DATE), answer.body


def _is_read(request: h11.Request) -> bool:
    """True if the ordinary path has a body for the endpoint."""
    return may_have_body(request.method.decode(), dict(request.headers))
