"""Caches of rendered JSON: the bytes of a record, valid as long as the record is the same object.

Records are frozen, and the caches of rows return one object until the row changes. So a comparison of identity shows
whether the bytes are still right.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

ACCOUNTS = 20_000  # about 1.2 KB each
STATUSES = 20_000  # about 1 KB each


class Rendered:
    """Renderings of one kind of record, by id. The oldest is dropped first: an LRU order costs more than it saves."""

    __slots__ = ("_capacity", "_kept")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[int, tuple[object, object, bytes]] = {}

    def find(self, id: int, record: object, other: object = None) -> bytes | None:
        """Return the bytes that were made of exactly these records."""
        kept = self._kept.get(id)
        if kept is not None and kept[0] is record and kept[1] is other:
            return kept[2]
        return None

    def keep(self, body: bytes, id: int, record: object, other: object = None) -> bytes:
        """Store the bytes that were made of these records, and return them."""
        self._kept[id] = (record, other, body)
        if len(self._kept) > self._capacity:
            del self._kept[next(iter(self._kept))]
        return body


class Renderings:
    """The rendered accounts and statuses, and the clock for the parts that depend on the time."""

    __slots__ = ("accounts", "now", "statuses")

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.accounts = Rendered(ACCOUNTS)
        self.statuses = Rendered(STATUSES)
