"""Asking again to follow an account whose server was set up again: its handle names another actor now.

That actor has accepted no follower. So a follow becomes a request until the actor accepts it. Until then posts that it
sends to other followers are not shown.
"""

from __future__ import annotations

from ...storage import accounts, follows, relations
from ..account import AccountActor, AccountChange
from ..effects.refollows import FollowAnew
from ..kernel import turn
from ..sending.relations import follow_uri, send_follow
from .pairs import find_present, publish_pair


@turn(AccountActor, FollowAnew)
async def follow_anew(account: AccountActor, message: FollowAnew) -> None:
    await account.change(_follow_anew, message.target_id)


async def _follow_anew(change: AccountChange, target_id: int) -> None:
    db, account = change.db, change.account
    await relations.lock_pair(db, account.id, target_id)
    me, target = await accounts.find(db, account.id), await find_present(db, target_id)
    if me is None or target is None or target.suspended_at is not None:
        return
    id = change.ids.next()
    uri = follow_uri(account.context, me, target, id)
    if uri is not None and await follows.ask_anew(db, id, account.id, target_id, uri, change.now):
        change.promise(*await send_follow(db, account.context, me, target, uri))
        await publish_pair(change, target_id)
