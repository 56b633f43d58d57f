"""A request that another server has signed, or says it has, and what all ways to sign have in common."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

# How far the time of a signature may be from the time here, either way. Mastodon accepts about the same.
WINDOW = timedelta(hours=1)


class SignatureRefused(Exception):
    """Raised for a signature that is missing, incomplete, too old or wrong. Another try would not change that."""


class UnusableKey(Exception):
    """Raised for a text that is no public key, or none of a kind that signs requests."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came. Names of headers are in lower case, repeated ones are joined by commas."""

    method: str
    base_url: str  # of this server, such as `https://troupe.test`
    path: str  # with the query, as the request line has it
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def host(self) -> str:
        """This server's name, with a port if it has one of its own."""
        return self.base_url.partition("://")[2]

    @property
    def has_body(self) -> bool:
        return self.method not in ("GET", "HEAD")


def check_time(signed_at: datetime, now: datetime, expires_at: datetime | None = None) -> None:
    """Refuse a signature of another time. Other servers' clocks may differ from ours."""
    if abs(now - signed_at) > WINDOW:
        raise SignatureRefused("the signature is not of this time")
    if expires_at is not None and expires_at < now - WINDOW:
        raise SignatureRefused("the signature has expired")


def time_of(seconds: int) -> datetime:
    """Return a Unix time. Refuse one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds).astimezone()
    except (ValueError, OverflowError, OSError):
        raise SignatureRefused("the time of the signature can't be read") from None


def digest_of(body: bytes) -> str:
    """Return the SHA-256 of a body in base64, as digest headers have it."""
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def is_digest_of(body: bytes, value: str) -> bool:
    """True if a text is the SHA-256 of a body in base64."""
    try:
        given = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return given == hashlib.sha256(body).digest()
