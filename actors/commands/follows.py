"""Following: a follow, or a request that its target answers (`follow_requests.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ...storage import accounts, blocks, follow_requests, follows, relations, suggestions
from ...storage.engine.database import Connection
from ...storage.federation import tombstones
from ...storage.notifications import NewNotification
from ..account import AccountActor, AccountChange
from ..broadcast.viewers import expired, relation_of
from ..kernel import Command, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.limits import FOLLOWS
from ..sending.relations import follow_uri, send_acceptances, send_follow, send_refusal, send_unfollow
from .interacting import undone
from .pairs import publish_pair

NOT_ONESELF = Refused(403, "Following your own account is not allowed")
TOO_MANY = Refused(422, f"Validation failed: You cannot follow more than {FOLLOWS} people")


@dataclass(frozen=True, slots=True)
class Follow(Command[None]):
    """Command: follow, or change the terms of a follow. None leaves a value as it is.

    A follow by an account of another server has a `uri`, which its acceptance names.
    """

    target_id: int
    reblogs: bool | None = None
    notify: bool | None = None
    languages: tuple[str, ...] | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Unfollow(Command[None]):
    """Command: end a follow, or withdraw a follow request."""

    target_id: int


@turn(AccountActor, Follow)
async def follow(account: AccountActor, message: Follow) -> Refused | None:
    if message.target_id == account.id:
        return NOT_ONESELF
    return await account.change(_follow, message)


@turn(AccountActor, Unfollow)
async def unfollow(account: AccountActor, message: Unfollow) -> Refused | None:
    return await account.change(_unfollow, message.target_id)


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
