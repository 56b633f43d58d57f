"""Redirect URIs of apps: their validation, comparison and parameters."""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
# Schemes that browsers execute or open themselves, so that they never lead to an app.
FORBIDDEN = frozenset(
    {"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}
)  # fmt: skip
LONGEST = 2000
LOOPBACK = re.compile(r"http://(?P<host>[0-9.]+|\[[0-9a-fA-F:]+\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>(?:[/?].*)?)")
# The characters of a URI (RFC 3986). It is written into headers unescaped.
CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")


def complaint(uri: str) -> str | None:
    """Return the error of a redirect URI, in the API's words; None if it is valid."""
    if uri == OUT_OF_BAND:
        return None
    if CHARACTERS.fullmatch(uri) is None or len(uri) > LONGEST:
        return "must be a valid URI."
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "must be a valid URI."
    if not parts.scheme:
        return "must be an absolute URI."
    if "#" in uri:
        return "cannot contain a fragment."
    if parts.scheme.lower() in FORBIDDEN:
        return "must be a valid URI."
    return "must be an absolute URI." if parts.scheme in ("http", "https") and not parts.hostname else None


def is_registered(uri: str, registered: Collection[str]) -> bool:
    """True if an app was registered with a redirect URI.

    URIs are compared as texts, except for the port of a loopback address (RFC 8252, 7.3): an app on a computer listens
    at any free port. The port of `localhost` is compared, because that is a name, which the RFC advises against (8.3).
    """
    if uri in registered:
        return True
    without_port = _without_port(uri)
    return without_port is not None and any(_without_port(other) == without_port for other in registered)


def _without_port(uri: str) -> tuple[str, str] | None:
    """Return the host and the part after the port of an http URI with a loopback address; None for other URIs."""
    found = LOOPBACK.fullmatch(uri)
    if found is None:
        return None
    try:
        is_loopback = ip_address(found["host"].strip("[]")).is_loopback
    except ValueError:
        return None
    return (found["host"], found["rest"]) if is_loopback and int(found["port"] or 0) < 65536 else None


def with_query(uri: str, **query: str | None) -> str:
    """Return the URI with added parameters. The rest is not changed."""
    added = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{added}"


def form_target(uri: str) -> str:
    """Return the source expression for a redirect URI in a content security policy."""
    parts = urlsplit(uri)
    # A policy can't name an IPv6 address (CSP 3, `host-source`).
    if parts.scheme in ("http", "https") and not parts.netloc.startswith("["):
        return f"{parts.scheme}://{parts.netloc}".translate({ord(";"): None, ord(","): None})
    return "" if uri == OUT_OF_BAND else f"{parts.scheme}:"
