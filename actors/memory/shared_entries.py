"""The memory that all awake timelines hold: a single object for each entry, and the places in their windows.

A status is on many timelines, so their windows share an entry. The memory is bounded: beyond `most` bytes, the least
recently used timelines are put to sleep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...storage.timeline_entries import TimelineEntry

# Bytes, measured: an entry with its ids, and with its place in the index of shared entries.
ENTRY = 420
# Bytes of a place in a window and in the list that it shows.
PLACE = 16


class CountedEntry:
    """An entry, and the number of windows that hold it."""

    __slots__ = ("count", "entry")

    def __init__(self, entry: TimelineEntry) -> None:
        self.entry = entry
        self.count = 1


class SharedEntries:
    """The entries that windows share. They are counted, because weak references cost more."""

    def __init__(self, most: Callable[[], int]) -> None:
        self.most = most  # bytes, which can change
        self.places = 0
        self._held: dict[int, CountedEntry] = {}

    @property
    def weight(self) -> int:
        """The bytes that all windows hold, about."""
        return len(self._held) * ENTRY + self.places * PLACE

    def is_exceeded(self) -> bool:
        return self.weight > self.most()

    def take(self, entry: TimelineEntry) -> TimelineEntry:
        """Count a window more, and return the shared entry that is equal."""
        self.places += 1
        held = self._held.get(entry.id)
        if held is None:
            self._held[entry.id] = CountedEntry(entry)
            return entry
        held.count += 1
        if held.entry is not entry and held.entry != entry:
            held.entry = entry  # it has changed; other windows get a message of their own
        return held.entry

    def give_back(self, entries: Iterable[TimelineEntry]) -> None:
        """Count a window less for each of these entries."""
        shared = self._held
        for entry in entries:
            self.places -= 1
            held = shared[entry.id]
            held.count -= 1
            if not held.count:
                del shared[entry.id]
