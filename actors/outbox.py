"""The outbox: what a transaction promised is told to the awake, now or, after a crash, a moment later.

The turn that commits writes the promise in the same transaction, tells the awake itself as soon as the commit is
known, and hands the promise over to be forgotten: that costs one DELETE for many promises. Whatever was not handed over
(its turn crashed, or never learnt that its commit took place) is found here by looking every second, or at once when an
actor crashes. A promise names what changed, never how, and is carried out from the rows as they are then: so it may be
carried out late, twice, or out of order.

Effects of one account are carried out in order, those of different accounts at the same time: one that waits for a busy
actor, or fails, holds up no other account. Each lane of effects has a task, and `LANES` bounds them.

When a burst leaves timelines crowded (`kernel/crowd.py`), a turn that has published waits for them for a moment, and
then leaves what it promised to the relay, which waits longer. What the account publishes next is told after that.

This process is the only one that reads the outbox, because the node term makes it the only writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

import trio

from ..storage import outbox
from ..storage.engine.database import Connection, Database, Doubtful, Unavailable
from ..storage.outbox import DueEffect, NewEffect
from .broadcast import Broadcast
from .effects.registry import KINDS, NAMES, EffectContext, FileRemover, Promise
from .kernel import NOWHERE, Address, Clock, Ids, Origin, Record, Runtime
from .kernel.errors import describe, place
from .statuses import AccountCache, ShownStatus, StatusCache

SWEEP = 1.0  # seconds between two looks at what is left over
GATHER = 0.25  # seconds in which promises handed over are gathered for one DELETE
LANES = 64  # lanes worked on at once: fewer than the messages for which a crowded mailbox still has room
IN_A_ROW = 10  # effects of one lane that are read at once
PUBLISHER_WAITS = 1.0  # seconds that a turn waits for crowded timelines before the relay does it
RELAY_WAITS = 10.0  # seconds that the relay waits for them; then they are told, and may have to read their rows again
LOOK_FOR_ROOM = 0.05
PATIENCE = (1, 5, 30, 120, 600)  # seconds until the next try of an effect that failed


class Outbox:
    """The relay. `promise` is called inside a transaction, `hand_over` after its commit."""

    def __init__(
        self, database: Database, runtime: Runtime, clock: Clock, ids: Ids, accounts: AccountCache,
        statuses: StatusCache, broadcast: Broadcast, record: Record,
        *, remove_files: FileRemover | None, on_mail: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self._context = EffectContext(
            database, clock, ids, runtime, accounts, statuses, broadcast, self, remove_files
        )  # fmt: skip
        self._database = database
        self._clock = clock
        self._record = record
        self._on_mail = on_mail
        self.late = 0  # how many promises a crash kept from being told, and were kept afterwards
        self._kept: list[int] = []  # handed over: told, to be forgotten
        self._held: set[int] = set()  # of turns that wait for crowded timelines: not for the relay yet
        self._owed: dict[str, set[int]] = {}  # by partition: what such turns have left to the relay
        self._lanes: set[str] = set()  # those that are worked on
        self._trouble: Exception | None = None  # what kept a lane from reaching the database
        self._ending = False
        self._woken = trio.Event()
        self._look_at = 0.0  # when to look for what is left over, unless woken before

    async def promise(self, db: Connection, promises: Sequence[Promise], origin: Origin) -> list[int]:
        """Write promises in the transaction `db` is in, and return their ids for `hand_over`."""
        effects = [new_effect(self._context.ids.next(), promise, origin) for promise in promises]
        await outbox.insert_many(db, effects, self._clock.now())
        return [effect.id for effect in effects]

    def wake_mail(self) -> None:
        """Look at once for promised mails, which a transaction has just committed. They have a relay of their own."""
        if self._on_mail is not None:
            self._on_mail()

    def hand_over(self, ids: Iterable[int]) -> None:
        """These promises are committed and kept."""
        self._kept.extend(ids)
        self._woken.set()

    async def finds_room(
        self, author: Address, promised: Sequence[int], shown: ShownStatus, recipients: Sequence[int] = ()
    ) -> bool:
        """Wait for a moment until the timelines that a status goes to have room.

        False when they have none: then the promises, which are committed, are left to the relay.
        """
        key = str(author)

        def has_room() -> bool:
            return key not in self._owed and not self._context.broadcast.is_crowded(shown, recipients)

        if has_room():
            return True
        self._held.update(promised)
        try:
            if await _comes_true(has_room, PUBLISHER_WAITS):
                return True
        finally:
            self._held.difference_update(promised)
        self._owed.setdefault(key, set()).update(promised)
        self.wake()
        return False

    def wake(self) -> None:
        """Something crashed: look at once what it may have left."""
        self._look_at = 0.0
        self._woken.set()

    async def make_up_for(self, address: Address) -> None:
        """Tell at once what this actor promised and a crash kept from being told: before it does anything else.

        So nobody is told of a later change of the actor's first, and whoever asks again is answered when all know.
        """
        kept = tuple(self._kept)
        for effect in await self._database.read(outbox.left_by, str(address), self._clock.now(), kept):
            await self._carry_out(effect)

    def inspect(self) -> dict[str, object]:
        """What an operator sees: promises told and not yet forgotten, and how many were kept late."""
        left = sum(map(len, self._owed.values()))
        return {
            "handed_over": len(self._kept),
            "kept_late": self.late,
            "left_to_relay": left,
            "lanes": len(self._lanes),
        }

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Forget what was kept and keep what was left over, until `stopping`."""
        task_status.started()
        self._ending = False
        async with trio.open_nursery() as lanes:
            lanes.start_soon(self._wake_when, stopping)
            while not stopping.is_set():
                with trio.move_on_at(self._look_at):
                    await self._woken.wait()
                self._woken = trio.Event()
                await self._round(lanes)
                with trio.move_on_after(GATHER):
                    await stopping.wait()
        async with trio.open_nursery() as lanes:
            await self._round(lanes)
        await self._round(None)

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self._ending = True
        self.wake()

    async def _round(self, lanes: trio.Nursery | None) -> None:
        try:
            await self._forget()
            if lanes is not None and trio.current_time() >= self._look_at:
                self._look_at = trio.current_time() + SWEEP
                await self._sweep(lanes)
        except (Unavailable, Doubtful) as error:
            self._trouble = error
        if self._trouble is not None:
            self._record("storage.lost", error=describe(self._trouble), decision="outbox waits")
            self._trouble = None

    async def _forget(self) -> None:
        kept = list(self._kept)
        if kept:
            await self._database.transact(outbox.delete_many, kept)
            del self._kept[: len(kept)]

    async def _sweep(self, nursery: trio.Nursery) -> None:
        free = LANES - len(self._lanes)
        if free <= 0:
            return
        left = await self._database.read(
            outbox.due_by_lane, self._clock.now(), tuple(KINDS), exclude_ids=(*self._kept, *self._held),
            exclude_lanes=tuple(self._lanes), in_a_row=IN_A_ROW, limit=free * IN_A_ROW,
        )  # fmt: skip
        lanes: dict[str, list[DueEffect]] = {}
        for effect in left:
            if effect.lane in lanes or len(lanes) < free:
                lanes.setdefault(effect.lane, []).append(effect)
        for lane, effects in lanes.items():
            self._lanes.add(lane)
            nursery.start_soon(self._work_on, lane, effects, name=f"outbox: {lane}")

    async def _work_on(self, lane: str, effects: list[DueEffect]) -> None:
        """Carry out effects in order; what follows one that failed under the same key waits with it."""
        failed: set[str] = set()
        try:
            for effect in effects:
                if effect.key in failed:
                    continue
                if not await self._carry_out(effect, patient=True):
                    failed.add(effect.key)
        except (Unavailable, Doubtful) as error:
            self._trouble = error
        else:
            self._look_at = 0.0 if len(effects) == IN_A_ROW else self._look_at  # there may be more
        finally:
            self._lanes.discard(lane)
            self._woken.set()

    async def _carry_out(self, due: DueEffect, *, patient: bool = False) -> bool:
        """Try once, and return True if it succeeded. A patient try waits for timelines that are crowded."""
        try:
            kind = KINDS[due.kind]
            effect = kind.payload.of_row(due.payload)
            if patient and effect.crowding is not None:
                await self._wait_for_room(effect.crowding)
            await kind.carry_out(self._context, effect, Origin(due.request_id or "-", due.causes))
        except (Unavailable, Doubtful):
            raise
        except Exception as error:
            self._owed.pop(due.key, None)  # what the account publishes next need not wait for another try
            await self._put_off(due, error)
            return False
        self._owe_no_more(due)
        self._kept.append(due.id)
        self.late += 1
        return True

    async def _wait_for_room(self, status_id: int) -> None:
        shown = await self._context.statuses.show(status_id)
        if shown is not None:
            await _comes_true(lambda: self._ending or not self._context.broadcast.is_crowded(shown), RELAY_WAITS)

    def _owe_no_more(self, effect: DueEffect) -> None:
        owed = self._owed.get(effect.key, set())
        owed.discard(effect.id)
        if not owed:
            self._owed.pop(effect.key, None)

    async def _put_off(self, effect: DueEffect, error: Exception) -> None:
        patience = PATIENCE[min(effect.attempts, len(PATIENCE) - 1)]
        self._record(
            "outbox.retry", effect=effect.kind, message_id=effect.id, request_id=effect.request_id,
            causes=list(effect.causes), error=describe(error), place=place(error), decision=f"again in {patience} s",
        )  # fmt: skip
        due_at = self._clock.now() + timedelta(seconds=patience)
        await self._database.transact(outbox.fail, effect.id, due_at, describe(error))


def new_effect(id: int, promise: Promise, origin: Origin = NOWHERE) -> NewEffect:
    """Return the row of a promise. The command line writes such rows without an outbox."""
    name, row = NAMES[type(promise.effect)], promise.effect.as_row()
    partition = promise.partition or f"{name}/{id}"
    return NewEffect(id, name, partition, row, promise.due_at, origin.request_id, origin.causes)


async def _comes_true(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again, for so many seconds; whether it holds at last."""
    for _ in range(round(seconds / LOOK_FOR_ROOM)):
        if holds():
            return True
        await trio.sleep(LOOK_FOR_ROOM)
    return holds()
