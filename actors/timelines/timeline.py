"""The base of all timelines: the newest entries in memory, the turns that keep them current, and paging.

Timelines are not stored. An awake timeline holds a window of up to 400 entries and gets messages about new statuses,
edits and deletions: it reads the newest 120 entries when it wakes, and the others for older pages. A sleeping timeline
holds nothing; one indexed query loads it when it wakes. It registers for its authors before it reads its rows, so that
no commit falls between the two (`broadcast/audience.py`). Windows share one entry of each status
(`memory/shared_entries.py`). Beyond the setting `timeline_memory` the least recently used timeline without subscribers
goes to sleep at once.

The feed remembers which statuses the subscribers were shown, so that an incarnation after a crash shows them the missed
statuses, in order and once. A timeline that reads its rows again because it admits more now shows statuses that were
not shown yet; it does not wait for messages on their way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter

from ...storage import deletions, edits, notifications
from ...storage.deletions import Remains
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..broadcast.events import Keyed, StatusAmended, StatusAppeared, StatusGone
from ..context import ActorContext
from ..entity import EntityActor
from ..facts.fact import StoredFact
from ..facts.statuses import StatusDeleted, StatusEdited, StatusPublished
from ..kernel import Cell, Runtime, Subscriber, first_id_at, turn
from ..kernel.clock import BELOW_MILLISECONDS
from ..shown.statuses import LATE, entry_of
from .missed import Missed, MissedEvents, missed_by
from .paging import FetchRows, read_page
from .window import SIZE, Window

# Most people read only the newest pages: here three of the longest. The third page stands behind the first two, where a
# boost may be hidden because of it.
FIRST = 120
# The status of a transaction that began this long before a first subscription, and commits after it, is news. The relay
# publishes statuses of an earlier process.
MARGIN = timedelta(seconds=30)
# A status that was turned away is no news if it is admitted this long after it came, or later. A younger status may
# have come between the change that admits it and the moment when its timeline learned of the change.
SETTLED = timedelta(seconds=30)


class Timeline(EntityActor, ABC):
    """The base of every timeline. A subclass defines its rows (`rows`) and the entries that belong on it (`admits`)."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime, context)
        self.cell = cell  # to register with authors; `detach` does not change it, so `retired` finds the registration
        self.window = Window(context.shared_entries)
        self.depth = FIRST  # the number of rows that the window was filled from

    async def load(self) -> None:
        """Fill the window. A subclass registers with its authors first, so that no commit falls between the two."""
        await self.fill(SIZE if len(self.feed) else FIRST)
        if len(self.feed):
            await self.show_missed()

    @abstractmethod
    async def rows(self, at: Page) -> list[TimelineEntry]:
        """Read entries from rows, newest first, at most `at.limit`."""

    def admits(self, entry: TimelineEntry) -> bool:
        """True if an entry from `rows`, or from a message, belongs on the timeline."""
        return True

    def admits_edited(self, entry: TimelineEntry, event: StatusAmended) -> bool:
        """True if a status belongs on the timeline after the edit that `event` shows."""
        return self.admits(entry)

    def admitted_since(self, entry: TimelineEntry) -> int:
        """Return the id of the row that admits an entry, for example a follow of its author; 0 if all are admitted."""
        return 0

    def is_news(self, entry: TimelineEntry) -> bool:
        """True if streams show the entry. Entries that were there before are added without an event."""
        return entry.id > max(self.feed.floor, self.admitted_since(entry))

    def would_stream(self, entry: TimelineEntry, published_at: int) -> bool:
        """True if streams showed an entry when it was published, at the time of the id `published_at`."""
        entry = _as_it_stands(self, entry)
        if not self.admits(entry) or entry.id <= self.admitted_since(entry) or _is_late(entry, published_at):
            return False
        return entry.id not in self.window or entry.id in map(attrgetter("id"), self.window.shown)

    def would_stream_edit(self, event: StatusAmended) -> bool:
        """True if streams show an edit of a status on the timeline, or of a status that is boosted there."""
        entry = entry_of(event.status)
        if self.admits_edited(entry, event) or self.shows_edit(entry, event):
            return True
        return any(other.reblog_of_id == entry.id for other in self.window)

    async def own_events(self, fact: StoredFact) -> list[Keyed]:
        """Return the events of the account's own streams, which only homes have, that a fact gives rise to."""
        return []

    @abstractmethod
    def may_have_shown(self, account_id: int, remains: Remains) -> bool:
        """True if a deleted status of an account may have been on the timeline."""

    def shows_edit(self, entry: TimelineEntry, event: StatusAmended) -> bool:
        """True if streams show edits of a status that does not belong on the timeline."""
        return False

    def shows_deletion(self, message: StatusDeleted) -> bool:
        """True if a subscriber may have been shown the status, or have read it on an older page."""
        feed = self.feed
        return message.id in feed.shown or message.id in feed.replayed or self.window.may_hold(message.id)

    def retired(self) -> None:
        self.window.release()

    def subscribed(self, subscriber: Subscriber) -> None:
        if len(self.feed) == 1:
            now = self.context.clock.now()
            floor = max(first_id_at(now - MARGIN), self.context.began)
            self.feed.begin(self.window.ids, floor, first_id_at(now))

    def describe(self) -> str:
        return f"window {len(self.window)}, subscribers {len(self.feed)}"

    async def fill(self, depth: int = 0) -> None:
        """Fill the window from so many rows, or from as many as before."""
        depth = depth or self.depth
        rows = await self.rows(Page(depth))
        self.depth = depth
        self.window.fill(filter(self.admits, rows), complete=len(rows) < depth)

    async def read_on(self) -> None:
        """Fill the rest of the window, for a reader who wants more than the newest entries."""
        if self.depth < SIZE:
            await self.fill(SIZE)

    def page(
        self,
        page: Page,
        admits: Callable[[TimelineEntry], bool] | None = None,
        rows: FetchRows | None = None,
    ) -> list[int] | Coroutine[object, object, list[int]]:
        """Return the ids of one page, newest first: from the window, or from rows when it does not hold the page.

        `admits` is a viewer's filter over the window, `rows` is read in place of the timeline's own rows.
        """
        ids = self.window.page(page, admits)
        if ids is not None and (self.depth >= SIZE or self.window.is_sure_of(ids)):
            return ids
        if self.depth < SIZE and self.window.meets(page):
            return self.page_of_more(page, admits, rows)
        return self.page_from_rows(page, admits, rows)

    async def page_of_more(
        self, page: Page, admits: Callable[[TimelineEntry], bool] | None, rows: FetchRows | None
    ) -> list[int]:
        """Return the ids of one page that the rest of the window may hold."""
        await self.read_on()
        ids = self.window.page(page, admits)
        return ids if ids is not None else await self.page_from_rows(page, admits, rows)

    def page_from_rows(
        self,
        page: Page,
        admits: Callable[[TimelineEntry], bool] | None = None,
        rows: FetchRows | None = None,
    ) -> Coroutine[object, object, list[int]]:
        """Return the ids of one page, newest first, from rows alone."""
        return read_page(rows or self.rows, admits or self.admits, page)

    async def show_missed(self) -> None:
        """Show the subscribers the entries, deletions and edits that they missed during a restart of this timeline.

        It may have been restarted because it admits more now, for example after the end of a mute. Statuses that it
        turned away before are no news.
        """
        feed, settled = self.feed, first_id_at(self.context.clock.now() - SETTLED)
        for entry in self.window.shown:
            if entry.id < settled and entry.id in feed.turned_away:
                feed.know(entry.id)
        await self.show([entry for entry in self.window.shown if entry.id not in feed.shown])
        await self.retract_deleted()
        await self.show_edits()

    async def show(self, entries: Iterable[TimelineEntry]) -> None:
        """Show the entries that are news; mark the others as known.

        A status that was turned away and edited since is no news: the edit has brought it here, and streams show that.
        """
        self.feed.settle(first_id_at(self.context.clock.now() - MARGIN - SETTLED))
        entries = list(entries)
        turned_away = [entry.id for entry in entries if entry.id in self.feed.turned_away]
        edited = await self.context.database.read(edits.latest, turned_away, self.feed.floor) if turned_away else {}
        news: list[int] = []
        for entry in entries:
            if self.is_news(entry) and entry.id not in edited:
                news.append(entry.id)
            else:
                self.feed.know(entry.id)
        shown = await self.context.statuses.show_many(news)
        if self.cell.mailbox.resync:
            # The relations have changed since the rows were read. The timeline is read again before its next message,
            # and shows the entries then, in order with the statuses that it does not admit yet.
            return
        for id in news:
            if id in shown and not self.context.statuses.is_deleted(id):
                self.feed.insert_new(id, StatusAppeared(shown[id]))

    async def retract_deleted(self) -> None:
        """Retract the statuses that were shown and have been deleted since."""
        missing = [id for id in {*self.feed.shown, *self.feed.replayed} if id not in self.window]
        for id in await self.context.database.read(deletions.deleted_among, missing) if missing else ():
            self.feed.retract(id, StatusGone(id))

    async def show_edits(self) -> None:
        """Show the latest edits of statuses and boosted statuses in the window that were not shown."""
        ids = [entry.reblog_of_id or entry.id for entry in self.window]
        latest = await self.context.database.read(edits.latest, ids, self.feed.floor)
        for id, edit_id in latest.items():
            # The edit is committed, but its author's turn may not have updated the cache yet: read the status again.
            self.context.statuses.drop(id)
            self.context.broadcast.edits.note(id, edit_id)
        shown = await self.context.statuses.show_many(latest)
        notified = await self.context.database.read(notifications.mentioned, list(latest)) if latest else {}
        for id, edit_id in latest.items():
            if id in shown and not self.context.statuses.is_deleted(id):
                self.feed.append_new(edit_id, StatusAmended(shown[id], notified.get(id, ())))


@turn(Timeline, MissedEvents)
async def missed_events(timeline: Timeline, message: MissedEvents) -> Missed:
    if message.since is not None:
        await timeline.read_on()
    return await missed_by(timeline, message)


@turn(Timeline, StatusPublished)
def take_status(timeline: Timeline, message: StatusPublished) -> None:
    """Add a status. Runs once for each awake timeline that a status goes to: the fan-out's hot path."""
    entry, window, feed = _as_it_stands(timeline, message.entry), timeline.window, timeline.listened
    # After a crash the mailbox may be older than the rows: the status may have been deleted since.
    if timeline.context.statuses.is_deleted(entry.id) or (feed is not None and entry.id in feed.gone):
        return
    if not timeline.admits(entry):
        if feed is not None:
            feed.turn_away(entry.id)
        return
    if not message.news or _is_late(entry, first_id_at(timeline.context.clock.now())):
        if window.reaches(entry.id):
            window.add(entry)
            if feed is not None:
                feed.know(entry.id)
    elif feed is None:
        window.add(entry)
    else:
        if window.repeats(entry) or message.event is None:
            feed.know(entry.id)
        window.add(entry)
        if message.event is not None:
            feed.append_new(entry.id, message.event)


def _is_late(entry: TimelineEntry, now: int) -> bool:
    """True for an old status of another server that has only arrived now: it is put in its place, and is no news."""
    return not entry.local and entry.id < now - (int(LATE.total_seconds() * 1000) << BELOW_MILLISECONDS)


def _as_it_stands(timeline: Timeline, entry: TimelineEntry) -> TimelineEntry:
    """Return an entry with the states of its author as they are now: staff may have acted since it was sent."""
    author = timeline.context.accounts.peek(entry.account_id)
    if author is None:
        return entry
    silenced = author.silenced_at is not None
    withdrawn = entry.withdrawn or author.suspended_at is not None or author.deleted_at is not None
    if silenced is entry.silenced and withdrawn is entry.withdrawn:
        return entry
    return replace(entry, silenced=silenced, withdrawn=withdrawn)


@turn(Timeline, StatusEdited)
def take_edit(timeline: Timeline, message: StatusEdited) -> None:
    """Apply an edit, which may also bring a status onto the timeline or take it away."""
    entry = message.entry
    if timeline.context.statuses.is_deleted(entry.id) or entry.id in timeline.feed.gone:
        return
    if timeline.context.broadcast.edits.is_overtaken(entry.id, message.edit_id):
        return
    admitted = timeline.admits_edited(entry, message.event)
    stays = timeline.window.amend(entry, lambda changed: timeline.admits_edited(changed, message.event))
    if admitted and not stays and timeline.window.reaches(entry.id):
        timeline.window.add(entry)
        # Streams show the edit. When the timeline is read again, its status is no news: newer statuses were shown.
        timeline.feed.know(entry.id)
    if admitted or stays or timeline.shows_edit(entry, message.event):
        timeline.feed.append_new(message.edit_id, message.event)


@turn(Timeline, StatusDeleted)
def drop_status(timeline: Timeline, message: StatusDeleted) -> None:
    """Remove a status, and retract it where it may have been shown."""
    if timeline.shows_deletion(message):
        timeline.feed.retract(message.id, message.event)
    timeline.window.remove(message.id)
