"""Requests to follow, and followers, in the turn of the account that is followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...storage import follows, notifications, relations
from ...storage.engine import Connection
from ...storage.notifications import NewNotification
from ..account import Account
from ..kernel import Origin, Refused, turn
from ..reminders import Unlocked
from .pairs import Dealt, deal_with_followers, settle

NOT_FOUND = Refused(404, "Record not found")
AT_ONCE = 100  # requests in one transaction: each is a lock that PostgreSQL keeps, and a message in a mailbox of 256


@dataclass(frozen=True, slots=True)
class AuthorizeRequest:
    """Command: let somebody follow who asked to."""

    account_id: int


@dataclass(frozen=True, slots=True)
class RejectRequest:
    """Command: do not."""

    account_id: int


@dataclass(frozen=True, slots=True)
class RemoveFollower:
    """Command: end somebody's follow of this account."""

    account_id: int


@turn(Account, AuthorizeRequest)
async def authorize_request(self: Account, message: AuthorizeRequest) -> Refused | None:
    dealt = await self.transact(accept, self, [message.account_id], self.now, self.origin)
    await settle(self, dealt)
    return None if dealt.theirs else NOT_FOUND


@turn(Account, RejectRequest)
async def reject_request(self: Account, message: RejectRequest) -> Refused | None:
    dealt = await self.transact(_reject, self, message.account_id, self.origin)
    if dealt is None:
        return NOT_FOUND
    return await settle(self, dealt)


@turn(Account, RemoveFollower)
async def remove_follower(self: Account, message: RemoveFollower) -> None:
    await settle(self, await self.transact(remove_followers, self, [message.account_id], self.origin))


@turn(Account, Unlocked)
async def be_unlocked(self: Account, message: Unlocked) -> None:
    await accept_waiting(self)


async def accept_waiting(self: Account) -> None:
    """Accept everybody who asked and need not ask any more, a transaction for each hundred."""
    more = True
    while more:
        dealt, more = await self.transact(_accept_some, self, self.now, self.origin)
        await settle(self, dealt)


async def _accept_some(db: Connection, self: Account, now: datetime, origin: Origin) -> tuple[Dealt, bool]:
    waiting = await follows.waiting(db, self.id, now, AT_ONCE)
    return await accept(db, self, waiting, now, origin), len(waiting) == AT_ONCE


async def accept(db: Connection, self: Account, asking: Sequence[int], now: datetime, origin: Origin) -> Dealt:
    """Those of these accounts who asked follow now."""
    new_id = self.backstage.ids.next
    await relations.lock_pairs(db, self.id, asking)
    accepted = await follows.accept_requests(db, self.id, [new_id() for _ in asking], asking, now)
    new = [NewNotification(new_id(), self.id, follower, "follow") for follower in accepted]
    told = await notifications.insert_many(db, new, now)
    return await deal_with_followers(db, self, accepted, origin, told)


async def _reject(db: Connection, self: Account, account_id: int, origin: Origin) -> Dealt | None:
    await relations.lock_pair(db, self.id, account_id)
    if not await follows.delete_request(db, account_id, self.id):
        return None
    return await deal_with_followers(db, self, [account_id], origin)


async def remove_followers(db: Connection, self: Account, followers: Sequence[int], origin: Origin) -> Dealt:
    """These accounts neither follow nor ask to any more."""
    await relations.lock_pairs(db, self.id, followers)
    for follower in followers:
        await follows.delete_follow(db, follower, self.id)
        await follows.delete_request(db, follower, self.id)
    return await deal_with_followers(db, self, followers, origin)
