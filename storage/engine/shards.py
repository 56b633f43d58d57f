"""The shards of accounts, and the epochs in which this process may write to them.

An account belongs to one of 256 shards by its id, and a list to the shard of its owner. One node writes the rows of a
shard. When another node takes the shard it raises the epoch in the table `shards`. Each transaction of the owner
compares the epoch while it holds a lock for which a takeover waits (`enter_shard` in migration 79). A node that was
taken over can therefore commit nothing more, also if it was frozen, or cut off from PostgreSQL, or in the middle of a
COMMIT.

A server that is alone takes all shards when its term begins (`term.py`). The nodes of a cluster share them evenly
(`nodes.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from zlib import crc32

from .database import Connection, Entering, NotOwner

SHARDS = 256

#: The SQLSTATE with which `enter_shard` refuses an epoch.
MOVED = "TR001"

#: The version of the messages between nodes that this node understands.
PROTOCOL = 1

# The epoch of a shard of another node, which PostgreSQL always refuses.
NOT_OWNED = -1

# The number in the ids of a node that is alone. Commands have the highest number.
NUMBER = 0

#: A condition for a statement that is a transaction by itself.
ENTER = "SELECT enter_shard(:shard, :epoch)"

#: Draw the incarnation of a process. It is the term, unless nodes of a cluster have drawn as many.
NEW_INCARNATION = "UPDATE node SET incarnation = greatest(incarnation + 1, term) RETURNING incarnation"

KEEP_NODE = f"""
    WITH drawn AS ({NEW_INCARNATION})
    INSERT INTO nodes (name, incarnation, number, protocol, schema)
    SELECT $1, incarnation, $2, $3, (SELECT max(number) FROM schema_migrations) FROM drawn
    ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, number = excluded.number, address = NULL,
        beat = NULL, draining = false, protocol = excluded.protocol, schema = excluded.schema, joining = false
"""
FORGET_OTHERS = "DELETE FROM nodes WHERE name <> $1"
# A row that was deleted by hand comes back. Its new epoch is later than any that it had: each term takes a shard once.
INSERT_MISSING = f"""
    INSERT INTO shards (shard, epoch)
    SELECT shard, greatest((SELECT term FROM node), (SELECT max(epoch) FROM shards))
    FROM generate_series(0, {SHARDS - 1}) AS shard ON CONFLICT DO NOTHING
"""
TAKE_ALL = "SELECT shard, epoch FROM take_shards((SELECT array_agg(shard) FROM shards), $1)"
FORGET_ALL = "DELETE FROM nodes"
STORED = "SELECT shard, epoch FROM shards"


def begin_in(entering: Entering) -> str:
    """Return the statements that begin a transaction of the shard's owner, in one round trip."""
    shard, epoch = entering
    return f"BEGIN; SELECT enter_shard({shard:d}::smallint, {epoch:d})"


class Epochs:
    """The epochs in which this process owns the shards. They change while a node of a cluster runs."""

    def __init__(self, epochs: dict[int, int]) -> None:
        self._entering: list[Entering] = [(shard, epochs.get(shard, NOT_OWNED)) for shard in range(SHARDS)]
        self._taken: set[int] = set()
        #: The incarnation of this node of a cluster, which its transactions outside of shards compare. None until it
        #: has joined, and for a server that is alone.
        self.incarnation: int | None = None

    def __iter__(self) -> Iterator[int]:
        """Iterate over the epochs in the order of their shards. The epoch of another node's shard is -1."""
        return (epoch for _, epoch in self._entering)

    def entering(self, shard: int) -> Entering:
        """Return a shard and its epoch. PostgreSQL refuses the epoch of another node's shard."""
        return self._entering[shard]

    def put(self, shard: int, epoch: int) -> None:
        """Own a shard, which this process has taken in this epoch."""
        self._entering[shard] = (shard, epoch)
        self._taken.add(shard)

    def lose(self, shard: int) -> None:
        """Own a shard no longer: another node has taken it, or this node has left."""
        self._entering[shard] = (shard, NOT_OWNED)
        self._taken.discard(shard)

    def owns(self, shard: int) -> bool:
        return self._entering[shard][1] != NOT_OWNED

    def took(self, shard: int) -> bool:
        """True if this process has taken the shard while it ran, and the former owner may have left work undone."""
        return shard in self._taken

    @property
    def taken(self) -> list[Entering]:
        """The shards for which `took` is true, in their order, with their epochs."""
        return [self._entering[shard] for shard in sorted(self._taken)]

    def settle(self, taken: Entering) -> None:
        """Note that no work of the former owner of a shard is left, unless the shard was taken again since."""
        if self._entering[taken[0]] == taken:
            self._taken.discard(taken[0])


#: The epochs of a database that no node has used yet.
UNOWNED = Epochs(dict.fromkeys(range(SHARDS), 0))


def shard_of(key: str | int) -> int:
    """Return the shard of an account id, 0 to 255: the CRC-32 of its decimal digits, modulo 256."""
    return crc32(str(key).encode()) % SHARDS


def fair_share(taker: str, owners: Sequence[str | None], active: Collection[str]) -> list[int]:
    """Return the shards that a node must take, so that all active nodes have the same number of shards, give or take 1.

    `owners` are the owners of all shards, in their order. Free shards and those of inactive nodes are taken first, then
    those of the nodes that have more than their share. The first nodes by name have one more than the others, so that
    the shares depend on nothing but the names: when each node has taken its share once, all are right.
    """
    if taker not in active:
        return []
    owned: dict[str | None, list[int]] = {name: [] for name in active}
    free: list[int] = []
    for shard, owner in enumerate(owners):
        owned.get(owner, free).append(shard)
    base, extra = divmod(len(owners), len(active))
    shares = {name: base + (place < extra) for place, name in enumerate(sorted(active))}
    offered = free + [shard for name, share in shares.items() for shard in owned[name][share:]]
    return offered[: max(shares[taker] - len(owned[taker]), 0)]


async def take_all(db: Connection, node: str) -> Epochs:
    """Take all shards for the only node, in a transaction. Wait for the transactions of earlier owners.

    Rows that were changed or deleted by hand are repaired, so that a restart is enough after such a change.
    """
    await db.execute(FORGET_OTHERS, node)
    await db.execute(KEEP_NODE, node, NUMBER, PROTOCOL)
    await db.execute(INSERT_MISSING)
    return Epochs({row["shard"]: row["epoch"] for row in await db.fetch(TAKE_ALL, node)})


async def free_all(db: Connection) -> None:
    """Free all shards for the nodes of a cluster, in a transaction of the first one. No other process writes."""
    await db.execute(FORGET_ALL)
    await db.execute(INSERT_MISSING)
    await db.fetch(TAKE_ALL, None)


async def count_lost(db: Connection, epochs: Sequence[object]) -> int:
    """Return the number of shards that a process with these epochs seems to own, and PostgreSQL refuses to it."""
    stored = {row["shard"]: row["epoch"] for row in await db.fetch(STORED)}
    return sum(stored.get(shard) != epoch for shard, epoch in enumerate(epochs) if epoch != NOT_OWNED)


def moved(error: BaseException) -> NotOwner | None:
    """Return the error for a caller if another node owns the shard that a transaction has entered."""
    return NotOwner(str(error)) if getattr(error, "sqlstate", None) == MOVED else None
