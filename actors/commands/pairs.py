"""Changes between an account and others: read while the pairs are locked, told to both sides after the commit.

Both sides of a pair change in one transaction, under `relations.lock_pair`. Afterwards the actors on both sides are
told how they stand to each other now, in the order of the commits, and before the answer: who was blocked sees nothing
from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...storage import relations
from ...storage.engine.database import Connection
from ...storage.notifications import Notification
from ..account import AccountActor, relation_of
from ..broadcast import Related
from ..effects.notifications import notification_added
from ..effects.relations import relations_changed
from ..facts import AddedNotifications, ChangedAccount, ChangedRelation
from ..kernel import Origin
from ..rules.visibility import Relation


@dataclass(frozen=True, slots=True)
class PairChanges:
    """How an account stands to others after a transaction (`mine`) and they to it, by id; and what was promised."""

    mine: Mapping[int, Relation]
    theirs: Mapping[int, Relation]
    stamp: int
    drawn: int
    promised: list[int]
    told: Sequence[Notification] = ()


async def promise_changes(
    db: Connection, account: AccountActor, other: int, origin: Origin, told: Sequence[Notification] = ()
) -> PairChanges:
    """One pair, both sides of which may have changed."""
    return await _deal(db, account, [other], [other], origin, told)


async def promise_follower_changes(
    db: Connection, account: AccountActor, followers: Sequence[int], origin: Origin, told: Sequence[Notification] = ()
) -> PairChanges:
    """Many pairs, in which others began or ceased to follow: how the account stands to them has not changed."""
    return await _deal(db, account, [], followers, origin, told)


async def _deal(
    db: Connection,
    account: AccountActor,
    mine: Sequence[int],
    theirs: Sequence[int],
    origin: Origin,
    told: Sequence[Notification],
) -> PairChanges:
    bonds = await relations.bonds(
        db, [*((account.id, other) for other in mine), *((other, account.id) for other in theirs)]
    )
    promises = [
        relations_changed(account.id, theirs),
        *(notification_added(notification) for notification in told),
    ]
    return PairChanges(
        mine={other: relation_of(bonds[account.id, other]) for other in mine},
        theirs={other: relation_of(bonds[other, account.id]) for other in theirs},
        stamp=await relations.stamp(db),
        drawn=account.context.ids.next(),
        promised=await account.context.outbox.promise(db, promises, origin),
        told=told,
    )


async def publish_changes(account: AccountActor, dealt: PairChanges) -> None:
    """After the commit, before the answer: everybody concerned knows."""
    mine = {other: Related(other, relation, dealt.stamp, dealt.drawn) for other, relation in dealt.mine.items()}
    theirs = {id: Related(account.id, relation, dealt.stamp, dealt.drawn) for id, relation in dealt.theirs.items()}
    await account.publish(
        *(ChangedAccount(id) for id in (account.id, *theirs)),
        *(ChangedRelation(account.id, change) for change in mine.values()),
        *(ChangedRelation(id, change) for id, change in theirs.items()),
        AddedNotifications(dealt.told), promised=dealt.promised,
    )  # fmt: skip
