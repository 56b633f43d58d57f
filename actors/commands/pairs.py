"""Changes between an account and others: read while the pairs are locked, told to both sides after the commit.

Both sides of a pair change in one transaction, under `relations.lock_pair`. The actors on both sides are told how they
stand to each other after the commit and before the answer: once a block is answered, the blocked account sees nothing
more. `Related` carries the order of the commits, so that a late message changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...storage import relations
from ...storage.engine.database import Connection
from ...storage.notifications import Notification
from ...storage.quotes import EndedQuote
from ..account import AccountActor
from ..broadcast import Related
from ..effects.notifications import notifications_added
from ..effects.registry import Promise
from ..effects.relations import relations_changed
from ..effects.statuses import counts_changed, quotes_ended
from ..facts import AddedNotifications, ChangedAccount, ChangedRelation, EndedQuotes
from ..kernel import Origin
from ..rules.visibility import Relation
from ..viewers import relation_of


@dataclass(frozen=True, slots=True)
class PairChanges:
    """The relations of an account to others after a transaction (`mine`), and theirs to it (`theirs`), by account id.

    `stamp` orders the commits, ids below `drawn` are older than the change, `promised` are the ids of outbox rows,
    `ended` are the quotes between the two that a block has ended.
    """

    mine: Mapping[int, Relation]
    theirs: Mapping[int, Relation]
    stamp: int
    drawn: int
    promised: list[int]
    notifications: Sequence[Notification] = ()
    ended: Sequence[EndedQuote] = ()


async def promise_changes(
    db: Connection,
    account: AccountActor,
    other: int,
    origin: Origin,
    added: Sequence[Notification] = (),
    ended: Sequence[EndedQuote] = (),
    sent: Sequence[Promise] = (),
) -> PairChanges:
    """Return the changes of one pair whose two sides may both have changed, with promises to tell them."""
    return await _changes_of(db, account, [other], [other], origin, added, ended, sent)


async def promise_follower_changes(
    db: Connection,
    account: AccountActor,
    followers: Sequence[int],
    origin: Origin,
    added: Sequence[Notification] = (),
    sent: Sequence[Promise] = (),
) -> PairChanges:
    """Return the changes of pairs in which the others began or ceased to follow: only their side has changed."""
    return await _changes_of(db, account, [], followers, origin, added, (), sent)


async def _changes_of(
    db: Connection,
    account: AccountActor,
    mine: Sequence[int],
    theirs: Sequence[int],
    origin: Origin,
    added: Sequence[Notification],
    ended: Sequence[EndedQuote],
    sent: Sequence[Promise],
) -> PairChanges:
    found = await relations.find_relations(
        db, [*((account.id, other) for other in mine), *((other, account.id) for other in theirs)]
    )
    promises = [
        relations_changed(account.id, theirs),
        *notifications_added(added),
        *quotes_ended(ended, account.id),
        *(counts_changed(one.quoted_id, account.id) for one in ended),
        *sent,
    ]
    return PairChanges(
        mine={other: relation_of(found[account.id, other]) for other in mine},
        theirs={other: relation_of(found[other, account.id]) for other in theirs},
        stamp=await relations.stamp(db),
        drawn=account.context.ids.next(),
        promised=await account.context.outbox.promise(db, promises, origin),
        notifications=added,
        ended=ended,
    )


async def publish_changes(account: AccountActor, changes: PairChanges) -> None:
    """Tell both sides of each pair how they stand to each other, after the commit and before the answer."""
    order = (changes.stamp, changes.drawn)
    mine = [Related(other, relation, *order) for other, relation in changes.mine.items()]
    theirs = {id: Related(account.id, relation, *order) for id, relation in changes.theirs.items()}
    await account.publish(
        *(ChangedAccount(id) for id in (account.id, *theirs)),
        *(ChangedRelation(account.id, change) for change in mine),
        *(ChangedRelation(id, change) for id, change in theirs.items()),
        AddedNotifications(changes.notifications), EndedQuotes(changes.ended), promised=changes.promised,
    )  # fmt: skip
