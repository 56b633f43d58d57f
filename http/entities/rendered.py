"""Caches of values made from records: rendered JSON, and the text that filters search.

A value is valid as long as its records are unchanged. Records are frozen, and the caches of rows return the same object
until the row changes. Tuples of identical objects are compared by identity, which is cheap. Without these caches a home
page would take at least twice the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Generic, TypeVar

from ...actors.facts.server import ChangedCustomEmojis
from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.rules.filters import FilterText, filter_text
from ...storage.statuses import Status

T = TypeVar("T")

# The largest values may be a hundred times as large as usual values, so each kind also has a limit in bytes.
MOST_BYTES = 64 * 1024 * 1024
ACCOUNTS = 20_000  # about 1.2 KB each
STATUSES = 10_000  # about 2 KB each, with their authors
CREDENTIALS = 2_000  # about 2 KB each
NOTIFICATIONS = 5_000  # about 1.5 KB each, with their accounts
TEXTS = 5_000  # about 5 KB each


def exact(json: bytes) -> bytes:
    """Return a copy of orjson's bytes. The original holds a buffer of 4 or 8 KiB as long as it lives."""
    return memoryview(json).tobytes()


class Rendered(Generic[T]):
    """A cache of the renderings of a kind of record, by id.

    The oldest is dropped first. An LRU order was turned down, because it costs more than it saves.
    """

    __slots__ = ("_capacity", "_kept", "_weight", "_weight_of")

    def __init__(self, capacity: int, weight_of: Callable[[T], int]) -> None:
        self._capacity = capacity
        self._weight_of = weight_of  # in bytes
        self._weight = 0
        self._kept: dict[int, tuple[tuple[object, ...], T]] = {}

    def clear(self) -> None:
        """Drop all values, because something that all of them depend on has changed."""
        self._kept.clear()
        self._weight = 0

    def find(self, id: int, records: tuple[object, ...]) -> T | None:
        """Return the value made of exactly these records; None if it is not cached."""
        kept = self._kept.get(id)
        return kept[1] if kept is not None and kept[0] == records else None

    def keep(self, made: T, id: int, records: tuple[object, ...]) -> T:
        """Cache a value made of these records, and return it."""
        before = self._kept.get(id)
        self._kept[id] = (records, made)
        self._weight += self._weight_of(made) - (0 if before is None else self._weight_of(before[1]))
        while len(self._kept) > self._capacity or self._weight > MOST_BYTES:
            _, oldest = self._kept.pop(next(iter(self._kept)))
            self._weight -= self._weight_of(oldest)
        return made


class Renderings:
    """All caches of rendered records, the custom emoji, and the clock."""

    __slots__ = ("_texts", "accounts", "credentials", "emojis", "notifications", "now", "statuses")

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.emojis = CustomEmojis()
        self.accounts = Rendered[bytes](ACCOUNTS, len)
        self.credentials = Rendered[bytes](CREDENTIALS, len)
        self.notifications = Rendered[bytes](NOTIFICATIONS, len)
        self.statuses = Rendered[bytes](STATUSES, len)
        self._texts = Rendered[FilterText](TEXTS, attrgetter("weight"))

    def use_emojis(self, fact: ChangedCustomEmojis) -> None:
        """Render with these emoji from now on."""
        self.emojis = CustomEmojis(fact.rows)
        self.accounts.clear()
        self.credentials.clear()
        self.notifications.clear()
        self.statuses.clear()

    def text_of(self, status: Status) -> FilterText:
        """Return the text of a status for filters, which is cached for all viewers."""
        found = self._texts.find(status.id, (status,))
        return found or self._texts.keep(filter_text(status), status.id, (status,))
