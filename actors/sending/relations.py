"""Sending follows, their answers and blocks. Both sides of a pair are locked, and its rows are as before the change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...storage import accounts, follows, outbox
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.federation import tombstones
from ...storage.follows import RemoteFollow
from ..account import AccountActor
from ..activitypub.documents.activities import accept_of, block_of, follow_of, reject_of, undo_of
from ..context import ActorContext
from ..effects.received_activities import aside
from ..promises import Promise
from .deliver import deliver_to


def follow_uri(context: ActorContext, me: Account, target: Account, id: int) -> str | None:
    """Return the id of the Follow that a local account sends to one on another server. None if nothing is sent."""
    return context.names.activity(me.username, "follows", id) if me.local and not target.local else None


async def send_follow(db: Connection, context: ActorContext, me: Account, target: Account, uri: str) -> list[Promise]:
    """Promise to ask an account on another server whether a local one may follow it."""
    return await deliver_to(db, context, me.id, follow_of(uri, me.uri, target.uri), target.id)


async def send_unfollow(db: Connection, account: AccountActor, target_id: int) -> list[Promise]:
    """Promise to end a follow of an account on another server, or a request for one."""
    if account.user is None:
        return []
    found = await follows.remote(db, [account.id], [target_id])
    return [
        promise
        for one in found
        for promise in await deliver_to(db, account.context, account.id, undo_of(_follow(one)), target_id)
    ]


async def send_end_of_unknown_follow(
    db: Connection, context: ActorContext, me: Account, target: Account
) -> list[Promise]:
    """Promise to end a follow that the other server has and this one does not: its id is not known here.

    Servers drop what has the id of something that came before, so each time it is another one.
    """
    uri = context.names.activity(me.username, "follows", context.ids.next())
    follow = follow_of(uri, me.uri, target.uri)
    return await deliver_to(db, context, me.id, undo_of(follow), target.id)


async def send_acceptances(
    db: Connection, context: ActorContext, target_id: int, followers: Sequence[int]
) -> list[Promise]:
    """Promise to accept the follows, or requests for them, of accounts on other servers."""
    promises: list[Promise] = []
    for one in await follows.remote(db, followers, [target_id] * len(followers)):
        id = f"{one.target_uri}#accepts/{context.ids.next()}"
        promises += await _answer(db, context, one, accept_of(id, one.target_uri, _follow(one)))
    return promises


async def send_rejections(db: Connection, account: AccountActor, followers: Sequence[int]) -> list[Promise]:
    """Promise to reject follows, or requests for them, by accounts on other servers."""
    if account.user is None:
        return []
    context, promises = account.context, list[Promise]()
    for one in await follows.remote(db, followers, [account.id] * len(followers)):
        id = f"{one.target_uri}#rejects/{context.ids.next()}"
        promises += await _answer(db, context, one, reject_of(id, one.target_uri, _follow(one)))
        if one.is_received and one.uri is not None and await outbox.exists(db, aside(one.account_uri, one.target_uri)):
            # The Follow may have been put aside after it was stored, and then comes once more. Each of the two locks
            # the pair of accounts before the URI.
            await tombstones.lock(db, [one.uri])
            await tombstones.insert(db, one.uri, one.account_uri, account.now, account.now + tombstones.KEPT_FOR)
    return promises


async def send_refusal(
    db: Connection, context: ActorContext, me: Account, target: Account, uri: str | None
) -> list[Promise]:
    """Promise to reject a Follow that is not even stored as a request."""
    if me.local or not target.local or uri is None:
        return []
    id = f"{target.uri}#rejects/{context.ids.next()}"
    return await deliver_to(
        db, context, target.id, reject_of(id, target.uri, follow_of(uri, me.uri, target.uri)), me.id
    )


async def send_end_of_follows(db: Connection, account: AccountActor, target: Account) -> list[Promise]:
    """Promise to end the follows between a local account and one on another server, both ways."""
    if account.user is None or target.local:
        return []
    return [*await send_unfollow(db, account, target.id), *await send_rejections(db, account, [target.id])]


async def send_block(db: Connection, account: AccountActor, target: Account, id: int) -> list[Promise]:
    """Promise to tell the server of an account that it is blocked."""
    if account.user is None or target.local:
        return []
    return await deliver_to(db, account.context, account.id, _block(account, target, id), target.id)


async def send_unblock(db: Connection, account: AccountActor, target_id: int, id: int) -> list[Promise]:
    """Promise to tell the server of an account that it is blocked no more."""
    target = await accounts.find(db, target_id) if account.user is not None else None
    if target is None or target.local:
        return []
    return await deliver_to(db, account.context, account.id, undo_of(_block(account, target, id)), target.id)


async def _answer(db: Connection, context: ActorContext, one: RemoteFollow, answer: JsonObject) -> Iterable[Promise]:
    return await deliver_to(db, context, one.target_id, answer, one.account_id) if one.is_received else ()


def _follow(one: RemoteFollow) -> JsonObject:
    return follow_of(one.uri or _made_up(one.account_uri, one.target_id), one.account_uri, one.target_uri)


def _made_up(account_uri: str, target_id: int) -> str:
    """Return an id for a Follow whose own one is not known here. Servers also know a Follow by its actor and object."""
    return f"{account_uri}#follows/{target_id}"


def _block(account: AccountActor, target: Account, id: int) -> JsonObject:
    names, name = account.context.names, account.owner.username
    return block_of(names.activity(name, "blocks", id), names.actor(name), target.uri)
