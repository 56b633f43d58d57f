"""Sends each committed change to the awake actors that have to know it.

The turn that committed calls it before it answers, so that a client that has the answer finds the effect everywhere.
The outbox calls it again for changes whose process crashed in between. So every message may arrive twice: feeds
remember which events they have shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..storage.announcements import ShownAnnouncement
from ..storage.timeline_entries import TimelineEntry
from .audience import Audience
from .conversations import ShownConversation
from .events import (
    AnnouncementGone,
    AnnouncementShown,
    ConversationShown,
    NotificationShown,
    ReactionCounted,
)
from .kernel import Address, Cell, Message, Origin, Runtime, SystemMessage
from .notifications import ShownNotification
from .rules.visibility import Relation, belongs_in_public, belongs_under_tags
from .statuses import ShownStatus, entry_of
from .tellings import Tellings

K = TypeVar("K")


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


def public_places(entry: TimelineEntry) -> tuple[Address, Address]:
    """Return the public timelines that a public status may belong on."""
    return PUBLIC_ALL, PUBLIC_LOCAL if entry.local else PUBLIC_REMOTE


class NewestVersions(Generic[K]):
    """The newest known versions of things, by which messages are known that later ones have overtaken.

    A timeline that crashed may have read an edit from rows before an earlier one comes out of its mailbox. Messages are
    late by a moment, so the oldest things may be forgotten.
    """

    def __init__(self) -> None:
        self._newest: dict[K, int] = {}

    def note(self, key: K, version: int) -> None:
        """Remember a version that was sent to actors or read from the rows."""
        self._newest[key] = max(version, self._newest.pop(key, 0))
        if len(self._newest) > VERSIONS_REMEMBERED:
            del self._newest[next(iter(self._newest))]

    def is_overtaken(self, key: K, version: int) -> bool:
        """True if a later version is known."""
        return version < self._newest.get(key, 0)


class Broadcast:
    """The indexes of listening timelines, and the ways to send messages to them."""

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
        self.told = tellings.told  # marks an event
        self.edits = NewestVersions[int]()  # the ids of the latest edits, by status
        self._reactions: dict[tuple[int, str], int] = {}  # the latest version of each count

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
        places = public_places(entry) if belongs_in_public(entry) else ()
        if crowds["public"].among(awake(places)):
            return True
        names = entry.tags if belongs_under_tags(entry) else ()
        if any(crowds["home"].among(self._tagged.cells(name)) for name in names):
            return True
        return crowds["tag"].among(awake(map(tag_address, names)))

    # What facts send ------------------------------------------------------------------------------------------------

    def to_account(self, id: int, message: Message[None], origin: Origin) -> None:
        self._runtime.tell_awake(account_address(id), message, origin=origin)

    def to_home(self, account_id: int, message: Message[None], origin: Origin) -> None:
        self._runtime.tell_awake(home_address(account_id), message, origin=origin)

    def to_all(self, kind: str, message: Message[None], origin: Origin) -> None:
        """Send a message to all awake actors of a kind."""
        self._runtime.tell_all(kind, message, origin=origin)

    def to_followers(self, author: int, tags: Iterable[str], message: Message[None], origin: Origin) -> None:
        """Send a message to the homes and lists that show statuses of an author, and to homes that follow a hashtag."""
        self._runtime.tell_cells("home", self._homes_of(author, tags), message, origin=origin)
        self._runtime.tell_cells("list", self._listed.of(author), message, origin=origin)

    def to_homes_and_lists(
        self, authors: Iterable[int], others: Iterable[int], message: Message[None], origin: Origin, *, tagged: bool
    ) -> None:
        """Send a message to the homes and lists that show statuses of an author, and to the homes of `others`.

        If it is `tagged`, all homes that follow any hashtag get it too.
        """
        lists = {cell: None for author in authors for cell in self._listed.of(author)}
        homes = {cell: None for author in authors for cell in self._audience.of(author)}
        homes |= dict.fromkeys(self._runtime.awake_among(map(home_address, others)))
        if tagged:
            homes |= dict.fromkeys(self._tagged.everybody)
        self._runtime.tell_cells("home", homes, message, origin=origin)
        self._runtime.tell_cells("list", lists, message, origin=origin)

    def to_tags(self, names: Iterable[str], message: Message[None], origin: Origin) -> None:
        for name in names:
            self._runtime.tell_awake(tag_address(name), message, origin=origin)

    def to_public(self, places: Iterable[Address], message: Message[None], origin: Origin) -> None:
        for place in places:
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


TIMELINES = ("home", "list", "public", "tag")  # the kinds of actors that are told of statuses
PUBLIC_ALL = Address("public", "all")
PUBLIC_LOCAL = Address("public", "local")
PUBLIC_REMOTE = Address("public", "remote")
PUBLIC_PLACES = (PUBLIC_ALL, PUBLIC_LOCAL, PUBLIC_REMOTE)
VERSIONS_REMEMBERED = 10_000
REACTIONS_REMEMBERED = 10_000
