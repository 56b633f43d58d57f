"""Numbers of answered requests and of streams, since the process started. They are written for each request.

A route is the pattern of a path, such as `/api/v1/statuses/<id>`, so that there are as many as endpoints.
"""

from __future__ import annotations

from ...storage.engine.histogram import Histogram

# For requests that no endpoint answers.
NO_ROUTE = "none"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RouteCount:
    """The requests of one method and route: how many got which status, and seconds until the answer was made."""

    __slots__ = ("seconds", "statuses")

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.seconds = Histogram()

    def add(self, status: int, seconds: float) -> None:
        """Count a request that took so long."""
        statuses = self.statuses
        statuses[status] = statuses.get(status, 0) + 1
        self.seconds.observe(seconds)


class RequestCounts:
    """The counts of all routes, made when the first request comes."""

    def __init__(self) -> None:
        self.routes: dict[tuple[str, str], RouteCount] = {}

    def of(self, method: str, route: str) -> RouteCount:
        if (found := self.routes.get((method, route))) is not None:
            return found
        # Clients choose methods freely, and there must not be a family member for each.
        return self.routes.setdefault((method if method in METHODS else "other", route), RouteCount())
