"""The newest entries of a timeline, in memory, sorted by id."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from ...storage.paging import Page
from ...storage.timeline_entries import TimelineEntry

SIZE = 400  # the feed's length in the reference server
RECENT = 40  # a boost of a status that is among the last so many entries is not shown


class Window:
    """The newest entries, at most SIZE. `complete` is true if the rows have no older ones.

    Boosts of statuses that are nearby are held but not shown. Which boosts these are follows from the entries alone, so
    a window shows the same whether it was read from rows or grew entry by entry.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._entries: dict[int, TimelineEntry] = {}
        self._shown: list[int] | None = None  # ids without repeated boosts; computed when needed
        self.complete = False

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, id: int) -> bool:
        return id in self._entries

    def __getitem__(self, id: int) -> TimelineEntry:
        return self._entries[id]

    def __iter__(self) -> Iterator[TimelineEntry]:
        """Oldest first."""
        return iter([self._entries[id] for id in self._ids])

    @property
    def ids(self) -> list[int]:
        """Oldest first."""
        return list(self._ids)

    def fill(self, entries: Iterable[TimelineEntry], *, complete: bool) -> None:
        """Replace all entries."""
        self._entries = {entry.id: entry for entry in entries}
        self._ids = sorted(self._entries)
        self._shown = None
        self.complete = complete
        self._trim()

    def add(self, entry: TimelineEntry) -> bool:
        """Add an entry. True if it was not there."""
        if entry.id in self._entries:
            return False
        insort(self._ids, entry.id)
        self._entries[entry.id] = entry
        self._shown = None
        self._trim()
        return True

    def repeats(self, entry: TimelineEntry) -> bool:
        """True if the entry boosts a status that is among the newest shown, boosted or by itself."""
        if entry.reblog_of_id is None:
            return False
        newest = (self._entries[id] for id in self.shown[-RECENT:] if id != entry.id)
        return any(entry.reblog_of_id in (other.id, other.reblog_of_id) for other in newest)

    @property
    def shown(self) -> list[int]:
        """The ids, oldest first, without boosts of a status that stands among the RECENT ids before them."""
        if self._shown is None:
            self._shown = self._without_repeats()
        return self._shown

    def _without_repeats(self) -> list[int]:
        shown: list[int] = []
        places: dict[int, int] = {}  # for each original, its last position in `shown`, by itself or boosted
        for id in self._ids:
            boosted = self._entries[id].reblog_of_id
            if boosted is not None and len(shown) - places.get(boosted, -SIZE) <= RECENT:
                continue
            places[boosted or id] = len(shown)
            shown.append(id)
        return shown

    def reaches(self, id: int) -> bool:
        """True if a status with this id would be in the window if it belonged to the timeline."""
        return self.complete or (bool(self._ids) and id > self._ids[0])

    def may_hold(self, id: int) -> bool:
        """True if the timeline may hold a status: here, or on a page older than the window."""
        return id in self._entries or not self.reaches(id)

    def amend(self, entry: TimelineEntry, admits: Callable[[TimelineEntry], bool]) -> bool:
        """Replace an edited status and the boosts of it. True if any of these entries is still admitted."""
        stays = False
        for known in [known for known in self._entries.values() if entry.id in (known.id, known.reblog_of_id)]:
            changed = entry if known.id == entry.id else _boost_of(entry, known)
            if admits(changed):
                self._entries[known.id] = changed
                stays = True
            else:
                self.remove(known.id)
        return stays

    def remove(self, id: int) -> bool:
        if self._entries.pop(id, None) is None:
            return False
        del self._ids[bisect_left(self._ids, id)]
        self._shown = None
        return True

    def keep(self, belongs: Callable[[TimelineEntry], bool]) -> None:
        """Remove the entries that do not belong here."""
        self._ids = [id for id in self._ids if belongs(self._entries[id])]
        self._entries = {id: self._entries[id] for id in self._ids}
        self._shown = None

    def page(self, page: Page, admits: Callable[[TimelineEntry], bool] | None = None) -> list[int] | None:
        """Return the ids of one page, newest first; None if the window does not hold all of it."""
        ids = self.shown
        below, above, _ = page.bounds
        upper, lower = bisect_left(ids, below), bisect_left(ids, above + 1)
        if page.oldest_first:
            covered = lower > 0 or self.complete
            return self._pick(range(lower, upper), page.limit, admits)[::-1] if covered else None
        picked = self._pick(range(upper - 1, lower - 1, -1), page.limit, admits)
        covered = len(picked) == page.limit or lower > 0 or self.complete
        return picked if covered else None

    def _pick(self, places: range, limit: int, admits: Callable[[TimelineEntry], bool] | None) -> list[int]:
        if admits is None:
            return [self.shown[place] for place in places[:limit]]
        admitted = (id for place in places if admits(self._entries[id := self.shown[place]]))
        return list(islice(admitted, limit))

    def _trim(self) -> None:
        excess = len(self._ids) - SIZE
        if excess > 0:
            for id in self._ids[:excess]:
                del self._entries[id]
            del self._ids[:excess]
            self._shown = None
            self.complete = False


def _boost_of(entry: TimelineEntry, boost: TimelineEntry) -> TimelineEntry:
    """Return a boost with the mentions, language and media of its edited original."""
    return replace(boost, mentioned_ids=entry.mentioned_ids, language=entry.language, has_media=entry.has_media)
