"""Requests that leave the server, their limits, what other servers answer, and the reasons why there is no answer.

    OutgoingFailure
    ├── ForbiddenTarget   the URL, or every address of its host, is one that the server never connects to
    ├── Unreachable       the name was not found, nothing listens there, TLS failed, or the connection broke
    ├── TookTooLong       a time limit
    ├── AnswerTooLarge    a limit on bytes or on redirects
    └── BadAnswer         what came is no HTTP, or is encoded in a way that was not asked for

Their texts name the cause and neither the URL nor what the other server said: both may hold secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of one request. `hops` are redirects; without any, a redirect is an answer like others.

    With `cut` the beginning of a longer answer is enough, and the rest is not read.
    """

    seconds: float
    body: int  # bytes of the answer, before and after decompression
    hops: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request to another server. Redirects are followed for GET alone, and take no headers to another origin."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class OutgoingAnswer:
    """The answer of another server. Names of headers are in lower case; of repeated ones the last is here.

    `url` is the address that answered: after redirects another one than was asked.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class OutgoingFailure(Exception):
    """A request got no answer that can be used."""


class ForbiddenTarget(OutgoingFailure):
    """The server never connects there. Trying again is of no use, unless the host's addresses change."""


class Unreachable(OutgoingFailure):
    """There was no connection, or it broke."""


class TookTooLong(OutgoingFailure):
    """A time limit was reached."""


class AnswerTooLarge(OutgoingFailure):
    """The answer has more bytes, or leads over more redirects, than allowed."""


class BadAnswer(OutgoingFailure):
    """The answer can't be read."""


LONGEST_WAIT = timedelta(days=1)  # that another server may ask for


def time_of(retry_after: str | None, now: datetime) -> datetime | None:
    """Return the time that a `Retry-After` names, in seconds or as a date; None if it names none. It is bounded."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at, now), now + LONGEST_WAIT)
