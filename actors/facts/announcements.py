"""Facts about announcements of the operator."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...storage import announcements
from ...storage.announcements import Announcement, ShownAnnouncement
from ...storage.engine.database import Connection
from ..broadcast.events import AnnouncementGone, AnnouncementShown, Keyed, ReactionCounted
from ..kernel import Message, Origin
from ..promises import Promise
from ..rules.visibility import Perspective
from .fact import Fact, Facts, StoredFact, stored_as


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


@stored_as("announcement", {"id": "id"}, streamed=True)
@dataclass(frozen=True, slots=True)
class ChangedAnnouncement(StoredFact):
    """An announcement as streams show it. `shown` is None if it is not shown any more."""

    id: int
    shown: ShownAnnouncement | None = None

    def notify_actors(self, facts: Facts, origin: Origin) -> Awaitable[None]:
        """Notify the streams of all users."""
        with_position = facts.broadcast.with_position
        if self.shown is None:
            message = AnnouncementTakenBack(with_position(AnnouncementGone(self.id)))
        else:
            message = AnnouncementTold(with_position(AnnouncementShown(self.shown)))
        return facts.broadcast.to_all("home", message, origin)

    def promise(self, due_at: datetime | None = None) -> Promise:
        """Return the promise to publish the announcement as it is then: now, or at a time.

        Each promise has a partition of its own: a promise for next month must not delay a promise for now.
        """
        return Promise(self, due_at=due_at, group="announcement")

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [ChangedAnnouncement(self.id, await self._find(facts))]

    async def own_events(self, facts: Facts, viewer: Perspective) -> list[Keyed]:
        shown = await self._find(facts)
        return [("", AnnouncementGone(self.id) if shown is None else AnnouncementShown(shown))]

    async def _find(self, facts: Facts) -> ShownAnnouncement | None:
        """Return the announcement if it is shown now."""
        found = await facts.database.read(announcements.find_shown, self.id)
        return found if found is not None and found.announcement.is_shown(facts.clock.now()) else None


def announcement_promises(announcement: Announcement, now: datetime) -> list[Promise]:
    """Return the promises to publish an announcement when it begins to be shown, and when it ends."""
    begins = max(announcement.published_at or now, now)
    ends = [announcement.ends_at] if announcement.published_at and announcement.ends_at else []
    times = (begins, *(at for at in ends if at > begins))
    return [ChangedAnnouncement(announcement.id).promise(at) for at in times]


@stored_as("reaction", {"announcement_id": "announcement_id", "name": "name"}, streamed=True)
@dataclass(frozen=True, slots=True)
class CountedReaction(StoredFact):
    """The number of accounts that reacted to an announcement with an emoji. A later count has a higher version."""

    announcement_id: int
    name: str
    count: int = 0
    version: int = 0

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify the streams of all users, unless a later count was published before."""
        key = (self.announcement_id, self.name)
        if facts.broadcast.reactions.is_overtaken(key, self.version):
            return
        facts.broadcast.reactions.note(key, self.version)
        event = ReactionCounted(self.announcement_id, self.name, self.count)
        await facts.broadcast.to_all("home", ReactionTold(event), origin)

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return await facts.database.read(_count_again, self)


async def _count_again(db: Connection, fact: CountedReaction) -> list[Fact]:
    # The version is read first: a change between the two reads has a higher version and is published by itself.
    version = await announcements.find_version(db, fact.announcement_id)
    if version is None:
        return []
    count = await announcements.count(db, fact.announcement_id, fact.name)
    return [CountedReaction(fact.announcement_id, fact.name, count, version)]
