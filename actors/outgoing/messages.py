"""Requests that leave the server, their limits, and what other servers answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
