"""The relay of what turns tell: it carries out what a crash left, or what a turn has left because of crowded timelines.

The turn that commits writes the promise in the same transaction, tells the awake actors itself as soon as the commit is
known, and hands the promise over to be deleted: that costs one DELETE for many promises. Promises that were not handed
over (their turn crashed, or never learnt that its commit took place) are found by looking every second, or at once when
an actor crashes. Only these are claimed.

When a burst leaves timelines crowded (`kernel/crowd.py`), a turn that has published waits for them for a moment, and
then leaves what it promised to the relay, which waits longer. What the account publishes next is told after that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import trio

from ..storage import outbox
from ..storage.outbox import DueEffect
from .broadcast import Broadcast
from .effects.registry import ANNOUNCEMENTS, Effect, EffectContext, Finish, Staffed
from .kernel import Address, Record
from .relay import Relay
from .statuses import ShownStatus

PUBLISHER_WAITS = 1.0  # seconds that a turn waits for crowded timelines before the relay does it
RELAY_WAITS = 10.0  # seconds that the relay waits for them; then they are told, and may have to read their rows again
LOOK_FOR_ROOM = 0.05


class AnnouncementRelay(Relay[EffectContext]):
    """The relay of the queue ANNOUNCEMENTS, and what turns hand over to it."""

    def __init__(self, context: EffectContext, broadcast: Broadcast, record: Record) -> None:
        super().__init__(Staffed(ANNOUNCEMENTS, context), context.database, context.clock, context.ids, record)
        self._statuses = context.statuses
        self._broadcast = broadcast
        self._kept: list[int] = []  # handed over: told, to be deleted
        self._held: set[int] = set()  # of turns that wait for crowded timelines: not for the relay yet
        self._owed: dict[str, set[int]] = {}  # by partition: what such turns have left to the relay
        self._ending = False

    def hand_over(self, ids: Iterable[int]) -> None:
        """Take promises that are committed and kept."""
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
            return key not in self._owed and not self._broadcast.is_crowded(shown, recipients)

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

    async def make_up_for(self, address: Address) -> None:
        """Tell at once what this actor promised and a crash kept from being told: before it does anything else.

        So nothing tells of a later change of the actor first, and a caller that asks again is answered when all know.
        """
        kept = tuple(self._kept)
        for effect in await self._database.read(outbox.left_by, str(address), self._clock.now(), kept):
            await self._try(effect, patient=False)

    def inspect(self) -> dict[str, object]:
        """What an operator sees: promises told and not yet deleted, and how many were kept late."""
        left = sum(map(len, self._owed.values()))
        return {
            "handed_over": len(self._kept),
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
        async with trio.open_nursery() as lanes:
            self._look_at = 0.0
            await self._round(lanes)
        await super()._end()
        self._ending = False

    async def _settle(self) -> None:
        kept = list(self._kept)
        if kept:
            await self._database.transact_alone(outbox.delete_many, kept)
            del self._kept[: len(kept)]
        await super()._settle()

    def _excluded(self) -> Collection[int]:
        return (*super()._excluded(), *self._kept, *self._held)

    async def _prepare(self, effect: Effect) -> None:
        """Wait until the timelines that a status goes to have room."""
        if effect.crowding is None:
            return
        shown = await self._statuses.show(effect.crowding)
        if shown is not None:
            await _comes_true(lambda: self._ending or not self._broadcast.is_crowded(shown), RELAY_WAITS)

    async def _finish(self, due: DueEffect, finish: Finish | None) -> None:
        owed = self._owed.get(due.key, set())
        owed.discard(due.id)
        if not owed:
            self._owed.pop(due.key, None)
        if finish is None:
            self._kept.append(due.id)
        else:
            await super()._finish(due, finish)

    async def _fail(self, due: DueEffect, effect: Effect | None, error: Exception) -> bool:
        self._owed.pop(due.key, None)  # what the account publishes next need not wait for another try
        return await super()._fail(due, effect, error)


async def _comes_true(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again, for so many seconds. True if it holds at last."""
    for _ in range(round(seconds / LOOK_FOR_ROOM)):
        if holds():
            return True
        await trio.sleep(LOOK_FOR_ROOM)
    return holds()
