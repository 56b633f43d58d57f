"""Answers that are the same for everybody and cost a count: made now and then, served in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

FRESH = timedelta(seconds=30)


class CachedAnswers:
    """The last body of each such answer and when it was made."""

    __slots__ = ("_bodies",)

    def __init__(self) -> None:
        self._bodies: dict[str, tuple[datetime, bytes]] = {}

    async def get(self, name: str, now: datetime, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """The body while it is fresh, else a new one."""
        kept = self._bodies.get(name)
        if kept is not None and now - kept[0] < FRESH:
            return kept[1]
        body = await make()
        self._bodies[name] = (now, body)
        return body
