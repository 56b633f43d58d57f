"""Calls of every endpoint that takes ids, with a token and an id."""

import inspect
from collections.abc import Iterator

from troupe.http.answers.answer import FinishedAnswer
from troupe.http.dispatch import respond
from troupe.http.intake.request import Request
from troupe.http.router import SEGMENT, Endpoint, all_endpoints

from ..clients import Stage
from .hostile import chunks

# Fit for every endpoint, so that its id is what is wrong.
BODY = b"""{
    "status": "text", "title": "text", "choices": [0], "scheduled_at": "2100-01-01", "account_ids": ["1"],
    "phrase": "text", "keyword": "text", "context": ["home"], "status_id": "1", "type": "silence"
}"""

MISSING = (404, b'{"error":"Record not found"}')
INVALID = (401, b'{"error":"The access token is invalid"}')
OUTSIDE = (403, b'{"error":"This action is outside the authorized scopes"}')


def pointing() -> Iterator[Endpoint]:
    """The endpoints that take ids. Names of tags and groups belong to no account.

    Pages know their reader by a session: `test_imports.py` asks for another user's import, `test_strikes.py` for a
    strike. Those for staff have tests of their own (`staff/`).
    """
    taking = (endpoint for endpoint in all_endpoints() if "<" in endpoint.path and takes_ids(endpoint))
    return (endpoint for endpoint in taking if not endpoint.path.startswith(("/settings/", "/disputes/", "/admin/")))


def for_users() -> Iterator[Endpoint]:
    """Those that ask for no permission. `test_staff.py` calls the others with every role."""
    return (endpoint for endpoint in pointing() if endpoint.permission is None)


def takes_ids(endpoint: Endpoint) -> bool:
    taken = inspect.signature(endpoint.function, eval_str=True).parameters
    return all(taken[name].annotation is int for name in SEGMENT.findall(endpoint.path))


async def call(stage: Stage, endpoint: Endpoint, token: str | None, id: str) -> FinishedAnswer:
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    if endpoint.method != "GET":
        headers.append((b"content-type", b"application/json"))
    request = Request(endpoint.method, endpoint.path, b"", headers, "127.0.0.1", chunks(BODY), "r1")
    return await respond(stage.http_context, endpoint, request, dict.fromkeys(SEGMENT.findall(endpoint.path), id))
