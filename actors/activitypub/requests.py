"""Signed requests of other servers, and the checks that all signature schemes share."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

# How far the time of a signature may be from the time here, either way. Mastodon accepts about the same.
WINDOW = timedelta(hours=1)
# Digests by their names in headers.
HASHES = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
USUAL_PORTS = {"https": ":443", "http": ":80"}


class SignatureRefused(Exception):
    """Raised for a signature that is missing, incomplete, too old or wrong. A retry would fail too."""


class UnusableKey(Exception):
    """Raised for a text that is no public key, or a key of a kind that can't sign requests."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came. Names of headers are in lower case. The values of repeated headers are joined by commas."""

    method: str
    base_url: str  # of this server, such as `https://troupe.test`
    path: str  # with the query, as the request line has it
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def host(self) -> str:
        """This server's name, with its port unless it is the default port."""
        return self.base_url.partition("://")[2]

    @property
    def has_body(self) -> bool:
        return self.method not in ("GET", "HEAD")


def check_host(request: ReceivedRequest) -> None:
    """Refuse a request to another server. The name may be written in capitals, and with the usual port."""
    host = request.headers.get("host", "").strip().lower()
    if host != request.host and host.removesuffix(USUAL_PORTS[request.base_url.partition("://")[0]]) != request.host:
        raise SignatureRefused("the request is meant for another server")


def check_time(signed_at: datetime, now: datetime, expires_at: datetime | None = None) -> None:
    """Refuse a signature that is too old, of the future, or expired. Other servers' clocks may differ from ours."""
    if abs(now - signed_at) > WINDOW:
        raise SignatureRefused("the signature is not of this time")
    if expires_at is not None and expires_at < now - WINDOW:
        raise SignatureRefused("the signature has expired")


def time_of(seconds: int) -> datetime:
    """Return the time of a Unix timestamp. Refuse a number out of range."""
    try:
        return datetime.fromtimestamp(seconds).astimezone()
    except (ValueError, OverflowError, OSError):
        raise SignatureRefused("the time of the signature can't be read") from None


def digest_of(body: bytes) -> str:
    """Return the SHA-256 of a body in base64, as digest headers have it."""
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def is_digest_of(body: bytes, value: str, kind: str = "sha-256") -> bool:
    """True if a text is the digest of a body in base64. `kind` is one of `HASHES`."""
    return decoded(value) == HASHES[kind](body).digest()


def decoded(text: str) -> bytes | None:
    """Return the bytes of a text in base64, with or without padding; None for another text."""
    text = text.rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
