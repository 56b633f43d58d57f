"""Announcements: staff make, show and remove them; accounts read them and react to them.

The reactions of all accounts together have a limit. So each turn first locks the row of the announcement: the turns of
several accounts wait for each other there, and each counts the reactions that earlier turns have committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...storage import accounts, announcements, custom_emojis, statuses
from ...storage.accounts import Account
from ...storage.announcements import Announcement
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ..account import AccountActor, AccountChange
from ..activitypub.names import LocalNames, LocalStatusName
from ..facts.announcements import ChangedAnnouncement, CountedReaction, announcement_promises
from ..kernel import Command, Refused, turn
from ..own_addresses import status_ids
from ..promises import Promise
from ..refusals import NOT_FOUND
from ..rules import instants
from ..rules.emojis import SHORTCODE, is_unicode_emoji
from ..rules.limits import ANNOUNCEMENT_CHARACTERS, REACTION_KINDS
from ..rules.roles import Permission
from ..rules.text import FoundLink, FoundMention, Hashtag, MentionTarget, Scan, render, scan, tag_url, trimmed
from ..staff.acts import Staff, StaffAct, Target, act

NOTICE = "announcements"
NO_EMOJI = Refused(422, "Validation failed: Name is not a recognized emoji")
TOO_MANY_KINDS = Refused(422, "Validation failed: Limit of different reactions reached")


@dataclass(frozen=True, slots=True)
class DismissAnnouncement(Command[None]):
    """Command: mark an announcement as read."""

    id: int


@dataclass(frozen=True, slots=True)
class React(Command[None]):
    """Command: react to an announcement, with an emoji of Unicode or the name of a custom emoji."""

    announcement_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Unreact(Command[None]):
    """Command: take a reaction to an announcement back."""

    announcement_id: int
    name: str


@turn(AccountActor, DismissAnnouncement)
async def dismiss_announcement(account: AccountActor, message: DismissAnnouncement) -> Refused | None:
    if not await account.transact(announcements.dismiss, message.id, account.id, account.now):
        return NOT_FOUND
    return None


@turn(AccountActor, React)
async def react(account: AccountActor, message: React) -> Refused | None:
    if not is_unicode_emoji(message.name) and not SHORTCODE.fullmatch(message.name):
        return NO_EMOJI
    return await account.change(_react, message)


@turn(AccountActor, Unreact)
async def unreact(account: AccountActor, message: Unreact) -> Refused | None:
    return await account.change(_unreact, message)


async def _react(change: AccountChange, message: React) -> Refused | None:
    db, id, name = change.db, message.announcement_id, message.name
    version = await announcements.lock(db, id, change.now)
    if version is None:
        return NOT_FOUND
    if not is_unicode_emoji(name) and not await custom_emojis.exists(db, name):
        return NO_EMOJI
    if await announcements.other_kinds(db, id, name) >= REACTION_KINDS:
        return TOO_MANY_KINDS
    await announcements.react(db, id, change.account.id, name, change.now)
    return await _publish_count(change, id, name, version)


async def _unreact(change: AccountChange, message: Unreact) -> Refused | None:
    id, name = message.announcement_id, message.name
    version = await announcements.lock(change.db, id, change.now)
    if version is None or not await announcements.unreact(change.db, id, change.account.id, name):
        return NOT_FOUND
    return await _publish_count(change, id, name, version)


async def _publish_count(change: AccountChange, id: int, name: str, version: int) -> None:
    """Publish how many accounts have reacted to an announcement with an emoji."""
    change.publish(CountedReaction(id, name, await announcements.count(change.db, id, name), version))


# Acts of staff --------------------------------------------------------------------------------------------------------


class InvalidAnnouncement(Exception):
    """Raised when an announcement can't be made or changed. The text says why."""


# The last day of Python has no day after it, which other time zones need for announcements of whole days.
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
        """Return the values of the texts of a command or a form. Raises InvalidAnnouncement."""
        tidied = trimmed(text)
        if not 0 < len(tidied) <= ANNOUNCEMENT_CHARACTERS:
            raise InvalidAnnouncement(f"the text has not 1 to {ANNOUNCEMENT_CHARACTERS} characters")
        begins, ended = (instant_of(time) if time else None for time in (starts, ends))
        if begins and ended and ended < begins:
            raise InvalidAnnouncement("it ends before it starts")
        return cls(tidied, begins, ended, instant_of(at) if at else None, all_day, draft)


def instant_of(text: str) -> datetime:
    """Return the time that a text names. Raises InvalidAnnouncement."""
    instant = instants.instant_of(text)
    if instant is None or instant >= LAST_DAY:
        raise InvalidAnnouncement(f"{text!r} is not a time such as 2026-12-24T18:00:00+01:00")
    return instant


@dataclass(frozen=True, slots=True)
class AddAnnouncement(Command[int]):
    """Command of staff: make an announcement. The answer is its id."""

    staff: Staff
    wanted: NewAnnouncement


@dataclass(frozen=True, slots=True)
class ShowAnnouncement(Command[None]):
    """Command of staff: show an announcement, now or from a time on, or take it back."""

    staff: Staff
    id: int
    shown: bool
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RemoveAnnouncement(Command[None]):
    """Command of staff: delete an announcement with its reactions."""

    staff: Staff
    id: int


@act(AddAnnouncement, Permission.MANAGE_ANNOUNCEMENTS)
async def add(act: StaffAct, message: AddAnnouncement) -> int | Refused:
    """Make an announcement, and show it unless it is a draft."""
    wanted, domain, base_url = message.wanted, act.server.domain, act.server.base_url
    found = scan(wanted.text)
    mentioned = await _mentioned(act.db, found, domain)
    announcement = Announcement(
        id=act.ids.next(),
        text=wanted.text,
        content=render(
            wanted.text,
            mentions={name: MentionTarget(who.username, None, who.url or who.uri) for name, who in mentioned.items()},
            tag_url=lambda name: tag_url(base_url, name),
            local_domain=domain,
        ),
        mentions=tuple({account.id: _mention(account) for account in mentioned.values()}.values()),
        statuses=await _linked(act.db, found, base_url),
        tags=tuple(dict.fromkeys(entity.name for entity in found.entities if isinstance(entity, Hashtag))),
        starts_at=wanted.starts_at,
        ends_at=_end_of_day(wanted.ends_at) if wanted.all_day and wanted.ends_at else wanted.ends_at,
        all_day=wanted.all_day,
        published_at=None if wanted.draft else wanted.at or act.now,
        updated_at=act.now,
    )
    await announcements.insert(act.db, announcement)
    promises = [] if wanted.draft else announcement_promises(announcement, act.now)
    await _done(act, "add_announcement", announcement.id, promises)
    return announcement.id


@act(ShowAnnouncement, Permission.MANAGE_ANNOUNCEMENTS)
async def show(act: StaffAct, message: ShowAnnouncement) -> Refused | None:
    """Show an announcement, or take it back. Then it is kept as a draft, with its reactions."""
    at = (message.at or act.now) if message.shown else None
    changed = await announcements.publish(act.db, message.id, at, act.now)
    if changed is None:
        return NOT_FOUND
    action = "publish_announcement" if message.shown else "unpublish_announcement"
    await _done(act, action, message.id, announcement_promises(changed, act.now))
    return None


@act(RemoveAnnouncement, Permission.MANAGE_ANNOUNCEMENTS)
async def remove(act: StaffAct, message: RemoveAnnouncement) -> Refused | None:
    if not await announcements.delete(act.db, message.id):
        return NOT_FOUND
    await _done(act, "remove_announcement", message.id, [ChangedAnnouncement(message.id).promise()])
    return None


async def _done(act: StaffAct, action: str, id: int, promises: list[Promise]) -> None:
    """Log an act, promise to publish it to streams, and wake the relays of the running servers."""
    await act.log(action, Target("announcement", id, str(id)))
    act.promise(*promises)
    await notices.send(act.db, NOTICE)


async def _mentioned(db: Connection, found: Scan, local_domain: str) -> Mapping[str, Account]:
    """Return the local accounts that a text mentions, by their handles in it."""
    handles = {
        entity.handle(local_domain): entity.name for entity in found.entities
        if isinstance(entity, FoundMention) and entity.domain in (None, local_domain.lower())
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
    read = (names.read(entity.url) for entity in found.entities if isinstance(entity, FoundLink))
    ids = await status_ids(db, [name for name in read if isinstance(name, LocalStatusName)])
    known = await statuses.find_many(db, ids) if ids else {}
    return tuple(
        {"id": str(status.id), "url": status.url or status.uri}
        for status in known.values()
        if status.visibility in ("public", "unlisted")
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
