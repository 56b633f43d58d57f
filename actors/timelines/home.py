"""An account's home timeline, and the account's own streams.

Awake, it holds the newest entries and is told of new ones; asleep, it is nothing, and is rebuilt from rows when
somebody looks. What subscribers were shown is remembered in the feed, so that a new incarnation shows them what they
missed, once and in order, and nothing twice.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ...storage import conversations, lists, notifications, relations, statuses, timelines
from ...storage.engine import Unavailable
from ...storage.statuses import Entry
from ..account import perspective_of
from ..backstage import Backstage
from ..broadcast import (
    Corresponded,
    Heard,
    Notified,
    Related,
    StatusDeleted,
    StatusEdited,
    StatusPublished,
    Told,
    correspondence_key,
)
from ..correspondence import correspondences
from ..kernel import Actor, Cell, Event, Runtime, Subscriber, first_id_at, turn
from ..rules.visibility import Perspective, Relation, belongs_at_home, hidden
from .catching_up import edits_since
from .sifting import sift
from .window import SIZE, Cursors, Window

MARGIN = timedelta(seconds=30)  # a transaction that began so long before somebody listens may still commit
NEWS = 100  # notifications that one restart can make up for


@dataclass(frozen=True, slots=True)
class HomePage:
    """Query: ids of one page, newest first."""

    cursors: Cursors


class Home(Actor):
    """One account's home timeline."""

    def __init__(self, cell: Cell, runtime: Runtime, backstage: Backstage) -> None:
        super().__init__(cell, runtime)
        self.backstage = backstage
        self.cell = cell
        self.id = int(cell.address.key)
        self.perspective = Perspective(self.id)
        self.heard = Heard({})
        self.exclusive: set[int] = set()  # whom the owner reads in a list and not here
        self.window = Window()

    async def load(self) -> None:
        """Register with every author first, then read: nothing is committed unseen between the two."""
        database = self.backstage.database
        self.heard = self.backstage.broadcast.changes_of(self.id)
        self.perspective = perspective_of(self.id, await database.read(relations.relations, self.id))
        self.backstage.audience.join(self.cell, self.authors)
        self.exclusive = await database.read(lists.exclusive_members, self.id)
        await self.fill()
        if len(self.feed):
            await self.make_up()

    async def fill(self) -> None:
        """The window as the rows have it."""
        rows = await self.backstage.database.read(timelines.home_entries, self.id, limit=SIZE)
        self.window.fill(filter(self.admits, rows), complete=len(rows) < SIZE)

    def retired(self) -> None:
        self.backstage.audience.leave(self.cell, self.authors)

    def subscribed(self, subscriber: Subscriber) -> None:
        if len(self.feed) == 1:
            self.feed.begin(self.window.ids, first_id_at(self.backstage.clock.now() - MARGIN))

    def describe(self) -> str:
        return f"window {len(self.window)}, following {len(self.perspective.following)}, subscribers {len(self.feed)}"

    @property
    def authors(self) -> Iterable[int]:
        return (self.id, *self.perspective.following)

    def admits(self, entry: Entry) -> bool:
        return entry.account_id not in self.exclusive and belongs_at_home(entry, self.perspective)

    def is_news(self, entry: Entry) -> bool:
        """Whether streams should hear of it: older statuses of a new follow come in quietly."""
        following = self.perspective.following.get(entry.account_id)
        return entry.id > max(self.feed.floor, following.since if following else 0)

    async def make_up(self) -> None:
        """Show the subscribers of an earlier incarnation what they have missed."""
        await self.show([self.window[id] for id in self.window.shown if id not in self.feed.shown])
        await self.retract_deleted()
        await self.show_edits()
        latest = await self.backstage.database.read(notifications.page, self.id, since_id=self.feed.floor, limit=NEWS)
        for notification in reversed(latest):
            await self.show_notification(notification)
        await self.show_conversations()

    async def show(self, entries: list[Entry]) -> None:
        """Announce what is news, take the rest as known."""
        news = [entry.id for entry in entries if self.is_news(entry)]
        for entry in entries:
            if not self.is_news(entry):
                self.feed.know(entry.id)
        shown = await self.backstage.statuses.show_many(news)
        for id in news:
            if id in shown and not self.backstage.statuses.is_deleted(id):
                self.feed.announce(id, Event("update", shown[id]))

    async def retract_deleted(self) -> None:
        """What was shown and is not in the window any more may have been deleted meanwhile."""
        missing = [id for id in self.feed.shown if id not in self.window]
        for id in await self.backstage.database.read(statuses.deleted_among, missing) if missing else ():
            self.feed.retract(id, Event("delete", id))

    async def show_edits(self) -> None:
        """Edits of what stands here that nobody was told of."""
        ids = [entry.reblog_of_id or entry.id for entry in self.window]
        for edit_id, shown in (await edits_since(self.backstage, ids, self.feed.floor)).items():
            self.feed.announce(edit_id, Event("status.update", shown))

    async def show_notification(self, notification: notifications.Notification) -> None:
        if notification.id in self.feed.shown:
            return
        account = await self.backstage.accounts.find(notification.from_account_id)
        status_id = notification.status_id
        shown = await self.backstage.statuses.show(status_id) if status_id is not None else None
        if account is None or (shown is None and status_id is not None):
            return
        told = Told(notification, account, shown)
        if told.is_for(self.perspective):
            self.feed.announce(notification.id, Event("notification", told))

    async def show_conversations(self) -> None:
        backstage = self.backstage
        latest = await backstage.database.read(conversations.page, self.id, since_id=self.feed.floor, limit=NEWS)
        for told in reversed(await correspondences(latest, backstage.accounts, backstage.statuses)):
            if told.last is not None:
                self.feed.announce(correspondence_key(told.last.id), Event("conversation", told))

    def change_perspective(self, changed: Perspective) -> None:
        """Listen to other authors, and let go of what does not belong here any more."""
        before, after = self.perspective.following, changed.following
        self.backstage.audience.leave(self.cell, [id for id in before if id not in after])
        self.backstage.audience.join(self.cell, [id for id in after if id not in before])
        self.perspective = changed
        self.exclusive.intersection_update(after)  # a follow that ends takes its places in lists along
        self.window.keep(self.admits)


@turn(Home, HomePage)
def page(self: Home, message: HomePage) -> list[int] | Coroutine[Any, Any, list[int]]:
    """From the window, or from rows beyond it."""
    ids = self.window.page(message.cursors)
    return ids if ids is not None else _older_page(self, message.cursors)


async def _older_page(self: Home, cursors: Cursors) -> list[int]:
    async def fetch(at: Cursors) -> list[Entry]:
        return await self.backstage.database.read(
            timelines.home_entries, self.id, max_id=at.max_id, since_id=at.since_id, min_id=at.min_id, limit=at.limit
        )

    return await sift(fetch, self.admits, cursors)


@turn(Home, StatusPublished)
def take_status(self: Home, message: StatusPublished) -> None:
    entry = message.entry
    # After a crash the message may be older than the rows that were read since.
    if self.backstage.statuses.is_deleted(entry.id) or entry.id in self.feed.gone:
        return
    if not self.admits(entry):
        return
    if self.window.repeats(entry):
        self.feed.know(entry.id)
    self.window.add(entry)
    self.feed.announce(entry.id, message.event)


@turn(Home, StatusEdited)
def take_edit(self: Home, message: StatusEdited) -> None:
    """For whoever has it here, may have read it on an older page, or is named in it."""
    entry = message.entry
    if self.backstage.statuses.is_deleted(entry.id) or entry.id in self.feed.gone:
        return
    if self.backstage.broadcast.is_overtaken(message):
        return
    stays, admitted = self.window.amend(entry, self.admits), self.admits(entry)
    if admitted and not stays and self.window.reaches(entry.id):
        self.window.add(entry)
    named = self.id in entry.mentioned_ids and not hidden(entry, self.perspective)
    if stays or admitted or named:
        self.feed.announce(message.edit_id, message.event)


@turn(Home, StatusDeleted)
def drop_status(self: Home, message: StatusDeleted) -> None:
    """For whoever was shown it, may have read it on an older page, or is named in it. Others never knew of it."""
    id = message.id
    if id in self.feed.shown or self.window.may_hold(id) or self.id in message.mentioned_ids:
        self.feed.retract(id, message.event)
    self.window.remove(id)


@turn(Home, Notified)
def take_notification(self: Home, message: Notified) -> None:
    if message.told.is_for(self.perspective):
        self.feed.announce(message.told.id, message.event)


@turn(Home, Corresponded)
def take_conversation(self: Home, message: Corresponded) -> None:
    if message.key is None:
        self.feed.append(message.event)
    else:
        self.feed.announce(message.key, message.event)


@turn(Home, Related)
def be_related(self: Home, message: Related) -> Coroutine[Any, Any, None] | None:
    if not self.heard.takes(message):
        return None
    before = self.perspective
    then, now = before.relation(message.other), message.relation
    self.change_perspective(before.after(message.other, now))
    if not _widens(then, now):
        return None
    # Another follow than before was ended and begun again meanwhile: the window may be of the time between.
    begun = now.following is not None and (then.following is None or then.following.since != now.following.since)
    return _take_in(self, before, message, message.other if begun else None)


def _widens(then: Relation, now: Relation) -> bool:
    """Whether statuses may belong here that did not before."""
    return (
        (now.following is not None and now.following != then.following)
        or (then.muting is not None and now.muting is None)
        or (then.blocking and not now.blocking)
        or (then.blocked_by and not now.blocked_by)
    )


async def _take_in(self: Home, before: Perspective, message: Related, followed: int | None) -> None:
    """More than before belongs here, by others too: answers to somebody, boosts, what names them. News is what
    somebody newly `followed` has said since, and what was published after the change: it may have been told before
    the change was, and have been turned away. The rest was there while its time had not come."""
    known = set(self.window.ids)
    try:
        await self.fill()
        fresh = [entry for id in self.window.shown if (entry := self.window[id]).id not in known]
        if len(self.feed):
            news = [entry for entry in fresh if entry.id >= message.drawn or entry.account_id == followed]
            for entry in fresh:
                if entry not in news:
                    self.feed.know(entry.id)
            await self.show(news)
    except Unavailable:
        self.change_perspective(before)  # the message comes again, and must find everything as it was
        raise
