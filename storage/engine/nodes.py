"""The nodes of a cluster: their rows, how they join, beat, leave and are removed, and the map of shards to nodes.

A node is one process with a name. It lives as long as it raises the `beat` in its row. No clock of PostgreSQL is used,
and no clocks of nodes are compared: each node watches the beats of the others on its own clock. A node that sees a beat
stand still for too long removes the row, if the beat is still the one that it has seen. So of several observers one
wins, and a node that beats again in time stays. The removed node finds no row at its next beat, and must stop.

A transaction of an owner compares the epoch of its shard, which a removal raises. Every other transaction of a node
locks the row of the node. So each commits before the removal, or not at all, however long the process was frozen.

Nodes join, leave, are removed and take shards one at a time: each of these transactions first locks the table `shards`
against the others. Beats and the transactions of owners do not wait for this lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .database import Connection, Row
from .shards import NEW_INCARNATION, PROTOCOL, fair_share

# A read of the map, and an owner that enters a shard, do not wait for this lock.
LOCK_MAP = "LOCK TABLE shards IN SHARE ROW EXCLUSIVE MODE"

FIND = "SELECT name, incarnation, number, beat, draining, joining FROM nodes WHERE name = $1"
FIND_ALL = """
    SELECT name, incarnation, number, beat, draining, joining,
        (SELECT count(*) FROM shards WHERE node = nodes.name) AS shards
    FROM nodes ORDER BY name
"""
# The number of an earlier process with the same name is not free: it may still make ids.
FREE_NUMBER = """
    SELECT free FROM generate_series(0, 62) AS free WHERE free NOT IN (SELECT number FROM nodes) ORDER BY free LIMIT 1
"""
INSERT = f"""
    WITH drawn AS ({NEW_INCARNATION})
    INSERT INTO nodes (name, incarnation, number, beat, protocol, schema, joining)
    SELECT $1, incarnation, $2, 0, $3, (SELECT max(number) FROM schema_migrations), true FROM drawn
    RETURNING incarnation
"""
DELETE = "DELETE FROM nodes WHERE name = $1 AND incarnation = $2 RETURNING true"
DELETE_SILENT = """
    DELETE FROM nodes WHERE name = $1 AND incarnation = $2 AND beat IS NOT DISTINCT FROM $3 RETURNING true
"""
# The node itself is about to be active, if it joins.
FIND_ACTIVE = "SELECT name FROM nodes WHERE NOT draining AND (NOT joining OR incarnation = $1)"
HAS_ROW = "SELECT true FROM nodes WHERE name = $1 AND incarnation = $2"
IS_ACTIVE = "SELECT NOT joining AND NOT draining FROM nodes WHERE name = $1 AND incarnation = $2"
HAS_JOINED = "UPDATE nodes SET joining = false WHERE name = $1 AND incarnation = $2 AND joining"
DRAIN = "UPDATE nodes SET draining = true WHERE name = $1 AND incarnation = $2 RETURNING true"

OWNERS = "SELECT node FROM shards ORDER BY shard"
SHARDS_OF = "SELECT array_agg(shard) FROM shards WHERE node = $1"
TAKE = "SELECT shard, node, epoch FROM take_shards($1::smallint[], $2)"

# All nodes, and the map of the shards if it is not of the version ($3, $4). Every take raises the sum of the epochs,
# and a node that leaves lowers the count of owned shards. There are no rows if the node of `own` has none.
ROWS = """
    version AS (SELECT coalesce(sum(epoch), 0)::bigint AS raised, count(node) AS owned FROM shards)
    SELECT name, incarnation, number, beat, draining, joining, NULL AS shard, NULL AS epoch, raised, owned
    FROM nodes, version WHERE EXISTS (SELECT FROM own)
    UNION ALL
    SELECT node, 0, 0, 0, false, false, shard, epoch, raised, owned FROM shards, version
    WHERE EXISTS (SELECT FROM own) AND (raised, owned) IS DISTINCT FROM ($3::bigint, $4::bigint)
"""
BEAT = f"""
    WITH own AS (UPDATE nodes SET beat = beat + 1 WHERE name = $1 AND incarnation = $2 RETURNING name), {ROWS}
"""
READ = f"WITH own AS (SELECT FROM nodes WHERE name = $1 AND incarnation = $2), {ROWS}"

# The first statement of a transaction of a node that enters no shard. It waits for a removal of the node, and a removal
# waits for the transaction: the row can't be deleted while it is locked. Beats change the row, and do not wait.
ENTER = "SELECT true FROM nodes WHERE incarnation = $1 FOR KEY SHARE"
#: The status of such a statement if the row is gone.
NO_ROW = "SELECT 0"

#: The error of a node that finds no row.
REMOVED = "the other nodes of the cluster have removed this node: start it again"

# As `END_OTHERS` in `term.py`. The connections of a frozen process may be in transactions, for which a take waits.
END_CONNECTIONS = """
    SELECT count(*) FILTER (WHERE NOT pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = $1
"""


class TooManyNodes(Exception):
    """Raised when all numbers of nodes are in use."""


class NodeRow(NamedTuple):
    """The row of a node. The beat of a server that is alone is None."""

    name: str
    incarnation: int
    number: int
    beat: int | None
    draining: bool
    joining: bool

    @property
    def is_active(self) -> bool:
        """True if the node takes shards."""
        return not self.draining and not self.joining


class ShardRow(NamedTuple):
    """A shard, its owner (None if it is free) and its epoch."""

    shard: int
    node: str | None
    epoch: int


Version = tuple[int, int]
#: The version of the map in a process that has not read it.
UNREAD: Version = (-1, -1)


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """All nodes, and the map of the shards with its version. The map is empty if the reader knows this version."""

    nodes: Sequence[NodeRow]
    shards: Sequence[ShardRow]
    version: Version


@dataclass(frozen=True, slots=True)
class Joined:
    """The incarnation and the number of a new node. `replaced` is an earlier process with its name, if it had a row."""

    incarnation: int
    number: int
    replaced: NodeRow | None


def connection_name(name: str, incarnation: int) -> str:
    """Return the `application_name` of the connections of a node in a cluster."""
    return f"troupe/node={name}/{incarnation}"


def begin_as(incarnation: int) -> str:
    """Return the statements that begin a transaction of a node, in one round trip. The last one finds its row."""
    return f"BEGIN; {ENTER.replace('$1', f'{incarnation:d}')}"


async def find(db: Connection, name: str) -> NodeRow | None:
    """Return the row of the process with a name."""
    row = await db.fetchrow(FIND, name)
    return NodeRow(*row.values()) if row else None


async def find_all(db: Connection) -> list[tuple[NodeRow, int]]:
    """Return all nodes in the order of their names, each with the number of its shards."""
    rows = await db.fetch(FIND_ALL)
    return [(NodeRow(*[row[name] for name in NodeRow._fields]), row["shards"]) for row in rows]


async def join(db: Connection, name: str) -> Joined:
    """Insert the row of a new node, which takes no shards yet.

    An earlier process with its name is removed, and its shards are free. Waits for the transactions of that process.
    """
    await db.execute(LOCK_MAP)
    number = await db.fetchval(FREE_NUMBER)
    if number is None:
        raise TooManyNodes("the cluster has 63 nodes already: stop one of them first")
    replaced = await find(db, name)
    if replaced is not None:
        await _take(db, await db.fetchval(SHARDS_OF, name), None)
        await db.fetchval(DELETE, name, replaced.incarnation)
    return Joined(await db.fetchval(INSERT, name, number, PROTOCOL), number, replaced)


async def beat(db: Connection, name: str, incarnation: int, known: Version) -> ClusterRows | None:
    """Raise the beat of a node, and return the rows of the cluster. None if the node has no row any more."""
    return _rows(await db.fetch(BEAT, name, incarnation, *known))


async def read(db: Connection, name: str, incarnation: int, known: Version) -> ClusterRows | None:
    """Return the rows of the cluster as `beat` does, without a beat."""
    return _rows(await db.fetch(READ, name, incarnation, *known))


async def take_share(db: Connection, name: str, incarnation: int) -> list[ShardRow] | None:
    """Take the shards that an active node lacks, and return them. None if the node has no row any more.

    Waits for the transactions of their owners. A node that joins becomes active with its first share. A node that
    drains takes nothing.
    """
    await db.execute(LOCK_MAP)
    if not await db.fetchval(HAS_ROW, name, incarnation):
        return None
    active = [row["name"] for row in await db.fetch(FIND_ACTIVE, incarnation)]
    owners = [row["node"] for row in await db.fetch(OWNERS)]
    taken = await _take(db, fair_share(name, owners, active), name)
    # Last: the beats of the node would wait for a row that it has changed.
    await db.execute(HAS_JOINED, name, incarnation)
    return taken


async def remove(db: Connection, silent: NodeRow, name: str, incarnation: int) -> list[ShardRow] | None:
    """Remove a node whose beat stands still, and take its shards for the node that removes it.

    Return these shards; None if the silent node has beaten meanwhile, or either of the two has no row any more. Waits
    for the transactions of the silent node. Its shards stay free if the other node is not active.
    """
    await db.execute(LOCK_MAP)
    is_active = await db.fetchval(IS_ACTIVE, name, incarnation)
    left = await db.fetchval(SHARDS_OF, silent.name)
    if is_active is None or not await db.fetchval(DELETE_SILENT, silent.name, silent.incarnation, silent.beat):
        return None
    return await _take(db, left, name if is_active else None)


async def drain(db: Connection, name: str, incarnation: int) -> bool:
    """Let the other nodes take the shards of a node. False if it has no row any more."""
    return bool(await db.fetchval(DRAIN, name, incarnation))


async def leave(db: Connection, name: str, incarnation: int) -> bool:
    """Delete the row of a node that stops. The shards that it has are free. False if it has no row any more.

    Waits for the transactions of the node, so that the other nodes read their rows when they find its row deleted.
    """
    await db.execute(LOCK_MAP)
    if not await db.fetchval(HAS_ROW, name, incarnation):
        return False
    await _take(db, await db.fetchval(SHARDS_OF, name), None)
    return bool(await db.fetchval(DELETE, name, incarnation))


async def end_connections(db: Connection, name: str, incarnation: int) -> None:
    """End the connections of a node, so that its open transactions are rolled back."""
    await db.fetchval(END_CONNECTIONS, connection_name(name, incarnation))


async def _take(db: Connection, shards: Sequence[int] | None, taker: str | None) -> list[ShardRow]:
    return [ShardRow(*row.values()) for row in await db.fetch(TAKE, shards, taker)] if shards else []


def _rows(rows: Sequence[Row]) -> ClusterRows | None:
    if not rows:
        return None
    # Sorted, because all that follows from their order must be the same when a simulated run is played again.
    nodes = sorted(NodeRow(*[row[name] for name in NodeRow._fields]) for row in rows if row["shard"] is None)
    shards = [ShardRow(row["shard"], row["name"], row["epoch"]) for row in rows if row["shard"] is not None]
    nodes.sort(key=lambda row: row.number)  # the order of rows without ORDER BY differs between equal simulations
    return ClusterRows(nodes, shards, (rows[0]["raised"], rows[0]["owned"]))
