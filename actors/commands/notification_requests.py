"""Accepting and dismissing notification requests, in the turn of the account that received them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations, notification_requests
from ...storage.conversations import Conversation
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..conversations import shown_conversations
from ..effects.conversations import conversation_changed
from ..effects.notifications import notifications_merged
from ..facts import ChangedConversation, ChangedOwnRows, MergedNotifications
from ..kernel import Message, Origin, turn


@dataclass(frozen=True, slots=True)
class AcceptNotificationRequests(Message[bool]):
    """Command: show what was filtered from these senders, and accept what comes later.

    Unknown ids are left out. The answer is False if all are unknown.
    """

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DismissNotificationRequests(Message[bool]):
    """Command: delete requests with their filtered notifications. The senders stay filtered.

    Unknown ids are left out. The answer is False if all are unknown.
    """

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The outcome of the transaction."""

    changed: list[Conversation]
    promised: list[int]


@turn(AccountActor, AcceptNotificationRequests)
async def accept_requests(account: AccountActor, message: AcceptNotificationRequests) -> bool:
    accepted = await account.transact(_accept, account, message.ids, account.origin)
    if accepted is None:
        return False
    context = account.context
    shown = await shown_conversations(accepted.changed, context.accounts, context.statuses)
    changed = [ChangedConversation(conversation) for conversation in shown]
    await account.publish(MergedNotifications(account.id), *changed, promised=accepted.promised)
    return True


async def _accept(db: Connection, account: AccountActor, ids: tuple[int, ...], origin: Origin) -> Accepted | None:
    """Merge the notifications, and the direct statuses among them into the conversations."""
    found, status_ids = await notification_requests.accept(db, account.id, ids, account.context.ids.next())
    if not found:
        return None
    fresh = [account.context.ids.next() for _ in status_ids]
    changed = await conversations.collect(db, account.id, status_ids, fresh) if status_ids else []
    promises = [notifications_merged(account.id), *(conversation_changed(one, account.id) for one in changed)]
    return Accepted(changed, await account.context.outbox.promise(db, promises, origin))


@turn(AccountActor, DismissNotificationRequests)
async def dismiss_requests(account: AccountActor, message: DismissNotificationRequests) -> bool:
    dismissed = await account.transact(notification_requests.dismiss, account.id, message.ids)
    await account.publish(ChangedOwnRows(account.id))
    return dismissed
