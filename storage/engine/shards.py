"""The shards of accounts, and the epochs in which this process may write to them.

An account belongs to one of 256 shards by its id, and a list to the shard of its owner. One node writes the rows of a
shard. When another node takes the shard it raises the epoch in the table `shards`. Each transaction of the owner
compares the epoch while it holds a lock for which a takeover waits (`enter_shard` in migration 79). A node that was
taken over can therefore commit nothing more, also if it was frozen, or cut off from PostgreSQL, or in the middle of a
COMMIT.

A node that is alone takes all shards when its term begins (`term.py`).
"""

from __future__ import annotations

from zlib import crc32

from .database import Connection, Entering, NotOwner

SHARDS = 256

#: The SQLSTATE with which `enter_shard` refuses an epoch.
MOVED = "TR001"

# The versions of the messages between nodes that this node understands.
PROTOCOL = 1

# The number in the ids of a node that is alone. Commands have the highest number.
NUMBER = 0

#: A condition for a statement that is a transaction by itself.
ENTER = "SELECT enter_shard(:shard, :epoch)"

KEEP_NODE = """
    INSERT INTO nodes (name, incarnation, number, protocol, schema)
    SELECT $1, term, $2, $3, (SELECT max(number) FROM schema_migrations) FROM node
    ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, number = excluded.number, address = NULL,
        lease_until = NULL, draining = false, protocol = excluded.protocol, schema = excluded.schema
"""
FORGET_OTHERS = "DELETE FROM nodes WHERE name <> $1"
TAKE_ALL = "SELECT shard, epoch FROM take_shards((SELECT array_agg(shard) FROM shards), $1)"


def begin_in(entering: Entering) -> str:
    """Return the statements that begin a transaction of the shard's owner, in one round trip."""
    shard, epoch = entering
    return f"BEGIN; SELECT enter_shard({shard:d}::smallint, {epoch:d})"


class Epochs:
    """The epochs in which this process owns the shards."""

    def __init__(self, epochs: dict[int, int]) -> None:
        self._entering: list[Entering] = [(shard, epochs.get(shard, -1)) for shard in range(SHARDS)]

    def entering(self, shard: int) -> Entering:
        """Return how a transaction enters a shard. PostgreSQL refuses the shard of another node."""
        return self._entering[shard]


#: The epochs of a database that no node has used yet.
UNOWNED = Epochs(dict.fromkeys(range(SHARDS), 0))


def shard_of(key: str | int) -> int:
    """Return the shard of an account id, 0 to 255: the CRC-32 of its decimal digits, modulo 256."""
    return crc32(str(key).encode()) % SHARDS


async def take_all(db: Connection, node: str) -> Epochs:
    """Take all shards for the only node, in a transaction. Wait for the transactions of earlier owners."""
    await db.execute(FORGET_OTHERS, node)
    await db.execute(KEEP_NODE, node, NUMBER, PROTOCOL)
    return Epochs({row["shard"]: row["epoch"] for row in await db.fetch(TAKE_ALL, node)})


def moved(error: BaseException) -> NotOwner | None:
    """Return the error for a caller if another node owns the shard that a transaction has entered."""
    return NotOwner(str(error)) if getattr(error, "sqlstate", None) == MOVED else None
