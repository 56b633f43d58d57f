"""Requests to follow, and followers, in the turn of the account that is followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...storage import follow_requests, follows, notifications, relations
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification
from ..account import AccountActor
from ..effects.reminders import Unlocked
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.relations import send_acceptances, send_rejections
from .pairs import PairChanges, promise_follower_changes, publish_changes

AT_ONCE = 100  # requests in one transaction: each takes a lock in PostgreSQL, and a place in a mailbox of 256


@dataclass(frozen=True, slots=True)
class AuthorizeRequest(Message[None]):
    """Command: accept a request to follow."""

    account_id: int


@dataclass(frozen=True, slots=True)
class RejectRequest(Message[None]):
    """Command: reject a request to follow."""

    account_id: int


@dataclass(frozen=True, slots=True)
class RemoveFollower(Message[None]):
    """Command: remove a follower."""

    account_id: int


@turn(AccountActor, AuthorizeRequest)
async def authorize_request(account: AccountActor, message: AuthorizeRequest) -> Refused | None:
    changes = await account.transact(accept, account, [message.account_id], account.now, account.origin)
    await publish_changes(account, changes)
    return None if changes.theirs else NOT_FOUND


@turn(AccountActor, RejectRequest)
async def reject_request(account: AccountActor, message: RejectRequest) -> Refused | None:
    changes = await account.transact(_reject, account, message.account_id, account.origin)
    if changes is None:
        return NOT_FOUND
    return await publish_changes(account, changes)


@turn(AccountActor, RemoveFollower)
async def remove_follower(account: AccountActor, message: RemoveFollower) -> None:
    await publish_changes(
        account, await account.transact(remove_followers, account, [message.account_id], account.origin)
    )


@turn(AccountActor, Unlocked)
async def be_unlocked(account: AccountActor, message: Unlocked) -> None:
    await accept_waiting(account)


async def accept_waiting(account: AccountActor) -> None:
    """Accept the requests of all accounts that do not need to ask any more, in transactions of a hundred."""
    more = True
    while more:
        changes, more = await account.transact(_accept_some, account, account.now, account.origin)
        await publish_changes(account, changes)


async def _accept_some(
    db: Connection, account: AccountActor, now: datetime, origin: Origin
) -> tuple[PairChanges, bool]:
    waiting = await follow_requests.waiting(db, account.id, now, AT_ONCE)
    return await accept(db, account, waiting, now, origin), len(waiting) == AT_ONCE


async def accept(
    db: Connection, account: AccountActor, asking: Sequence[int], now: datetime, origin: Origin
) -> PairChanges:
    """Turn the requests of these accounts into follows."""
    new_id = account.context.ids.next
    await relations.lock_pairs(db, account.id, asking)
    accepted = await follow_requests.accept(db, account.id, [new_id() for _ in asking], asking, now)
    sent = await send_acceptances(db, account.context, account.id, accepted)
    new = [NewNotification(new_id(), account.id, follower, "follow") for follower in accepted]
    added = await notifications.insert_many(db, new, now)
    return await promise_follower_changes(db, account, accepted, origin, added, sent)


async def _reject(db: Connection, account: AccountActor, account_id: int, origin: Origin) -> PairChanges | None:
    await relations.lock_pair(db, account.id, account_id)
    sent = await send_rejections(db, account, [account_id])
    if not await follow_requests.delete(db, account_id, account.id):
        return None
    return await promise_follower_changes(db, account, [account_id], origin, sent=sent)


async def remove_followers(
    db: Connection, account: AccountActor, followers: Sequence[int], origin: Origin
) -> PairChanges:
    """End the follows and the requests of these accounts."""
    await relations.lock_pairs(db, account.id, followers)
    sent = await send_rejections(db, account, followers)
    for follower in followers:
        await follows.delete_follow(db, follower, account.id)
        await follow_requests.delete(db, follower, account.id)
    return await promise_follower_changes(db, account, followers, origin, sent=sent)
