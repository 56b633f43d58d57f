"""Muting and unmuting accounts, and the end of a mute with a duration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import mutes, relations, suggestions
from ..account import AccountActor, AccountChange
from ..effects.reminders import MuteEnded, forget_reminder, reminder
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from .pairs import find_present, publish_pair


@dataclass(frozen=True, slots=True)
class Mute(Command[None]):
    """Command: mute for `duration` seconds, or without end for 0. A repeat changes the terms.

    The endpoint shortens a duration to `MUTE_SECONDS` (`rules/limits.py`).
    """

    target_id: int
    notifications: bool = True
    duration: int = 0


@dataclass(frozen=True, slots=True)
class Unmute(Command[None]):
    """Command: end a mute."""

    target_id: int


@turn(AccountActor, Mute)
async def mute(account: AccountActor, message: Mute) -> Refused | None:
    if message.target_id == account.id:
        return None
    return await account.change(_mute, message)


@turn(AccountActor, Unmute)
async def unmute(account: AccountActor, message: Unmute) -> Refused | None:
    return await account.change(_unmute, message.target_id)


@turn(AccountActor, MuteEnded)
async def end_mute(account: AccountActor, message: MuteEnded) -> None:
    await account.change(_end_mute, message.target_id)


async def _mute(change: AccountChange, message: Mute) -> Refused | None:
    db, account, now = change.db, change.account, change.now
    await relations.lock_pair(db, account.id, message.target_id)
    if await find_present(db, message.target_id) is None:
        return NOT_FOUND
    until = now + timedelta(seconds=message.duration) if message.duration else None
    await mutes.insert_mute(
        db, change.ids.next(), account.id, message.target_id, now,
        hide_notifications=message.notifications, expires_at=until,
    )  # fmt: skip
    await suggestions.end(db, account.id, message.target_id, change.ids.next())
    await _remind_of_end(change, message.target_id, until)
    return await publish_pair(change, message.target_id)


async def _unmute(change: AccountChange, target_id: int) -> None:
    await relations.lock_pair(change.db, change.account.id, target_id)
    await mutes.delete_mute(change.db, change.account.id, target_id)
    await _remind_of_end(change, target_id, None)
    await publish_pair(change, target_id)


async def _remind_of_end(change: AccountChange, target_id: int, until: datetime | None) -> None:
    """Replace the reminder of a mute's end. A second reminder would have to wait for the first."""
    ended = MuteEnded(target_id)
    await forget_reminder(change.db, change.account.id, ended)
    if until is not None:
        change.promise(reminder(change.account.id, ended, until))


async def _end_mute(change: AccountChange, target_id: int) -> None:
    """End a mute.

    The changes are published even if the mute is gone: an earlier turn may have crashed before it did so.
    """
    await relations.lock_pair(change.db, change.account.id, target_id)
    await mutes.end(change.db, change.account.id, target_id, change.now)
    await publish_pair(change, target_id)
