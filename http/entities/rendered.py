"""JSON that is made once: the bytes of a record, kept for as long as the record is the same object.

Records are frozen and the caches over the rows hand out one object until the row changes, so identity is all the
freshness there is to check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cachetools import LRUCache

ACCOUNTS = 20_000  # about 1.2 KB each
STATUSES = 20_000  # about 1 KB each


class Rendered:
    """The newest renderings of one kind of thing, by id."""

    __slots__ = ("_kept",)

    def __init__(self, capacity: int) -> None:
        self._kept: LRUCache[int, tuple[tuple[Any, ...], bytes]] = LRUCache(capacity)

    def get(self, id: int, made_of: tuple[Any, ...], render: Callable[[], bytes]) -> bytes:
        """The bytes made of exactly these records."""
        kept = self._kept.get(id)
        if kept is not None and all(map(_is, kept[0], made_of)):
            return kept[1]
        body = render()
        self._kept[id] = (made_of, body)
        return body


def _is(one: object, other: object) -> bool:
    return one is other


class Renderings:
    """What a house has rendered."""

    __slots__ = ("accounts", "statuses")

    def __init__(self) -> None:
        self.accounts = Rendered(ACCOUNTS)
        self.statuses = Rendered(STATUSES)
