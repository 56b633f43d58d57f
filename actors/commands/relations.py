"""Following, blocking and muting, in the turn of the account that does it.

Both sides of a pair change in one transaction, under a lock on the pair. Afterwards both sides' actors are told how
they stand to each other now, in the order of the commits, and before the answer: who was blocked sees nothing from then
on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...storage import accounts, blocks, follows, mutes, notifications, relations
from ...storage.engine import Connection
from ...storage.follows import Change
from ...storage.notifications import NewNotification, Notification
from ..account import Account, relation_of
from ..broadcast import Related, Told
from ..kernel import Origin, Refused, turn
from ..rules.visibility import Relation

NOT_FOUND = Refused(404, "Record not found")
NOT_ALLOWED = Refused(403, "This action is not allowed")
NOT_ONESELF = Refused(403, "Following your own account is not allowed")
MOST_FOLLOWS = 7500  # beyond, at most a tenth more than one's followers
TOO_MANY = Refused(422, f"Validation failed: You cannot follow more than {MOST_FOLLOWS} people")


@dataclass(frozen=True, slots=True)
class Follow:
    """Command: follow, or change the terms of a follow; what is None stays as it is."""

    target_id: int
    reblogs: bool | None = None
    notify: bool | None = None
    languages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Unfollow:
    """Command: end a follow or take back the request for one."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Block:
    """Command: block, which ends every follow between the two."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Unblock:
    """Command: end a block."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Mute:
    """Command: mute for `duration` seconds, 0 for good; a repeat changes how."""

    target_id: int
    notifications: bool = True
    duration: int = 0


@dataclass(frozen=True, slots=True)
class Unmute:
    """Command: end a mute."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Dealt:
    """How two accounts stand to each other after a transaction: `mine` and `theirs`, and what was promised."""

    mine: Relation
    theirs: Relation
    stamp: int
    promised: list[int]
    told: list[Notification] = field(default_factory=list[Notification])


@turn(Account, Follow)
async def follow(self: Account, message: Follow) -> Refused | None:
    if message.target_id == self.id:
        return NOT_ONESELF
    dealt = await self.transact(_follow, self, message, self.now, self.origin)
    return await _settle(self, message.target_id, dealt)


@turn(Account, Unfollow)
async def unfollow(self: Account, message: Unfollow) -> Refused | None:
    return await _settle(self, message.target_id, await self.transact(_unfollow, self, message.target_id, self.origin))


@turn(Account, Block)
async def block(self: Account, message: Block) -> Refused | None:
    if message.target_id == self.id:
        return None
    dealt = await self.transact(_block, self, message.target_id, self.now, self.origin)
    return await _settle(self, message.target_id, dealt)


@turn(Account, Unblock)
async def unblock(self: Account, message: Unblock) -> Refused | None:
    return await _settle(self, message.target_id, await self.transact(_unblock, self, message.target_id, self.origin))


@turn(Account, Mute)
async def mute(self: Account, message: Mute) -> Refused | None:
    if message.target_id == self.id:
        return None
    dealt = await self.transact(_mute, self, message, self.now, self.origin)
    return await _settle(self, message.target_id, dealt)


@turn(Account, Unmute)
async def unmute(self: Account, message: Unmute) -> Refused | None:
    return await _settle(self, message.target_id, await self.transact(_unmute, self, message.target_id, self.origin))


async def _follow(db: Connection, self: Account, message: Follow, now: datetime, origin: Origin) -> Dealt | Refused:
    await relations.lock_pair(db, self.id, message.target_id)
    pair = await accounts.find_many(db, [self.id, message.target_id])
    if (refusal := await _refuse_follow(db, self, pair.get(message.target_id))) is not None:
        return refusal
    change = Change(message.reblogs, message.notify, message.languages, message.languages is not None)
    if await follows.change_follow(db, self.id, message.target_id, change):
        return await _dealt(db, self, message.target_id, origin)
    if _follows_too_many(pair[self.id]):
        return TOO_MANY
    made = await _begin(db, self, pair[message.target_id], message, now)
    new = NewNotification(self.backstage.ids.next(), message.target_id, self.id, made, None)
    told = await notifications.insert_many(db, [new], now)
    return await _dealt(db, self, message.target_id, origin, told)


async def _refuse_follow(db: Connection, self: Account, target: accounts.Account | None) -> Refused | None:
    if target is None or target.suspended_at is not None or target.deleted_at is not None:
        return NOT_FOUND
    if (
        target.moved_to_id is not None
        or target.protocol != "activitypub"
        or target.domain in self.perspective.domain_blocks
        or await blocks.blocked_either_way(db, self.id, target.id)
    ):
        return NOT_ALLOWED
    return None


def _follows_too_many(account: accounts.Account) -> bool:
    return account.following_count >= max(MOST_FOLLOWS, account.followers_count * 1.1)


async def _begin(db: Connection, self: Account, target: accounts.Account, message: Follow, now: datetime) -> str:
    """A follow, or a request when the target wants to be asked; the answer is the notification's type."""
    terms = follows.Follow(
        self.backstage.ids.next(), self.id, target.id,
        show_reblogs=message.reblogs is not False, notify=bool(message.notify), languages=message.languages,
    )  # fmt: skip
    if await _wants_to_be_asked(db, self, target):
        await follows.insert_request(db, terms, now)
        return "follow_request"
    await follows.insert_follow(db, terms, now)
    return "follow"


async def _wants_to_be_asked(db: Connection, self: Account, target: accounts.Account) -> bool:
    if target.locked or not target.local:
        return True
    account = await accounts.find(db, self.id)
    if account is not None and account.silenced_at is not None:
        return True
    return (await relations.bond(db, target.id, self.id)).muting is not None


async def _unfollow(db: Connection, self: Account, target_id: int, origin: Origin) -> Dealt:
    await relations.lock_pair(db, self.id, target_id)
    await follows.delete_follow(db, self.id, target_id)
    await follows.delete_request(db, self.id, target_id)
    return await _dealt(db, self, target_id, origin)


async def _block(db: Connection, self: Account, target_id: int, now: datetime, origin: Origin) -> Dealt | Refused:
    await relations.lock_pair(db, self.id, target_id)
    if await accounts.find(db, target_id) is None:
        return NOT_FOUND
    await blocks.insert_block(db, self.backstage.ids.next(), self.id, target_id, now)
    return await _dealt(db, self, target_id, origin)


async def _unblock(db: Connection, self: Account, target_id: int, origin: Origin) -> Dealt:
    await relations.lock_pair(db, self.id, target_id)
    await blocks.delete_block(db, self.id, target_id)
    return await _dealt(db, self, target_id, origin)


async def _mute(db: Connection, self: Account, message: Mute, now: datetime, origin: Origin) -> Dealt | Refused:
    await relations.lock_pair(db, self.id, message.target_id)
    if await accounts.find(db, message.target_id) is None:
        return NOT_FOUND
    until = now + timedelta(seconds=message.duration) if message.duration else None
    await mutes.insert_mute(
        db, self.backstage.ids.next(), self.id, message.target_id, now,
        hide_notifications=message.notifications, expires_at=until,
    )  # fmt: skip
    return await _dealt(db, self, message.target_id, origin)


async def _unmute(db: Connection, self: Account, target_id: int, origin: Origin) -> Dealt:
    await relations.lock_pair(db, self.id, target_id)
    await mutes.delete_mute(db, self.id, target_id)
    return await _dealt(db, self, target_id, origin)


async def _dealt(
    db: Connection, self: Account, other: int, origin: Origin, told: list[Notification] | None = None
) -> Dealt:
    """Read both sides while the pair is locked, and promise to tell them."""
    outbox, told = self.backstage.outbox, told or []
    effects = [
        outbox.relation(self.id, other, origin),
        *(outbox.notification(n.id, n.account_id, origin) for n in told),
    ]
    return Dealt(
        mine=relation_of(await relations.bond(db, self.id, other)),
        theirs=relation_of(await relations.bond(db, other, self.id)),
        stamp=await relations.stamp(db),
        promised=await outbox.promise(db, effects),
        told=told,
    )


async def _settle(self: Account, other: int, dealt: Dealt | Refused) -> Refused | None:
    """After the commit, before the answer: both sides know."""
    if isinstance(dealt, Refused):
        return dealt
    backstage = self.backstage
    backstage.accounts.drop(self.id)
    backstage.accounts.drop(other)
    backstage.broadcast.related(self.id, other, dealt.mine, dealt.stamp, self.origin)
    backstage.broadcast.related(other, self.id, dealt.theirs, dealt.stamp, self.origin)
    if not backstage.broadcast.is_outdated(self.id, Related(other, dealt.mine, dealt.stamp)):
        self.set_relation(other, dealt.mine)
    await _notify(self, dealt.told)
    backstage.outbox.hand_over(dealt.promised)
    return None


async def _notify(self: Account, told: list[Notification]) -> None:
    account = await self.backstage.accounts.find(self.id) if told else None
    for notification in told:
        if account is not None:
            self.backstage.broadcast.notified(Told(notification, account, None), self.origin)
