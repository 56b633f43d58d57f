"""Sends the profile, the suspension and the deletion of an account, and reports about accounts of other servers."""

from __future__ import annotations

from ...storage import accounts, outbox
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.reports import Report
from ...storage.statuses import Status
from ..account import AccountActor
from ..activitypub.documents.activities import delete_actor_of, flag_of, move_of, update_actor_of
from ..activitypub.documents.actors import actor_of
from ..context import ActorContext
from ..effects.sending import deletion_continues, sending_key
from ..promises import Promise
from .delivery_promises import (
    Recipients,
    deliver,
    deliver_to,
    find_inboxes,
    find_inboxes_of_acquaintances,
    find_next_inboxes,
    withdraw_all,
)  # fmt: skip

# Inboxes that get the Delete of an account from one transaction. There may be tens of thousands.
INBOXES_AT_ONCE = 200


async def send_account(db: Connection, context: ActorContext, account_id: int) -> list[Promise]:
    """Queue the Update of a local account for the servers that have a copy of it, or its Delete for all known servers.

    An account without a key was never sent to another server.
    """
    account = await accounts.find(db, account_id)
    if account is None or not account.local or account.public_key is None:
        return []
    if account.deleted_at is not None:
        return await _send_deletion(db, context, account, "")
    found = await find_inboxes_of_acquaintances(db, context, account_id)
    if not found:
        return []
    moved = await accounts.find(db, account.moved_to_id) if account.moved_to_id is not None else None
    moved_to = None if moved is None else moved.uri
    actor = actor_of(account, context.names, account.public_key, context.custom_emojis.current, moved_to)
    return await deliver(db, context, account_id, update_actor_of(actor, context.clock.now()), found, urgent=True)


async def send_deletion(db: Connection, context: ActorContext, account_id: int, after: str) -> list[Promise]:
    """Queue the Delete of an account for the first inboxes that sort after `after`, and a task for the others."""
    account = await accounts.find(db, account_id)
    if account is None or account.deleted_at is None:
        return []
    return await _send_deletion(db, context, account, after)


async def _send_deletion(db: Connection, context: ActorContext, account: Account, after: str) -> list[Promise]:
    """Replace the task that runs now by the task of the next step.

    So a crash before the commit repeats this step, and a crash after it continues with the next: each inbox is in
    exactly one step.
    """
    await outbox.forget(db, sending_key(account.id))
    found = await find_next_inboxes(db, context, account.id, after, INBOXES_AT_ONCE)
    if not found:
        return []
    await withdraw_all(db, account.id, found)
    sent = await deliver(db, context, account.id, delete_actor_of(account.uri), found)
    return [*sent, deletion_continues(account.id, found[-1].inbox)]


async def send_move(db: Connection, account: AccountActor, target_uri: str) -> list[Promise]:
    """Queue the Move of a local account for its followers."""
    context, name = account.context, account.owner.username
    found = await find_inboxes(db, context, account.id, Recipients(followers=True))
    names = context.names
    move = move_of(names.actor(name), target_uri, names.followers(name), context.clock.now())
    return await deliver(db, context, account.id, move, found, urgent=True)


async def send_report(
    db: Connection, account: AccountActor, report: Report, reported: list[Status]
) -> list[Promise]:  # fmt: skip
    """Queue a report for the server of the reported account, in the name of this server."""
    target = await accounts.find(db, report.target_account_id)
    if target is None or target.local:
        return []
    names = account.context.names
    id = f"{names.server_actor}#flags/{report.id}"
    flag = flag_of(id, names, target.uri, [status.uri for status in reported], report.comment)
    return await deliver_to(db, account.context, None, flag, target.id)
