"""Telling all users that an announcement is shown, was taken back, or was reacted to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...storage import announcements
from ...storage.announcements import Announcement
from ...storage.engine.database import Connection
from ..facts.announcements import ChangedAnnouncement, CountedReaction
from ..facts.fact import promised_with
from ..kernel import Address
from ..promises import Effect, Promise, account_of, told_by
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class TellAnnouncement(Effect):
    """Show an announcement to all streams, or take it back, as it is then."""

    id: int


@dataclass(frozen=True, slots=True)
class TellReaction(Effect):
    """Tell all streams how many accounts have reacted to an announcement with an emoji."""

    announcement_id: int
    name: str


def announcement_changed(announcement: Announcement, now: datetime) -> list[Promise]:
    """Promise to tell of an announcement when it begins to be shown, and when it ends."""
    begins = max(announcement.published_at or now, now)
    ends = [announcement.ends_at] if announcement.published_at and announcement.ends_at else []
    # A partition for each: what is due next month must not delay what is due now.
    return [
        Promise(TellAnnouncement(announcement.id), due_at=at, group="announcement")
        for at in (begins, *(at for at in ends if at > begins))
    ]


def announcement_removed(id: int) -> Promise:
    """Promise to take back an announcement whose row is gone."""
    return Promise(TellAnnouncement(id), group="announcement")


@promised_with(CountedReaction)
def _reacted(facts: Sequence[CountedReaction], by: Address) -> Iterator[Promise]:
    return (told_by(account_of(by), TellReaction(fact.announcement_id, fact.name)) for fact in facts)


@carries_out("announcement", TellAnnouncement, ANNOUNCEMENTS, shown=True)
async def tell_announcement(context: EffectContext, effect: TellAnnouncement, attempt: Attempt) -> None:
    found = await context.database.read(announcements.find_shown, effect.id)
    shown = found if found is not None and found.announcement.is_shown(context.clock.now()) else None
    await context.facts.apply([ChangedAnnouncement(effect.id, shown)], attempt.origin)


@carries_out("reaction", TellReaction, ANNOUNCEMENTS, shown=True)
async def tell_reaction(context: EffectContext, effect: TellReaction, attempt: Attempt) -> None:
    if (counted := await context.database.read(_counted, effect)) is not None:
        await context.facts.apply([counted], attempt.origin)


async def _counted(db: Connection, effect: TellReaction) -> CountedReaction | None:
    # The version first: a change between the two reads has a higher one and is told by itself.
    version = await announcements.find_version(db, effect.announcement_id)
    if version is None:
        return None
    count = await announcements.count(db, effect.announcement_id, effect.name)
    return CountedReaction(effect.announcement_id, effect.name, count, version)
