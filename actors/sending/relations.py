"""Sends follows, their answers and blocks. The pair of accounts is locked, and its rows are not changed yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...storage import accounts, follows, outbox
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.federation import tombstones
from ...storage.follows import RemoteFollow
from ..account import AccountActor
from ..activitypub.documents import activities
from ..context import ActorContext
from ..effects.received_activities import aside
from ..promises import Promise
from .delivery_promises import deliver_to


def follow_uri(context: ActorContext, me: Account, target: Account, id: int) -> str | None:
    """Return the id of the Follow that a local account sends to another server; None if nothing is sent."""
    return context.names.activity(me.username, "follows", id) if me.local and not target.local else None


async def send_follow(db: Connection, context: ActorContext, me: Account, target: Account, uri: str) -> list[Promise]:
    """Queue the Follow of an account on another server by a local account."""
    return await deliver_to(db, context, me.id, activities.follow_of(uri, me.uri, target.uri), target.id)


async def send_unfollow(db: Connection, account: AccountActor, target_id: int) -> list[Promise]:
    """Queue the Undo of a follow, or follow request, to an account on another server."""
    if account.user is None:
        return []
    found = await follows.remote(db, [account.id], [target_id])
    return [
        promise
        for follow in found
        for promise in await deliver_to(db, account.context, account.id, activities.undo_of(_follow(follow)), target_id)
    ]


async def send_end_of_unknown_follow(
    db: Connection, context: ActorContext, me: Account, target: Account
) -> list[Promise]:
    """Queue the Undo of a follow that the other server has and this server does not: its id is not known here.

    Servers drop an activity with a known id, so each Undo has a new id.
    """
    uri = context.names.activity(me.username, "follows", context.ids.next())
    follow = activities.follow_of(uri, me.uri, target.uri)
    return await deliver_to(db, context, me.id, activities.undo_of(follow), target.id)


async def send_acceptances(
    db: Connection, context: ActorContext, target_id: int, followers: Sequence[int]
) -> list[Promise]:
    """Queue the Accepts of follows, or follow requests, by accounts on other servers."""
    promises: list[Promise] = []
    for follow in await follows.remote(db, followers, [target_id] * len(followers)):
        id = f"{follow.target_uri}#accepts/{context.ids.next()}"
        promises += await _answer(db, context, follow, activities.accept_of(id, follow.target_uri, _follow(follow)))
    return promises


async def send_rejections(db: Connection, account: AccountActor, followers: Sequence[int]) -> list[Promise]:
    """Queue the Rejects of follows, or follow requests, by accounts on other servers."""
    if account.user is None:
        return []
    context, promises = account.context, list[Promise]()
    for follow in await follows.remote(db, followers, [account.id] * len(followers)):
        id = f"{follow.target_uri}#rejects/{context.ids.next()}"
        promises += await _answer(db, context, follow, activities.reject_of(id, follow.target_uri, _follow(follow)))
        if (
            follow.is_received
            and follow.uri is not None
            and await outbox.exists(db, aside(follow.account_uri, follow.target_uri))
        ):
            # The Follow may have been put aside after it was stored, and is then applied again. Both transactions lock
            # the pair of accounts before the URI.
            await tombstones.lock(db, [follow.uri])
            await tombstones.insert(db, follow.uri, follow.account_uri, account.now, account.now + tombstones.KEPT_FOR)
    return promises


async def send_refusal(
    db: Connection, context: ActorContext, me: Account, target: Account, uri: str | None
) -> list[Promise]:
    """Queue the Reject of a Follow that is not stored, not even as a request."""
    if me.local or not target.local or uri is None:
        return []
    id = f"{target.uri}#rejects/{context.ids.next()}"
    reject = activities.reject_of(id, target.uri, activities.follow_of(uri, me.uri, target.uri))
    return await deliver_to(db, context, target.id, reject, me.id)


async def send_end_of_follows(db: Connection, account: AccountActor, target: Account) -> list[Promise]:
    """Queue the ends of the follows between a local account and an account on another server, in both directions."""
    if account.user is None or target.local:
        return []
    return [*await send_unfollow(db, account, target.id), *await send_rejections(db, account, [target.id])]


async def send_block(db: Connection, account: AccountActor, target: Account, id: int) -> list[Promise]:
    """Queue the Block of an account for its server."""
    if account.user is None or target.local:
        return []
    return await deliver_to(db, account.context, account.id, _block(account, target, id), target.id)


async def send_unblock(db: Connection, account: AccountActor, target_id: int, id: int) -> list[Promise]:
    """Queue the Undo of a Block for the account's server."""
    target = await accounts.find(db, target_id) if account.user is not None else None
    if target is None or target.local:
        return []
    return await deliver_to(db, account.context, account.id, activities.undo_of(_block(account, target, id)), target.id)


async def _answer(db: Connection, context: ActorContext, follow: RemoteFollow, answer: JsonObject) -> Iterable[Promise]:
    return await deliver_to(db, context, follow.target_id, answer, follow.account_id) if follow.is_received else ()


def _follow(follow: RemoteFollow) -> JsonObject:
    return activities.follow_of(
        follow.uri or _substitute_id(follow.account_uri, follow.target_id), follow.account_uri, follow.target_uri
    )


def _substitute_id(account_uri: str, target_id: int) -> str:
    """Return an id for a Follow whose real id is not known here. Servers also find a Follow by its actor and object."""
    return f"{account_uri}#follows/{target_id}"


def _block(account: AccountActor, target: Account, id: int) -> JsonObject:
    names, name = account.context.names, account.owner.username
    return activities.block_of(names.activity(name, "blocks", id), names.actor(name), target.uri)
