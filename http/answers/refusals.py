"""The answers that the server gives without the application, in the API's shape: `{"error": "..."}`."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from .answer import Answer
from .errors import HttpError, Overloaded, error_answer
from .headers import REST_WITH_CORS

RawHeaders = list[tuple[bytes, bytes]]


def refusal(status: int) -> Answer:
    """Return the answer to a request that is not valid HTTP."""
    error = HttpError(HTTPStatus(status).phrase)
    error.status = status
    return _finished(error)


def overloaded() -> Answer:
    """Return the 503 of a server that is full or stops."""
    return _finished(Overloaded())


def raw_headers(answer: Answer) -> RawHeaders:
    """Return the headers of an answer as bytes, with the type and the length of its body."""
    own = (("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body))), *answer.headers)
    return [(name.lower().encode(), value.encode()) for name, value in own]


def http_1_bytes(answer: Answer) -> bytes:
    """Return an answer as HTTP/1.1 sends it. The connection closes after it."""
    status = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n".encode()
    headers = [*raw_headers(answer), (b"connection", b"close")]
    return status + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n" + answer.body


def _finished(error: HttpError) -> Answer:
    answer = error_answer(error, "-")
    return replace(answer, headers=(*answer.headers, *REST_WITH_CORS))


OVERLOADED = http_1_bytes(overloaded())
