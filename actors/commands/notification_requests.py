"""Accepting and dismissing notification requests, in the turn of the account that received them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations, notification_requests
from ..account import AccountActor, AccountChange
from ..facts.conversations import ChangedConversation
from ..facts.notifications import ChangedOwnRows, MergedNotifications
from ..kernel import Command, turn


@dataclass(frozen=True, slots=True)
class AcceptNotificationRequests(Command[bool]):
    """Command: show the filtered notifications of these senders, and accept their later notifications.

    Unknown ids are left out. The answer is False if all are unknown.
    """

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DismissNotificationRequests(Command[bool]):
    """Command: delete requests with their filtered notifications. The senders stay filtered.

    Unknown ids are left out. The answer is False if all are unknown.
    """

    ids: tuple[int, ...]


@turn(AccountActor, AcceptNotificationRequests)
async def accept_requests(account: AccountActor, message: AcceptNotificationRequests) -> bool:
    return await account.change(_accept, message.ids)


async def _accept(change: AccountChange, ids: tuple[int, ...]) -> bool:
    """Merge the notifications, and the direct statuses among them into the conversations."""
    me = change.account.id
    found, status_ids = await notification_requests.accept(change.db, me, ids, change.ids.next())
    if not found:
        return False
    change.publish(MergedNotifications(me))
    if status_ids:
        fresh = [change.ids.next() for _ in status_ids]
        for conversation in await conversations.collect(change.db, me, status_ids, fresh):
            change.publish(ChangedConversation.of(conversation))
    return True


@turn(AccountActor, DismissNotificationRequests)
async def dismiss_requests(account: AccountActor, message: DismissNotificationRequests) -> bool:
    return await account.change(_dismiss, message.ids)


async def _dismiss(change: AccountChange, ids: tuple[int, ...]) -> bool:
    change.publish(ChangedOwnRows(change.account.id))
    return await notification_requests.dismiss(change.db, change.account.id, ids)
