"""JSON that is made once: the bytes of a record, kept for as long as the record is the same object.

Records are frozen and the caches over the rows hand out one object until the row changes, so identity is all the
freshness there is to check.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

ACCOUNTS = 20_000  # about 1.2 KB each
STATUSES = 20_000  # about 1 KB each


class Rendered:
    """Renderings of one kind of thing, by id. The oldest goes first: making it again costs less than keeping order."""

    __slots__ = ("_capacity", "_kept")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[int, tuple[object, object, bytes]] = {}

    def find(self, id: int, record: object, other: object = None) -> bytes | None:
        """The bytes made of exactly these records."""
        kept = self._kept.get(id)
        if kept is not None and kept[0] is record and kept[1] is other:
            return kept[2]
        return None

    def keep(self, body: bytes, id: int, record: object, other: object = None) -> bytes:
        """Keep what was made of these records; the bytes again."""
        self._kept[id] = (record, other, body)
        if len(self._kept) > self._capacity:
            del self._kept[next(iter(self._kept))]
        return body


class Renderings:
    """What the server has rendered, and the time, on which a little of it depends."""

    __slots__ = ("accounts", "now", "statuses")

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.accounts = Rendered(ACCOUNTS)
        self.statuses = Rendered(STATUSES)
