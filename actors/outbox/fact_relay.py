"""The relay of facts: it publishes facts that a turn has not, because of a crash or of crowded timelines.

A turn writes the promise of a fact in its transaction. It notifies the awake actors itself as soon as the commit is
known, and hands the promise over for deletion: one DELETE for many promises. The relay looks every second for promises
that were not handed over, because their turn crashed or never learned of its commit; it looks at once when an actor
crashes. Only these promises are claimed. The relay works on up to 64 accounts at once, so that a busy account delays no
other account.

In a cluster the promises of a turn have the shard of its actor, and only the owner of the shard looks for them: its
turns hand their promises over to its relay. The relay of another node would find them before they are deleted, and
publish again. After the death of a node the next owner of the shard finds its promises.

Back pressure: a post, boost or edit is committed first; then its turn waits up to 1 s while timelines are crowded
(`kernel/cell.py`). If they stay crowded, only the author's home gets the message before the answer. The relay waits
longer and publishes to the other timelines later. Later facts of the account are published after these facts.
Deletions, follows, blocks and mutes never wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import trio

from ...storage import outbox, stream_log
from ...storage.engine.database import Doubtful, Entering, Unavailable
from ...storage.engine.shards import SHARDS, shard_of
from ...storage.outbox import DueEffect
from ..broadcast.publications import Publications
from ..effects.registry import MAIN_QUEUE, EffectContext, EffectKind, Finish, QueueWithContext
from ..facts.fact import STREAMED
from ..kernel import Address, Record
from ..promises import Effect
from ..shown.statuses import ShownStatus
from .relay import GATHER, Relay

PUBLISHER_WAITS = 1.0  # seconds that a turn waits for crowded timelines before the relay does it
RELAY_WAITS = 10.0  # seconds that the relay waits; then it notifies them, and they may have to read their rows again
LOOK_FOR_ROOM = 0.05  # seconds between two looks
START_WAITS = 5.0  # seconds of the start for the facts of an earlier process; then requests are answered

# When there are so many published promises, they are deleted before the next round: until then the ids of events
# contain a key for each of them.
MOST_PUBLISHED = 50

NOT_SHOWN = 0  # the number of the publication of facts that streams don't show


class PublishedPromises(NamedTuple):
    """Promises of published facts, to be deleted, with the number of the publication."""

    promised: tuple[int, ...]
    number: int


class FactRelay(Relay[EffectContext]):
    """The relay of `MAIN_QUEUE`, with the promises that turns hand over to it."""

    def __init__(self, context: EffectContext, publications: Publications, record: Record) -> None:
        super().__init__(
            QueueWithContext(MAIN_QUEUE, context),
            context.database,
            context.clock,
            context.ids,
            record,
            context.runtime.trail,
            others=context.facts.others,
        )
        self._statuses = context.facts.statuses
        self._broadcast = context.facts.broadcast
        self._publications = publications
        self._published: list[PublishedPromises] = []
        self._logging = trio.Lock()
        self._many = trio.Event()  # set when MOST_PUBLISHED promises wait to be deleted
        # Ids of promises whose turns wait for crowded timelines: the relay must not claim them.
        self._held: set[int] = set()
        self._owed: dict[str, set[int]] = {}  # by partition: ids of promises that turns have left to the relay
        # Ids of the promises that former owners of shards have left unpublished, by the shard and its epoch.
        self._left_behind: dict[Entering, set[int]] = {}
        self._looks = False  # True while the relay looks for rows
        self._logged: set[int] = set()  # ids of promises that were logged while a look or a worker could have them
        self._publishing = Counter[str]()  # the number of running publications of the relay, by partition
        self._ending = False

    @contextmanager
    def publication(self, promised: Collection[int]) -> Generator[None]:
        """A context in which a turn publishes the facts of these promises. At its end the promises are handed over."""
        with self._publications.publication() as number:
            try:
                yield
            except BaseException:
                self._leave(promised, number)
                raise
            self._hand_over(promised, number)

    def _hand_over(self, promised: Collection[int], number: int) -> None:
        """Hand promises over: the publication ends when they are in the log, or at once if there are none."""
        if promised:
            self._published.append(PublishedPromises(tuple(promised), number))
            self._publications.go_on()
            if len(self._published) >= MOST_PUBLISHED:
                self._many.set()
        else:
            self._publications.end(number)
        self._woken.set()

    def _leave(self, promised: Collection[int], number: int) -> None:
        """Leave the promises of a publication that has failed to the next look."""
        if promised:
            self._publications.hold(number)
        else:
            self._publications.end(number)
        self._woken.set()

    async def log_published(self) -> None:
        """Write all facts that this node has published until now into the log of changes."""
        last = self._publications.begun
        while self._publications.oldest_unlogged <= last:
            if self._published:
                await self._flush()
            else:
                await self._publications.changed()

    async def wait_for_room(
        self, author: Address, promised: Sequence[int], shown: ShownStatus, recipients: Sequence[int] = ()
    ) -> bool:
        """Wait for a moment until the timelines of a status have room.

        Return False if they still have none: then the promises, which are committed, are left to the relay.
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

    async def _execute(self, kind: EffectKind, effect: Effect, due: DueEffect) -> Finish | None:
        """Publish a fact. If streams show it, note the publication and hand the promise over."""
        if due.id in self._logged or due.id in self._published_ids():
            return None  # The relay looked between the commit and the publication, and the turn has published it since.
        if due.kind not in STREAMED:
            return await super()._execute(kind, effect, due)
        self._publishing[due.key] += 1
        with self._publications.publication() as number:
            try:
                finish = await super()._execute(kind, effect, due)
            except BaseException:
                self._leave([due.id], number)
                raise
            finally:
                self._publishing -= Counter([due.key])
            self._hand_over([due.id], number)
            return finish

    async def wait_for_relay(self, author: Address) -> None:
        """Wait until the relay has published the facts of an account that it has begun to publish.

        The facts of the turn are newer: otherwise a stream could show the older status after the newer status.
        """
        while self._publishing and self._publishing[str(author)]:
            await self._publications.changed()

    async def publish_pending(self, address: Address) -> None:
        """Publish at once the facts of this actor that a crash has left: before its next turn.

        So no later change of the actor is published first, and a repeated request is answered after the publication.
        """
        published = self._published_ids()
        for effect in await self._database.read(outbox.left_by, str(address), self._clock.now(), published):
            await self._try(effect, patient=False)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Publish the facts of an earlier process first, then look for rows until `stopping`."""
        with trio.move_on_after(START_WAITS):
            await self._execute_due()
        async with trio.open_nursery() as beside:
            beside.start_soon(self._log_many)
            await super().run(stopping, task_status=task_status)
            beside.cancel_scope.cancel()

    async def _log_many(self) -> None:
        """Log published facts before the next round whenever there are many."""
        while True:
            await self._many.wait()
            self._many = trio.Event()
            try:
                await self._flush()
            except (Unavailable, Doubtful):
                await trio.sleep(GATHER)  # the next round logs the error

    def inspect(self) -> dict[str, object]:
        """Return the numbers for an operator: promises to be deleted, and facts that the relay has published."""
        left = sum(map(len, self._owed.values()))
        return {
            "handed_over": len(self._published_ids()),
            "kept_late": self.done,
            "left_to_relay": left,
            "lanes": len(self._workers),
        }

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self._ending = True
        self.wake()

    async def _end(self) -> None:
        """Publish the facts that the last turns have left, and delete the promises."""
        await self._execute_due()
        await super()._end()
        self._ending = False

    async def _execute_due(self) -> None:
        async with trio.open_nursery() as workers:
            self._look_at = 0.0
            await self._round(workers)

    async def _look(self, nursery: trio.Nursery) -> None:
        self._logged.intersection_update(id for worker in self._workers for id in worker.pending)
        self._forget_taken()
        self._looks = True
        try:
            await super()._look(nursery)
        finally:
            self._looks = False
        if self._others.taken:
            await self._settle_taken()

    async def _release_unclaimed(self) -> None:
        await self._flush()
        await super()._release_unclaimed()

    async def _flush(self) -> None:
        """Delete the promises of published facts, and log the facts."""
        async with self._logging:
            if self._published:
                await self._log(list(self._published))

    async def _log(self, batch: Sequence[PublishedPromises]) -> None:
        """Draw positions, which must follow the publication, and write the log."""
        # A fact that was published twice has the position of its first publication.
        promised = dict.fromkeys(id for published in batch for id in published.promised)
        positions = {id: self._ids.next() for id in promised}
        self._publications.will_log(min(positions.values()))
        await self._database.transact_checked(
            stream_log.log_published, positions, STREAMED, self._publications.incarnation
        )
        del self._published[: len(batch)]
        if self._looks or self._workers:
            self._logged.update(promised)
        self._publications.logged((published.number for published in batch), max(positions.values()))

    def _published_ids(self) -> list[int]:
        return [id for published in self._published for id in published.promised]

    def _shards(self) -> Sequence[int] | None:
        owned = [shard for shard in range(SHARDS) if self._others.owns(shard)]
        return None if len(owned) == SHARDS else owned

    def _forget_taken(self) -> None:
        """Forget the promises of accounts whose shard another node has taken. Its relay publishes them."""
        for key in [key for key in self._owed if not self._others.owns(shard_of(Address.parse(key).key))]:
            del self._owed[key]

    async def _settle_taken(self) -> None:
        """Find out which facts the former owners of shards have left, and settle each shard when they are published.

        They are found by the first look after this node has taken the shard: its former owner can't add any more.
        """
        taken = self._others.taken
        self._left_behind = {of: ids for of, ids in self._left_behind.items() if of in taken}
        if ids := set[int]().union(*self._left_behind.values()):
            left = await self._database.read(outbox.still_there, ids)
            self._left_behind = {of: ids & left for of, ids in self._left_behind.items()}
        if new := [of for of in taken if of not in self._left_behind]:
            found = await self._database.read(outbox.facts_of, self.queue.name, [shard for shard, _ in new])
            self._left_behind |= {of: found.get(of[0], set()) for of in new}
        for of in [of for of, ids in self._left_behind.items() if not ids]:
            self._others.settle(of)
            del self._left_behind[of]

    def _excluded(self) -> Collection[int]:
        return (*super()._excluded(), *self._published_ids(), *self._held)

    async def _prepare(self, effect: Effect) -> None:
        """Wait until the timelines of a status have room."""
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
        elif due.kind not in STREAMED:  # `_execute` has handed the others over
            self._hand_over([due.id], NOT_SHOWN)

    async def _fail(self, due: DueEffect, effect: Effect | None, error: Exception) -> bool:
        self._owed.pop(due.key, None)  # later facts of the account need not wait for another try
        return await super()._fail(due, effect, error)


async def _becomes_true(holds: Callable[[], bool], seconds: float) -> bool:
    """Check a condition repeatedly, for so many seconds. True if it holds at last."""
    for _ in range(round(seconds / LOOK_FOR_ROOM)):
        if holds():
            return True
        await trio.sleep(LOOK_FOR_ROOM)
    return holds()
