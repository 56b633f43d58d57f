"""The relay of one queue of the outbox: claims rows, executes them in worker tasks, retries failed effects.

A claim is a short transaction (`FOR UPDATE SKIP LOCKED`) that gives rows to one relay, so that no two relays execute
one row at the same time. A relay that works renews its claims. A worker whose claims could not be renewed stops.

The claims of a server that is alone end after `LEASE` seconds. So the rows of a relay that died are free again, and
those of the server from which another one has taken over.

The claims of a node of a cluster have no end, because the clocks of nodes may differ: no node takes the rows of another
node that lives. The transaction that removes a dead node releases its claims. A node that lives gives its rows back by
itself: a try ends after `LONGEST_TRY` seconds and is retried by any node, the rows of a worker that has stopped are
released in the next round, and the statements of a round have deadlines. A node whose whole loop hangs does not beat,
and is removed.

A worker is a task that executes a few claimed effects one after the other. The queue defines the number of workers, and
the number that a group may take (`effects/registry.py`). Effects of a partition never overtake each other: an
effect behind an effect that is claimed, or waits for a retry, is not claimed by any relay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import cycle
from time import perf_counter
from typing import Generic, Literal, TypeAlias, TypeVar

import trio

from ...storage import outbox
from ...storage.engine.database import Connection, Database, Doubtful, Unavailable
from ...storage.outbox import DueEffect
from ..cluster.others import Alone, Others
from ..effects.registry import (
    KINDS,
    AnyQueue,
    Attempt,
    EffectKind,
    Finish,
    GivenUp,
    Later,
    NotTried,
    OnGiveUp,
    QueueWithContext,
)
from ..kernel import Clock, Ids, Origin, Record
from ..kernel.errors import describe, place
from ..kernel.request_trail import DONE, RequestTrail
from ..promises import Effect
from .deletions import Deletions

LEASE = 30.0  # seconds until the claims of a relay that died are free
MARGIN = 5.0  # seconds by which the clocks of a server and its successor may differ
# Seconds of a try. Effects for other servers take minutes at most; a deletion of a big account, or its move, goes on
# with the rows that are left.
LONGEST_TRY = 3600.0
RENEW_EVERY = 10.0  # seconds: one renewal may fail before the lease, less the margin, is over
DROP_EVERY = 3600.0  # seconds between two looks for old rows of a queue that this server does not execute
DROPPED_AT_ONCE = 500  # rows in a transaction
# Seconds between two rounds: one look then finds the rows of many commits. So a queue whose workers claim one row at a
# time (mails, refreshes of accounts) looks for rows at most four times a second. A shorter pause would cost an idle
# server a look for each commit.
GATHER = 0.25

ALONE = Alone()

C_co = TypeVar("C_co", covariant=True)

# Executes an effect in a span of its own, given its kind, the attempt, and the function of the effect.
TraceEffect = Callable[[str, Attempt, Callable[[Attempt], Awaitable[Finish | None]]], Awaitable[Finish | None]]

# The result of a try: done; to be retried after an error, or at a time; or dead-lettered.
Result = Literal["done", "failed", "put_off", "given_up"]


@dataclass(eq=False)
class RelayWorker:
    """Claimed effects that are executed one after the other.

    `pending`: ids of effects that are not finished. `unattempted`: ids of pending effects that no relay has tried;
    their rows may still be withdrawn.
    """

    group: str
    effects: list[DueEffect]
    scope: trio.CancelScope
    pending: set[int] = field(default_factory=set[int])
    unattempted: set[int] = field(default_factory=set[int])


class Relay(Generic[C_co]):
    """Executes the effects of one queue. Each process of the server has a relay for each queue."""

    def __init__(
        self,
        queue_with_context: QueueWithContext[C_co],
        database: Database,
        clock: Clock,
        ids: Ids,
        record: Record,
        trail: RequestTrail | None = None,
        trace: TraceEffect | None = None,
        others: Others = ALONE,
    ) -> None:
        self.queue = queue_with_context.queue
        self._trail = trail or RequestTrail()
        self._trace = trace  # called for effects of traced requests
        self._others = others
        self.done = 0  # executed effects
        self.results = Counter[tuple[str, Result]]()  # of tries, by the kind of the effect
        self._context = queue_with_context.context
        self._database = database
        self._clock = clock
        self._record = record
        self._ids = ids
        self._own_id: int | None = None
        self._after = ""  # the group after which to look for rows; empty: from the first group
        self._workers: set[RelayWorker] = set()
        self._unclaimed: list[int] = []  # ids of claimed rows to be released
        self._unattempted: set[int] = set()  # ids of these that no relay has tried
        self._trouble: Exception | None = None  # a worker's error of the database, to be logged
        self._woken = trio.Event()
        self._look_at = 0.0  # when to look for rows, unless woken before
        self._gathering = trio.CancelScope()  # the pause after a round
        self._deletions = Deletions(database, lambda: self._id)
        self._is_behind = False  # True if there are probably more rows than the workers could claim

    @property
    def _id(self) -> int:
        """The name of this relay in the rows that it has claimed, with the number of the node.

        A node of a cluster gets its number when it joins. If it joins again, its earlier claims are released.
        """
        if self._own_id is None or not self._ids.is_own(self._own_id):
            self._own_id = self._ids.next()
        return self._own_id

    def wake(self) -> None:
        """Look for rows at once: some were committed, or a crash has left some."""
        self._look_at = 0.0
        self._woken.set()

    def inspect(self) -> dict[str, object]:
        """Return the numbers for an operator."""
        return {"done": self.done, "lanes": len(self._workers)}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Execute due effects until `stopping`. Running effects then end within the grace of the supervisor."""
        task_status.started()
        if self._context is None:
            await self._drop_old(stopping)
            return
        async with trio.open_nursery() as beside:
            beside.start_soon(self._renew)
            beside.start_soon(self._deletions.run)
            async with trio.open_nursery() as workers:
                workers.start_soon(self._wake_when, stopping)
                while not stopping.is_set():
                    with trio.move_on_at(self._look_at):
                        await self._woken.wait()
                    woken, self._woken, self._is_behind = self._woken.is_set(), trio.Event(), False
                    await self._round(None if stopping.is_set() else workers)
                    # Wait for rows of further commits: not if the relay is idle, nor if it has enough rows already.
                    if woken and not self._is_behind:
                        with trio.move_on_after(GATHER) as self._gathering:
                            await stopping.wait()
            await self._end()
            beside.cancel_scope.cancel()

    async def _drop_old(self, stopping: trio.Event) -> None:
        """Delete rows that a relay with a context would have given up by now, at the start and every hour.

        Otherwise a server without a mail server would keep its mails for ever, and send all of them once it has one.
        """
        most = self.queue.give_up_after
        while most is not None and not stopping.is_set():
            try:
                before = self._clock.now() - most
                while await self._database.transact_alone(
                    outbox.delete_older, self.queue.name, before, DROPPED_AT_ONCE
                ):
                    pass
            except (Unavailable, Doubtful):
                pass  # the next look deletes them, and other tasks log the error
            with trio.move_on_after(DROP_EVERY):
                await stopping.wait()
        await stopping.wait()

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self._woken.set()

    async def _end(self) -> None:
        """Release the rows that the last workers have left."""
        await self._round(None)

    async def _round(self, workers: trio.Nursery | None) -> None:
        try:
            await self._release_unclaimed()
            if workers is not None and trio.current_time() >= self._look_at:
                self._look_at = trio.current_time() + self.queue.look_every
                await self._look(workers)
        except (Unavailable, Doubtful) as error:
            self._trouble = error
        if self._trouble is not None:
            self._record("storage.lost", error=describe(self._trouble), decision=f"{self.queue.name} waits")
            self._trouble = None

    async def _release_unclaimed(self) -> None:
        """Release rows that were claimed and not executed."""
        if self._unclaimed:
            unclaimed = list(self._unclaimed)
            await self._database.transact_alone(outbox.release, unclaimed, self._id, sorted(self._unattempted))
            del self._unclaimed[: len(unclaimed)]
            self._unattempted.difference_update(unclaimed)

    # Claims ---------------------------------------------------------------------------------------------------------

    async def _look(self, nursery: trio.Nursery) -> None:
        queue = self.queue
        free = queue.workers - len(self._workers)
        if free <= 0:
            return
        taken = Counter(worker.group for worker in self._workers)
        limit = queue.workers * queue.claimed_at_once
        found = await self._database.read(
            outbox.due, self._clock.now(), queue.name, exclude_ids=self._excluded(),
            exclude_groups=[group for group, workers in taken.items() if workers >= queue.workers_per_group],
            after=self._after, of_a_group=queue.workers_per_group * queue.claimed_at_once, limit=limit,
            shards=self._shards(),
        )  # fmt: skip
        if self._after:
            self._look_at = 0.0  # for the groups before `_after`
        # If there are more rows than the limit, the next look begins with the groups after these rows.
        self._after = max(effect.group for effect in found) if len(found) == limit else ""
        if found:
            await self._claim(nursery, assign_to_workers(queue, found, free, taken))

    def _shards(self) -> Sequence[int] | None:
        """Return the shards whose rows this relay executes. None: all."""

    def _excluded(self) -> Collection[int]:
        """Return the ids of due rows that this relay must not claim now."""
        return self._unclaimed

    async def _claim(self, nursery: trio.Nursery, shares: list[list[DueEffect]]) -> None:
        """Claim effects for the free workers, and start the workers."""
        ids = [effect.id for share in shares for effect in share]
        unattempted = {effect.id for share in shares for effect in share if not effect.tried}
        # Counted from before the statement, which may take long: a worker must end before its claims do.
        ends, now = trio.current_time() + LEASE - MARGIN, self._clock.now()
        try:
            claimed = await self._database.transact_alone(outbox.claim, ids, self._id, now, self._claims_end(now))
        except Doubtful:
            self._unclaimed += ids  # they may be claimed
            self._unattempted |= unattempted
            raise
        for share in shares:
            if effects := in_order(share, claimed):
                taken = {effect.id for effect in effects}
                scope = trio.CancelScope(deadline=ends)
                worker = RelayWorker(effects[0].group, effects, scope, taken, taken & unattempted)
                claimed -= taken
                self._workers.add(worker)
                nursery.start_soon(self._work_on, worker, name=f"{self.queue.name}: {worker.group}")
        self._unclaimed += claimed
        self._unattempted |= claimed & unattempted

    def _claims_end(self, now: datetime) -> datetime:
        """Return the end of claims that are made or renewed now."""
        return now + timedelta(seconds=LEASE) if self._others.is_alone else outbox.NO_END

    async def _renew(self) -> None:
        """Renew the claims of running workers repeatedly. A worker that has lost claims ends at its deadline."""
        while True:
            await trio.sleep(RENEW_EVERY)
            # As in `_claim`, the new end counts from before the statement.
            workers = [worker for worker in self._workers if worker.pending]
            if not workers:
                continue
            ends, now = trio.current_time() + LEASE - MARGIN, self._clock.now()
            try:
                held = await self._database.transact_alone(
                    outbox.renew, [id for worker in workers for id in worker.pending], self._id, now,
                    self._claims_end(now),
                )  # fmt: skip
            except (Unavailable, Doubtful) as error:
                self._trouble = error
                continue
            for worker in workers:
                if held >= worker.pending:
                    worker.scope.deadline = ends

    # Workers ----------------------------------------------------------------------------------------------------------

    async def _work_on(self, worker: RelayWorker) -> None:
        """Execute effects in order. After a failure, later effects with the same key wait too."""
        failed: set[str] = set()
        try:
            with worker.scope:
                for effect in worker.effects:
                    if effect.key in failed:
                        continue
                    worker.unattempted.discard(effect.id)
                    if not await self._try(effect):
                        failed.add(effect.key)
                    worker.pending.discard(effect.id)
        except (Unavailable, Doubtful) as error:
            self._trouble = error
        else:
            self._look_at = 0.0  # a worker is free, and there may be more
            if len(worker.effects) >= self.queue.claimed_at_once > 1:
                self._is_behind = True
                self._gathering.cancel()
        finally:
            self._workers.discard(worker)
            self._unclaimed += worker.pending
            self._unattempted |= worker.unattempted
            self._woken.set()

    async def _try(self, due: DueEffect, *, patient: bool = True) -> bool:
        """Execute an effect. Return False if it must be retried. A `patient` try first waits for room (`_prepare`)."""
        effect, began = None, perf_counter()
        try:
            kind = KINDS[due.kind]
            effect = kind.payload.of_row(due.payload)
            if patient:
                await self._prepare(effect)
            await self._finish(due, await self._execute_in_time(kind, effect, due))
        except (Unavailable, Doubtful):
            raise
        except Exception as error:
            # A failure of an effect must not hold up other effects.
            given_up = await self._fail(due, effect, error)
            self._note(due, began, f"{'given up' if given_up else 'put off'}: {type(error).__name__}")
            return given_up
        self._note(due, began, DONE)
        self.done += 1
        self.results[due.kind, "done"] += 1
        return True

    def _note(self, due: DueEffect, began: float, outcome: str) -> None:
        """Add an entry for a try to the request trail."""
        self._trail.note(
            ("effect", began, perf_counter(), due.kind, due.group, None, due.request_id or "-", due.causes, outcome)
        )

    async def _execute_in_time(self, kind: EffectKind, effect: Effect, due: DueEffect) -> Finish | None:
        with trio.move_on_after(LONGEST_TRY):
            return await self._execute(kind, effect, due)
        raise TimeoutError(f"not done after {LONGEST_TRY:g} s")

    async def _execute(self, kind: EffectKind, effect: Effect, due: DueEffect) -> Finish | None:
        attempt = Attempt(due.id, due.attempts + 1, due.created_at, origin_of(due))
        if self._trace is None or not due.trace:
            return await kind.execute(self._context, effect, attempt)
        return await self._trace(due.kind, attempt, partial(kind.execute, self._context, effect))

    async def _prepare(self, effect: Effect) -> None:
        """Wait until an effect may be executed. By default there is no wait."""

    async def _finish(self, due: DueEffect, finish: Finish | None) -> None:
        """Delete the row of a finished effect. Run `finish` in the same transaction."""
        if finish is None:
            await self._deletions.delete(KINDS[due.kind].delete, due.id)
        else:
            await self._database.transact(_delete, due.id, self._id, finish)

    async def _fail(self, due: DueEffect, effect: Effect | None, error: Exception) -> bool:
        """Give a failed effect up, or defer it. True if it was given up."""
        try:
            if isinstance(error, GivenUp) or self._is_too_old(due):
                await self._give_up(due, effect, error)
                return True
        except (Unavailable, Doubtful):
            raise
        except Exception as another:
            error = another
        await self._put_off(due, error)
        return False

    def _is_too_old(self, due: DueEffect) -> bool:
        most = self.queue.give_up_after
        return most is not None and due.created_at + most <= self._clock.now()

    async def _give_up(self, due: DueEffect, effect: Effect | None, error: Exception) -> None:
        kind = KINDS[due.kind]
        # The effect is None if its row can't be read: then `on_give_up` has no argument.
        if kind.on_give_up is None or effect is None:
            await self._database.transact_alone(kind.delete, [due.id], self._id)
        else:
            finish = partial(_call, kind.on_give_up, effect, error)
            await self._database.transact(_delete, due.id, self._id, finish)
        self.results[due.kind, "given_up"] += 1
        self._record("outbox.given_up", **_facts(due, error), decision="given up")

    async def _put_off(self, due: DueEffect, error: Exception) -> None:
        now = self._clock.now()
        due_at = self._next_try(due, error, now)
        not_tried = partial(outbox.defer, tried=due.tried)
        put_off = not_tried if isinstance(error, NotTried) else outbox.fail
        await self._database.transact_alone(put_off, due.id, self._id, due_at, describe(error))
        self.results[due.kind, "put_off" if isinstance(error, Later | NotTried) else "failed"] += 1
        decision = f"again in {round((due_at - now).total_seconds())} s"
        self._record("outbox.retry", **_facts(due, error), decision=decision)

    def _next_try(self, due: DueEffect, error: Exception, now: datetime) -> datetime:
        """Return the time of the next try: by the schedule of the queue, or as the effect asks for.

        That time is not before the first retry of the schedule, and not after the time of giving up.
        """
        queue = self.queue
        if not isinstance(error, Later):
            return now + timedelta(seconds=queue.retry_after[min(due.attempts, len(queue.retry_after) - 1)])
        at = max(error.at, now + timedelta(seconds=queue.retry_after[0]))
        return at if queue.give_up_after is None else min(at, due.created_at + queue.give_up_after)


# A relay of any queue, with a context of any class.
AnyRelay: TypeAlias = Relay[object]


def assign_to_workers(
    queue: AnyQueue, found: Iterable[DueEffect], free: int, taken: Mapping[str, int]
) -> list[list[DueEffect]]:
    """Divide effects among free workers, and return the effects of each worker.

    Groups get a worker in turn; the group with the fewest running workers (`taken`) is first. All effects of a
    partition go to one worker. Effects without a worker are left out.
    """
    partitions: dict[str, dict[str, list[DueEffect]]] = {}
    for effect in found:
        partitions.setdefault(effect.group, {}).setdefault(effect.key, []).append(effect)
    groups = sorted(partitions, key=lambda group: taken.get(group, 0))
    shares: dict[str, list[list[DueEffect]]] = {group: [] for group in groups}
    for _ in range(queue.workers_per_group):
        for group in groups:
            waiting, workers = partitions[group], shares[group]
            if free and waiting and taken.get(group, 0) + len(workers) < queue.workers_per_group:
                workers.append(waiting.pop(next(iter(waiting))))
                free -= 1
    for group, workers in shares.items():
        for effects, worker in zip(partitions[group].values(), cycle(workers), strict=False):
            worker += effects
    every = (worker for workers in shares.values() for worker in workers)
    return [sorted(worker, key=lambda effect: effect.id)[: queue.claimed_at_once] for worker in every]


def in_order(effects: Iterable[DueEffect], claimed: Collection[int]) -> list[DueEffect]:
    """Return the claimed effects, without effects that would overtake an unclaimed effect of their partition."""
    # Partitions with an unclaimed row.
    held_up: set[str] = set()
    kept: list[DueEffect] = []
    for effect in effects:
        if effect.id not in claimed:
            held_up.add(effect.key)
        elif effect.key not in held_up:
            kept.append(effect)
    return kept


async def _delete(db: Connection, id: int, relay: int, finish: Finish) -> None:
    if await outbox.delete_claimed(db, [id], relay):
        await finish(db)


async def _call(on_give_up: OnGiveUp[Effect], effect: Effect, error: Exception, db: Connection) -> None:
    await on_give_up(db, effect, error)


def _facts(due: DueEffect, error: Exception) -> dict[str, object]:
    """Return the facts of the supervision log about a failed effect."""
    facts: dict[str, object] = {
        "effect": due.kind, "message_id": due.id, "request_id": due.request_id, "causes": list(due.causes),
        "error": describe(error), "place": place(error),
    }  # fmt: skip
    return facts | {"trace_id": origin_of(due).trace_id} if due.trace else facts


def origin_of(due: DueEffect) -> Origin:
    """Return the request, the messages and the span that led to an effect."""
    return Origin(due.request_id or "-", due.causes, due.trace or "")
