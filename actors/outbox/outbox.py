"""The outbox: what a transaction promised is carried out, now or, after a crash, a moment later.

A promise is a row that is written in the transaction of the change. It names what changed, never how, and is carried
out from the rows as they are then: so it may be carried out late, or twice. Each queue has a relay of its own
(`relay.py`), so that no queue waits for another one. What turns tell themselves has `announcements.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager

from ...storage import outbox
from ...storage.engine.database import Connection, Database
from ...storage.files import Folder
from ...storage.outbox import NewEffect
from ..broadcast.tellings import Tellings
from ..effects.registry import ANNOUNCEMENTS, KINDS, NAMES, AnyQueue, AnyQueueWithContext, EffectContext
from ..facts.fact import Facts
from ..kernel import NOWHERE, Address, Clock, Ids, Origin, Record, Runtime
from ..promises import Promise, shard_of
from ..shown.statuses import ShownStatus
from .announcements import AnnouncementRelay
from .relay import AnyRelay, Relay, TraceEffect


class Outbox:
    """`promise` is called inside a transaction, `telling` and `wake` after its commit."""

    def __init__(
        self,
        database: Database,
        runtime: Runtime,
        clock: Clock,
        ids: Ids,
        facts: Facts,
        tellings: Tellings,
        record: Record,
        folder: Folder | None,
    ) -> None:
        context = EffectContext(database, clock, ids, runtime, facts, self, folder)
        self._database = database
        self._clock = clock
        self._ids = ids
        self._record = record
        self._trail = runtime.trail
        self.trace: TraceEffect | None = None  # for the queues that are added afterwards
        self._announcements = AnnouncementRelay(context, tellings, record)
        self._relays: dict[AnyQueue, AnyRelay] = {ANNOUNCEMENTS: self._announcements}

    def add(self, staffed: AnyQueueWithContext) -> None:
        """Add a queue, with the context that its effects are carried out with. Called before the relays are run."""
        self._relays[staffed.queue] = Relay(
            staffed, self._database, self._clock, self._ids, self._record, self._trail, self.trace
        )

    def carries_out(self, queue: AnyQueue) -> bool:
        """True if this server carries out the effects of a queue. Effects of other queues must not be promised."""
        return queue in self._relays

    @property
    def relays(self) -> Iterable[AnyRelay]:
        """The relays of all queues, to be run."""
        return self._relays.values()

    @property
    def late(self) -> int:
        """The number of announcements that a crash kept from being told, and that were told afterwards."""
        return self._announcements.done

    async def promise(self, db: Connection, promises: Sequence[Promise], origin: Origin) -> None:
        """Write promises in the transaction `db` is in. Turns do it by their `Change`."""
        await outbox.insert_many(db, self.effects_of(promises, origin), self._clock.now())

    def effects_of(self, promises: Sequence[Promise], origin: Origin) -> list[NewEffect]:
        """Return the rows of promises, for a statement that stores them with what they promise to tell."""
        return [new_effect(self._ids.next(), promise, origin) for promise in promises]

    def telling(self, promised: Collection[int]) -> AbstractContextManager[None]:
        """A context for telling what these committed promises say. At its end they are kept."""
        return self._announcements.telling(promised)

    async def log_told(self) -> None:
        """Have all that was told by now written into the log of changes."""
        await self._announcements.log_told()

    def wake(self, queue: AnyQueue = ANNOUNCEMENTS) -> None:
        """Look at once for rows that a transaction has just committed, or that a crash may have left."""
        if (relay := self._relays.get(queue)) is not None:
            relay.wake()

    async def wait_for_room(
        self, author: Address, promised: Sequence[int], shown: ShownStatus, recipients: Sequence[int] = ()
    ) -> bool:
        """Wait for a moment for crowded timelines. False if the promises are left to the relay."""
        return await self._announcements.wait_for_room(author, promised, shown, recipients)

    async def wait_for_relay(self, author: Address) -> None:
        """Wait until the relay has told what it has begun to tell of an account."""
        await self._announcements.wait_for_relay(author)

    async def publish_pending(self, address: Address) -> None:
        """Tell at once what this actor promised and a crash kept from being told: before it does anything else."""
        await self._announcements.publish_pending(address)


def new_effect(id: int, promise: Promise, origin: Origin = NOWHERE) -> NewEffect:
    """Return the row of a promise. The command line writes such rows without an outbox."""
    name, row = NAMES[type(promise.effect)], promise.effect.as_row()
    partition = promise.partition or f"{name}/{id}"
    return NewEffect(
        id, KINDS[name].queue.name, name, partition, row, promise.due_at, origin.request_id, origin.causes,
        promise.group, shard_of(promise, partition), origin.trace or None,
    )  # fmt: skip
