"""The answer of an endpoint: bytes, a status and headers, independent of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

import orjson
import trio

JSON = "application/json; charset=utf-8"

# Rendered at once, before others have a turn: some tens of ordinary statuses, or one of the largest with its author.
BYTES_AT_ONCE = 512 * 1024

Headers = tuple[tuple[str, str], ...]


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
