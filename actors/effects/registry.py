"""The common parts of effects: payloads, promises, queues, and the table by which a relay carries them out.

An effect names what changed, never how. It is carried out from the rows as they are then, so that it may be carried out
late, twice, or out of order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar
from zlib import crc32

from ...storage import outbox
from ...storage.engine.database import Connection, Database
from ...storage.engine.json_values import JsonObject
from ...storage.files import Folder
from ..facts.fact import Fact, Facts
from ..kernel import Address, Clock, Ids, Origin, Runtime
from ..kernel.codec import of_row, to_row
from ..statuses import AccountCache, StatusCache

# Each row names its part of the accounts, so that nodes can share a queue by parts later.
SHARDS = 256


class Effect:
    """Base of the payloads, which are frozen dataclasses. Their fields are the keys of the row's JSON object."""

    __slots__ = ()

    @property
    def status_for_timelines(self) -> int | None:
        """The id of the status that this puts into timelines: the relay waits until they have room for it."""
        return None

    def as_row(self) -> JsonObject:
        """Return the payload as an outbox row stores it."""
        return to_row(self)

    @classmethod
    def of_row(cls, row: JsonObject) -> Self:
        """Return the payload of an outbox row. Keys of another version of the server are ignored."""
        return of_row(cls, row)


E = TypeVar("E", bound=Effect)


@dataclass(frozen=True, slots=True)
class Promise:
    """An effect to write into the outbox. Without a time it is due at once.

    Effects of one partition keep their order; None is a partition of its own. A queue limits how many effects of one
    group are carried out at the same time; without a group the partition is one. `account` is the id of the account
    whose shard the effect belongs to; without one the partition decides.
    """

    effect: Effect
    partition: str | None = None
    due_at: datetime | None = None
    account: int | None = None
    group: str | None = None


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
    accounts: AccountCache
    statuses: StatusCache
    facts: Facts
    outbox: Promises
    folder: Folder | None


C = TypeVar("C")


@dataclass(frozen=True, slots=True, eq=False)
class EffectQueue(Generic[C]):
    """Kinds of effects that a relay of their own carries out, with a context of type `C`.

    No queue waits for another one. Up to `lanes` effects are carried out at the same time, of one group up to
    `lanes_of_a_group`: a group is, for example, another server that may be slow. The effects of a partition are carried
    out one after the other.
    """

    name: str
    lanes: int
    lanes_of_a_group: int = 1
    claimed_at_once: int = 1  # by a lane; more saves claims, but a lane's claims wait for each other
    look_every: float = 1.0  # seconds between two looks for rows, unless woken before
    retry_after: tuple[float, ...] = (1, 5, 30, 120, 600)  # seconds until the next tries; the last one repeats
    give_up_after: timedelta | None = None  # after a promise; None: never
    grace: float = 5.0  # seconds in which effects under way may end when the server stops


@dataclass(frozen=True, slots=True)
class QueueWithContext(Generic[C]):
    """A queue with the context that its effects are carried out with. Without one its rows wait."""

    queue: EffectQueue[C]
    context: C | None


# Queues of all contexts: a relay alone gives a context to the effects of its queue.
AnyQueue: TypeAlias = EffectQueue[Any]
AnyQueueWithContext: TypeAlias = QueueWithContext[Any]  # the same

# What turns tell after their commit and before their answer. A relay carries out what a crash left of it.
ANNOUNCEMENTS: EffectQueue[EffectContext] = EffectQueue("announcements", lanes=64, claimed_at_once=10)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to carry out the row `id`: the first has the number 1."""

    id: int
    number: int
    promised_at: datetime
    origin: Origin


class Later(Exception):
    """Raised by an effect that is to be tried again at a time, for example after a Retry-After."""

    def __init__(self, at: datetime, reason: str) -> None:
        super().__init__(reason)
        self.at = at


class NotTried(Later):
    """Raised by an effect that could not be tried, for example because its server is left alone. It is no attempt."""


class GivenUp(Exception):
    """Raised by an effect that is not to be tried again."""


# What to write in the transaction that deletes the row of an effect that was carried out.
Finish = Callable[[Connection], Awaitable[object]]
CarryOut = Callable[[C, E, Attempt], Awaitable[Finish | None]]
# Deletes the rows of effects that are done or given up, as far as this relay has claimed them, in one statement.
DeleteDone = Callable[[Connection, Sequence[int], int], Awaitable[object]]
# The same as `Finish` for an effect that was given up, because of this error.
OnGiveUp = Callable[[Connection, E, Exception], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class EffectKind:
    """A kind of rows in the outbox: the class of their payloads, their queue, and how they are carried out."""

    payload: type[Effect]
    queue: AnyQueue
    # `Any` is the class of the effect and the context of its queue, which differ from kind to kind.
    carry_out: CarryOut[Any, Any]
    on_give_up: OnGiveUp[Any] | None  # the same
    delete: DeleteDone
    shown: bool  # by streams: it is logged after it was told


KINDS: dict[str, EffectKind] = {}
NAMES: dict[type[Effect], str] = {}  # kinds by payload


def carries_out(
    name: str,
    payload: type[E],
    queue: EffectQueue[C],
    on_give_up: OnGiveUp[E] | None = None,
    *,
    delete: DeleteDone = outbox.delete_claimed,
    shown: bool = False,
) -> Callable[[CarryOut[C, E]], CarryOut[C, E]]:
    """Register a payload with its queue and the function that carries it out. `name` is the kind in the rows.

    The function may return what is to be written in the transaction that deletes the row; `on_give_up` is called in
    that transaction for an effect that is given up. So both are written exactly once, also after a crash. What can be
    written for many effects at once, by the statement that deletes their rows, has a `delete` of its own instead.
    What streams show has a way for clients that were interrupted, in `timelines/missed.py`.
    """

    def register(carry_out: CarryOut[C, E]) -> CarryOut[C, E]:
        NAMES[payload] = name
        KINDS[name] = EffectKind(payload, queue, carry_out, on_give_up, delete, shown)
        return carry_out

    return register


def shown_kinds() -> list[str]:
    """Return the kinds of effects that streams show."""
    return [name for name, kind in KINDS.items() if kind.shown]


F = TypeVar("F", bound=Fact)

# The promises that the change of an actor makes for the facts of a class. Their effects say what the facts say, and are
# carried out if the turn crashes before it has published these.
PromisesOf: TypeAlias = Callable[[Sequence[F], Address], Iterable[Promise]]

PROMISES: dict[type[Fact], PromisesOf[Any]] = {}  # `Any` is the class of the key


def promised_with(kind: type[F]) -> Callable[[PromisesOf[F]], PromisesOf[F]]:
    """Register what changes promise with the facts of a class. Facts for the caches of this process alone have none."""

    def register(promises: PromisesOf[F]) -> PromisesOf[F]:
        PROMISES[kind] = promises
        return promises

    return register


def promises_with(facts: Iterable[Fact], by: Address) -> Iterator[Promise]:
    """Return the promises that the actor at `by` makes with facts."""
    of_class: dict[type[Fact], list[Fact]] = {}
    for fact in facts:
        of_class.setdefault(type(fact), []).append(fact)
    for kind, published in of_class.items():
        if (promises := PROMISES.get(kind)) is not None:
            yield from promises(published, by)


def told_by(account_id: int, effect: Effect) -> Promise:
    """Return a promise by a turn of an account. All these promises of one account are carried out in order."""
    return Promise(effect, f"account/{account_id}", account=account_id)


def account_of(by: Address) -> int:
    """Return the account whose actor is at an address."""
    return int(by.key)


def shard_of(promise: Promise, partition: str) -> int:
    """Return the shard of the account of a promise, 0 to 255."""
    key = partition if promise.account is None else str(promise.account)
    return crc32(key.encode()) % SHARDS
