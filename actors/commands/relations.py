"""Following, blocking and muting, in the turn of the account that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import accounts, blocks, follows, mutes, notifications, outbox, relations
from ...storage.engine import Connection
from ...storage.follows import Change
from ...storage.notifications import NewNotification
from ..account import Account, expired, relation_of
from ..kernel import Origin, Refused, turn
from ..reminders import MuteEnded
from .pairs import Dealt, deal, settle

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


@turn(Account, Follow)
async def follow(self: Account, message: Follow) -> Refused | None:
    if message.target_id == self.id:
        return NOT_ONESELF
    dealt = await self.transact(_follow, self, message, self.now, self.origin)
    return await _settle(self, dealt)


@turn(Account, Unfollow)
async def unfollow(self: Account, message: Unfollow) -> Refused | None:
    return await _settle(self, await self.transact(_unfollow, self, message.target_id, self.origin))


@turn(Account, Block)
async def block(self: Account, message: Block) -> Refused | None:
    if message.target_id == self.id:
        return None
    dealt = await self.transact(_block, self, message.target_id, self.now, self.origin)
    return await _settle(self, dealt)


@turn(Account, Unblock)
async def unblock(self: Account, message: Unblock) -> Refused | None:
    return await _settle(self, await self.transact(_unblock, self, message.target_id, self.origin))


@turn(Account, Mute)
async def mute(self: Account, message: Mute) -> Refused | None:
    if message.target_id == self.id:
        return None
    dealt = await self.transact(_mute, self, message, self.now, self.origin)
    return await _settle(self, dealt)


@turn(Account, Unmute)
async def unmute(self: Account, message: Unmute) -> Refused | None:
    return await _settle(self, await self.transact(_unmute, self, message.target_id, self.origin))


@turn(Account, MuteEnded)
async def end_mute(self: Account, message: MuteEnded) -> None:
    await settle(self, await self.transact(_end_mute, self, message.target_id, self.now, self.origin))


async def find_somebody(db: Connection, id: int) -> accounts.Account | None:
    """An account of which others may know: users who may not come in yet are nobody."""
    account = await accounts.find(db, id)
    return None if account is None or account.pending or account.deleted_at is not None else account


async def _follow(db: Connection, self: Account, message: Follow, now: datetime, origin: Origin) -> Dealt | Refused:
    await relations.lock_pair(db, self.id, message.target_id)
    pair = await accounts.find_many(db, [self.id, message.target_id])
    if (refusal := await _refuse_follow(db, self, pair.get(message.target_id))) is not None:
        return refusal
    change = Change(message.reblogs, message.notify, message.languages, message.languages is not None)
    if await follows.change_follow(db, self.id, message.target_id, change):
        return await deal(db, self, message.target_id, origin)
    if _follows_too_many(pair[self.id]):
        return TOO_MANY
    made = await _begin(db, self, pair, message, now)
    new = NewNotification(self.backstage.ids.next(), message.target_id, self.id, made, None)
    told = await notifications.insert_many(db, [new], now)
    return await deal(db, self, message.target_id, origin, told)


async def _refuse_follow(db: Connection, self: Account, target: accounts.Account | None) -> Refused | None:
    if target is None or target.pending or target.suspended_at is not None or target.deleted_at is not None:
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


async def _begin(
    db: Connection, self: Account, pair: Mapping[int, accounts.Account], message: Follow, now: datetime
) -> str:
    """A follow, or a request when the target wants to be asked; the answer is the notification's type."""
    me, target = pair[self.id], pair[message.target_id]
    terms = follows.Follow(
        self.backstage.ids.next(), me.id, target.id,
        show_reblogs=message.reblogs is not False, notify=bool(message.notify), languages=message.languages,
    )  # fmt: skip
    if await _wants_to_be_asked(db, me, target, now):
        await follows.insert_request(db, terms, now)
        return "follow_request"
    await follows.insert_follow(db, terms, now)
    return "follow"


async def _wants_to_be_asked(db: Connection, me: accounts.Account, target: accounts.Account, now: datetime) -> bool:
    """Those it mutes are asked for too, which looks to them as if it were locked."""
    if me.silenced_at is not None or not target.local or await follows.wants_to_be_asked(db, target.id):
        return True
    muting = relation_of(await relations.bond(db, target.id, me.id)).muting
    return muting is not None and not expired(muting, now)


async def _unfollow(db: Connection, self: Account, target_id: int, origin: Origin) -> Dealt:
    await relations.lock_pair(db, self.id, target_id)
    await follows.delete_follow(db, self.id, target_id)
    await follows.delete_request(db, self.id, target_id)
    return await deal(db, self, target_id, origin)


async def _block(db: Connection, self: Account, target_id: int, now: datetime, origin: Origin) -> Dealt | Refused:
    await relations.lock_pair(db, self.id, target_id)
    if await find_somebody(db, target_id) is None:
        return NOT_FOUND
    await blocks.insert_block(db, self.backstage.ids.next(), self.id, target_id, now)
    return await deal(db, self, target_id, origin)


async def _unblock(db: Connection, self: Account, target_id: int, origin: Origin) -> Dealt:
    await relations.lock_pair(db, self.id, target_id)
    await blocks.delete_block(db, self.id, target_id)
    return await deal(db, self, target_id, origin)


async def _mute(db: Connection, self: Account, message: Mute, now: datetime, origin: Origin) -> Dealt | Refused:
    await relations.lock_pair(db, self.id, message.target_id)
    if await find_somebody(db, message.target_id) is None:
        return NOT_FOUND
    until = now + timedelta(seconds=message.duration) if message.duration else None
    await mutes.insert_mute(
        db, self.backstage.ids.next(), self.id, message.target_id, now,
        hide_notifications=message.notifications, expires_at=until,
    )  # fmt: skip
    await _remind_of_end(db, self, message.target_id, until, origin)
    return await deal(db, self, message.target_id, origin)


async def _unmute(db: Connection, self: Account, target_id: int, origin: Origin) -> Dealt:
    await relations.lock_pair(db, self.id, target_id)
    await mutes.delete_mute(db, self.id, target_id)
    await _remind_of_end(db, self, target_id, None, origin)
    return await deal(db, self, target_id, origin)


async def _remind_of_end(db: Connection, self: Account, target_id: int, until: datetime | None, origin: Origin) -> None:
    """The reminder of a mute's end, in the place of an earlier one, for which it would have to wait."""
    key = f"mute/{self.id}/{target_id}"
    await outbox.forget(db, key)
    if until is not None:
        reminder = self.backstage.outbox.reminder(self.id, MuteEnded(target_id), key, origin, until)
        await self.backstage.outbox.promise(db, [reminder])


async def _end_mute(db: Connection, self: Account, target_id: int, now: datetime, origin: Origin) -> Dealt:
    """Told even when the mute was gone: a crash may have come between its end and the telling."""
    await relations.lock_pair(db, self.id, target_id)
    await mutes.end(db, self.id, target_id, now)
    return await deal(db, self, target_id, origin)


async def _settle(self: Account, dealt: Dealt | Refused) -> Refused | None:
    return dealt if isinstance(dealt, Refused) else await settle(self, dealt)
