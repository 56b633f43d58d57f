"""An account's home timeline, and the account's own streams: notifications and conversations.

A home without followed hashtags is loaded by a query that reads no tags.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...storage import conversations, lists, notification_policy, notifications, timelines
from ...storage.deletions import Remains
from ...storage.engine.database import Unavailable
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..broadcast.events import ConversationShown, Keyed, NotificationShown, NotificationsMerged, StatusAmended
from ..broadcast.viewers import Related, RelationStamps, ViewerRules
from ..context import ActorContext
from ..facts.announcements import AnnouncementTakenBack, AnnouncementTold, ReactionTold
from ..facts.conversations import ConversationChanged, conversation_key
from ..facts.fact import StoredFact
from ..facts.notifications import Merged, Notified
from ..facts.statuses import StatusDeleted
from ..kernel import Answer, Cell, Message, Runtime, turn
from ..rules.visibility import Perspective, Relation, belongs_at_home, belongs_by_author, belongs_by_tag, hidden
from ..shown.conversations import shown_conversations
from ..shown.notifications import show_notifications
from .timeline import Timeline

MOST_MISSED = 100  # missed notifications, and missed conversations, that are shown after a restart


@dataclass(frozen=True, slots=True)
class HomePage(Message[list[int]]):
    """Query: ids of one page, newest first."""

    page: Page


class HomeTimeline(Timeline):
    """`home/ACCOUNT`: statuses and boosts of the account and of its follows, and statuses with followed tags."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime, context)
        self.id = int(cell.address.key)
        self.rules = ViewerRules(self.id)  # empty until `load` reads them
        self.perspective = Perspective(self.id)  # which the window and the registrations follow from
        self.relation_stamps = RelationStamps({})
        self.exclusive = frozenset[int]()  # members of exclusive lists: the owner reads them there and not here

    async def load(self) -> None:
        database = self.context.database
        self.rules = await self.context.viewers.read_relations(self.id)
        self.perspective = self.rules.perspective
        self.relation_stamps = self.context.viewers.stamps_of(self.id)
        self.context.audience.join(self.cell, self.authors)
        self.context.tagged.join(self.cell, self.perspective.followed_tags)
        self.exclusive = frozenset(await database.read(lists.exclusive_members, self.id))
        await super().load()

    def retired(self) -> None:
        super().retired()
        self.context.audience.leave(self.cell, self.authors)
        self.context.tagged.leave(self.cell, self.perspective.followed_tags)

    def describe(self) -> str:
        return f"window {len(self.window)}, following {len(self.perspective.following)}, subscribers {len(self.feed)}"

    @property
    def authors(self) -> Iterable[int]:
        return (self.id, *self.perspective.following)

    async def rows(self, at: Page) -> list[TimelineEntry]:
        read = timelines.home_entries_with_tags if self.perspective.followed_tags else timelines.home_entries
        return await self.context.database.read(read, self.id, at)

    def admits(self, entry: TimelineEntry) -> bool:
        return entry.account_id not in self.exclusive and belongs_at_home(entry, self.perspective)

    def admitted_since(self, entry: TimelineEntry) -> int:
        """Return the id of the oldest follow, of the author or of a hashtag, that admits a status."""
        viewer, since = self.perspective, list[int]()
        if belongs_by_author(entry, viewer):
            following = viewer.following.get(entry.account_id)
            since.append(following.since if following else 0)
        if belongs_by_tag(entry, viewer):
            since += [viewer.followed_tags[name] for name in entry.tags if name in viewer.followed_tags]
        return min(since, default=0)

    def shows_edit(self, entry: TimelineEntry, event: StatusAmended) -> bool:
        """True if the owner has the status from a notification, which the policy did not filter or drop."""
        return self.id in event.notified and not hidden(entry, self.perspective)

    async def own_events(self, fact: StoredFact) -> list[Keyed]:
        return await fact.own_events(self.context.facts, self.perspective)

    def may_have_shown(self, account_id: int, remains: Remains) -> bool:
        if self.id in (account_id, *remains.mentioned_ids):
            return True
        if remains.visibility == "direct":
            return False
        return account_id in self.perspective.following or not self.perspective.followed_tags.keys().isdisjoint(
            remains.tags
        )

    def shows_deletion(self, message: StatusDeleted) -> bool:
        return self.id in message.mentioned_ids or super().shows_deletion(message)

    async def show_missed(self) -> None:
        """Show missed notifications and conversations too."""
        await super().show_missed()
        latest = await self.context.database.read(
            notifications.page, self.id, Page(MOST_MISSED, since_id=self.feed.floor)
        )
        for notification in reversed(latest):
            await self.show_notification(notification)
        await self.show_merge()
        await self.show_conversations()

    async def show_notification(self, notification: notifications.Notification) -> None:
        if notification.id in self.feed.shown:
            return
        context = self.context
        for shown in await show_notifications(context.database, context.accounts, context.statuses, [notification]):
            if shown.is_for(self.perspective):
                self.feed.append_new(notification.id, NotificationShown(shown))

    async def show_merge(self) -> None:
        """Show the latest merge of filtered notifications. It is read from rows, because hints may be lost."""
        merge_id = await self.context.database.read(notification_policy.latest_merge, self.id)
        if merge_id > self.feed.floor:
            self.feed.append_new(merge_id, NotificationsMerged())

    async def show_conversations(self) -> None:
        context = self.context
        latest = await context.database.read(conversations.page, self.id, Page(MOST_MISSED, since_id=self.feed.floor))
        for shown in reversed(await shown_conversations(latest, context.accounts, context.statuses)):
            if shown.last is not None:
                self.feed.append_new(conversation_key(shown.last.id), ConversationShown(shown))

    def change_perspective(self, changed: Perspective) -> None:
        """Register with the authors that are followed now, and drop entries that do not belong here any more."""
        before, after = self.perspective.following, changed.following
        self.context.audience.leave(self.cell, [id for id in before if id not in after])
        self.context.audience.join(self.cell, [id for id in after if id not in before])
        self.perspective = self.rules.share(changed)
        # The end of a follow, or of a request, ends its list memberships.
        if self.exclusive:
            self.exclusive = self.exclusive.intersection([*after, *changed.requested])
        self.window.keep(self.admits)


@turn(HomeTimeline, HomePage)
def page(home: HomeTimeline, message: HomePage) -> Answer[list[int]]:
    return home.page(message.page)


@turn(HomeTimeline, Notified)
def take_notification(home: HomeTimeline, message: Notified) -> None:
    shown = message.event.notification
    if shown.is_for(home.perspective):
        home.feed.append_new(shown.id, message.event)


@turn(HomeTimeline, Merged)
async def show_merge(home: HomeTimeline, message: Merged) -> None:
    if len(home.feed):
        await home.show_merge()


@turn(HomeTimeline, AnnouncementTold)
def show_announcement(home: HomeTimeline, message: AnnouncementTold) -> None:
    home.feed.append(message.event)


@turn(HomeTimeline, AnnouncementTakenBack)
def take_announcement_back(home: HomeTimeline, message: AnnouncementTakenBack) -> None:
    home.feed.append(message.event)


@turn(HomeTimeline, ReactionTold)
def show_reaction(home: HomeTimeline, message: ReactionTold) -> None:
    home.feed.append(message.event)


@turn(HomeTimeline, ConversationChanged)
def take_conversation(home: HomeTimeline, message: ConversationChanged) -> None:
    if message.key is None:
        home.feed.append(message.event)
    else:
        home.feed.append_new(message.key, message.event)


@turn(HomeTimeline, Related)
def change_relation(home: HomeTimeline, message: Related) -> Answer[None]:
    if not home.relation_stamps.takes(message):
        return None
    before, exclusive = home.perspective, home.exclusive
    then, now = before.relation(message.other), message.relation
    home.change_perspective(before.after(message.other, now))
    # A member of an exclusive list, which the end of the follow took off the list, may come back by hashtags.
    readmits = bool(before.followed_tags) and _may_be_listed(then) and not _may_be_listed(now)
    if not readmits and not _widens(then, now):
        return None
    # A follow with another `since` was ended and begun again. The window may have been read between the two.
    begun = now.following is not None and (then.following is None or then.following.since != now.following.since)
    return _add_admitted(home, before, exclusive, message, message.other if begun else None)


def _may_be_listed(relation: Relation) -> bool:
    """True if the owner of a list may have the account on it."""
    return relation.following is not None or relation.requested


def _widens(then: Relation, now: Relation) -> bool:
    """True if statuses may belong on the timeline now that did not before."""
    return (
        (now.following is not None and now.following != then.following)
        or (then.muting is not None and now.muting is None)
        or (then.blocking and not now.blocking)
        or (then.blocked_by and not now.blocked_by)
    )


async def _add_admitted(
    home: HomeTimeline, before: Perspective, exclusive: frozenset[int], message: Related, followed: int | None
) -> None:
    """Read the window again after a change that admits more.

    These are statuses of the other account, and by any account: replies to it, boosts of it and statuses that mention
    it. They are added without an event, except for two kinds of entries, which are news: entries of a newly `followed`
    account that are younger than the follow, and entries that were published after the change, because this timeline
    may have turned them away before it learned of the change.

    The rows may also have statuses that belonged here before the change, with the perspective `before` and the members
    of `exclusive` lists, and whose messages are still on their way. These are news too: a feed that knows an entry does
    not show it when its message comes.
    """
    try:
        await home.fill()
        if len(home.feed):
            news = list[TimelineEntry]()
            for entry in home.window.shown:
                if entry.id in home.feed.shown:
                    continue
                belonged = entry.account_id not in exclusive and belongs_at_home(entry, before)
                if belonged or entry.id >= message.drawn or entry.account_id == followed:
                    news.append(entry)
                else:
                    home.feed.know(entry.id)
            await home.show(news)
    except Unavailable:
        # the message is delivered again, and must find the state before the change
        home.change_perspective(before)
        home.exclusive = exclusive
        raise
