"""The newest notifications, and deleting some, in the turn of the account that received them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notification_groups, notifications
from ...storage.notifications import Notification
from ...storage.upkeep.paging import Page
from ..account import AccountActor, AccountChange
from ..facts.notifications import ChangedOwnRows
from ..kernel import Answer, Command, Refused, SystemMessage, turn
from ..refusals import NOT_FOUND


@dataclass(frozen=True, slots=True)
class DismissNotification(Command[None]):
    """Command: delete a notification."""

    id: int


@dataclass(frozen=True, slots=True)
class DismissGroup(Command[None]):
    """Command: delete the notifications of a group. A missing group is no error."""

    key: str


@dataclass(frozen=True, slots=True)
class ClearNotifications(Command[None]):
    """Command: delete all notifications."""


@dataclass(frozen=True, slots=True)
class NewestNotifications(SystemMessage[tuple[Notification, ...]]):
    """Query: the first page of the account's notifications, of some types. `types` None means every type."""

    limit: int
    types: tuple[str, ...] | None = None
    exclude_types: tuple[str, ...] = ()


@turn(AccountActor, NewestNotifications)
def tell_newest(account: AccountActor, message: NewestNotifications) -> Answer[tuple[Notification, ...]]:
    """Return the notifications from the cache, else after one query."""
    kept = account.context.own_rows.find(account.id, message)
    return kept if kept is not None else _read_newest(account, message)


async def _read_newest(account: AccountActor, message: NewestNotifications) -> tuple[Notification, ...]:
    database, own_rows = account.context.database, account.context.own_rows

    async def read() -> list[Notification]:
        page = Page(message.limit)
        return await database.read(
            notifications.page, account.id, page, types=message.types, exclude_types=message.exclude_types
        )

    return await own_rows.load(account.id, message, read, lambda notification: notification.status_id)


@turn(AccountActor, DismissNotification)
async def dismiss(account: AccountActor, message: DismissNotification) -> Refused | None:
    return None if await account.change(_dismiss, message.id) else NOT_FOUND


async def _dismiss(change: AccountChange, id: int) -> bool:
    """Delete a notification. False if there is none: then the kept pages may be outdated, and are dropped too."""
    change.publish(ChangedOwnRows(change.account.id))
    return await notifications.dismiss(change.db, change.account.id, [id])


@turn(AccountActor, DismissGroup)
async def dismiss_group(account: AccountActor, message: DismissGroup) -> None:
    await account.change(_dismiss_group, message.key)


async def _dismiss_group(change: AccountChange, key: str) -> None:
    await notification_groups.dismiss(change.db, change.account.id, key)
    change.publish(ChangedOwnRows(change.account.id))


@turn(AccountActor, ClearNotifications)
async def clear(account: AccountActor, message: ClearNotifications) -> None:
    await account.change(_clear)


async def _clear(change: AccountChange) -> None:
    await notifications.clear(change.db, change.account.id)
    change.publish(ChangedOwnRows(change.account.id))
