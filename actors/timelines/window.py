"""The newest entries of a timeline, in memory, sorted by id."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter

from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..memory.shared_entries import SharedEntries

ID = attrgetter("id")

SIZE = 400  # the feed's length in the reference server
SLACK = 40  # entries beyond that: they are removed together, because each time all others are moved
RECENT = 40  # a boost of a status that is among the last so many entries is not shown


class Window:
    """The newest entries, SIZE or a few more. `complete` is true if the rows have no older entries.

    Boosts of statuses that are nearby are held but not shown. Which boosts these are follows from the entries alone, so
    a window shows the same whether it was read from rows or grew entry by entry.

    It is a list, with the entries that other windows hold too: a dict by id took five times as much.
    """

    __slots__ = ("_entries", "_shared_entries", "_shown", "complete")

    def __init__(self, shared_entries: SharedEntries) -> None:
        self._shared_entries: SharedEntries | None = shared_entries
        self._entries: list[TimelineEntry] = []  # sorted by id
        self._shown: list[TimelineEntry] | None = None  # without repeated boosts; computed when needed
        self.complete = False

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id: int) -> bool:
        return self._place(id) is not None

    def __iter__(self) -> Iterator[TimelineEntry]:
        """Oldest first."""
        return iter(self._entries.copy())

    @property
    def ids(self) -> list[int]:
        """Oldest first."""
        return [entry.id for entry in self._entries]

    def fill(self, entries: Iterable[TimelineEntry], *, complete: bool) -> None:
        """Replace all entries."""
        by_id = {entry.id: entry for entry in entries}
        self._replace([by_id[id] for id in sorted(by_id)])
        self.complete = complete
        self._trim()

    def add(self, entry: TimelineEntry) -> bool:
        """Add an entry. True if it was not there."""
        entries = self._entries
        # A new status is the newest, nearly always.
        newest = not entries or entry.id > entries[-1].id
        place = len(entries) if newest else bisect_left(entries, entry.id, key=ID)
        if not newest and entries[place].id == entry.id:
            return False
        shared_entries = self._shared_entries
        held = entry if shared_entries is None else shared_entries.take(entry)
        entries.append(held) if newest else entries.insert(place, held)
        self._shown = None
        if len(entries) >= SIZE + SLACK:
            self._trim()
        return True

    def repeats(self, entry: TimelineEntry) -> bool:
        """True if the entry boosts a status that is among the newest shown, boosted or by itself."""
        if entry.reblog_of_id is None:
            return False
        newest = (other for other in self.shown[-RECENT:] if other.id != entry.id)
        return any(entry.reblog_of_id in (other.id, other.reblog_of_id) for other in newest)

    @property
    def shown(self) -> list[TimelineEntry]:
        """The entries, oldest first, without boosts of a status that is among the RECENT entries before the boost."""
        if self._shown is None:
            shown = self._without_repeats()
            # Mostly there are no repeats: then both are the same list.
            self._shown = self._entries if len(shown) == len(self._entries) else shown
        return self._shown

    def _without_repeats(self) -> list[TimelineEntry]:
        shown: list[TimelineEntry] = []
        places: dict[int, int] = {}  # for each original, its last position in `shown`, by itself or boosted
        for entry in self._entries:
            boosted = entry.reblog_of_id
            if boosted is not None and len(shown) - places.get(boosted, -SIZE) <= RECENT:
                continue
            places[boosted or entry.id] = len(shown)
            shown.append(entry)
        return shown

    def reaches(self, id: int) -> bool:
        """True if a status with this id would be in the window if it belonged to the timeline."""
        return self.complete or (bool(self._entries) and id > self._entries[0].id)

    def meets(self, page: Page) -> bool:
        """True if a page begins in the window, or right below it."""
        below, _, _ = page.bounds
        return bool(self._entries) and below >= self._entries[0].id

    def is_sure_of(self, ids: Sequence[int]) -> bool:
        """True if no boost on a page, its newest first, might be hidden because of an entry older than the window."""
        shown = self.shown
        if self.complete or not ids or (len(shown) > RECENT and ids[-1] >= shown[RECENT].id):
            return True
        oldest = shown[bisect_left(shown, ids[-1], key=ID) : RECENT]
        return all(entry.reblog_of_id is None for entry in oldest)

    def may_hold(self, id: int) -> bool:
        """True if the timeline may hold a status: here, or on a page older than the window."""
        return id in self or not self.reaches(id)

    def amend(self, entry: TimelineEntry, admits: Callable[[TimelineEntry], bool]) -> bool:
        """Replace an edited status and the boosts of it. True if any of these entries is still admitted."""
        stays = False
        for known in [known for known in self._entries if entry.id in (known.id, known.reblog_of_id)]:
            changed = entry if known.id == entry.id else _boost_of(entry, known)
            place = self._place(known.id)
            if place is not None and admits(changed):
                self._entries[place] = self._take(changed)
                self._give_back([known])
                self._shown = None
                stays = True
            else:
                self.remove(known.id)
        return stays

    def remove(self, id: int) -> bool:
        place = self._place(id)
        if place is None:
            return False
        self._give_back([self._entries.pop(place)])
        self._shown = None
        return True

    def keep(self, belongs: Callable[[TimelineEntry], bool]) -> None:
        """Remove the entries that do not belong here."""
        self._replace([entry for entry in self._entries if belongs(entry)])

    def release(self) -> None:
        """The timeline sleeps, or was replaced: this window counts no more, also if its last turn still goes on."""
        if self._shared_entries is not None:
            self._give_back(self._entries)
            self._shared_entries = None

    def page(self, page: Page, admits: Callable[[TimelineEntry], bool] | None = None) -> list[int] | None:
        """Return the ids of one page, newest first; None if the window does not hold all of it."""
        shown = self.shown
        below, above, _ = page.bounds
        upper, lower = bisect_left(shown, below, key=ID), bisect_left(shown, above + 1, key=ID)
        if page.oldest_first:
            covered = lower > 0 or self.complete
            return self._pick(range(lower, upper), page.limit, admits)[::-1] if covered else None
        picked = self._pick(range(upper - 1, lower - 1, -1), page.limit, admits)
        covered = len(picked) == page.limit or lower > 0 or self.complete
        return picked if covered else None

    def _pick(self, places: range, limit: int, admits: Callable[[TimelineEntry], bool] | None) -> list[int]:
        shown = self.shown
        if admits is None:
            return [shown[place].id for place in places[:limit]]
        admitted = (entry.id for place in places if admits(entry := shown[place]))
        return list(islice(admitted, limit))

    def _place(self, id: int) -> int | None:
        place = bisect_left(self._entries, id, key=ID)
        return place if place < len(self._entries) and self._entries[place].id == id else None

    def _replace(self, entries: list[TimelineEntry]) -> None:
        before, self._entries = self._entries, [self._take(entry) for entry in entries]
        self._give_back(before)
        self._shown = None

    def _take(self, entry: TimelineEntry) -> TimelineEntry:
        return entry if self._shared_entries is None else self._shared_entries.take(entry)

    def _give_back(self, entries: Iterable[TimelineEntry]) -> None:
        if self._shared_entries is not None:
            self._shared_entries.give_back(entries)

    def _trim(self) -> None:
        excess = len(self._entries) - SIZE
        if excess > 0:
            self._give_back(self._entries[:excess])
            del self._entries[:excess]
            self._shown = None
            self.complete = False


def _boost_of(entry: TimelineEntry, boost: TimelineEntry) -> TimelineEntry:
    """Return a boost with the mentions, language and media of its edited original."""
    return replace(boost, mentioned_ids=entry.mentioned_ids, language=entry.language, has_media=entry.has_media)
