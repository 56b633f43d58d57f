"""A bounded memory of ids, in eight bytes each.

A feed remembers what its subscribers know. In dicts an id took 46 bytes and the int itself, which was most of what a
stream held.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

# How many ids a feed remembers as shown, and as gone: more than any timeline's window, so that a reload after a crash
# can tell news from what was there before.
MEMORY = 1000

# Shared, because most feeds remember nothing. It is never changed.
NONE = array("q")


class Subjects:
    """At most MEMORY ids. Those that were added before the last `renew` are forgotten first, then the oldest.

    Ids sort by time. Some subjects have the negative of an id, so the oldest ids are those next to zero. `forgotten` is
    the newest id of those that were forgotten.
    """

    __slots__ = ("_before", "_ids", "forgotten")

    def __init__(self) -> None:
        self.forgotten = 0
        self._before = NONE  # added before the last `renew`, and not renewed by it
        self._ids = NONE

    def __len__(self) -> int:
        return len(self._before) + len(self._ids)

    def __iter__(self) -> Iterator[int]:
        yield from self._before
        yield from self._ids

    def __contains__(self, subject: int) -> bool:
        ids, before = self._ids, self._before
        # A new id is above all others, nearly always.
        if (not ids or subject > ids[-1]) and (not before or subject > before[-1]):
            return False
        return _holds(ids, subject) or _holds(before, subject)

    def add(self, subject: int) -> None:
        if subject in self:
            return
        if self._ids is NONE:
            self._ids = array("q")
        ids = self._ids
        if ids and subject < ids[-1]:
            ids.insert(bisect_left(ids, subject), subject)
        else:
            ids.append(subject)
        if len(ids) + len(self._before) > MEMORY:
            self._trim()

    def discard(self, subject: int) -> None:
        for ids in (self._before, self._ids):
            if _holds(ids, subject):
                del ids[bisect_left(ids, subject)]

    def renew(self, subjects: Iterable[int]) -> None:
        """Add what rows have. It is the latest knowledge, and forgotten after all that is known now."""
        renewed = set(subjects)
        self._before = array("q", sorted(set(self) - renewed))
        self._ids = array("q", sorted(renewed))
        self._trim()

    def _trim(self) -> None:
        while len(self) > MEMORY:
            ids = self._before or self._ids
            place = bisect_left(ids, 0)
            if place == len(ids) or (place and -ids[place - 1] < ids[place]):
                place -= 1
            self.forgotten = max(self.forgotten, abs(ids.pop(place)))


def _holds(ids: array[int], subject: int) -> bool:
    return bool(ids) and subject <= ids[-1] and ids[bisect_left(ids, subject)] == subject
