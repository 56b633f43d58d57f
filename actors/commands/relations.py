"""Following, blocking and muting, in the turn of the account that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...storage import accounts, blocks, follow_requests, follows, mutes, quotes, relations, suggestions
from ...storage.engine.database import Connection
from ...storage.federation import tombstones
from ...storage.notifications import NewNotification
from ..account import AccountActor, AccountChange
from ..broadcast.viewers import expired, relation_of
from ..effects.reminders import MuteEnded, forget_reminder, reminder
from ..kernel import Message, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.limits import FOLLOWS
from ..sending.relations import (
    follow_uri,
    send_acceptances,
    send_block,
    send_end_of_follows,
    send_follow,
    send_refusal,
    send_unblock,
    send_unfollow,
)
from .interacting import undone
from .pairs import publish_pair

NOT_ONESELF = Refused(403, "Following your own account is not allowed")
TOO_MANY = Refused(422, f"Validation failed: You cannot follow more than {FOLLOWS} people")


@dataclass(frozen=True, slots=True)
class Follow(Message[None]):
    """Command: follow, or change the terms of a follow. None leaves a value as it is.

    A follow by an account of another server has a `uri`, which its acceptance names.
    """

    target_id: int
    reblogs: bool | None = None
    notify: bool | None = None
    languages: tuple[str, ...] | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Unfollow(Message[None]):
    """Command: end a follow, or withdraw a follow request."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Block(Message[None]):
    """Command: block. This ends the follows and the quotes in both directions. A block of another server has a URI."""

    target_id: int
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Unblock(Message[None]):
    """Command: end a block."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Mute(Message[None]):
    """Command: mute for `duration` seconds, or without end for 0. A repeat changes the terms."""

    target_id: int
    notifications: bool = True
    duration: int = 0


@dataclass(frozen=True, slots=True)
class Unmute(Message[None]):
    """Command: end a mute."""

    target_id: int


@turn(AccountActor, Follow)
async def follow(account: AccountActor, message: Follow) -> Refused | None:
    if message.target_id == account.id:
        return NOT_ONESELF
    return await account.change(_follow, message)


@turn(AccountActor, Unfollow)
async def unfollow(account: AccountActor, message: Unfollow) -> Refused | None:
    return await account.change(_unfollow, message.target_id)


@turn(AccountActor, Block)
async def block(account: AccountActor, message: Block) -> Refused | None:
    if message.target_id == account.id:
        return None
    return await account.change(_block, message)


@turn(AccountActor, Unblock)
async def unblock(account: AccountActor, message: Unblock) -> Refused | None:
    return await account.change(_unblock, message.target_id)


@turn(AccountActor, Mute)
async def mute(account: AccountActor, message: Mute) -> Refused | None:
    if message.target_id == account.id:
        return None
    return await account.change(_mute, message)


@turn(AccountActor, Unmute)
async def unmute(account: AccountActor, message: Unmute) -> Refused | None:
    return await account.change(_unmute, message.target_id)


@turn(AccountActor, MuteEnded)
async def end_mute(account: AccountActor, message: MuteEnded) -> None:
    await account.change(_end_mute, message.target_id)


async def find_present(db: Connection, id: int) -> accounts.Account | None:
    """Return an account, unless it is deleted or its user is not yet confirmed and approved."""
    account = await accounts.find(db, id)
    return None if account is None or account.pending or account.deleted_at is not None else account


async def _follow(change: AccountChange, message: Follow) -> Refused | None:
    db, account = change.db, change.account
    await relations.lock_pair(db, account.id, message.target_id)
    if await undone(change, message.uri):
        return NOT_FOUND
    uri = await tombstones.unused(db, message.uri)
    pair = await accounts.find_many(db, [account.id, message.target_id])
    refusal = await _refuse_follow(db, account, pair.get(message.target_id))
    if refusal is None or not account.is_local:
        # Also a follow that would be refused today: another server that sends a Follow again may know that it was
        # accepted.
        terms = follows.ChangedTerms(
            message.reblogs, message.notify, message.languages, message.languages is not None, uri
        )
        if await follows.change_follow(db, account.id, message.target_id, terms):
            if uri is not None and await follows.exists(db, account.id, message.target_id):
                change.promise(*await send_acceptances(db, account.context, message.target_id, [account.id]))
            return await publish_pair(change, message.target_id)
    if refusal is not None:
        await _send_refusal(change, pair, message)
        return change.commit_refusal(refusal)
    if account.is_local and _follows_too_many(pair[account.id]):
        return TOO_MANY
    made = await _begin(change, pair, replace(message, uri=uri))
    await suggestions.end(db, account.id, message.target_id, change.ids.next())
    await publish_pair(change, message.target_id)
    await change.notify(NewNotification(change.ids.next(), message.target_id, account.id, made, None))
    return None


async def _send_refusal(change: AccountChange, pair: Mapping[int, accounts.Account], message: Follow) -> None:
    """Answer the refused Follow of an account on another server."""
    if message.uri is not None and len(pair) > 1:
        me, target = pair[change.account.id], pair[message.target_id]
        change.promise(*await send_refusal(change.db, change.context, me, target, message.uri))


async def _refuse_follow(db: Connection, account: AccountActor, target: accounts.Account | None) -> Refused | None:
    if target is None or target.pending or target.suspended_at is not None or target.deleted_at is not None:
        return NOT_FOUND
    if (
        target.moved_to_id is not None
        or target.protocol != "activitypub"
        or target.domain in account.perspective.domain_blocks
        or await blocks.blocked_either_way(db, account.id, target.id)
    ):
        return NOT_ALLOWED
    return None


def _follows_too_many(account: accounts.Account) -> bool:
    return account.following_count >= max(FOLLOWS, account.followers_count * 1.1)


async def _begin(change: AccountChange, pair: Mapping[int, accounts.Account], message: Follow) -> str:
    """Insert a follow, or a request if the target must be asked. Return the type of the notification."""
    db, context, now = change.db, change.context, change.now
    me, target = pair[change.account.id], pair[message.target_id]
    id = change.ids.next()
    terms = follows.FollowTerms(
        id, me.id, target.id,
        show_reblogs=message.reblogs is not False, notify=bool(message.notify), languages=message.languages,
        uri=message.uri or follow_uri(context, me, target, id),
    )  # fmt: skip
    if not await _needs_request(db, me, target, now):
        await follows.insert_follow(db, terms, now)
        if not me.local:
            change.promise(*await send_acceptances(db, context, target.id, [me.id]))
        return "follow"
    await follow_requests.insert(db, terms, now)
    if terms.uri is not None and not target.local:
        change.promise(*await send_follow(db, context, me, target, terms.uri))
    return "follow_request"


async def _needs_request(db: Connection, me: accounts.Account, target: accounts.Account, now: datetime) -> bool:
    """True if the target must be asked.

    This includes accounts that the target mutes: to them it looks locked, so they do not learn that they are muted.
    """
    if me.silenced_at is not None or not target.local or await follow_requests.is_locked(db, target.id):
        return True
    muting = relation_of(await relations.find_relation(db, target.id, me.id)).muting
    return muting is not None and not expired(muting, now)


async def _unfollow(change: AccountChange, target_id: int) -> None:
    db, account = change.db, change.account
    await relations.lock_pair(db, account.id, target_id)
    # Before the rows are deleted, because the activity names the follow by its URI.
    change.promise(*await send_unfollow(db, account, target_id))
    await follows.delete_follow(db, account.id, target_id)
    await follow_requests.delete(db, account.id, target_id)
    await publish_pair(change, target_id)


async def _block(change: AccountChange, message: Block) -> Refused | None:
    db, account, target_id = change.db, change.account, message.target_id
    is_undone = await undone(change, message.uri)  # the follows that a block ends are ended also if the block is undone
    await relations.lock_pair(db, account.id, target_id)
    if (target := await find_present(db, target_id)) is None:
        return NOT_FOUND
    id = change.ids.next()
    # Before the block deletes the follows, because the activities name them by their URIs.
    change.promise(*await send_end_of_follows(db, account, target))
    ended = await quotes.end_between(db, account.id, target_id, change.ids.next)
    uri = await tombstones.unused(db, message.uri)
    if (await blocks.insert_block(db, id, account.id, target_id, change.now, uri)).new:
        change.promise(*await send_block(db, account, target, id))
    if is_undone:
        await blocks.delete_block(db, account.id, target_id)
    await suggestions.end(db, account.id, target_id, change.ids.next())
    return await publish_pair(change, target_id, ended)


async def _unblock(change: AccountChange, target_id: int) -> None:
    db, account = change.db, change.account
    await relations.lock_pair(db, account.id, target_id)
    id = await blocks.delete_block(db, account.id, target_id)
    if id is not None:
        change.promise(*await send_unblock(db, account, target_id, id))
    await publish_pair(change, target_id)


async def _mute(change: AccountChange, message: Mute) -> Refused | None:
    db, account, now = change.db, change.account, change.now
    await relations.lock_pair(db, account.id, message.target_id)
    if await find_present(db, message.target_id) is None:
        return NOT_FOUND
    until = now + timedelta(seconds=message.duration) if message.duration else None
    await mutes.insert_mute(
        db, change.ids.next(), account.id, message.target_id, now,
        hide_notifications=message.notifications, expires_at=until,
    )  # fmt: skip
    await suggestions.end(db, account.id, message.target_id, change.ids.next())
    await _remind_of_end(change, message.target_id, until)
    return await publish_pair(change, message.target_id)


async def _unmute(change: AccountChange, target_id: int) -> None:
    await relations.lock_pair(change.db, change.account.id, target_id)
    await mutes.delete_mute(change.db, change.account.id, target_id)
    await _remind_of_end(change, target_id, None)
    await publish_pair(change, target_id)


async def _remind_of_end(change: AccountChange, target_id: int, until: datetime | None) -> None:
    """Replace the reminder of a mute's end. A second reminder would have to wait for the first."""
    ended = MuteEnded(target_id)
    await forget_reminder(change.db, change.account.id, ended)
    if until is not None:
        change.promise(reminder(change.account.id, ended, until))


async def _end_mute(change: AccountChange, target_id: int) -> None:
    """End a mute.

    The changes are published even if the mute is gone: an earlier turn may have crashed before it did so.
    """
    await relations.lock_pair(change.db, change.account.id, target_id)
    await mutes.end(change.db, change.account.id, target_id, change.now)
    await publish_pair(change, target_id)
