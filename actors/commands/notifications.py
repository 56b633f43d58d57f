"""Deleting notifications, in the turn of the account that received them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notification_groups, notifications
from ..account import AccountActor
from ..kernel import Message, Refused, turn

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class DismissNotification(Message[None]):
    """Command: delete one notification."""

    id: int


@dataclass(frozen=True, slots=True)
class DismissGroup(Message[None]):
    """Command: delete the notifications of a group. A missing group is no error."""

    key: str


@dataclass(frozen=True, slots=True)
class ClearNotifications(Message[None]):
    """Command: delete all notifications."""


@turn(AccountActor, DismissNotification)
async def dismiss(account: AccountActor, message: DismissNotification) -> Refused | None:
    found = await account.transact(notifications.dismiss, account.id, [message.id])
    return None if found else NOT_FOUND


@turn(AccountActor, DismissGroup)
async def dismiss_group(account: AccountActor, message: DismissGroup) -> None:
    await account.transact(notification_groups.dismiss, account.id, message.key)


@turn(AccountActor, ClearNotifications)
async def clear(account: AccountActor, message: ClearNotifications) -> None:
    await account.transact(notifications.clear, account.id)
