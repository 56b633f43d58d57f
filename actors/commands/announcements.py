"""Reading announcements and reacting to them, and making them, in the turn of the account that does it.

The reactions of all accounts together have a limit. So each turn first locks the row of the announcement: the turns of
several accounts wait for each other there, and each counts what those before it have committed.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import announcements, custom_emojis
from ..account import AccountActor, AccountChange
from ..announcing import NewAnnouncement, add, publish, remove, withdraw
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


@turn(AccountActor, AddAnnouncement)
async def add_announcement(account: AccountActor, message: AddAnnouncement) -> Refused | None:
    context = account.context
    made = await act_in_turn(account, message.staff, add, message.wanted, context.base_url, context.local_domain)
    return made if isinstance(made, Refused) else None


@turn(AccountActor, ShowAnnouncement)
async def show_announcement(account: AccountActor, message: ShowAnnouncement) -> Refused | None:
    if message.shown:
        shown = await act_in_turn(account, message.staff, publish, message.id, None)
    else:
        shown = await act_in_turn(account, message.staff, withdraw, message.id)
    return shown if isinstance(shown, Refused) else None


@turn(AccountActor, RemoveAnnouncement)
async def remove_announcement(account: AccountActor, message: RemoveAnnouncement) -> Refused | None:
    return await act_in_turn(account, message.staff, remove, message.id)
