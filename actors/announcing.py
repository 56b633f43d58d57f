"""Making, showing and removing announcements: acts of staff, in a transaction.

The command line and the pages for staff call the same acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..storage import accounts, announcements, statuses
from ..storage.accounts import Account
from ..storage.announcements import Announcement
from ..storage.engine import notices
from ..storage.engine.database import Connection
from .activitypub.names import LocalNames, LocalStatusName
from .effects.announcements import announcement_changed, announcement_removed
from .effects.registry import Promise
from .kernel import Refused
from .own_addresses import status_ids
from .refusals import NOT_FOUND
from .rules import instants
from .rules.limits import ANNOUNCEMENT_CHARACTERS
from .rules.roles import Permission
from .rules.text import FoundLink, FoundMention, Hashtag, MentionTarget, Scan, render, scan, tag_url, trimmed
from .staff import StaffAct, Target, needs

NOTICE = "announcements"


class InvalidAnnouncement(Exception):
    """Raised when an announcement can't be made or changed. The text says why."""


# The last day that Python knows has none after it: what is for whole days could not be shown in every time zone.
LAST_DAY = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewAnnouncement:
    """An announcement to make."""

    text: str
    starts_at: datetime | None
    ends_at: datetime | None
    at: datetime | None
    all_day: bool = False
    draft: bool = False

    @classmethod
    def of(
        cls, text: str, starts: str | None, ends: str | None, at: str | None, *, all_day: bool, draft: bool
    ) -> NewAnnouncement:
        """Return what the words of a command or a form mean. Raises InvalidAnnouncement."""
        tidied = trimmed(text)
        if not 0 < len(tidied) <= ANNOUNCEMENT_CHARACTERS:
            raise InvalidAnnouncement(f"the text has not 1 to {ANNOUNCEMENT_CHARACTERS} characters")
        begins, ended = (instant_of(time) if time else None for time in (starts, ends))
        if begins and ended and ended < begins:
            raise InvalidAnnouncement("it ends before it starts")
        return cls(tidied, begins, ended, instant_of(at) if at else None, all_day, draft)


def instant_of(text: str) -> datetime:
    """Return a time as people write it. Raises InvalidAnnouncement."""
    instant = instants.instant_of(text)
    if instant is None or instant >= LAST_DAY:
        raise InvalidAnnouncement(f"{text!r} is not a time such as 2026-12-24T18:00:00+01:00")
    return instant


@needs(Permission.MANAGE_ANNOUNCEMENTS)
async def add(
    db: Connection, act: StaffAct, wanted: NewAnnouncement, base_url: str, local_domain: str
) -> Announcement | Refused:
    """Make an announcement, and show it unless it is a draft."""
    found = scan(wanted.text)
    mentioned = await _mentioned(db, found, local_domain)
    announcement = Announcement(
        id=act.next_id(),
        text=wanted.text,
        content=render(
            wanted.text,
            mentions={name: MentionTarget(one.username, None, one.url or one.uri) for name, one in mentioned.items()},
            tag_url=lambda name: tag_url(base_url, name),
            local_domain=local_domain,
        ),
        mentions=tuple({one.id: _mention(one) for one in mentioned.values()}.values()),
        statuses=await _linked(db, found, base_url),
        tags=tuple(dict.fromkeys(one.name for one in found.entities if isinstance(one, Hashtag))),
        starts_at=wanted.starts_at,
        ends_at=_end_of_day(wanted.ends_at) if wanted.all_day and wanted.ends_at else wanted.ends_at,
        all_day=wanted.all_day,
        published_at=None if wanted.draft else wanted.at or act.now,
        updated_at=act.now,
    )
    await announcements.insert(db, announcement)
    promises = [] if wanted.draft else announcement_changed(announcement, act.now)
    await _done(db, act, "add_announcement", announcement.id, promises)
    return announcement


async def publish(db: Connection, act: StaffAct, id: int, at: datetime | None) -> Announcement | Refused:
    """Show an announcement, now or from a time on."""
    return await _show(db, act, "publish_announcement", id, at or act.now)


async def withdraw(db: Connection, act: StaffAct, id: int) -> Announcement | Refused:
    """Take an announcement back. It is kept as a draft, with its reactions."""
    return await _show(db, act, "unpublish_announcement", id, None)


@needs(Permission.MANAGE_ANNOUNCEMENTS)
async def remove(db: Connection, act: StaffAct, id: int) -> Refused | None:
    """Delete an announcement with its reactions."""
    if not await announcements.delete(db, id):
        return NOT_FOUND
    await _done(db, act, "remove_announcement", id, [announcement_removed(id)])
    return None


@needs(Permission.MANAGE_ANNOUNCEMENTS)
async def _show(db: Connection, act: StaffAct, action: str, id: int, at: datetime | None) -> Announcement | Refused:
    changed = await announcements.publish(db, id, at, act.now)
    if changed is None:
        return NOT_FOUND
    await _done(db, act, action, id, announcement_changed(changed, act.now))
    return changed


async def _done(db: Connection, act: StaffAct, action: str, id: int, promises: list[Promise]) -> None:
    """Log an act, promise to tell the streams, and wake the relays of the running servers."""
    await act.log(db, action, Target("announcement", id, str(id)))
    await act.promise(db, promises)
    await notices.announce(db, NOTICE)


async def _mentioned(db: Connection, found: Scan, local_domain: str) -> Mapping[str, Account]:
    """Return the local accounts that a text mentions, by their handles in it."""
    handles = {
        one.handle(local_domain): one.name for one in found.entities
        if isinstance(one, FoundMention) and one.domain in (None, local_domain.lower())
    }  # fmt: skip
    known = await accounts.find_local_many(db, list(handles.values()))
    return {handle: known[name.lower()] for handle, name in handles.items() if name.lower() in known}


def _mention(account: Account) -> dict[str, str]:
    return {
        "id": str(account.id), "username": account.username, "url": account.url or account.uri, "acct": account.acct
    }  # fmt: skip


async def _linked(db: Connection, found: Scan, url: str) -> tuple[dict[str, str], ...]:
    """Return the public statuses of this server that a text links to."""
    names = LocalNames(url)
    read = (names.read(one.url) for one in found.entities if isinstance(one, FoundLink))
    ids = await status_ids(db, [name for name in read if isinstance(name, LocalStatusName)])
    known = await statuses.find_many(db, ids) if ids else {}
    return tuple(
        {"id": str(one.id), "url": one.url or one.uri}
        for one in known.values()
        if one.visibility in ("public", "unlisted")
    )


def _end_of_day(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, milliseconds=-1)


def state_of(announcement: Announcement, now: datetime) -> str:
    """Return whether an announcement is a draft, scheduled, shown or ended."""
    if announcement.published_at is None:
        return "draft"
    if announcement.is_shown(now):
        return "shown"
    return "scheduled" if announcement.published_at > now else "ended"
