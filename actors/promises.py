"""Promises: what a transaction writes into the outbox, to be carried out after the commit.

The payload of a promise names what changed, never how. It is carried out from the rows as they are then, so that it may
be carried out late, twice, or out of order. It is a fact to publish (`facts/`) or another effect (`effects/`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Self
from zlib import crc32

from ..storage.engine.json_values import JsonObject
from .kernel.codec import of_row, to_row

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


def shard_of(promise: Promise, partition: str) -> int:
    """Return the shard of the account of a promise, 0 to 255."""
    key = partition if promise.account is None else str(promise.account)
    return crc32(key.encode()) % SHARDS
