"""Requests that leave the server, their limits, the answers of other servers, and the errors if there is no answer.

    OutgoingFailure
    ├── ForbiddenTarget   the server never connects to the URL, or to any address of its host
    ├── Unreachable       the name was not found, nothing listens there, TLS failed, or the connection broke
    ├── TookTooLong       a time limit
    ├── AnswerTooLarge    a limit on bytes or on redirects
    └── BadAnswer         the answer is no HTTP, or has an encoding that the request did not accept

Their texts name the cause, and neither the URL nor the answer of the other server: both may contain secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of a request. `hops` is the number of redirects to follow; with 0, a redirect is returned as the
    answer.

    With `cut` the beginning of a longer answer is enough, and the rest is not read.
    """

    seconds: float
    body: int  # bytes of the answer, before and after decompression
    hops: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request to another server. Only GET follows redirects. Headers are not sent to another origin.

    With `free_ports`, the server may listen on any port from 1024 on, as push services of individuals do.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    free_ports: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingAnswer:
    """The answer of another server. Names of headers are in lower case. Of repeated headers, the last is here.

    `url` is the address that answered, which differs from the requested address after redirects.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class OutgoingFailure(Exception):
    """Raised if a request got no usable answer."""


class ForbiddenTarget(OutgoingFailure):
    """Raised if the server never connects to a target. A retry is of no use, unless the host's addresses change."""


class Unreachable(OutgoingFailure):
    """Raised if there was no connection, or it broke."""


class TookTooLong(OutgoingFailure):
    """Raised if a time limit was reached."""


class AnswerTooLarge(OutgoingFailure):
    """Raised if the answer has more bytes or redirects than allowed."""


class BadAnswer(OutgoingFailure):
    """Raised if the answer can't be read."""


LONGEST_WAIT = timedelta(days=1)  # that another server may ask for


def time_of(retry_after: str | None, now: datetime) -> datetime | None:
    """Return the time in a `Retry-After`, given in seconds or as a date, at most `LONGEST_WAIT` from now; None without
    a time."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at, now), now + LONGEST_WAIT)
