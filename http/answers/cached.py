"""A cache of answers that are equal for all clients and expensive for the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

FRESH = timedelta(seconds=30)


class CachedAnswers:
    """The last body of each answer and the time when it was made."""

    __slots__ = ("_bodies",)

    def __init__(self) -> None:
        self._bodies: dict[str, tuple[datetime, bytes]] = {}

    def forget(self) -> None:
        """Drop all answers. An answer that is being made now is not cached."""
        self._bodies = {}

    async def get(self, name: str, now: datetime, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the cached body if it is fresh, else make a new body."""
        bodies = self._bodies
        kept = bodies.get(name)
        if kept is not None and now - kept[0] < FRESH:
            return kept[1]
        body = await make()
        bodies[name] = (now, body)
        return body
