"""The answers of the server without the application, in the API's shape: `{"error": "..."}`."""

from __future__ import annotations

from http import HTTPStatus

from .answer import OF_API, FinishedAnswer
from .errors import HttpError, Overloaded, error_answer

RawHeaders = list[tuple[bytes, bytes]]
# A 426 names the protocol (RFC 9110, section 15.5.22) and its version (RFC 6455).
HEADERS = {426: (("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"))}


def refusal(status: int) -> FinishedAnswer:
    """Return the answer to a request that is not valid HTTP."""
    error = HttpError(HTTPStatus(status).phrase, headers=HEADERS.get(status, ()))
    error.status = status
    return _finished(error)


def overloaded() -> FinishedAnswer:
    """Return the 503 of a server that is full or stops."""
    return _finished(Overloaded())


def raw_headers(answer: FinishedAnswer) -> RawHeaders:
    """Return the headers of an answer as bytes, with the type and the length of its body."""
    own = (("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body))), *answer.headers)
    return [(name.lower().encode(), value.encode()) for name, value in own]


def _finished(error: HttpError) -> FinishedAnswer:
    return FinishedAnswer(error_answer(error, "-"), OF_API)
