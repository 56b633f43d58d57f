"""Changes between an account and others: read while the pairs are locked, told to both sides after the commit.

Both sides of a pair change in one transaction, under `relations.lock_pair`. Afterwards the actors on both sides are
told how they stand to each other now, in the order of the commits, and before the answer: who was blocked sees nothing
from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...storage import relations
from ...storage.engine import Connection
from ...storage.notifications import Notification
from ..account import Account, relation_of
from ..broadcast import Related, Told
from ..kernel import Origin
from ..rules.visibility import Relation


@dataclass(frozen=True, slots=True)
class Dealt:
    """How an account stands to others after a transaction (`mine`) and they to it, by id; and what was promised."""

    mine: Mapping[int, Relation]
    theirs: Mapping[int, Relation]
    stamp: int
    drawn: int
    promised: list[int]
    told: Sequence[Notification] = ()


async def deal(db: Connection, self: Account, other: int, origin: Origin, told: Sequence[Notification] = ()) -> Dealt:
    """One pair, both sides of which may have changed."""
    return await _deal(db, self, [other], [other], origin, told)


async def deal_with_followers(
    db: Connection, self: Account, followers: Sequence[int], origin: Origin, told: Sequence[Notification] = ()
) -> Dealt:
    """Many pairs, in which others began or ceased to follow: how the account stands to them has not changed."""
    return await _deal(db, self, [], followers, origin, told)


async def _deal(
    db: Connection,
    self: Account,
    mine: Sequence[int],
    theirs: Sequence[int],
    origin: Origin,
    told: Sequence[Notification],
) -> Dealt:
    bonds = await relations.bonds(db, [*((self.id, other) for other in mine), *((other, self.id) for other in theirs)])
    outbox = self.backstage.outbox
    effects = [
        outbox.relation(self.id, theirs, origin),
        *(outbox.notification(n.id, n.account_id, origin) for n in told),
    ]
    return Dealt(
        mine={other: relation_of(bonds[self.id, other]) for other in mine},
        theirs={other: relation_of(bonds[other, self.id]) for other in theirs},
        stamp=await relations.stamp(db),
        drawn=self.backstage.ids.next(),
        promised=await outbox.promise(db, effects),
        told=told,
    )


async def settle(self: Account, dealt: Dealt) -> None:
    """After the commit, before the answer: everybody concerned knows."""
    backstage = self.backstage
    for changed in (self.id, *dealt.theirs):
        backstage.accounts.drop(changed)
    for other, relation in dealt.mine.items():
        mine = Related(other, relation, dealt.stamp, dealt.drawn)
        backstage.broadcast.related(self.id, mine, self.origin)
        if self.heard.takes(mine):
            self.set_relation(other, relation)
    for other, relation in dealt.theirs.items():
        theirs = Related(self.id, relation, dealt.stamp, dealt.drawn)
        backstage.broadcast.related(other, theirs, self.origin)
    await _notify(self, dealt.told)
    backstage.outbox.hand_over(dealt.promised)


async def _notify(self: Account, told: Iterable[Notification]) -> None:
    senders = await self.backstage.accounts.find_many(notification.from_account_id for notification in told)
    for notification in told:
        if notification.from_account_id in senders:
            sender = senders[notification.from_account_id]
            self.backstage.broadcast.notified(Told(notification, sender, None), self.origin)
