"""Facts about statuses that were published, edited or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...storage import deletions, edits, notifications, reblogs
from ...storage.deletions import Deleted, Remains
from ...storage.quotes import EndedQuote
from ...storage.timeline_entries import TimelineEntry
from ..broadcast.broadcast import PUBLIC_PLACES, public_places
from ..broadcast.events import StatusAmended, StatusAppeared, StatusGone
from ..kernel import Address, Message, Origin, SystemMessage
from ..promises import Promise
from ..rules.visibility import belongs_in_public, belongs_under_tags
from ..shown.statuses import ShownStatus, entry_of
from .fact import Fact, Facts, StoredFact, account_of, stored_as


@dataclass(frozen=True, slots=True)
class StatusPublished(Message[None]):
    """To timelines: a new status that may belong there. Without `news` it is added without an event."""

    can_wait = True

    entry: TimelineEntry
    event: StatusAppeared | None  # for subscribers; left out of a deferred message, because it holds the status
    news: bool = True

    def deferred(self) -> StatusPublished:
        return replace(self, event=None)


@dataclass(frozen=True, slots=True)
class StatusEdited(Message[None]):
    """To timelines: an edited status. Each edit has an id, so that streams show it once."""

    entry: TimelineEntry
    edit_id: int
    event: StatusAmended


@dataclass(frozen=True, slots=True)
class StatusDeleted(Message[None]):
    """To timelines: a deleted status. The mentioned accounts may know it from a notification."""

    id: int
    mentioned_ids: tuple[int, ...]
    event: StatusGone


@dataclass(frozen=True, slots=True)
class PollChanged(SystemMessage[None]):
    """To accounts: their cached votes in the poll of this status may be outdated."""

    id: int


@stored_as("counts", {"id": "id"})
@dataclass(frozen=True, slots=True)
class ChangedStatus(StoredFact):
    """The counts of a status, or another part of it whose changes streams do not show."""

    id: int

    def cache(self, facts: Facts) -> None:
        facts.statuses.drop(self.id)

    @classmethod
    def promised(cls, facts: Sequence[ChangedStatus], by: Address) -> Iterator[Promise]:
        return counts_promised((fact.id for fact in facts), by)

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [self]


@stored_as("status", {"id": "id", "account": "account_id", "gone": "gone", "news": "news"}, streamed=True)
@dataclass(frozen=True, slots=True)
class PublishedStatus(StoredFact):
    """A new status of an account, with its rows if they are known. Without `news` streams don't show it.

    A fact with `gone` was promised by the deletion of the status, which may have come before its publication. With
    `for_author` only the author's own home shows the status: the relay publishes it later.
    """

    id: int
    account_id: int
    shown: ShownStatus | None = None
    news: bool = True
    gone: bool = False
    for_author: bool = False

    @property
    def newest(self) -> int:
        return self.id

    @property
    def status_for_timelines(self) -> int:
        return self.id

    def cache(self, facts: Facts) -> None:
        """Cache the rows of the turn, unless the relay was first: then the status may have changed since."""
        if self.shown is None:
            facts.note_relayed(self.id)
            facts.accounts.drop(self.account_id)
        elif facts.was_relayed(self.id):
            facts.statuses.drop(self.id)
            facts.accounts.drop(self.shown.author.id)
        else:
            if self.shown.status.quote_of_id is None:
                facts.put_status(self.shown.status)
            else:  # another account may have ended the quote since this row was read
                facts.statuses.drop(self.id)
            facts.put_account(self.shown.author)

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify every timeline that may show the status."""
        if (shown := await self.show(facts)) is None:
            return
        if self.for_author:
            self.notify_author(facts, shown, origin)
            return
        broadcast, entry = facts.broadcast, entry_of(shown)
        message = StatusPublished(entry, broadcast.with_position(StatusAppeared(shown)), self.news)
        names = entry.tags if belongs_under_tags(entry) and not entry.silenced else ()
        broadcast.to_followers(entry.account_id, names, message, origin)
        if belongs_in_public(entry) and not entry.silenced:
            broadcast.to_public(public_places(entry), message, origin)
        broadcast.to_tags(names, message, origin)

    def notify_author(self, facts: Facts, shown: ShownStatus, origin: Origin) -> None:
        """Notify only the author's own home. The relay notifies all timelines later, also this home."""
        event = facts.broadcast.with_position(StatusAppeared(shown))
        facts.broadcast.to_home(shown.status.account_id, StatusPublished(entry_of(shown), event), origin)

    def before_relay(self) -> PublishedStatus:
        return replace(self, for_author=True)

    async def show(self, facts: Facts) -> ShownStatus | None:
        """Return the status for timelines. None if it was deleted meanwhile: the deletion is a fact of its own.

        If another fact has changed the row meanwhile, it is read again.
        """
        shown = self.shown
        if shown is None or not facts.statuses.holds(self.id, shown.status):
            shown = await facts.statuses.show_latest(self.id)
        return None if facts.statuses.is_deleted(self.id) else shown

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        facts.cache([ChangedStatus(self.id)])
        if await facts.statuses.show(self.id) is not None:
            return [PublishedStatus(self.id, self.account_id, news=self.news)]
        return [GoneStatus(self.id, self.account_id, await facts.database.read(deletions.remains, self.id))]


@stored_as("edit", {"id": "id"}, streamed=True)
@dataclass(frozen=True, slots=True)
class EditedStatus(StoredFact):
    """A status was edited, has got a card or another quote policy, or its quote has ended.

    The `rebloggers` boosted it, the `notified` were notified of a mention in it. With `for_caches` no actor is
    notified: the relay publishes it later.
    """

    id: int
    edit_id: int = 0
    rebloggers: Sequence[int] = ()
    notified: Sequence[int] = ()
    for_caches: bool = False

    @property
    def newest(self) -> int:
        return self.edit_id

    @property
    def status_for_timelines(self) -> int:
        return self.id

    def cache(self, facts: Facts) -> None:
        facts.statuses.drop(self.id)

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify every timeline that may show the status: by its author, a boost, or the notification of a mention."""
        if self.for_caches or (shown := await self.show(facts)) is None:
            return
        broadcast, entry = facts.broadcast, entry_of(shown)
        broadcast.edits.note(entry.id, self.edit_id)
        if shown.status.poll is not None:
            # To all awake accounts: an edit may have deleted the votes.
            await broadcast.to_all("account", PollChanged(entry.id), origin)
        message = StatusEdited(entry, self.edit_id, broadcast.with_position(StatusAmended(shown, tuple(self.notified))))
        # An edit may have removed hashtags: it goes to all homes with any hashtag, and to all awake tags.
        tagged = belongs_under_tags(entry)
        authors = (entry.account_id, *self.rebloggers)
        broadcast.to_homes_and_lists(authors, self.notified, message, origin, tagged=tagged)
        if belongs_in_public(entry) and not entry.silenced:
            broadcast.to_public(public_places(entry), message, origin)
        if tagged and not entry.silenced:
            await broadcast.to_all("tag", message, origin)

    def before_relay(self) -> EditedStatus:
        return replace(self, for_caches=True)

    async def show(self, facts: Facts) -> ShownStatus | None:
        """Return the status as it is now. None if it was deleted meanwhile: the deletion is a fact of its own."""
        shown = await facts.statuses.show_latest(self.id)
        return None if facts.statuses.is_deleted(self.id) else shown

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        """Return the latest edit. The status is read after it, so that it is not older than the edit."""
        rebloggers = await facts.database.read(reblogs.rebloggers, self.id)
        notified = await facts.database.read(notifications.mentioned, [self.id])
        latest = await facts.database.read(edits.latest, [self.id], 0)
        if self.id not in latest:
            return []
        return [EditedStatus(self.id, latest[self.id], rebloggers, notified.get(self.id, ()))]


@dataclass(frozen=True, slots=True)
class EndedQuotes(Fact):
    """Quotes that are not shown any more: they were revoked, or the quoted statuses were deleted."""

    quotes: Sequence[EndedQuote]

    @property
    def newest(self) -> int:
        return max((quote.change_id for quote in self.quotes), default=0)

    def cache(self, facts: Facts) -> None:
        for quote in self.quotes:
            facts.statuses.drop(quote.id)
            facts.statuses.drop(quote.quoted_id)

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Show the quoting statuses again, as after an edit. No turn waits for crowded timelines here."""
        for quote in self.quotes:
            edited = EditedStatus(quote.id, quote.change_id, quote.rebloggers, quote.notified)
            await edited.notify_actors(facts, origin)

    @classmethod
    def promised(cls, facts: Sequence[EndedQuotes], by: Address) -> Iterator[Promise]:
        ended = [quote for fact in facts for quote in fact.quotes]
        yield from (EditedStatus(quote.id).promised_by(account_of(by)) for quote in ended)
        yield from counts_promised((quote.quoted_id for quote in ended), by)


@dataclass(frozen=True, slots=True)
class DeletedStatus(Fact):
    """A status was deleted, and its boosts with it."""

    deleted: Deleted

    @property
    def subject(self) -> int:
        return self.deleted.status.account_id

    def cache(self, facts: Facts) -> None:
        """Remove the status and its boosts from the caches. All changed counts are read again."""
        status = self.deleted.status
        facts.statuses.delete(status.id)
        facts.accounts.drop(status.account_id)
        for counted in (status.in_reply_to_id, status.reblog_of_id, status.quote_of_id):
            if counted is not None:
                facts.statuses.drop(counted)
        for boost, booster in self.deleted.reblogs:
            facts.statuses.delete(boost)
            facts.accounts.drop(booster)

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify every timeline that may show the status or a boost of it."""
        status = self.deleted.status
        remains = Remains(status.visibility, status.mentioned_ids, tuple(tag.name for tag in status.tags))
        GoneStatus(status.id, status.account_id, remains).notify_actors(facts, origin)
        for boost, booster in self.deleted.reblogs:
            message = StatusDeleted(boost, (), facts.broadcast.with_position(StatusGone(boost)))
            facts.broadcast.to_followers(booster, (), message, origin)

    @classmethod
    def promised(cls, facts: Sequence[DeletedStatus], by: Address) -> Iterator[Promise]:
        for fact in facts:
            status = fact.deleted.status
            for id, account_id in ((status.id, account_of(by)), *fact.deleted.reblogs):
                yield PublishedStatus(id, account_id, gone=True).promised_by(account_id)
            counted = (status.in_reply_to_id, status.reblog_of_id, status.quote_of_id)
            yield from (ChangedStatus(id).promised_by(account_of(by)) for id in counted if id is not None)


@dataclass(frozen=True, slots=True)
class GoneStatus(Fact):
    """A status was deleted. `remains` is the rest of its rows; None if there is no rest."""

    id: int
    account_id: int
    remains: Remains | None

    def cache(self, facts: Facts) -> None:
        facts.statuses.delete(self.id)
        facts.accounts.drop(self.account_id)

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify every timeline that may show this status. Its boosts are not notified of."""
        broadcast, remains = facts.broadcast, self.remains
        if remains is None:
            return
        message = StatusDeleted(self.id, remains.mentioned_ids, broadcast.with_position(StatusGone(self.id)))
        broadcast.to_followers(self.account_id, remains.tags, message, origin)
        for account_id in remains.mentioned_ids:
            broadcast.to_home(account_id, message, origin)
        if remains.visibility == "public":
            broadcast.to_tags(remains.tags, message, origin)
            broadcast.to_public(PUBLIC_PLACES, message, origin)


def counts_promised(status_ids: Iterable[int], by: Address) -> Iterator[Promise]:
    """Return the promises to drop the cached counts of statuses, a promise for each status."""
    return (ChangedStatus(id).promised_by(account_of(by)) for id in dict.fromkeys(status_ids))
