"""What all effects share: payloads, promises, and the table in which the relay looks up how an effect is carried out.

An effect names what changed, never how. It is carried out from the rows as they are then, so that it may be carried out
late, twice, or out of order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from ...storage.engine.database import Connection, Database
from ..broadcast import Broadcast
from ..kernel import Clock, Ids, Origin, Runtime
from ..statuses import AccountCache, StatusCache


class Effect:
    """Base of the payloads, which are frozen dataclasses. Their fields are the keys of the row's JSON object."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]  # each is a dataclass

    @property
    def crowding(self) -> int | None:
        """The id of the status that this puts into timelines: the relay waits until they have room for it."""
        return None

    def as_row(self) -> dict[str, Any]:
        """Return the payload as an outbox row stores it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the payload of an outbox row. Keys of another version of the server are left out."""
        known = {field.name: _frozen(row[field.name]) for field in fields(cls) if field.name in row}
        return cls(**known)


E = TypeVar("E", bound=Effect)


def _frozen(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Promise:
    """An effect to write into the outbox. Effects of one partition keep their order; None is a partition of its own.

    Without a time it is due at once.
    """

    effect: Effect
    partition: str | None = None
    due_at: datetime | None = None


class Promises(Protocol):
    """The part of the outbox that effects use."""

    async def promise(self, db: Connection, promises: Sequence[Promise], origin: Origin) -> list[int]: ...

    def wake(self) -> None: ...


FileRemover = Callable[[Sequence[str]], Awaitable[None]]  # takes names of files in the media folder


@dataclass(frozen=True, slots=True)
class EffectContext:
    """What effects are carried out with. Where no files are kept, there are none to remove."""

    database: Database
    clock: Clock
    ids: Ids
    runtime: Runtime
    accounts: AccountCache
    statuses: StatusCache
    broadcast: Broadcast
    outbox: Promises
    remove_files: FileRemover | None


CarryOut = Callable[[EffectContext, E, Origin], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EffectKind:
    """A kind of rows in the outbox: the class of their payloads, and how the relay carries them out."""

    payload: type[Effect]
    carry_out: CarryOut[Any]


KINDS: dict[str, EffectKind] = {}
NAMES: dict[type[Effect], str] = {}  # kinds by payload


def kind(name: str, payload: type[Effect]) -> None:
    """Register the payload of a kind that has a relay of its own."""
    NAMES[payload] = name


def carries_out(name: str, payload: type[E]) -> Callable[[CarryOut[E]], CarryOut[E]]:
    """Register a payload with the function that carries it out. `name` is the kind in the rows."""

    def register(carry_out: CarryOut[E]) -> CarryOut[E]:
        kind(name, payload)
        KINDS[name] = EffectKind(payload, carry_out)
        return carry_out

    return register


def author_partition(account_id: int) -> str:
    """The partition of what an account's turns promise: its effects are carried out in order."""
    return f"account/{account_id}"
