"""All errors in the shape of the API: one tree, and one function that turns an exception into an answer.

HttpError                  status and meaning
├── Malformed              400, a parameter missing or unreadable
├── Unauthorized           401 with WWW-Authenticate
├── Forbidden              403
├── NotFound               404; hidden is the same as missing
├── MethodNotAllowed       405
├── Gone                   410, a suspended account
├── TooLarge               413
├── Unprocessable          422
├── TooMany                429
├── BackendFailed          503, another server that the answer needs fails
├── NotReady               503 with Retry-After, from the endpoints for readiness
└── Overloaded             503 with Retry-After: too many connections, or the server stops
actors.kernel.Refused      the status and text it carries
actors.kernel.NotAnswered  503 with Retry-After, as storage's Unavailable and Doubtful
a fault of the machine     503 too, such as a full disk (`storage/engine/faults.py`)
anything else              500 with the request id; the cause is in the supervision log only
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from ...actors.kernel.errors import NotAnswered, Refused
from ...storage.engine.database import StorageError
from ...storage.engine.faults import machine_fault
from .answer import Answer, Headers

TRY_AGAIN = "There was a temporary problem serving your request, please try again"
# Seconds in the Retry-After while the database cannot be reached: long enough for a restart of PostgreSQL.
STORAGE_PAUSE = 3
# Seconds in the Retry-After of a server that is full or stops.
OVERLOAD_PAUSE = 5


class HttpError(Exception):
    """A refusal by the HTTP room."""

    status = 500

    def __init__(
        self,
        text: str,
        *,
        description: str | None = None,
        details: Mapping[str, object] | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(text)
        self.text = text
        self.description = description
        self.details = details
        self.headers = headers


class Malformed(HttpError):
    status = 400


class Unauthorized(HttpError):
    status = 401

    def __init__(self, text: str, *, error: str = "invalid_token") -> None:
        challenge = f'Bearer realm="Troupe", error="{error}", error_description="{text}"'
        super().__init__(text, headers=(("WWW-Authenticate", challenge),))


class Forbidden(HttpError):
    status = 403

    def __init__(self, text: str = "This action is not allowed") -> None:
        super().__init__(text)


class NotFound(HttpError):
    status = 404

    def __init__(self, text: str = "Record not found") -> None:
        super().__init__(text)


class MethodNotAllowed(HttpError):
    status = 405

    def __init__(self, allowed: str) -> None:
        super().__init__("Method Not Allowed", headers=(("Allow", allowed),))


class Gone(HttpError):
    status = 410

    def __init__(self, text: str = "Gone") -> None:
        super().__init__(text)


class TooLarge(HttpError):
    status = 413

    def __init__(self) -> None:
        super().__init__("Request body is too large")


class Unprocessable(HttpError):
    status = 422


class TooMany(HttpError):
    status = 429

    def __init__(self, headers: Headers = (), text: str = "Too many requests") -> None:
        super().__init__(text, headers=headers)


class BackendFailed(HttpError):
    status = 503

    def __init__(self, text: str = "Remote data could not be fetched") -> None:
        super().__init__(text)


class NotReady(HttpError):
    status = 503

    def __init__(self, text: str, *, details: Mapping[str, object]) -> None:
        super().__init__(text, details=details, headers=(("Retry-After", str(STORAGE_PAUSE)),))


class Overloaded(HttpError):
    status = 503

    def __init__(self) -> None:
        super().__init__(TRY_AGAIN, headers=(("Retry-After", str(OVERLOAD_PAUSE)),))


def invalid(*messages: str) -> Unprocessable:
    """Return a 422 in the API's wording: all messages in one sentence."""
    return Unprocessable("Validation failed: " + ", ".join(messages))


def missing(name: str) -> Malformed:
    """Return a 400 for a required parameter that is missing."""
    return Malformed(f"param is missing or the value is empty: {name}")


def is_expected(error: Exception) -> bool:
    """True if the error is a refusal. All others are bugs and go into the supervision log."""
    return isinstance(error, HttpError | Refused | NotAnswered | StorageError)


def error_answer(error: Exception, request_id: str) -> Answer:
    """Return the answer for an exception. A client only sees the safe text."""
    match error:
        case HttpError():
            return _answer(error.status, error.text, error.headers, error.description, error.details)
        case Refused():
            return _answer(error.status, error.text, details=error.details)
        case NotAnswered():
            return _answer(503, TRY_AGAIN, (("Retry-After", str(min(error.retry_after, 5))),))
        case StorageError():
            return _answer(503, TRY_AGAIN, (("Retry-After", str(STORAGE_PAUSE)),))
        case _ if machine_fault(error) is not None:
            return _answer(503, TRY_AGAIN, (("Retry-After", str(STORAGE_PAUSE)),))
        case _:
            return _answer(500, f"Something went wrong on our side; its number is {request_id}")


def _answer(
    status: int,
    text: str,
    headers: Headers = (),
    description: str | None = None,
    details: Mapping[str, object] | None = None,
) -> Answer:
    body: dict[str, object] = {"error": text}
    if description is not None:
        body["error_description"] = description
    if details is not None:
        body["details"] = dict(details)
    return Answer(orjson.dumps(body), status, headers)
