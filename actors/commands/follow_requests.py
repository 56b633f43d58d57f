"""Requests to follow, and followers, in the turn of the account that is followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage import follow_requests, follows, relations
from ...storage.notifications import NewNotification
from ..account import AccountActor, AccountChange
from ..effects.reminders import Unlocked
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.relations import send_acceptances, send_rejections
from .pairs import publish_followers

AT_ONCE = 100  # requests in one transaction: each takes a lock in PostgreSQL, and a place in a mailbox of 256


@dataclass(frozen=True, slots=True)
class AuthorizeRequest(Command[None]):
    """Command: accept a request to follow."""

    account_id: int


@dataclass(frozen=True, slots=True)
class RejectRequest(Command[None]):
    """Command: reject a request to follow."""

    account_id: int


@dataclass(frozen=True, slots=True)
class RemoveFollower(Command[None]):
    """Command: remove a follower."""

    account_id: int


@turn(AccountActor, AuthorizeRequest)
async def authorize_request(account: AccountActor, message: AuthorizeRequest) -> Refused | None:
    return None if await account.change(_accept, [message.account_id]) else NOT_FOUND


@turn(AccountActor, RejectRequest)
async def reject_request(account: AccountActor, message: RejectRequest) -> Refused | None:
    return await account.change(_reject, message.account_id)


@turn(AccountActor, RemoveFollower)
async def remove_follower(account: AccountActor, message: RemoveFollower) -> None:
    await account.change(remove_followers, [message.account_id])


@turn(AccountActor, Unlocked)
async def be_unlocked(account: AccountActor, message: Unlocked) -> None:
    await accept_waiting(account)


async def accept_waiting(account: AccountActor) -> None:
    """Accept the requests of all accounts that do not need to ask any more, in transactions of a hundred."""
    while await account.change(_accept_some):
        pass


async def _accept_some(change: AccountChange) -> bool:
    """Accept up to a hundred. True if there may be more."""
    waiting = await follow_requests.waiting(change.db, change.account.id, change.now, AT_ONCE)
    if waiting:
        await _accept(change, waiting)
    return len(waiting) == AT_ONCE


async def _accept(change: AccountChange, asking: Sequence[int]) -> list[int]:
    """Turn the requests of these accounts into follows. Return the accounts that had a request."""
    db, account, new_id = change.db, change.account, change.ids.next
    await relations.lock_pairs(db, account.id, asking)
    accepted = await follow_requests.accept(db, account.id, [new_id() for _ in asking], asking, change.now)
    change.promise(*await send_acceptances(db, account.context, account.id, accepted))
    await publish_followers(change, accepted)
    await change.notify(*(NewNotification(new_id(), account.id, follower, "follow") for follower in accepted))
    return accepted


async def _reject(change: AccountChange, account_id: int) -> Refused | None:
    await relations.lock_pair(change.db, change.account.id, account_id)
    change.promise(*await send_rejections(change.db, change.account, [account_id]))
    if not await follow_requests.delete(change.db, account_id, change.account.id):
        return NOT_FOUND
    return await publish_followers(change, [account_id])


async def remove_followers(change: AccountChange, followers: Sequence[int]) -> None:
    """End the follows and the requests of these accounts."""
    db, account = change.db, change.account
    await relations.lock_pairs(db, account.id, followers)
    change.promise(*await send_rejections(db, account, followers))
    for follower in followers:
        await follows.delete_follow(db, follower, account.id)
        await follow_requests.delete(db, follower, account.id)
    await publish_followers(change, followers)
