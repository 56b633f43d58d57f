"""The relay of what turns tell: it carries out what a crash left, or what a turn has left because of crowded timelines.

The turn that commits writes the promise in the same transaction, tells the awake actors itself as soon as the commit is
known, and hands the promise over to be deleted: that costs one DELETE for many promises. Promises that were not handed
over (their turn crashed, or never learnt that its commit took place) are found by looking every second, or at once when
an actor crashes. Only these are claimed.

When a burst leaves timelines crowded (`kernel/cell.py`), a turn that has published waits for them for a
moment, and then leaves what it promised to the relay, which waits longer. What the account publishes next is told after
that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import trio

from ...storage import outbox, stream_log
from ...storage.engine.database import Doubtful, Unavailable
from ...storage.outbox import DueEffect
from ..broadcast.tellings import Tellings
from ..effects.registry import ANNOUNCEMENTS, EffectContext, EffectKind, Finish, QueueWithContext
from ..facts.fact import STREAMED
from ..kernel import Address, Record
from ..promises import Effect
from ..shown.statuses import ShownStatus
from .relay import GATHER, Relay

PUBLISHER_WAITS = 1.0  # seconds that a turn waits for crowded timelines before the relay does it
RELAY_WAITS = 10.0  # seconds that the relay waits for them; then they are told, and may have to read their rows again
LOOK_FOR_ROOM = 0.05  # seconds between two looks
START_WAITS = 5.0  # seconds until requests are answered although an earlier process has left much

# Promises that were told are deleted when there are so many, before the time comes: ids of events name what is not in
# the log.
MOST_KEPT = 50

NOT_SHOWN = 0  # the number of tellings that streams don't show


class ToldPromises(NamedTuple):
    """Promises that were told, and are to be deleted, with the number of the telling."""

    promised: tuple[int, ...]
    number: int


class AnnouncementRelay(Relay[EffectContext]):
    """The relay of the queue ANNOUNCEMENTS, and what turns hand over to it."""

    def __init__(self, context: EffectContext, tellings: Tellings, record: Record) -> None:
        super().__init__(
            QueueWithContext(ANNOUNCEMENTS, context),
            context.database,
            context.clock,
            context.ids,
            record,
            context.runtime.trail,
        )
        self._statuses = context.facts.statuses
        self._broadcast = context.facts.broadcast
        self._ids = context.ids
        self._tellings = tellings
        self._kept: list[ToldPromises] = []
        self._logging = trio.Lock()
        self._many = trio.Event()  # are kept
        self._held: set[int] = set()  # of turns that wait for crowded timelines: not for the relay yet
        self._owed: dict[str, set[int]] = {}  # by partition: what such turns have left to the relay
        self._looks = False  # it is looking for rows
        self._logged: set[int] = set()  # what was logged while a look or a lane could have it
        self._telling = Counter[str]()  # partitions of which the relay is telling something
        self._ending = False

    @contextmanager
    def telling(self, promised: Collection[int]) -> Generator[None]:
        """A context for telling what these committed promises say. At its end they are kept."""
        kept: Collection[int] = ()
        with self._tellings.telling() as number:
            try:
                yield
                kept = promised
            finally:
                self._keep(kept, number)

    def _keep(self, promised: Collection[int], number: int) -> None:
        """End a telling when its promises, which are kept, are in the log; at once if there are none."""
        if promised:
            self._kept.append(ToldPromises(tuple(promised), number))
            self._tellings.go_on()
            if len(self._kept) >= MOST_KEPT:
                self._many.set()
        else:
            self._tellings.end([number])
        self._woken.set()

    async def log_told(self) -> None:
        """Have all that was told by now written into the log of changes."""
        last = self._tellings.begun
        while self._tellings.oldest <= last:
            if self._kept:
                await self._log_kept()
            else:
                await self._tellings.changed()

    async def wait_for_room(
        self, author: Address, promised: Sequence[int], shown: ShownStatus, recipients: Sequence[int] = ()
    ) -> bool:
        """Wait for a moment until the timelines that a status goes to have room.

        False when they have none: then the promises, which are committed, are left to the relay.
        """
        key = str(author)

        def has_room() -> bool:
            return key not in self._owed and not self._broadcast.is_crowded(shown, recipients)

        if has_room():
            return True
        self._held.update(promised)
        try:
            if await _becomes_true(has_room, PUBLISHER_WAITS):
                return True
        finally:
            self._held.difference_update(promised)
        self._owed.setdefault(key, set()).update(promised)
        self.wake()
        return False

    async def _carry_out(self, kind: EffectKind, effect: Effect, due: DueEffect) -> Finish | None:
        """Tell what streams show as a telling, which is kept when it is finished."""
        if due.id in self._logged or due.id in self._kept_ids():
            return None  # The relay had looked between a commit and its telling, and the turn has told it since.
        if due.kind not in STREAMED:
            return await super()._carry_out(kind, effect, due)
        told = False
        self._telling[due.key] += 1
        with self._tellings.telling() as number:
            try:
                finish = await super()._carry_out(kind, effect, due)
                told = True
                return finish
            finally:
                self._telling -= Counter([due.key])
                self._keep([due.id] if told else (), number)

    async def wait_for_relay(self, author: Address) -> None:
        """Wait until the relay has told what it has begun to tell of an account.

        What its turn tells next is newer: a stream that was not shown the older status yet would show it afterwards.
        """
        while self._telling and self._telling[str(author)]:
            await self._tellings.changed()

    async def publish_pending(self, address: Address) -> None:
        """Tell at once what this actor promised and a crash kept from being told: before it does anything else.

        So nothing tells of a later change of the actor first, and a caller that asks again is answered when all know.
        """
        kept = self._kept_ids()
        for effect in await self._database.read(outbox.left_by, str(address), self._clock.now(), kept):
            await self._try(effect, patient=False)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Tell first what an earlier process has left: what accounts do from now on is told after it."""
        with trio.move_on_after(START_WAITS):
            await self._carry_out_due()
        async with trio.open_nursery() as beside:
            beside.start_soon(self._log_many)
            await super().run(stopping, task_status=task_status)
            beside.cancel_scope.cancel()

    async def _log_many(self) -> None:
        """Log what was told, before the next round, whenever it is much."""
        while True:
            await self._many.wait()
            self._many = trio.Event()
            try:
                await self._log_kept()
            except (Unavailable, Doubtful):
                await trio.sleep(GATHER)  # the next round says what the trouble is

    def inspect(self) -> dict[str, object]:
        """The numbers for an operator: promises told and not yet deleted, and how many were kept late."""
        left = sum(map(len, self._owed.values()))
        return {
            "handed_over": len(self._kept_ids()),
            "kept_late": self.done,
            "left_to_relay": left,
            "lanes": len(self._lanes),
        }

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self._ending = True
        self.wake()

    async def _end(self) -> None:
        """Tell what the last turns have left, and delete what was told."""
        await self._carry_out_due()
        await super()._end()
        self._ending = False

    async def _carry_out_due(self) -> None:
        async with trio.open_nursery() as lanes:
            self._look_at = 0.0
            await self._round(lanes)

    async def _look(self, nursery: trio.Nursery) -> None:
        self._logged.intersection_update(id for lane in self._lanes for id in lane.waiting)
        self._looks = True
        try:
            await super()._look(nursery)
        finally:
            self._looks = False

    async def _release_unclaimed(self) -> None:
        await self._log_kept()
        await super()._release_unclaimed()

    async def _log_kept(self) -> None:
        """Delete promises that were told, and log what they told."""
        async with self._logging:
            if self._kept:
                await self._log(list(self._kept))

    async def _log(self, kept: Sequence[ToldPromises]) -> None:
        """Positions are drawn here, after all of it was told."""
        # What was told twice has the place of the first time.
        promised = dict.fromkeys(id for told in kept for id in told.promised)
        positions = {id: self._ids.next() for id in promised}
        await self._database.transact_alone(stream_log.log_published, positions, STREAMED)
        del self._kept[: len(kept)]
        if self._looks or self._lanes:
            self._logged.update(promised)
        self._tellings.end((told.number for told in kept), max(positions.values()))

    def _kept_ids(self) -> list[int]:
        return [id for told in self._kept for id in told.promised]

    def _excluded(self) -> Collection[int]:
        return (*super()._excluded(), *self._kept_ids(), *self._held)

    async def _prepare(self, effect: Effect) -> None:
        """Wait until the timelines that a status goes to have room."""
        if effect.status_for_timelines is None:
            return
        shown = await self._statuses.show(effect.status_for_timelines)
        if shown is not None:
            await _becomes_true(lambda: self._ending or not self._broadcast.is_crowded(shown), RELAY_WAITS)

    async def _finish(self, due: DueEffect, finish: Finish | None) -> None:
        owed = self._owed.get(due.key, set())
        owed.discard(due.id)
        if not owed:
            self._owed.pop(due.key, None)
        if finish is not None:
            await super()._finish(due, finish)
        elif due.kind not in STREAMED:  # the others are kept already
            self._keep([due.id], NOT_SHOWN)

    async def _fail(self, due: DueEffect, effect: Effect | None, error: Exception) -> bool:
        self._owed.pop(due.key, None)  # what the account publishes next need not wait for another try
        return await super()._fail(due, effect, error)


async def _becomes_true(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again, for so many seconds. True if it holds at last."""
    for _ in range(round(seconds / LOOK_FOR_ROOM)):
        if holds():
            return True
        await trio.sleep(LOOK_FOR_ROOM)
    return holds()
