"""A change: the transaction of one turn, the facts that hold after its commit, and the effects that must follow it.

A turn checks, then runs one function in a transaction, and gives it the change: `account.change(_bookmark, status.id)`
(`commands/bookmarks.py` is the shortest example, `commands/follows.py` a longer example).

The function writes rows through `change.db`, and names the consequences: facts to publish, and effects to execute.
`EntityActor` does the rest in this order. The last statement of the transaction writes promises into the outbox: of the
effects, and of the facts in case the turn crashes. After the commit the facts are applied to the caches, awake actors
are notified, and the promises of the facts are deleted. A turn can't forget a step, nor take a step for a transaction
that failed: each try of the transaction begins with a new change. An answer that is a refusal rolls the transaction
back, unless `commit_refusal` has returned it: some refusals must be stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from ..storage import notifications, outbox
from ..storage.engine.database import Connection
from ..storage.notifications import NewNotification, Notification
from ..storage.outbox import NewEffect
from .effects.registry import KINDS, MAIN_QUEUE, AnyQueue
from .facts.fact import Fact, promises_with
from .facts.notifications import AddedNotification
from .kernel import Address, Ids, Origin, Refused
from .promises import Promise

if TYPE_CHECKING:
    from .context import ActorContext


class Transaction:
    """One try of a transaction at the time `now`, with the facts and promises that follow its commit.

    The function that has begun the transaction writes the promises at its end.
    """

    __slots__ = ("db", "facts", "ids", "now", "promises")

    def __init__(self, db: Connection, ids: Ids, now: datetime) -> None:
        self.db = db
        self.ids = ids
        self.now = now
        self.facts: list[Fact] = []
        self.promises: list[Promise] = []

    def publish(self, *facts: Fact) -> None:
        """Publish facts after the commit and before the answer, in the given order.

        Their promises are stored, so that a relay publishes them if the turn crashes first.
        """
        self.facts += facts

    def promise(self, *promises: Promise) -> None:
        """Execute effects after the commit, the effects of each partition in the given order."""
        self.promises += promises

    async def notify(self, *news: NewNotification) -> list[Notification]:
        """Insert notifications. Return the notifications that the recipients want, which streams and devices show."""
        added = await notifications.insert_many(self.db, news, self.now)
        self.publish(*map(AddedNotification.of, added))
        return added


class Change(Transaction):
    """One try of a transaction of the actor at `by`, in its shard. The turn's message has the `origin`."""

    __slots__ = ("by", "committed_refusal", "context", "due", "fact_promises", "origin", "shard", "since", "written")

    def __init__(self, db: Connection, context: ActorContext, by: Address, shard: int, origin: Origin) -> None:
        super().__init__(db, context.ids, context.clock.now())
        self.context = context
        self.by = by
        self.shard = shard
        self.origin = origin
        self.since = context.facts.changes
        self.written = False
        self.fact_promises: list[int] = []  # ids of the promises that the turn keeps itself: it publishes the facts
        self.due: set[AnyQueue] = set()  # the queues of other promises that are due at once
        self.committed_refusal: Refused | None = None

    def commit_refusal(self, refusal: Refused) -> Refused:
        """Return the refusal. An answer with it does not roll the transaction back."""
        self.committed_refusal = refusal
        return refusal

    async def write_promises(self) -> None:
        """Write the promises into the outbox, unless the only statement of the change has written them."""
        if not self.written and (rows := self.rows_of_promises(self.facts)):
            await outbox.insert_many(self.db, rows, self.now)

    def rows_of_promises(self, facts: Iterable[Fact]) -> list[NewEffect]:
        """Return the outbox rows of the promises and of the facts, for the statement that writes them.

        The promises of the facts have the shard of the turn, which publishes the facts and hands the promises over:
        also promises in the partition of another account, such as the recipient of a notification.
        """
        effects_of = self.context.outbox.effects_of
        of_facts = effects_of([*promises_with(facts, self.by)], self.origin, self.shard)
        rows = effects_of(self.promises, self.origin)
        self.fact_promises = [row.id for row in of_facts if row.queue == MAIN_QUEUE.name]
        self.due = {KINDS[row.kind].queue for row in rows if row.due_at is None}
        self.due |= {KINDS[row.kind].queue for row in of_facts if row.queue != MAIN_QUEUE.name}
        self.written = True
        return of_facts + rows

    def discard(self) -> None:
        """Drop all facts and promises, because the only statement of the change has written no row."""
        self.facts, self.fact_promises, self.due = [], [], set()
