"""What an endpoint gives back: bytes, a status and headers, whoever serves them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import orjson

JSON = "application/json; charset=utf-8"

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished response. The server around it adds what every answer has: request id, cache and rate headers.

    What is too large for memory comes as a `stream` in place of a body, with its length among the headers.
    """

    body: bytes = b""
    status: int = 200
    headers: Headers = ()
    content_type: str = JSON
    stream: Callable[[], AsyncIterator[bytes]] | None = None


# The API's "nothing to say" is an empty object, never 204.
EMPTY = Answer(b"{}")


def json(value: object, status: int = 200, headers: Headers = ()) -> Answer:
    """A JSON answer from plain data; hot ones are made of prepared bytes instead."""
    return Answer(orjson.dumps(value), status, headers)


def array(items: list[bytes], headers: Headers = ()) -> Answer:
    """A JSON array of items that are already rendered."""
    return Answer(b"[%b]" % b",".join(items), 200, headers)


def redirect(location: str, headers: Headers = ()) -> Answer:
    """302: the browser goes on to `location`."""
    return Answer(b"", 302, (("Location", location), *headers), "text/html; charset=utf-8")
