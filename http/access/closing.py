"""The paths that limited federation closes to people who are not signed in: all that it shows of its users.

Its description stays open, and everything that is needed to sign up and to sign in.
"""

from __future__ import annotations

CLOSED = ("/api/", "/@", "/users/", "/tags/", "/web/", "/deck/", "/statuses/")
OPEN = frozenset(
    {
        "/api/openapi.json",
        "/api/v1/instance",
        "/api/v1/streaming/health",
        "/api/v2/instance",
    }
)


def is_closable(method: str, path: str) -> bool:
    """True if what is read there is for users alone, on such a server."""
    return method == "GET" and path.startswith(CLOSED) and path not in OPEN
