"""Shared by follows, blocks and mutes: changes between an account and others.

They are read while the pairs are locked, and published to both sides after the commit.

Both sides of a pair change in one transaction, under `relations.lock_pair`. The actors on both sides are told how they
stand to each other after the commit and before the answer: once a block is answered, the blocked account sees nothing
more. `Related` carries the order of the commits, so that a late message changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...storage import accounts, relations
from ...storage.engine.database import Connection
from ...storage.quotes import EndedQuote
from ..account import AccountChange
from ..broadcast.viewers import Related, relation_of
from ..facts.accounts import ChangedAccount
from ..facts.relations import ChangedRelation
from ..facts.statuses import EndedQuotes


async def find_present(db: Connection, id: int) -> accounts.Account | None:
    """Return an account, unless it is deleted or its user is not yet confirmed and approved."""
    account = await accounts.find(db, id)
    return None if account is None or account.pending or account.deleted_at is not None else account


async def publish_pair(change: AccountChange, other: int, ended: Sequence[EndedQuote] = ()) -> None:
    """Publish the relation of the account and another account. `ended` are the quotes that a block has ended."""
    await _publish(change, [other], [other])
    change.publish(EndedQuotes(ended))


async def publish_followers(change: AccountChange, followers: Sequence[int]) -> None:
    """Publish how accounts stand that began or ceased to follow the account: only their side has changed."""
    await _publish(change, [], followers)


async def _publish(change: AccountChange, mine: Sequence[int], theirs: Sequence[int]) -> None:
    """Publish the relations of the account to `mine`, and those of `theirs` to it. Ids below `drawn` are older."""
    me = change.account.id
    found = await relations.find_relations(
        change.db, [*((me, other) for other in mine), *((other, me) for other in theirs)]
    )
    stamp, drawn = await relations.stamp(change.db), change.ids.next()
    change.publish(*(ChangedAccount(id) for id in (me, *theirs)))
    for other in mine:
        change.publish(ChangedRelation(me, Related(other, relation_of(found[me, other]), stamp, drawn)))
    for other in theirs:
        change.publish(ChangedRelation(other, Related(me, relation_of(found[other, me]), stamp, drawn)))
