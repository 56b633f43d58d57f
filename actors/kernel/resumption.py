"""The ids of events, from which an interrupted client resumes its stream, and a feed's memory of shown subjects.

After its publication to streams a change is written into a log of changes, in the order of `position`. An id is the
progress of a subscriber: a position, up to which it was shown the whole log, and the keys of further events, which were
not in the log yet when they were published. So an id is `POSITION` or `POSITION.KEY.KEY…`. It means the same on
every node of a cluster (`broadcast/publications.py`).

A position alone is not enough: an event that is published before it is logged would be shown twice after a crash. To
draw positions inside of the transactions would let only one transaction commit at a time.

A feed remembers the subjects that its subscribers know as `Subjects`: ids in eight bytes each. In dicts an id took 46
bytes and the int itself, which was most of the memory of a stream.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from .clock import instant_of_id

# The most keys in an id. Older keys are left out: after an interruption their events may be shown again. A feed with
# more than 200 events in the time until its events are in the log, and other nodes have told it, needs more keys.
MOST_KEYS = 200
# A key in place of the keys that are left out. It tells that the client knows further events: without it, the deletion
# of a status whose key is left out would be taken for that of a status which the client was never shown.
LEFT_OUT = "0"
# An event without a publication is assumed to be in the log when so many later publications are in it.
UNPUBLISHED_FOR = 1000
LONGEST_ID = 8192  # characters: clients send ids back, and may send anything


@dataclass(frozen=True, slots=True)
class Publication:
    """The position and number of the publication that an event belongs to, and the state of the log at that time.

    The number is 0 if the event is not logged, or is published again. Everything in the log up to `position` had been
    published before. All publications with numbers below `logged` were in the log up to `position`, except for those in
    `unlogged`.
    """

    position: int
    number: int
    logged: int
    unlogged: frozenset[int] = frozenset()

    def joined(self, later: Publication) -> Publication:
        """Return the maximum of each field of two publications, which may arrive in any order."""
        if later.position >= self.position and later.number >= self.number and later.logged >= self.logged:
            return later
        # The position and `logged` never fall, so the publication that has the higher of both is the later one.
        newer = max(self, later, key=lambda publication: (publication.logged, publication.position))
        return replace(newer, number=max(self.number, later.number))


UNPUBLISHED = Publication(0, 0, 0)


class FeedProgress:
    """The progress of the subscribers of a feed."""

    __slots__ = ("_keys", "_last")

    def __init__(self) -> None:
        self._last = UNPUBLISHED
        # Keys of events that were shown and may not be in the log, with the numbers of their publications.
        self._keys: dict[str, int] = {}

    def after(self, publication: Publication, key: str) -> str:
        """Return the id of an event that is shown now. It is empty as long as nothing was published.

        Events that a restarted actor reads from rows have no publication.
        """
        last = self._last
        if publication.position:
            last = self._last = last.joined(publication)
            if self._keys:
                self._keys = {
                    key: number
                    for key, number in self._keys.items()
                    if number >= last.logged or number in last.unlogged
                }
        if key:
            self._keys.pop(key, None)
            self._keys[key] = publication.number or last.logged + UNPUBLISHED_FOR
            if len(self._keys) > MOST_KEYS:
                self._leave_out()
        return _written(last.position, tuple(self._keys)) if last.position else ""

    def _leave_out(self) -> None:
        """Leave out the oldest key that is not in the log."""
        left_out = self._keys.pop(LEFT_OUT, 0)
        keys = iter(self._keys.items())
        dropped = [next(keys)] if left_out else [next(keys), next(keys)]
        self._keys = {LEFT_OUT: max(left_out, *(number for _, number in dropped)), **dict(keys)}


@dataclass(frozen=True, slots=True)
class ResumptionPoint:
    """The progress of a client. `str` writes it as an id, `read` parses an id."""

    position: int
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        keys = self.keys
        if len(keys) > MOST_KEYS:
            keys = (LEFT_OUT, *keys[1 - MOST_KEYS :])
        return ".".join((str(self.position), *keys))

    @property
    def time(self) -> datetime:
        """Return when the position was drawn."""
        return instant_of_id(self.position)

    @classmethod
    def read(cls, text: str) -> ResumptionPoint | None:
        """Return the point that an id names; None if the text is no id."""
        position, *keys = text.split(".") if len(text) <= LONGEST_ID else [""]
        if not _is_number(position) or len(keys) > MOST_KEYS or not all(map(_is_key, keys)):
            return None
        return cls(int(position), tuple(keys))


@lru_cache(maxsize=1024)
def _written(position: int, keys: tuple[str, ...]) -> str:
    """Return the text of an id. Most feeds give an event the same id, so the text is cached."""
    return str(ResumptionPoint(position, keys))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _is_key(text: str) -> bool:
    return _is_number(text[1:] if text[:1] in ("d", "-") else text)


# The number of ids that a feed remembers as shown, and as gone: above any timeline's window, so that a reload after a
# crash can distinguish news from older subjects.
MEMORY = 1000

# Shared, because most feeds remember nothing. It is never changed.
NONE = array("q")


class Subjects:
    """At most MEMORY ids. Ids that were added before the last `renew` are forgotten first, then the oldest ids.

    Ids sort by time. Some subjects have the negative of an id, so the oldest ids are closest to zero. `forgotten` is
    the newest id that was forgotten.
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
        # Nearly always a new id is above all others.
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
        """Add the subjects that were just read from rows. They are forgotten after all earlier subjects."""
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
