"""Promises: the rows that a transaction writes into the outbox, to be executed after the commit.

The payload of a promise names the changed object and not the change. It is executed from the rows as they are then, so
that it may be executed late, twice, or out of order. It is a fact to publish (`facts/`) or another effect (`effects/`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from ..storage.engine.json_values import JsonObject
from .kernel.codec import of_row, to_row


class Effect:
    """Base of the payloads, which are frozen dataclasses. Their fields are the keys of the row's JSON object."""

    __slots__ = ()

    @property
    def status_for_timelines(self) -> int | None:
        """The id of the status that this effect adds to timelines: the relay waits until they have room for it."""
        return None

    def as_row(self) -> JsonObject:
        """Return the payload as an outbox row stores it."""
        return to_row(self)

    @classmethod
    def of_row(cls, row: JsonObject) -> Self:
        """Return the payload of an outbox row. Keys of another version of the server are ignored."""
        return of_row(cls, row)


@dataclass(frozen=True, slots=True)
class Promise:
    """An effect to write into the outbox. Without `due_at` it is due at once.

    Effects of a partition keep their order; None is a partition of its own. A queue limits how many effects of a group
    are executed at the same time; without a group the partition is the group. `account` is the id of the account
    that decides the shard of the effect (`storage/engine/shards.py`); without an account the partition decides it.
    The facts of a turn have the shard of its actor instead (`change.py`).
    """

    effect: Effect
    partition: str | None = None
    due_at: datetime | None = None
    account: int | None = None
    group: str | None = None
