"""Redirect addresses of apps: which may be registered, and how an answer is added to one."""

from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
# A browser runs these, or opens them itself. They never lead to an app.
FORBIDDEN = frozenset(
    {"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}
)  # fmt: skip
LONGEST = 2000
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


def with_query(uri: str, **query: str | None) -> str:
    """Return the address with parameters added. Custom schemes stay as they were registered."""
    added = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{added}"


def form_target(uri: str) -> str:
    """Return the source expression for an address in a content security policy."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc}".translate({ord(";"): None, ord(","): None})
    return "" if uri == OUT_OF_BAND else f"{parts.scheme}:"
