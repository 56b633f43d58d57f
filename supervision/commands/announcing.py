"""Making announcements directly in the rows, for the commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...actors.effects.announcements import announcement_changed, announcement_removed
from ...actors.effects.registry import Promise
from ...actors.kernel.ids import Ids
from ...actors.rules.limits import ANNOUNCEMENT_CHARACTERS
from ...actors.rules.text import FoundLink, FoundMention, Hashtag, MentionTarget, Scan, render, scan, tag_url, trimmed
from ...actors.staff import Target, act_at_command_line
from ...storage import accounts, announcements, statuses
from ...storage.accounts import Account
from ...storage.announcements import Announcement
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ..configuration import Settings
from ..domain import base_url, require_domain

NOTICE = "announcements"


class InvalidAnnouncement(Exception):
    """Raised when an announcement can't be made or changed. The text says why."""


@dataclass(frozen=True, slots=True)
class NewAnnouncement:
    """An announcement to make."""

    text: str
    starts_at: datetime | None
    ends_at: datetime | None
    at: datetime | None

    @classmethod
    def of(cls, text: str, starts: str | None, ends: str | None, at: str | None) -> NewAnnouncement:
        """Return what the words of a command mean. Raises InvalidAnnouncement."""
        tidied = trimmed(text)
        if not 0 < len(tidied) <= ANNOUNCEMENT_CHARACTERS:
            raise InvalidAnnouncement(f"the text has not 1 to {ANNOUNCEMENT_CHARACTERS} characters")
        begins, ended = (instant_of(time) if time else None for time in (starts, ends))
        if begins and ended and ended < begins:
            raise InvalidAnnouncement("it ends before it starts")
        return cls(tidied, begins, ended, instant_of(at) if at else None)


def instant_of(text: str) -> datetime:
    """Return a time as people write it. Raises InvalidAnnouncement."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidAnnouncement(f"{text!r} is no time such as 2026-12-24T18:00:00+01:00") from None


async def add_announcement(
    db: Connection, settings: Settings, wanted: NewAnnouncement, all_day: bool, draft: bool, ids: Ids, now: datetime
) -> int:
    """Make an announcement and return its id."""
    url = base_url(settings)
    await require_domain(db, settings, url)
    found = scan(wanted.text)
    mentioned = await _mentioned(db, found, settings.local_domain)
    announcement = Announcement(
        id=ids.next(),
        text=wanted.text,
        content=render(
            wanted.text,
            mentions={name: MentionTarget(one.username, None, one.url or one.uri) for name, one in mentioned.items()},
            tag_url=lambda name: tag_url(url, name),
            local_domain=settings.local_domain,
        ),
        mentions=tuple({one.id: _mention(one) for one in mentioned.values()}.values()),
        statuses=await _linked(db, found, url),
        tags=tuple(dict.fromkeys(one.name for one in found.entities if isinstance(one, Hashtag))),
        starts_at=wanted.starts_at,
        ends_at=_end_of_day(wanted.ends_at) if all_day and wanted.ends_at else wanted.ends_at,
        all_day=all_day,
        published_at=None if draft else wanted.at or now,
        updated_at=now,
    )
    await announcements.insert(db, announcement)
    await _done(
        db, "add_announcement", announcement.id, [] if draft else announcement_changed(announcement, now), ids, now
    )
    return announcement.id


async def find_announcements(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all announcements, as JSON."""
    return [
        {
            "id": str(one.id),
            "state": _state(one, now),
            "text": one.text,
            "starts_at": _written(one.starts_at),
            "ends_at": _written(one.ends_at),
            "all_day": one.all_day,
            "published_at": _written(one.published_at),
        }
        for one in await announcements.find_all(db)
    ]


async def publish_announcement(db: Connection, id: int, at: datetime | None, ids: Ids, now: datetime) -> None:
    published = await announcements.publish(db, id, at or now, now)
    if published is None:
        raise InvalidAnnouncement(f"there is no announcement {id}")
    await _done(db, "publish_announcement", id, announcement_changed(published, now), ids, now)


async def unpublish_announcement(db: Connection, id: int, ids: Ids, now: datetime) -> None:
    withdrawn = await announcements.publish(db, id, None, now)
    if withdrawn is None:
        raise InvalidAnnouncement(f"there is no announcement {id}")
    await _done(db, "unpublish_announcement", id, announcement_changed(withdrawn, now), ids, now)


async def remove_announcement(db: Connection, id: int, ids: Ids, now: datetime) -> None:
    if not await announcements.delete(db, id):
        raise InvalidAnnouncement(f"there is no announcement {id}")
    await _done(db, "remove_announcement", id, [announcement_removed(id)], ids, now)


async def _done(db: Connection, action: str, id: int, promises: list[Promise], ids: Ids, now: datetime) -> None:
    """Log an act, promise to tell the streams, and wake the relay of the running server."""
    act = act_at_command_line(ids, now)
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
    address = re.compile(rf"{re.escape(url)}/@[A-Za-z0-9_]+/([0-9]{{1,18}})")
    links = (address.fullmatch(one.url) for one in found.entities if isinstance(one, FoundLink))
    ids = [int(link[1]) for link in links if link]
    known = await statuses.find_many(db, ids) if ids else {}
    return tuple(
        {"id": str(one.id), "url": one.url or one.uri}
        for one in known.values()
        if one.visibility in ("public", "unlisted")
    )


def _written(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _end_of_day(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, milliseconds=-1)


def _state(announcement: Announcement, now: datetime) -> str:
    if announcement.published_at is None:
        return "draft"
    if announcement.is_shown(now):
        return "shown"
    return "scheduled" if announcement.published_at > now else "ended"
