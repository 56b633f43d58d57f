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
from ...storage.engine.database import Unavailable
from ...storage.paging import Page
from ...storage.statuses import TimelineEntry
from ..account import perspective_of
from ..broadcast import (
    ConversationChanged,
    Notified,
    Related,
    RelationStamps,
    ShownNotification,
    StatusDeleted,
    StatusEdited,
    StatusPublished,
    conversation_key,
)
from ..context import ActorContext
from ..conversations import shown_conversations
from ..kernel import Actor, Cell, Event, Runtime, Subscriber, first_id_at, turn
from ..rules.visibility import Perspective, Relation, belongs_at_home, hidden
from .catching_up import edits_since
from .sifting import sift
from .window import SIZE, Window

MARGIN = timedelta(seconds=30)  # a transaction that began so long before somebody listens may still commit
NEWS = 100  # notifications that one restart can make up for


@dataclass(frozen=True, slots=True)
class HomePage:
    """Query: ids of one page, newest first."""

    cursors: Page


class HomeTimeline(Actor):
    """One account's home timeline."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime)
        self.context = context
        self.cell = cell
        self.id = int(cell.address.key)
        self.perspective = Perspective(self.id)
        self.heard = RelationStamps({})
        self.exclusive: set[int] = set()  # whom the owner reads in a list and not here
        self.window = Window()

    async def load(self) -> None:
        """Register with every author first, then read: nothing is committed unseen between the two."""
        database = self.context.database
        self.heard = self.context.broadcast.changes_of(self.id)
        self.perspective = perspective_of(self.id, await database.read(relations.relations, self.id))
        self.context.audience.join(self.cell, self.authors)
        self.exclusive = await database.read(lists.exclusive_members, self.id)
        await self.fill()
        if len(self.feed):
            await self.make_up()

    async def fill(self) -> None:
        """The window as the rows have it."""
        rows = await self.context.database.read(timelines.home_entries, self.id, Page(SIZE))
        self.window.fill(filter(self.admits, rows), complete=len(rows) < SIZE)

    def retired(self) -> None:
        self.context.audience.leave(self.cell, self.authors)

    def subscribed(self, subscriber: Subscriber) -> None:
        if len(self.feed) == 1:
            self.feed.begin(self.window.ids, first_id_at(self.context.clock.now() - MARGIN))

    def describe(self) -> str:
        return f"window {len(self.window)}, following {len(self.perspective.following)}, subscribers {len(self.feed)}"

    @property
    def authors(self) -> Iterable[int]:
        return (self.id, *self.perspective.following)

    def admits(self, entry: TimelineEntry) -> bool:
        return entry.account_id not in self.exclusive and belongs_at_home(entry, self.perspective)

    def is_news(self, entry: TimelineEntry) -> bool:
        """Whether streams should hear of it: older statuses of a new follow come in quietly."""
        following = self.perspective.following.get(entry.account_id)
        return entry.id > max(self.feed.floor, following.since if following else 0)

    async def make_up(self) -> None:
        """Show the subscribers of an earlier incarnation what they have missed."""
        await self.show([self.window[id] for id in self.window.shown if id not in self.feed.shown])
        await self.retract_deleted()
        await self.show_edits()
        latest = await self.context.database.read(notifications.page, self.id, Page(NEWS, since_id=self.feed.floor))
        for notification in reversed(latest):
            await self.show_notification(notification)
        await self.show_conversations()

    async def show(self, entries: list[TimelineEntry]) -> None:
        """Announce what is news, take the rest as known."""
        news = [entry.id for entry in entries if self.is_news(entry)]
        for entry in entries:
            if not self.is_news(entry):
                self.feed.know(entry.id)
        shown = await self.context.statuses.show_many(news)
        for id in news:
            if id in shown and not self.context.statuses.is_deleted(id):
                self.feed.announce(id, Event("update", shown[id]))

    async def retract_deleted(self) -> None:
        """What was shown and is not in the window any more may have been deleted meanwhile."""
        missing = [id for id in self.feed.shown if id not in self.window]
        for id in await self.context.database.read(statuses.deleted_among, missing) if missing else ():
            self.feed.retract(id, Event("delete", id))

    async def show_edits(self) -> None:
        """Edits of what stands here that nobody was told of."""
        ids = [entry.reblog_of_id or entry.id for entry in self.window]
        for edit_id, shown in (await edits_since(self.context, ids, self.feed.floor)).items():
            self.feed.announce(edit_id, Event("status.update", shown))

    async def show_notification(self, notification: notifications.Notification) -> None:
        if notification.id in self.feed.shown:
            return
        account = await self.context.accounts.find(notification.from_account_id)
        status_id = notification.status_id
        shown = await self.context.statuses.show(status_id) if status_id is not None else None
        if account is None or (shown is None and status_id is not None):
            return
        told = ShownNotification(notification, account, shown)
        if told.is_for(self.perspective):
            self.feed.announce(notification.id, Event("notification", told))

    async def show_conversations(self) -> None:
        context = self.context
        latest = await context.database.read(conversations.page, self.id, Page(NEWS, since_id=self.feed.floor))
        for told in reversed(await shown_conversations(latest, context.accounts, context.statuses)):
            if told.last is not None:
                self.feed.announce(conversation_key(told.last.id), Event("conversation", told))

    def change_perspective(self, changed: Perspective) -> None:
        """Listen to other authors, and let go of what does not belong here any more."""
        before, after = self.perspective.following, changed.following
        self.context.audience.leave(self.cell, [id for id in before if id not in after])
        self.context.audience.join(self.cell, [id for id in after if id not in before])
        self.perspective = changed
        self.exclusive.intersection_update(after)  # a follow that ends takes its places in lists along
        self.window.keep(self.admits)


@turn(HomeTimeline, HomePage)
def page(home: HomeTimeline, message: HomePage) -> list[int] | Coroutine[Any, Any, list[int]]:
    """From the window, or from rows beyond it."""
    ids = home.window.page(message.cursors)
    return ids if ids is not None else _older_page(home, message.cursors)


async def _older_page(home: HomeTimeline, cursors: Page) -> list[int]:
    async def fetch(at: Page) -> list[TimelineEntry]:
        return await home.context.database.read(timelines.home_entries, home.id, at)

    return await sift(fetch, home.admits, cursors)


@turn(HomeTimeline, StatusPublished)
def take_status(home: HomeTimeline, message: StatusPublished) -> None:
    entry = message.entry
    # After a crash the message may be older than the rows that were read since.
    if home.context.statuses.is_deleted(entry.id) or entry.id in home.feed.gone:
        return
    if not home.admits(entry):
        return
    if home.window.repeats(entry):
        home.feed.know(entry.id)
    home.window.add(entry)
    home.feed.announce(entry.id, message.event)


@turn(HomeTimeline, StatusEdited)
def take_edit(home: HomeTimeline, message: StatusEdited) -> None:
    """For whoever has it here, may have read it on an older page, or is named in it."""
    entry = message.entry
    if home.context.statuses.is_deleted(entry.id) or entry.id in home.feed.gone:
        return
    if home.context.broadcast.is_overtaken(message):
        return
    stays, admitted = home.window.amend(entry, home.admits), home.admits(entry)
    if admitted and not stays and home.window.reaches(entry.id):
        home.window.add(entry)
    named = home.id in entry.mentioned_ids and not hidden(entry, home.perspective)
    if stays or admitted or named:
        home.feed.announce(message.edit_id, message.event)


@turn(HomeTimeline, StatusDeleted)
def drop_status(home: HomeTimeline, message: StatusDeleted) -> None:
    """For whoever was shown it, may have read it on an older page, or is named in it. Others never knew of it."""
    id = message.id
    if id in home.feed.shown or home.window.may_hold(id) or home.id in message.mentioned_ids:
        home.feed.retract(id, message.event)
    home.window.remove(id)


@turn(HomeTimeline, Notified)
def take_notification(home: HomeTimeline, message: Notified) -> None:
    if message.told.is_for(home.perspective):
        home.feed.announce(message.told.id, message.event)


@turn(HomeTimeline, ConversationChanged)
def take_conversation(home: HomeTimeline, message: ConversationChanged) -> None:
    if message.key is None:
        home.feed.append(message.event)
    else:
        home.feed.announce(message.key, message.event)


@turn(HomeTimeline, Related)
def be_related(home: HomeTimeline, message: Related) -> Coroutine[Any, Any, None] | None:
    if not home.heard.takes(message):
        return None
    before = home.perspective
    then, now = before.relation(message.other), message.relation
    home.change_perspective(before.after(message.other, now))
    if not _widens(then, now):
        return None
    # Another follow than before was ended and begun again meanwhile: the window may be of the time between.
    begun = now.following is not None and (then.following is None or then.following.since != now.following.since)
    return _take_in(home, before, message, message.other if begun else None)


def _widens(then: Relation, now: Relation) -> bool:
    """Whether statuses may belong here that did not before."""
    return (
        (now.following is not None and now.following != then.following)
        or (then.muting is not None and now.muting is None)
        or (then.blocking and not now.blocking)
        or (then.blocked_by and not now.blocked_by)
    )


async def _take_in(home: HomeTimeline, before: Perspective, message: Related, followed: int | None) -> None:
    """More than before belongs here, by others too: answers to somebody, boosts, what names them. News is what
    somebody newly `followed` has said since, and what was published after the change: it may have been told before
    the change was, and have been turned away. The rest was there while its time had not come."""
    known = set(home.window.ids)
    try:
        await home.fill()
        fresh = [entry for id in home.window.shown if (entry := home.window[id]).id not in known]
        if len(home.feed):
            news = [entry for entry in fresh if entry.id >= message.drawn or entry.account_id == followed]
            for entry in fresh:
                if entry not in news:
                    home.feed.know(entry.id)
            await home.show(news)
    except Unavailable:
        home.change_perspective(before)  # the message comes again, and must find everything as it was
        raise
