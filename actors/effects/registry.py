"""The common parts of effects: their context, their queues, and the table of their functions for the relays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ...storage import outbox
from ...storage.engine.database import Connection, Database
from ...storage.files import Folder
from ..facts.fact import STORED, Facts, StoredFact
from ..kernel import Clock, Ids, Origin, Runtime
from ..promises import Effect, Promise

E = TypeVar("E", bound=Effect)


class Promises(Protocol):
    """The part of the outbox that effects use."""

    async def promise(self, db: Connection, promises: Sequence[Promise], origin: Origin) -> None: ...

    def wake(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EffectContext:
    """The context of effects. Without a folder no files are kept."""

    database: Database
    clock: Clock
    ids: Ids
    runtime: Runtime
    facts: Facts
    outbox: Promises
    folder: Folder | None


C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class EffectQueue(Generic[C_co]):
    """Kinds of effects that a relay of their own executes, with a context of type `C_co`.

    No queue waits for another queue. Up to `workers` effects are executed at the same time, of one group up to
    `workers_per_group`: a group is, for example, another server that may be slow. The effects of a partition are
    executed one after the other.
    """

    name: str
    workers: int
    workers_per_group: int = 1
    claimed_at_once: int = (
        1  # by a worker; a higher number saves statements, but the effects of a worker wait for each other
    )
    look_every: float = 1.0  # seconds between two looks for rows, unless woken before
    retry_after: tuple[float, ...] = (1, 5, 30, 120, 600)  # seconds until the next tries; the last number repeats
    give_up_after: timedelta | None = None  # after a promise; None: never
    grace: float = 5.0  # seconds in which running effects may end when the server stops


@dataclass(frozen=True, slots=True)
class QueueWithContext(Generic[C_co]):
    """A queue with the context of its effects. Without a context its rows wait."""

    queue: EffectQueue[C_co]
    context: C_co | None


# Queues with a context of any class: only the relay of the queue uses the context.
AnyQueue: TypeAlias = EffectQueue[object]
AnyQueueWithContext: TypeAlias = QueueWithContext[object]

# The facts that turns publish after their commit and before their answer, and the effects without a queue of their own.
# Its relay publishes facts only after a crash. The name of the queue is stored in rows.
MAIN_QUEUE: EffectQueue[EffectContext] = EffectQueue("announcements", workers=64, claimed_at_once=10)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to execute the row `id`. The first try has the number 1."""

    id: int
    number: int
    promised_at: datetime
    origin: Origin


class Later(Exception):
    """Raised by an effect to be retried at a time, for example after a Retry-After."""

    def __init__(self, at: datetime, reason: str) -> None:
        super().__init__(reason)
        self.at = at


class NotTried(Later):
    """Raised by an effect that made no try, for example because of the breaker of its server. It does not count."""


class GivenUp(Exception):
    """Raised by an effect that must not be retried."""


# Writes rows in the transaction that deletes the row of an executed effect.
Finish = Callable[[Connection], Awaitable[object]]
Execute = Callable[[C, E, Attempt], Awaitable[Finish | None]]
# Deletes the rows of effects that are done or given up and that this relay (the last argument) has claimed.
DeleteDone = Callable[[Connection, Sequence[int], int], Awaitable[object]]
# Writes rows in the transaction that deletes the row of an effect that was given up because of this error.
OnGiveUp = Callable[[Connection, E, Exception], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class EffectKind:
    """A kind of rows in the outbox: the class of their payloads, their queue, and their functions."""

    payload: type[Effect]
    queue: AnyQueue
    # `Any` is the class of the effect and the context of its queue, which differ from kind to kind.
    execute: Execute[Any, Any]
    on_give_up: OnGiveUp[Any] | None  # `Any` as above
    delete: DeleteDone


KINDS: dict[str, EffectKind] = {}
NAMES: dict[type[Effect], str] = {}  # kinds by payload


def executes(
    name: str,
    payload: type[E],
    queue: EffectQueue[C],
    on_give_up: OnGiveUp[E] | None = None,
    *,
    delete: DeleteDone = outbox.delete_claimed,
) -> Callable[[Execute[C, E]], Execute[C, E]]:
    """Register a payload with its queue and the function that executes it. `name` is the kind in the rows.

    The function may return a function that writes rows in the transaction that deletes the effect's row; `on_give_up`
    is called in this transaction for an effect that is given up. So both write exactly once, also after a crash. A kind
    that can write rows for many effects at once has a `delete` statement of its own instead.
    """

    def register(execute: Execute[C, E]) -> Execute[C, E]:
        NAMES[payload] = name
        KINDS[name] = EffectKind(payload, queue, execute, on_give_up, delete)
        return execute

    return register


async def publish_again(context: EffectContext, fact: StoredFact, attempt: Attempt) -> None:
    """Apply the current state of a fact whose turn crashed before it published it, from the rows as they are now."""
    await context.facts.apply(await fact.read_again(context.facts, attempt.origin), attempt.origin)


for _kind, _fact in STORED.items():
    executes(_kind, _fact, MAIN_QUEUE)(publish_again)
