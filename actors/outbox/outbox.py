"""The outbox: the promises of a transaction are executed, now or, after a crash, a moment later.

A promise is a row that the transaction of the change writes (`promises.py`). Each queue has a relay of its own
(`relay.py`), so that no queue waits for another queue. The relay of the facts that turns publish themselves is in
`fact_relay.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager

from ...storage import outbox
from ...storage.engine.database import Connection, Database
from ...storage.engine.shards import shard_of
from ...storage.files import Folder
from ...storage.outbox import NewEffect
from ..broadcast.publications import Publications
from ..effects.registry import KINDS, MAIN_QUEUE, NAMES, AnyQueue, AnyQueueWithContext, EffectContext
from ..facts.fact import Facts
from ..kernel import NOWHERE, Address, Clock, Ids, Origin, Record, Runtime
from ..promises import Promise
from ..shown.statuses import ShownStatus
from .fact_relay import FactRelay
from .relay import AnyRelay, Relay, TraceEffect


class Outbox:
    """`promise` is called inside a transaction, `publication` and `wake` after its commit."""

    def __init__(
        self,
        database: Database,
        runtime: Runtime,
        clock: Clock,
        ids: Ids,
        facts: Facts,
        publications: Publications,
        record: Record,
        folder: Folder | None,
    ) -> None:
        context = EffectContext(database, clock, ids, runtime, facts, self, folder)
        self._database = database
        self._others = facts.others
        self._clock = clock
        self._ids = ids
        self._record = record
        self._trail = runtime.trail
        self.trace: TraceEffect | None = None  # for the queues that are added afterwards
        self._fact_relay = FactRelay(context, publications, record)
        self._relays: dict[AnyQueue, AnyRelay] = {MAIN_QUEUE: self._fact_relay}

    def add(self, queue_with_context: AnyQueueWithContext) -> None:
        """Add a queue, with the context of its effects. Called before the relays are run."""
        self._relays[queue_with_context.queue] = Relay(
            queue_with_context, self._database, self._clock, self._ids, self._record, self._trail, self.trace,
            self._others,
        )  # fmt: skip

    def executes(self, queue: AnyQueue) -> bool:
        """True if this server executes the effects of a queue. Effects of other queues must not be promised."""
        return queue in self._relays

    @property
    def relays(self) -> Iterable[AnyRelay]:
        """The relays of all queues, to be run."""
        return self._relays.values()

    @property
    def late(self) -> int:
        """The number of facts that the relay has published in place of their turns."""
        return self._fact_relay.done

    async def promise(self, db: Connection, promises: Sequence[Promise], origin: Origin) -> None:
        """Write promises in the transaction of `db`. Turns use their `Change` instead."""
        await outbox.insert_many(db, self.effects_of(promises, origin), self._clock.now())

    def effects_of(
        self, promises: Sequence[Promise], origin: Origin, shard: int | None = None
    ) -> list[NewEffect]:  # fmt: skip
        """Return the rows of promises, for a statement that stores them with the change."""
        return [new_effect(self._ids.next(), promise, origin, shard) for promise in promises]

    def publication(self, promised: Collection[int]) -> AbstractContextManager[None]:
        """A context in which a turn publishes the facts of these promises. At its end the promises are handed over."""
        return self._fact_relay.publication(promised)

    async def log_published(self) -> None:
        """Write all facts that were published until now into the log of changes."""
        await self._fact_relay.log_published()

    def wake(self, queue: AnyQueue = MAIN_QUEUE) -> None:
        """Look for rows of a queue at once: a transaction has committed some, or a crash may have left some."""
        if (relay := self._relays.get(queue)) is not None:
            relay.wake()

    async def wait_for_room(
        self, author: Address, promised: Sequence[int], shown: ShownStatus, recipients: Sequence[int] = ()
    ) -> bool:
        """Wait for a moment for crowded timelines. False if the promises are left to the relay."""
        return await self._fact_relay.wait_for_room(author, promised, shown, recipients)

    async def wait_for_relay(self, author: Address) -> None:
        """Wait until the relay has published the facts of an account that it has begun to publish."""
        await self._fact_relay.wait_for_relay(author)

    async def publish_pending(self, address: Address) -> None:
        """Publish at once the facts of this actor that a crash has left: before its next turn."""
        await self._fact_relay.publish_pending(address)


def new_effect(id: int, promise: Promise, origin: Origin = NOWHERE, shard: int | None = None) -> NewEffect:
    """Return the row of a promise. The command line writes such rows without an outbox.

    Without a shard the account of the promise decides it, else the partition.
    """
    name, row = NAMES[type(promise.effect)], promise.effect.as_row()
    partition = promise.partition or f"{name}/{id}"
    if shard is None:
        shard = shard_of(partition if promise.account is None else promise.account)
    return NewEffect(
        id, KINDS[name].queue.name, name, partition, row, promise.due_at, origin.request_id, origin.causes,
        promise.group, shard, origin.trace or None,
    )  # fmt: skip
