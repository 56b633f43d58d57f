"""Forgetting notifications, in the turn of the account that was told."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notification_groups, notifications
from ..account import Account
from ..kernel import Refused, turn

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class DismissNotification:
    """Command: forget one."""

    id: int


@dataclass(frozen=True, slots=True)
class DismissGroup:
    """Command: forget all of a group; one that is not there is forgotten already."""

    key: str


@dataclass(frozen=True, slots=True)
class ClearNotifications:
    """Command: forget all."""


@turn(Account, DismissNotification)
async def dismiss(self: Account, message: DismissNotification) -> Refused | None:
    found = await self.transact(notifications.dismiss, self.id, [message.id])
    return None if found else NOT_FOUND


@turn(Account, DismissGroup)
async def dismiss_group(self: Account, message: DismissGroup) -> None:
    await self.transact(notification_groups.dismiss, self.id, message.key)


@turn(Account, ClearNotifications)
async def clear(self: Account, message: ClearNotifications) -> None:
    await self.transact(notifications.clear, self.id)
