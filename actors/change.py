"""A change: the transaction of one turn, the facts that hold after its commit, and the effects that must follow it.

A turn checks, then runs one function in a transaction, and gives it the change: `account.change(_bookmark, status.id)`
(`commands/bookmarks.py` is the shortest example, `commands/relations.py` a longer one).

The function writes rows through `change.db`, and says beside them what follows: facts to publish, and effects to carry
out. `EntityActor` does the rest in this order. The last statement of the transaction writes the promises into the
outbox: of the effects, and of publishing the facts if the turn crashes. After the commit the facts are applied to the
caches, awake actors are told, and the promises that this has kept are handed over. A turn can't forget a step, nor do
one for a transaction that failed: the change is made anew each time the transaction is tried, and an answer that is a
refusal rolls it back (`commit_refusal` is for those that have to be remembered).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from ..storage import notifications, outbox
from ..storage.engine.database import Connection
from ..storage.notifications import NewNotification, Notification
from ..storage.outbox import NewEffect
from .effects.registry import ANNOUNCEMENTS, KINDS, AnyQueue
from .facts.fact import Fact, promises_with
from .facts.notifications import AddedNotification
from .kernel import Address, Ids, Origin, Refused
from .promises import Promise

if TYPE_CHECKING:
    from .context import ActorContext


class Transaction:
    """One try of a transaction at the time `now`, and what must follow its commit.

    It collects facts and promises. The function that has begun the transaction writes them at its end.
    """

    __slots__ = ("db", "facts", "ids", "now", "promises")

    def __init__(self, db: Connection, ids: Ids, now: datetime) -> None:
        self.db = db
        self.ids = ids
        self.now = now
        self.facts: list[Fact] = []
        self.promises: list[Promise] = []

    def publish(self, *facts: Fact) -> None:
        """Publish facts after the commit, before the answer, in the order in which they are given.

        With them goes the promise to publish them if the turn crashes before it has done so.
        """
        self.facts += facts

    def promise(self, *promises: Promise) -> None:
        """Have effects carried out after the commit, those of one partition in the order in which they are given."""
        self.promises += promises

    async def notify(self, *news: NewNotification) -> list[Notification]:
        """Insert notifications. Streams show those that are returned, and devices get them: others want none."""
        added = await notifications.insert_many(self.db, news, self.now)
        self.publish(*map(AddedNotification.of, added))
        return added


class Change(Transaction):
    """One try of a transaction of the actor at `by`. The turn's message has the `origin`."""

    __slots__ = ("by", "committed_refusal", "context", "due", "origin", "told", "written")

    def __init__(self, db: Connection, context: ActorContext, by: Address, origin: Origin) -> None:
        super().__init__(db, context.ids, context.clock.now())
        self.context = context
        self.by = by
        self.origin = origin
        self.written = False
        self.told: list[int] = []  # the promises that the turn keeps by publishing the facts
        self.due: set[AnyQueue] = set()  # the queues of other promises, without those for later
        self.committed_refusal: Refused | None = None

    def commit_refusal(self, refusal: Refused) -> Refused:
        """Return a refusal to answer with that does not roll the transaction back."""
        self.committed_refusal = refusal
        return refusal

    async def write_promises(self) -> None:
        """Write what was promised into the outbox, unless the only statement of the change has done so."""
        if not self.written and (rows := self.rows_of_promises(self.facts)):
            await outbox.insert_many(self.db, rows, self.now)

    def rows_of_promises(self, facts: Iterable[Fact]) -> list[NewEffect]:
        """Return the outbox rows of the promises, with those of facts, for the statement that writes them."""
        effects_of = self.context.outbox.effects_of
        told, rows = effects_of([*promises_with(facts, self.by)], self.origin), effects_of(self.promises, self.origin)
        self.told = [row.id for row in told if row.queue == ANNOUNCEMENTS.name]
        self.due = {KINDS[row.kind].queue for row in rows if row.due_at is None}
        self.due |= {KINDS[row.kind].queue for row in told if row.queue != ANNOUNCEMENTS.name}
        self.written = True
        return told + rows

    def discard(self) -> None:
        """Publish and promise nothing: the only statement of the change has written no row."""
        self.facts, self.told, self.due = [], [], set()
