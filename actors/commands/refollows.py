"""Asking anew to follow an account whose server was set up again: its handle names another actor now.

That actor has accepted no follower. A follow becomes a request until it has: what it sends to others is not shown
before.
"""

from __future__ import annotations

from datetime import datetime

from ...storage import accounts, follows, relations
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.refollows import FollowAnew
from ..kernel import Origin, turn
from ..sending.relations import follow_uri, send_follow
from .pairs import PairChanges, promise_changes, publish_changes
from .relations import find_present


@turn(AccountActor, FollowAnew)
async def follow_anew(account: AccountActor, message: FollowAnew) -> None:
    changes = await account.transact(_follow_anew, account, message.target_id, account.now, account.origin)
    if changes is not None:
        await publish_changes(account, changes)


async def _follow_anew(
    db: Connection, account: AccountActor, target_id: int, now: datetime, origin: Origin
) -> PairChanges | None:
    await relations.lock_pair(db, account.id, target_id)
    me, target = await accounts.find(db, account.id), await find_present(db, target_id)
    if me is None or target is None or target.suspended_at is not None:
        return None
    id = account.context.ids.next()
    uri = follow_uri(account.context, me, target, id)
    if uri is None or not await follows.ask_anew(db, id, account.id, target_id, uri, now):
        return None
    sent = await send_follow(db, account.context, me, target, uri)
    return await promise_changes(db, account, target_id, origin, sent=sent)
