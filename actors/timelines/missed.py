"""The events that an interrupted client has missed: all events after the point of its last id.

They are made from the log of changes and from the rows as they are now. A status that was deleted meanwhile is shown as
its deletion alone, and several edits as the latest edit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ...storage import deletions, edits, notifications, stream_log
from ...storage.deletions import Remains
from ...storage.stream_log import LoggedChange
from ...storage.timeline_entries import TimelineEntry
from ..broadcast.events import Keyed, StatusAmended, StatusAppeared, StatusGone, StreamedEvent
from ..broadcast.publications import LOG_KEPT
from ..context import ActorContext
from ..facts.fact import STORED, STREAMED, StoredFact
from ..facts.statuses import EditedStatus, PublishedStatus
from ..kernel import Event, Feed, Message, first_id_at
from ..kernel.feed import key_of, key_of_gone
from ..kernel.resumption import LEFT_OUT
from ..shown.statuses import entry_of

# The largest numbers of changes that are read from the log, and of events that are made of them, for one stream.
MOST_CHANGES = 20_000
MOST_STATUSES = 2_000


@dataclass(frozen=True, slots=True)
class MissedEvent:
    """An event, its key in the feed, and its position in the log; None if it is not logged yet."""

    key: str
    position: int | None
    event: StreamedEvent


@dataclass(frozen=True, slots=True)
class Missed:
    """The events that were missed, in order. If not `complete`, they are not known, or too many to show them.

    They are all missed events up to `position`, and further events, which are in the log after it or not in the log.
    They include the events of all publications up to the number `published`, except for `unlogged` publications. No
    node has passed the position `newest`.
    """

    position: int
    newest: int
    published: int
    unlogged: frozenset[int]
    events: tuple[MissedEvent, ...] = ()
    complete: bool = True

    def includes(self, event: Event) -> bool:
        """True if an event of the feed is among the missed events."""
        number = event.publication.number
        return 0 < number <= self.published and number not in self.unlogged


@dataclass(frozen=True, slots=True)
class MissedEvents(Message[Missed]):
    """Query: the events that a subscriber missed after a position, without these keys. None asks for no events."""

    since: int | None = None
    keys: tuple[str, ...] = ()


class Replayable(Protocol):
    """The part of a timeline that finds the events of its streams again."""

    context: ActorContext

    @property
    def feed(self) -> Feed: ...

    def would_stream(self, entry: TimelineEntry, published_at: int) -> bool: ...

    def would_stream_edit(self, event: StatusAmended) -> bool: ...

    def may_have_shown(self, account_id: int, remains: Remains) -> bool: ...

    async def own_events(self, fact: StoredFact) -> list[Keyed]: ...


class TooManyMissed(Exception):
    """Raised when more events were missed than are shown."""


async def missed_by(timeline: Replayable, message: MissedEvents) -> Missed:
    """Return the events that a subscriber missed.

    The subscriber joins the feed before it asks, so that each event is in the log or in the feed.
    """
    context = timeline.context
    publications = context.publications
    await context.outbox.log_published()
    missed = Missed(publications.position, publications.newest, publications.begun, publications.unlogged())
    if message.since is None:
        return missed
    # Rows may still be logged between the position here and a later position.
    if message.since < first_id_at(context.clock.now() - LOG_KEPT) or message.since > missed.position:
        return replace(missed, complete=False)
    changes = await context.database.read(stream_log.after, message.since, STREAMED, context.clock.now(), MOST_CHANGES)
    try:
        events = [event async for event in ReplayedChanges(timeline, changes, message.keys).events()]
    except TooManyMissed:
        return replace(missed, complete=False)
    for missed_event in events:
        if isinstance(missed_event.event, StatusAppeared):  # its deletion must be shown too
            timeline.feed.replayed.add(missed_event.event.status.id)
    return replace(missed, events=tuple(events))


class ReplayedChanges:
    """The events of a timeline for some logged changes."""

    def __init__(self, timeline: Replayable, changes: Sequence[LoggedChange], known: Collection[str]) -> None:
        if len(changes) == MOST_CHANGES:
            raise TooManyMissed
        self._timeline = timeline
        self._context = timeline.context
        self._changes = [
            (change.position, STORED[change.kind].of_row(change.payload)) for change in changes if change.kind in STORED
        ]
        published = (fact for _, fact in self._changes if isinstance(fact, PublishedStatus))
        self._published = {fact.id for fact in published if not fact.gone}
        self._known = frozenset(known)  # the keys of events that the client was shown before
        self._keys = set(known)  # these keys, and the keys of the events that it is shown now

    async def events(self) -> AsyncIterator[MissedEvent]:
        """Yield the events in the order of their publication."""
        edited = {fact.id for _, fact in self._changes if isinstance(fact, EditedStatus)}
        ids = edited.union(fact.id for _, fact in self._changes if isinstance(fact, PublishedStatus))
        if len(ids) > MOST_STATUSES:
            raise TooManyMissed
        # Read before the statuses, so that no status is older than the edit whose key is given for it.
        self._edits = await self._context.database.read(edits.latest, sorted(edited), 0)
        for id in self._edits:  # the turn of the edit, or another node, may not have updated the cache here yet
            self._context.statuses.drop(id)
        self._shown = await self._context.statuses.show_many(sorted(ids))  # of those that are still there
        self._notified = await self._context.database.read(notifications.mentioned, list(self._edits))
        for position, fact in self._changes:
            for key, event in await self._events_of(position, fact):
                if not key or key not in self._keys:
                    self._keys.add(key)
                    yield MissedEvent(key, position, event)

    async def _events_of(self, position: int | None, fact: StoredFact) -> list[Keyed]:
        match fact:
            case PublishedStatus(id, account_id, gone=True):
                return await self._gone(id, account_id)
            case PublishedStatus(id, news=True):
                return self._appeared(position, id)
            case PublishedStatus():
                return []
            case EditedStatus(id):
                return self._amended(id)
            case _:
                return await self._timeline.own_events(fact)

    def _appeared(self, position: int | None, id: int) -> list[Keyed]:
        shown = self._shown.get(id)
        published_at = position or first_id_at(self._context.clock.now())
        if shown is None or not self._timeline.would_stream(entry_of(shown), published_at):
            return []
        return [(key_of(id), StatusAppeared(shown))]

    async def _gone(self, id: int, account_id: int) -> list[Keyed]:
        """Return a deletion. A status that was published and deleted meanwhile is not shown at all."""
        if id in self._published and self._known.isdisjoint((key_of(id), LEFT_OUT)):
            return []
        remains = await self._context.database.read(deletions.remains, id)
        if remains is None or not self._timeline.may_have_shown(account_id, remains):
            return []
        return [(key_of_gone(id), StatusGone(id))]

    def _amended(self, id: int) -> list[Keyed]:
        """Return the latest edit of a status, unless the client is shown the status itself now."""
        if id not in self._shown or id not in self._edits or key_of(id) in self._keys - self._known:
            return []
        event = StatusAmended(self._shown[id], self._notified.get(id, ()))
        return [(key_of(self._edits[id]), event)] if self._timeline.would_stream_edit(event) else []
