"""Caches of what is made of records: rendered JSON, and the text that filters search.

A value is valid as long as its record is the same object.

Records are frozen, and the caches of rows return one object until the row changes. So a comparison of identity shows
whether the bytes are still right.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

from ...actors.custom_emojis import CustomEmojis
from ...actors.facts import ChangedCustomEmojis
from ...actors.rules.filters import FilterText, filter_text
from ...storage.statuses import Status

T = TypeVar("T")

ACCOUNTS = 20_000  # about 1.2 KB each
STATUSES = 20_000  # about 1 KB each
TEXTS = 5_000  # about 5 KB each


class Rendered(Generic[T]):
    """What was made of one kind of record, by id.

    The oldest is dropped first: an LRU order costs more than it saves.
    """

    __slots__ = ("_capacity", "_kept")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[int, tuple[object, object, T]] = {}

    def clear(self) -> None:
        """Forget everything: what all values were made with has changed."""
        self._kept.clear()

    def find(self, id: int, record: object, other: object = None) -> T | None:
        """Return what was made of exactly these records."""
        kept = self._kept.get(id)
        if kept is not None and kept[0] is record and kept[1] is other:
            return kept[2]
        return None

    def keep(self, made: T, id: int, record: object, other: object = None) -> T:
        """Store what was made of these records, and return it."""
        self._kept[id] = (record, other, made)
        if len(self._kept) > self._capacity:
            del self._kept[next(iter(self._kept))]
        return made


class Renderings:
    """The rendered accounts and statuses, the texts of statuses, the emoji, and the clock for what depends on time."""

    __slots__ = ("_texts", "accounts", "emojis", "now", "statuses")

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.emojis = CustomEmojis()
        self.accounts = Rendered[bytes](ACCOUNTS)
        self.statuses = Rendered[bytes](STATUSES)
        self._texts = Rendered[FilterText](TEXTS)

    def use_emojis(self, fact: ChangedCustomEmojis) -> None:
        """Render with these emoji from now on."""
        self.emojis = CustomEmojis(fact.rows)
        self.accounts.clear()
        self.statuses.clear()

    def text_of(self, status: Status) -> FilterText:
        """Return the text of a status for filters, which is made once for all viewers."""
        found = self._texts.find(status.id, status)
        return found or self._texts.keep(filter_text(status), status.id, status)
