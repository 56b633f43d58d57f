"""Reading announcements and reacting to them, and making them, in the turn of the account that does it.

The reactions of all accounts together have a limit. So each turn first locks the row of the announcement: the turns of
several accounts wait for each other there, and each counts what those before it have committed.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import announcements, custom_emojis
from ...storage.announcements import Announcement
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..announcing import NewAnnouncement, add, publish, remove, withdraw
from ..effects.announcements import reaction_counted
from ..facts import CountedReaction
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.emojis import SHORTCODE, is_unicode_emoji
from ..rules.limits import REACTION_KINDS
from ..staff import Staff, act_in_turn

NO_EMOJI = Refused(422, "Validation failed: Name is not a recognized emoji")
TOO_MANY_KINDS = Refused(422, "Validation failed: Limit of different reactions reached")


@dataclass(frozen=True, slots=True)
class DismissAnnouncement(Message[None]):
    """Command: mark an announcement as read."""

    id: int


@dataclass(frozen=True, slots=True)
class React(Message[None]):
    """Command: react to an announcement, with an emoji of Unicode or the name of a custom one."""

    announcement_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Unreact(Message[None]):
    """Command: take a reaction to an announcement back."""

    announcement_id: int
    name: str


@dataclass(frozen=True, slots=True)
class AddAnnouncement(Message[None]):
    """Command of staff: make an announcement."""

    staff: Staff
    wanted: NewAnnouncement


@dataclass(frozen=True, slots=True)
class ShowAnnouncement(Message[None]):
    """Command of staff: show an announcement now, or take it back."""

    staff: Staff
    id: int
    shown: bool


@dataclass(frozen=True, slots=True)
class RemoveAnnouncement(Message[None]):
    """Command of staff: delete an announcement with its reactions."""

    staff: Staff
    id: int


@turn(AccountActor, DismissAnnouncement)
async def dismiss_announcement(account: AccountActor, message: DismissAnnouncement) -> Refused | None:
    if not await account.transact(announcements.dismiss, message.id, account.id, account.now):
        return NOT_FOUND
    return None


@turn(AccountActor, React)
async def react(account: AccountActor, message: React) -> Refused | None:
    if not is_unicode_emoji(message.name) and not SHORTCODE.fullmatch(message.name):
        return NO_EMOJI
    return await _publish(account, await account.transact(_react, account, message))


@turn(AccountActor, Unreact)
async def unreact(account: AccountActor, message: Unreact) -> Refused | None:
    return await _publish(account, await account.transact(_unreact, account, message))


async def _publish(account: AccountActor, done: tuple[CountedReaction, list[int]] | Refused) -> Refused | None:
    if isinstance(done, Refused):
        return done
    counted, promised = done
    return await account.publish(counted, promised=promised)


async def _react(db: Connection, account: AccountActor, message: React) -> tuple[CountedReaction, list[int]] | Refused:
    id, name = message.announcement_id, message.name
    version = await announcements.lock(db, id, account.now)
    if version is None:
        return NOT_FOUND
    if not is_unicode_emoji(name) and not await custom_emojis.exists(db, name):
        return NO_EMOJI
    if await announcements.other_kinds(db, id, name) >= REACTION_KINDS:
        return TOO_MANY_KINDS
    await announcements.react(db, id, account.id, name, account.now)
    return await _counted(db, account, id, name, version)


async def _unreact(
    db: Connection, account: AccountActor, message: Unreact
) -> tuple[CountedReaction, list[int]] | Refused:
    id, name = message.announcement_id, message.name
    version = await announcements.lock(db, id, account.now)
    if version is None or not await announcements.unreact(db, id, account.id, name):
        return NOT_FOUND
    return await _counted(db, account, id, name, version)


async def _counted(
    db: Connection, account: AccountActor, id: int, name: str, version: int
) -> tuple[CountedReaction, list[int]]:
    counted = CountedReaction(id, name, await announcements.count(db, id, name), version)
    promises = [reaction_counted(account.id, id, name)]
    return counted, await account.context.outbox.promise(db, promises, account.origin)


@turn(AccountActor, AddAnnouncement)
async def add_announcement(account: AccountActor, message: AddAnnouncement) -> Refused | None:
    act, context = act_in_turn(account, message.staff), account.context
    return _told(account, await account.transact(add, act, message.wanted, context.base_url, context.local_domain))


@turn(AccountActor, ShowAnnouncement)
async def show_announcement(account: AccountActor, message: ShowAnnouncement) -> Refused | None:
    act = act_in_turn(account, message.staff)
    if message.shown:
        return _told(account, await account.transact(publish, act, message.id, None))
    return _told(account, await account.transact(withdraw, act, message.id))


@turn(AccountActor, RemoveAnnouncement)
async def remove_announcement(account: AccountActor, message: RemoveAnnouncement) -> Refused | None:
    return _told(account, await account.transact(remove, act_in_turn(account, message.staff), message.id))


def _told(account: AccountActor, outcome: Announcement | Refused | None) -> Refused | None:
    """Have the streams told by the outbox."""
    if isinstance(outcome, Refused):
        return outcome
    account.context.outbox.wake()
    return None
