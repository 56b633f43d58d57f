"""The base of actors that mirror rows: accounts and timelines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from time import perf_counter
from typing import Concatenate, ParamSpec, TypeVar, cast

from ..storage.engine.database import Connection, Doubtful, Unavailable
from .change import Change
from .context import ActorContext
from .facts.fact import Fact
from .facts.notifications import AddedNotification
from .facts.statuses import EditedStatus, PublishedStatus
from .kernel import Actor, Cell, Refused, Runtime
from .kernel.request_trail import DONE

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Change)

# Runs a try in a transaction: `transact_in` its shard, or `transact_checked` of the database.
Transact = Callable[[Callable[[Connection], Awaitable[tuple[C, T]]]], Awaitable[tuple[C, T]]]


class RolledBack(Exception):
    """Raised in a transaction to roll it back, because the work has returned a refusal."""

    def __init__(self, answer: Refused) -> None:
        super().__init__(answer.text)
        self.answer = answer


class EntityActor(Actor):
    """An actor with the shared context. Its memory mirrors rows and changes only after a commit."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime)
        self.context = context
        self._trail = runtime.trail

    @property
    def now(self) -> datetime:
        return self.context.clock.now()

    async def _change(
        self, transact: Transact[C, T], begin: Callable[[Connection], C],
        work: Callable[Concatenate[C, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs,
    ) -> T:  # fmt: skip
        """Run this turn's one transaction, and publish its change after the commit: see `change.py`."""

        @wraps(work)
        async def attempt(db: Connection, /) -> tuple[C, T]:
            change = begin(db)
            answer = await work(change, *args, **kwargs)
            if isinstance(answer, Refused) and answer is not change.committed_refusal:
                raise RolledBack(answer)
            await change.write_promises()
            return change, answer

        self.check_current()
        with self.context.facts.publishing(self.address):
            try:
                with self._noted(work):
                    change, answer = await transact(attempt)
            except RolledBack as rolled_back:
                return cast("T", rolled_back.answer)  # `work` has returned it
            await self._after_commit(change)
        return answer

    @contextmanager
    def _noted(self, work: object) -> Generator[None]:
        """Add an entry for a transaction to the request trail. After a rollback the entry has the error."""
        began, outcome = perf_counter(), "cancelled"
        try:
            yield
            outcome = DONE
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            if (envelope := self._cell.envelope) is not None:
                self._trail.note((
                    "transaction", began, perf_counter(), getattr(work, "__name__", "transaction"), self.address,
                    envelope.id, envelope.origin.request_id, envelope.origin.causes, outcome,
                ))  # fmt: skip

    async def _after_commit(self, change: Change) -> None:
        """Publish the facts of a committed change before the answer, and wake the queues of its other promises.

        If the timelines of a status stay crowded, the relay publishes the facts after the answer. If the rows to
        publish can't be read, this actor restarts and publishes them before its next turn (`load`). Otherwise the next
        turn could publish a later change first.
        """
        for queue in change.due:
            self.context.outbox.wake(queue)
        if not change.facts:
            return
        try:
            await self._publish(change)
        except Unavailable as error:
            raise Doubtful("committed, and not published: the database is away") from error

    async def _publish(self, change: Change) -> None:
        context, facts, promised = self.context, change.facts, change.fact_promises
        for fact in facts:
            self.apply(fact)
        context.facts.cache(facts, change.since)
        for fact in facts:
            if isinstance(fact, PublishedStatus | EditedStatus) and not await self._wait_for_room(
                fact, facts, promised
            ):
                acknowledged = context.others.send([fact.before_relay() for fact in facts], self.origin)
                if acknowledged is not None:
                    await acknowledged
                return
        await context.outbox.wait_for_relay(self.address)
        with context.outbox.publication(promised):
            await context.facts.notify_actors(facts, self.origin, self.address)

    async def _wait_for_room(
        self, fact: PublishedStatus | EditedStatus, facts: Sequence[Fact], promised: Sequence[int]
    ) -> bool:
        """Wait for crowded timelines. Return False if they stay crowded.

        Then only the author's home gets a new status now.
        """
        context = self.context
        shown = await fact.show(context.facts)
        recipients = [added.account_id for added in facts if isinstance(added, AddedNotification)]
        if shown is None or await context.outbox.wait_for_room(self.address, promised, shown, recipients):
            return True
        if isinstance(fact, PublishedStatus):
            fact.notify_author(context.facts, shown, self.origin)
        return False

    def apply(self, fact: Fact) -> None:
        """Apply a fact to this actor's own memory.

        The default does nothing: most actors mirror no rows that facts change.
        """
