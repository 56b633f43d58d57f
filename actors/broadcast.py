"""Sends each committed change to the awake actors that have to know it.

The turn that committed calls it before it answers, so that a client that has the answer finds the effect everywhere.
The outbox calls it again for changes whose process crashed in between. So every message may arrive twice: feeds
remember which events they have shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..storage.announcements import ShownAnnouncement
from ..storage.deletions import Deleted, Remains
from ..storage.timeline_entries import TimelineEntry
from .audience import Audience
from .conversations import ShownConversation
from .events import (
    AnnouncementGone,
    AnnouncementShown,
    ConversationShown,
    NotificationShown,
    ReactionCounted,
    StatusAmended,
    StatusAppeared,
    StatusGone,
)
from .kernel import Address, Cell, Message, Origin, Runtime, SystemMessage
from .notifications import ShownNotification
from .rules.visibility import Relation, belongs_in_public, belongs_under_tags
from .statuses import ShownStatus, entry_of
from .tellings import Tellings


@dataclass(frozen=True, slots=True)
class StatusPublished(Message[None]):
    """To timelines: a new status that may belong there. One that is no `news` is put in its place without an event."""

    can_wait = True

    entry: TimelineEntry
    event: StatusAppeared | None  # for subscribers; it holds the status, so it is no part of what is put off
    news: bool = True

    def put_off(self) -> StatusPublished:
        return replace(self, event=None)


@dataclass(frozen=True, slots=True)
class StatusDeleted(Message[None]):
    """To timelines: a deleted status. The accounts it mentioned may have it from a notification."""

    id: int
    mentioned_ids: tuple[int, ...]
    event: StatusGone


@dataclass(frozen=True, slots=True)
class StatusEdited(Message[None]):
    """To timelines: an edited status. Each edit has an id, so that streams show it once."""

    entry: TimelineEntry
    edit_id: int
    event: StatusAmended


@dataclass(frozen=True, slots=True)
class PollChanged(SystemMessage[None]):
    """To accounts: their cached votes in the poll of this status may be outdated."""

    id: int


@dataclass(frozen=True, slots=True)
class Related(SystemMessage[None]):
    """To an account and its home: its relation to `other` changed. Ids below `drawn` are older than the change."""

    other: int
    relation: Relation
    stamp: int
    drawn: int


@dataclass(frozen=True, slots=True)
class Notified(Message[None]):
    """To a home: a notification for the account's streams."""

    event: NotificationShown


@dataclass(frozen=True, slots=True)
class Merged(Message[None]):
    """To a home: filtered notifications of the account are shown now."""


@dataclass(frozen=True, slots=True)
class AnnouncementTold(Message[None]):
    """To all homes: an announcement is shown, or was changed."""

    event: AnnouncementShown


@dataclass(frozen=True, slots=True)
class AnnouncementTakenBack(Message[None]):
    """To all homes: an announcement is not shown any more."""

    event: AnnouncementGone


@dataclass(frozen=True, slots=True)
class ReactionTold(Message[None]):
    """To all homes: accounts reacted to an announcement."""

    event: ReactionCounted


@dataclass(frozen=True, slots=True)
class ConversationChanged(Message[None]):
    """To a home: a conversation of the account changed. A new last status has a key, so that streams show it once."""

    key: int | None
    event: ConversationShown


def account_address(id: int) -> Address:
    return Address("account", str(id))


def home_address(id: int) -> Address:
    return Address("home", str(id))


def list_address(id: int) -> Address:
    return Address("list", str(id))


def conversation_key(last_status_id: int) -> int:
    """Return the key under which feeds remember a conversation's event. It is negative, unlike other ids."""
    return -last_status_id


def tag_address(name: str) -> Address:
    return Address("tag", name)


class Broadcast:
    """The indexes of listening timelines, and the messages to them."""

    def __init__(
        self,
        runtime: Runtime,
        audience: Audience[int],
        tagged: Audience[str],
        listed: Audience[int],
        owned: Audience[int],
        tellings: Tellings,
    ) -> None:
        self._runtime = runtime
        self._audience = audience
        self._tagged = tagged
        self._listed = listed
        self._owned = owned
        self._tellings = tellings
        self._reactions: dict[tuple[int, str], int] = {}  # the latest version of each count
        self._edits: dict[int, int] = {}  # the latest of each status

    def is_crowded(self, shown: ShownStatus, recipients: Iterable[int] = ()) -> bool:
        """True if a timeline that a status goes to, or the home of one of these accounts, has too much to do."""
        crowds = {kind: self._runtime.crowd(kind) for kind in TIMELINES}
        if not any(crowds.values()):
            return False
        entry, awake = entry_of(shown), self._runtime.awake_among
        homes = awake(map(home_address, recipients))
        if crowds["home"].among(self._audience.cells(entry.account_id)) or crowds["home"].among(homes):
            return True
        if crowds["list"].among(self._listed.cells(entry.account_id)):
            return True
        places = (PUBLIC_ALL, PUBLIC_LOCAL if entry.local else PUBLIC_REMOTE) if belongs_in_public(entry) else ()
        if crowds["public"].among(awake(places)):
            return True
        names = entry.tags if belongs_under_tags(entry) else ()
        if any(crowds["home"].among(self._tagged.cells(name)) for name in names):
            return True
        return crowds["tag"].among(awake(map(tag_address, names)))

    def published_to_author(self, shown: ShownStatus, origin: Origin) -> None:
        """Tell only the author's own home. The relay tells all the others later, and this one again."""
        message = StatusPublished(entry_of(shown), self._tellings.told(StatusAppeared(shown)))
        self._runtime.tell_awake(home_address(shown.status.account_id), message, origin=origin)

    def published(self, shown: ShownStatus, origin: Origin, *, news: bool = True) -> None:
        entry = entry_of(shown)
        message = StatusPublished(entry, self._tellings.told(StatusAppeared(shown)), news)
        names = entry.tags if belongs_under_tags(entry) and not entry.silenced else ()
        self._runtime.tell_cells("home", self._homes_of(entry.account_id, names), message, origin=origin)
        self._runtime.tell_cells("list", self._listed.of(entry.account_id), message, origin=origin)
        if belongs_in_public(entry) and not entry.silenced:
            self._to_public(entry.local, message, origin)
        self._to_tags(names, message, origin)

    def edited(
        self, shown: ShownStatus, edit_id: int, rebloggers: Iterable[int], notified: Sequence[int], origin: Origin
    ) -> None:
        """Tell every timeline that may show the status: by its author, a boost, or the notification of a mention."""
        entry = entry_of(shown)
        self.note_edit(entry.id, edit_id)
        if shown.status.poll is not None:
            # To all awake accounts: the voters are not known any more.
            self._runtime.tell_all("account", PollChanged(entry.id), origin=origin)
        message = StatusEdited(entry, edit_id, self._tellings.told(StatusAmended(shown, tuple(notified))))
        authors = (entry.account_id, *rebloggers)
        lists = {cell: None for author in authors for cell in self._listed.of(author)}
        homes = {cell: None for author in authors for cell in self._audience.of(author)}
        homes |= dict.fromkeys(self._runtime.awake_among(map(home_address, notified)))
        if belongs_under_tags(entry):
            # To all homes with any hashtag: the edit may have removed one.
            homes |= dict.fromkeys(self._tagged.everybody)
        self._runtime.tell_cells("home", homes, message, origin=origin)
        self._runtime.tell_cells("list", lists, message, origin=origin)
        if belongs_in_public(entry) and not entry.silenced:
            self._to_public(entry.local, message, origin)
        if belongs_under_tags(entry) and not entry.silenced:
            # To all awake tags: the edit may have removed one.
            self._runtime.tell_all("tag", message, origin=origin)

    def note_edit(self, id: int, edit_id: int) -> None:
        """Remember the latest edit of a status that was sent to actors or read from the rows."""
        self._edits[id] = max(edit_id, self._edits.pop(id, 0))
        if len(self._edits) > EDITS_REMEMBERED:
            del self._edits[next(iter(self._edits))]

    def is_overtaken(self, message: StatusEdited) -> bool:
        """True if a later edit is known: after a crash the rows can be newer than the messages."""
        return message.edit_id < self._edits.get(message.entry.id, 0)

    def deleted(self, deleted: Deleted, origin: Origin) -> None:
        """Tell every timeline that may show the status, or one of the boosts that were deleted with it."""
        status = deleted.status
        remains = Remains(status.visibility, status.mentioned_ids, tuple(tag.name for tag in status.tags))
        self.gone(status.id, status.account_id, remains, origin)
        for boost, booster in deleted.reblogs:
            self._retract(StatusDeleted(boost, (), self._tellings.told(StatusGone(boost))), booster, origin)

    def gone(self, id: int, account_id: int, remains: Remains, origin: Origin) -> None:
        """Tell every timeline that may show this one status."""
        message = StatusDeleted(id, remains.mentioned_ids, self._tellings.told(StatusGone(id)))
        self._retract(message, account_id, origin, remains.tags)
        if remains.visibility == "public":
            self._to_tags(remains.tags, message, origin)
            for place in PUBLIC_PLACES:
                self._runtime.tell_awake(place, message, origin=origin)

    def related(self, account_id: int, message: Related, origin: Origin) -> None:
        """Tell an account and its home that its relation to another account changed."""
        self._runtime.tell_awake(home_address(account_id), message, origin=origin)
        self._runtime.tell_awake(account_address(account_id), message, origin=origin)
        self._reread_lists(account_id)

    def notified(self, told: ShownNotification, origin: Origin) -> None:
        message = Notified(self._tellings.told(NotificationShown(told)))
        self._runtime.tell_awake(home_address(told.notification.account_id), message, origin=origin)

    def merged(self, account_id: int, origin: Origin) -> None:
        """Tell an account's streams that filtered notifications are shown now."""
        self._runtime.tell_awake(home_address(account_id), Merged(), origin=origin)

    def announced(self, id: int, shown: ShownAnnouncement | None, origin: Origin) -> None:
        """Tell the streams of all users of an announcement, or that it is not shown any more."""
        if shown is None:
            self._runtime.tell_all(
                "home", AnnouncementTakenBack(self._tellings.told(AnnouncementGone(id))), origin=origin
            )
        else:
            self._runtime.tell_all(
                "home", AnnouncementTold(self._tellings.told(AnnouncementShown(shown))), origin=origin
            )

    def reacted(self, event: ReactionCounted, version: int, origin: Origin) -> None:
        """Tell the streams of all users of a reaction, unless a later count was told before."""
        key = (event.announcement_id, event.name)
        if version < self._reactions.get(key, 0):
            return
        self._reactions[key] = max(version, self._reactions.pop(key, 0))
        if len(self._reactions) > REACTIONS_REMEMBERED:
            del self._reactions[next(iter(self._reactions))]
        self._runtime.tell_all("home", ReactionTold(event), origin=origin)

    def conversation_changed(self, told: ShownConversation, origin: Origin, *, news: bool = True) -> None:
        """Tell a home of a conversation with a new last status or, without news, of one that was marked."""
        last = told.conversation.last_status_id
        message = ConversationChanged(
            conversation_key(last) if news and last else None, self._tellings.told(ConversationShown(told))
        )
        self._runtime.tell_awake(home_address(told.conversation.account_id), message, origin=origin)

    def tell_account(self, account_id: int, message: Message[None], origin: Origin) -> None:
        """Send a message to one account."""
        self._runtime.tell_awake(account_address(account_id), message, origin=origin)

    def reread(self, account_id: int) -> None:
        """Have an account and its home read the relations again, after changes that are not known one by one."""
        self._runtime.resync(account_address(account_id))
        self.reread_home(account_id)

    def reread_home(self, account_id: int) -> None:
        """Have only the home and the lists read the relations again: the account itself knows the change."""
        self.resync_home(account_id)
        self._reread_lists(account_id)

    def moderated(self, account_id: int) -> None:
        """Have every timeline that may show statuses of an account read its rows again."""
        own = (*self._audience.of(account_id), *self._listed.of(account_id), *self._tagged.everybody)
        for cell in dict.fromkeys((*own, *self._runtime.awake("public"), *self._runtime.awake("tag"))):
            self._runtime.resync(cell.address)

    def reread_timelines(self) -> None:
        """Have every awake timeline read its rows again."""
        for kind in ("home", "list", "public", "tag"):
            for cell in self._runtime.awake(kind):
                self._runtime.resync(cell.address)

    def resync_home(self, account_id: int) -> None:
        """Have the home alone read its rows again."""
        self._runtime.resync(home_address(account_id))

    def list_changed(self, id: int, owner: int) -> None:
        """Have a changed list, and its owner's home, read the rows again."""
        self._runtime.resync(list_address(id))
        self.resync_home(owner)

    def _reread_lists(self, owner: int) -> None:
        for cell in self._owned.of(owner):
            self._runtime.resync(cell.address)

    def _homes_of(self, author: int, names: Iterable[str]) -> Iterable[Cell]:
        """Return the awake homes that show statuses of an author, or those with a hashtag of these, each once."""
        by_author = self._audience.of(author)
        by_tag = [cell for name in names for cell in self._tagged.of(name)]
        return dict.fromkeys([*by_author, *by_tag]) if by_tag else by_author

    def _retract(self, message: StatusDeleted, author: int, origin: Origin, tags: Iterable[str] = ()) -> None:
        self._runtime.tell_cells("home", self._homes_of(author, tags), message, origin=origin)
        self._runtime.tell_cells("list", self._listed.of(author), message, origin=origin)
        for account in message.mentioned_ids:
            self._runtime.tell_awake(home_address(account), message, origin=origin)

    def _to_tags(self, names: Iterable[str], message: Message[None], origin: Origin) -> None:
        for name in names:
            self._runtime.tell_awake(tag_address(name), message, origin=origin)

    def _to_public(self, local: bool, message: Message[None], origin: Origin) -> None:
        for place in (PUBLIC_ALL, PUBLIC_LOCAL if local else PUBLIC_REMOTE):
            self._runtime.tell_awake(place, message, origin=origin)


TIMELINES = ("home", "list", "public", "tag")  # the kinds of actors that are told of statuses
PUBLIC_ALL = Address("public", "all")
PUBLIC_LOCAL = Address("public", "local")
PUBLIC_REMOTE = Address("public", "remote")
PUBLIC_PLACES = (PUBLIC_ALL, PUBLIC_LOCAL, PUBLIC_REMOTE)
# Newest versions, by which late messages are known: a timeline that crashed may have read an edit from rows before an
# earlier one comes out of its mailbox. Messages are late by a moment, so the oldest may be forgotten.
EDITS_REMEMBERED = 10_000
REACTIONS_REMEMBERED = 10_000
