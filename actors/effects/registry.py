"""The common parts of effects: their context, their queues, and the table by which a relay carries them out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ...storage import outbox
from ...storage.engine.database import Connection, Database
from ...storage.files import Folder
from ..facts.fact import Facts
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


KINDS: dict[str, EffectKind] = {}
NAMES: dict[type[Effect], str] = {}  # kinds by payload


def carries_out(
    name: str,
    payload: type[E],
    queue: EffectQueue[C],
    on_give_up: OnGiveUp[E] | None = None,
    *,
    delete: DeleteDone = outbox.delete_claimed,
) -> Callable[[CarryOut[C, E]], CarryOut[C, E]]:
    """Register a payload with its queue and the function that carries it out. `name` is the kind in the rows.

    The function may return what is to be written in the transaction that deletes the row; `on_give_up` is called in
    that transaction for an effect that is given up. So both are written exactly once, also after a crash. What can be
    written for many effects at once, by the statement that deletes their rows, has a `delete` of its own instead.
    """

    def register(carry_out: CarryOut[C, E]) -> CarryOut[C, E]:
        NAMES[payload] = name
        KINDS[name] = EffectKind(payload, queue, carry_out, on_give_up, delete)
        return carry_out

    return register
