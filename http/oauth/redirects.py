"""Redirect addresses of apps: which may be registered, and how an answer is added to one."""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
# A browser runs these, or opens them itself. They never lead to an app.
FORBIDDEN = frozenset(
    {"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}
)  # fmt: skip
LONGEST = 2000
LOOPBACK = re.compile(r"http://(?P<host>[0-9.]+|\[[0-9a-fA-F:]+\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>(?:[/?].*)?)")
# The characters of an address (RFC 3986). It is written into headers as it is.
CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")


def complaint(uri: str) -> str | None:
    """Return the error of a redirect address, in the API's words; None if it is valid."""
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
    """True if an app was registered with a redirect address.

    Addresses are compared as texts. At a loopback address the port may be another one (RFC 8252, 7.3): an app on a
    computer listens at the port that is free. `localhost` is a name, which the RFC advises against (8.3), and has no
    such freedom.
    """
    if uri in registered:
        return True
    without_port = _without_port(uri)
    return without_port is not None and any(_without_port(one) == without_port for one in registered)


def _without_port(uri: str) -> tuple[str, str] | None:
    """Return the host and all after the port of an http address at a loopback address; None for any other."""
    found = LOOPBACK.fullmatch(uri)
    if found is None:
        return None
    try:
        is_loopback = ip_address(found["host"].strip("[]")).is_loopback
    except ValueError:
        return None
    return (found["host"], found["rest"]) if is_loopback and int(found["port"] or 0) < 65536 else None


def with_query(uri: str, **query: str | None) -> str:
    """Return the address with parameters added. Custom schemes stay as they were registered."""
    added = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{added}"


def form_target(uri: str) -> str:
    """Return the source expression for an address in a content security policy."""
    parts = urlsplit(uri)
    # A policy can't name an IPv6 address (CSP 3, `host-source`).
    if parts.scheme in ("http", "https") and not parts.netloc.startswith("["):
        return f"{parts.scheme}://{parts.netloc}".translate({ord(";"): None, ord(","): None})
    return "" if uri == OUT_OF_BAND else f"{parts.scheme}:"
