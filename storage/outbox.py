"""The outbox: effects that transactions have queued, until a relay has run them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from .engine.database import Connection, Row, replaced
from .engine.json_values import JsonObject
from .engine.sql import Statement

# The group of a row, as the index `outbox_groups` has it. Groups sort as Python sorts their names.
GROUP = 'coalesce(group_key, partition_key) COLLATE "C"'
# Rows read of a group, in multiples of the rows wanted of it, so that they are of several partitions.
READ_AHEAD = 10
#: The end of a claim of a node of a cluster. It is released by the node, or in the transaction that deletes its row.
NO_END = datetime(9999, 1, 1, tzinfo=UTC)

# Without a time an effect is due at once, also by the clock of another node: the clocks of two nodes differ less than
# two minutes. Causes are stored as JSON texts: an array of arrays would have to be rectangular.
INSERT_EFFECTS = """
    INSERT INTO outbox
        (id, queue, kind, partition_key, group_key, shard, payload, due_at, request_id, causes, trace, created_at)
    SELECT id, queue, kind, key, group_key, shard, payload,
        coalesce(due_at, :now::timestamptz - interval '2 minutes'), request_id,
        ARRAY(SELECT jsonb_array_elements_text(causes::jsonb)), trace, :now
    FROM unnest(
        :effect_ids::bigint[], :queues::text[], :kinds::text[], :keys::text[], :groups::text[], :shards::smallint[],
        :payloads::jsonb[], :due_times::timestamptz[], :request_ids::text[], :cause_lists::text[],
        :traces::text[]
    ) AS new (id, queue, kind, key, group_key, shard, payload, due_at, request_id, causes, trace)
"""
INSERT_MANY = Statement(INSERT_EFFECTS)

# In order within a partition: a row waits while an older row of its partition waits for another try, or is run by a
# relay. The first row of each group comes first, so that no group keeps other groups out. Within a group the first row
# of each partition comes first, so that no partition keeps other partitions of its group out.
#
# A backlog may be long, so it is not sorted: the recursion steps from group to group, and of each group its oldest rows
# are read. It starts after the group $5, and ends with as many rows as are looked at. Two equalities are written as
# BETWEEN, with the column in ORDER BY: then only the index that begins with it has that order. With `=` PostgreSQL may
# walk the primary key instead, which is as long as the table. Rows that are older than their shard are in shard 0.
DUE = f"""
    WITH RECURSIVE groups AS (
        SELECT $5::text COLLATE "C" AS name
        UNION ALL
        SELECT (
            SELECT {GROUP} FROM outbox WHERE queue = $2 AND {GROUP} > groups.name AND due_at <= $1
            ORDER BY {GROUP} LIMIT 1
        ) FROM groups WHERE groups.name IS NOT NULL
    ), looked_at AS (
        SELECT ready.*, groups.name AS group_name FROM groups CROSS JOIN LATERAL (
            SELECT oldest.*, row_number() OVER (ORDER BY turn, id) AS place FROM (
                SELECT free.*, row_number() OVER (PARTITION BY key ORDER BY id) AS turn FROM (
                    SELECT id, kind, partition_key AS key, payload, request_id, causes, trace, attempts,
                        created_at, tried
                    FROM outbox
                    WHERE queue = $2 AND {GROUP} BETWEEN groups.name AND groups.name AND due_at <= $1
                    AND (claimed_until IS NULL OR claimed_until <= $1) AND id <> ALL($3::bigint[])
                    AND ($8::smallint[] IS NULL OR coalesce(shard, 0) = ANY($8::smallint[]))
                    AND (
                        SELECT true FROM outbox older
                        WHERE older.partition_key BETWEEN outbox.partition_key AND outbox.partition_key
                        AND older.id < outbox.id AND (older.due_at > $1 OR older.claimed_until > $1)
                        ORDER BY older.partition_key, older.id LIMIT 1
                    ) IS NULL
                    ORDER BY {GROUP}, id LIMIT $6 * {READ_AHEAD}
                ) free
            ) oldest
            ORDER BY turn, id LIMIT $6
        ) ready
        WHERE groups.name > $5 AND groups.name <> ALL($4::text[])
        LIMIT $6 * $7
    )
    SELECT id, kind, key, group_name AS group, payload, request_id, causes, trace, attempts, created_at, tried
    FROM looked_at ORDER BY place, id LIMIT $7
"""

# Rows that another relay is claiming at this moment are left to it. The CTE is materialized because rows must be locked
# once, however the UPDATE is planned.
CLAIM = """
    WITH free AS MATERIALIZED (
        SELECT id FROM outbox
        WHERE id = ANY($1::bigint[]) AND due_at <= $3 AND (claimed_until IS NULL OR claimed_until <= $3)
        FOR UPDATE SKIP LOCKED
    )
    UPDATE outbox SET claimed_by = $2, claimed_until = $4, tried = true FROM free WHERE outbox.id = free.id
    RETURNING outbox.id
"""

RENEW = """
    UPDATE outbox SET claimed_until = $4
    WHERE id = ANY($1::bigint[]) AND claimed_by = $2 AND claimed_until > $3 RETURNING id
"""

RELEASE_ALL = "UPDATE outbox SET claimed_by = NULL, claimed_until = NULL WHERE claimed_by IS NOT NULL"

LIMIT_ALL = "UPDATE outbox SET claimed_until = $1 WHERE claimed_until > $1"

# The number of the node is in the id of its relay (`actors/kernel/clock.py`).
RELEASE_OF = """
    UPDATE outbox SET claimed_by = NULL, claimed_until = NULL WHERE claimed_by >> 10 & 63 = $1 AND claimed_by < $2
"""

RELEASE = """
    UPDATE outbox SET claimed_by = NULL, claimed_until = NULL, tried = tried AND id <> ALL($3::bigint[])
    WHERE id = ANY($1::bigint[]) AND claimed_by = $2
"""

LEFT_BY = """
    SELECT id, kind, partition_key AS key, coalesce(group_key, partition_key) AS group, payload, request_id, causes,
        trace, attempts, created_at, tried
    FROM outbox WHERE partition_key = $1 AND due_at <= $2 AND id <> ALL($3::bigint[]) ORDER BY id
"""

# Facts of the actors of accounts and lists, whose partitions are their addresses. The index has the groups in the order
# of their bytes.
FACTS_OF = f"""
    SELECT coalesce(shard, 0) AS shard, id FROM unnest('{{account/,list/}}'::text[]) AS kind (beginning)
    CROSS JOIN LATERAL (
        SELECT shard, id FROM outbox
        WHERE queue = $1 AND {GROUP} >= beginning AND {GROUP} < beginning || chr(127)
        AND coalesce(shard, 0) = ANY($2::smallint[])
    ) AS facts
"""

STILL_THERE = "SELECT id FROM outbox WHERE id = ANY($1::bigint[])"

COUNT_GROUP = f"""
    SELECT count(*) FROM (
        SELECT FROM outbox WHERE queue = $1 AND {GROUP} BETWEEN $2 AND $2 ORDER BY {GROUP} LIMIT $3
    ) AS counted
"""

# The index has the groups in the order of their bytes.
COUNT_GROUPS = f"""
    SELECT count(*) FROM (
        SELECT FROM outbox WHERE queue = $1 AND {GROUP} >= $2 AND {GROUP} < $2 || chr(127) ORDER BY {GROUP} LIMIT $3
    ) AS counted
"""

WAITS = """
    SELECT true FROM outbox WHERE partition_key BETWEEN $1 AND $1 AND claimed_until IS NULL
    ORDER BY partition_key, id LIMIT 1
"""

EXISTS = "SELECT EXISTS (SELECT FROM outbox WHERE partition_key = $1)"

UNDER = "SELECT id, payload FROM outbox WHERE partition_key = $1 ORDER BY id LIMIT $2"

DELETE_OLDER = """
    DELETE FROM outbox
    WHERE id = ANY(ARRAY(SELECT id FROM outbox WHERE queue = $1 AND created_at < $2 ORDER BY id LIMIT $3)) RETURNING id
"""
DELETE_MANY = "DELETE FROM outbox WHERE id = ANY($1::bigint[])"

FORGET = "DELETE FROM outbox WHERE partition_key = $1"

# A row that another relay has claimed meanwhile is left to it, here and below.
DELETE_CLAIMED = """
    DELETE FROM outbox WHERE id = ANY($1::bigint[]) AND (claimed_by IS NULL OR claimed_by = $2) RETURNING id
"""

FAIL = """
    UPDATE outbox SET attempts = attempts + 1, due_at = $3, error = left($4, 2000), claimed_by = NULL,
        claimed_until = NULL
    WHERE id = $1 AND (claimed_by IS NULL OR claimed_by = $2)
"""

DEFER = """
    UPDATE outbox SET due_at = $3, error = left($4, 2000), claimed_by = NULL, claimed_until = NULL, tried = $5
    WHERE id = $1 AND (claimed_by IS NULL OR claimed_by = $2)
"""


@dataclass(frozen=True, slots=True)
class NewEffect:
    """An effect to run after commit. Effects with the same `key` run in order. Without `due_at` it is due at once.

    The relay limits how many effects of a group run at the same time. Without `group`, the key is the group.
    """

    id: int
    queue: str
    kind: str
    key: str
    payload: JsonObject
    due_at: datetime | None = None
    request_id: str | None = None
    causes: tuple[str, ...] = ()
    group: str | None = None
    shard: int | None = None
    trace: str | None = None  # the span that queues it


@dataclass(frozen=True, slots=True)
class StoredEffect:
    """An effect as its row has it."""

    id: int
    kind: str
    key: str
    payload: JsonObject
    request_id: str | None
    causes: tuple[str, ...]
    attempts: int
    created_at: datetime
    group: str


@dataclass(frozen=True, slots=True)
class DueEffect(StoredEffect):
    """An effect that is due, possibly after failed tries."""

    trace: str | None = None
    tried: bool = False  # a relay has begun with it before, and may have completed it


async def insert_many(db: Connection, effects: Sequence[NewEffect], now: datetime) -> None:
    """Queue effects in the transaction that causes them."""
    if effects:
        await db.execute(*INSERT_MANY.bind(None, **values_of(effects), now=now))


def values_of(effects: Sequence[NewEffect]) -> dict[str, list[object]]:
    """Return the parameters of INSERT_EFFECTS, without the time."""
    return {
        "effect_ids": [effect.id for effect in effects],
        "queues": [effect.queue for effect in effects],
        "kinds": [effect.kind for effect in effects],
        "keys": [effect.key for effect in effects],
        "groups": [effect.group for effect in effects],
        "shards": [effect.shard for effect in effects],
        "payloads": [effect.payload for effect in effects],
        "due_times": [effect.due_at for effect in effects],
        "request_ids": [effect.request_id for effect in effects],
        "cause_lists": [orjson.dumps(effect.causes).decode() for effect in effects],
        "traces": [effect.trace for effect in effects],
    }


async def due(
    db: Connection,
    now: datetime,
    queue: str,
    *,
    exclude_ids: Collection[int] = (),
    exclude_groups: Collection[str] = (),
    after: str = "",
    of_a_group: int,
    limit: int,
    shards: Sequence[int] | None = None,
) -> list[DueEffect]:
    """Return effects of a queue that no relay has claimed: at most `of_a_group` of each group, the oldest first.

    Only groups whose names sort after `after` are read. If fewer than `limit` are returned, all groups were read. With
    `shards` only effects of these shards are returned.
    """
    rows = await db.fetch(
        DUE, now, queue, list(exclude_ids), list(exclude_groups), after, of_a_group, limit, shards
    )  # fmt: skip
    return [_effect(row) for row in rows]


async def claim(db: Connection, ids: Collection[int], relay: int, now: datetime, until: datetime) -> set[int]:
    """Claim effects for a relay, `until` a time, unless they are not due or claimed already. Return the claimed ids."""
    return {row["id"] for row in await db.fetch(CLAIM, list(ids), relay, now, until)}


async def renew(db: Connection, ids: Collection[int], relay: int, now: datetime, until: datetime) -> set[int]:
    """Prolong the claims that a relay still holds. Return their ids."""
    return {row["id"] for row in await db.fetch(RENEW, list(ids), relay, now, until)}


async def release(db: Connection, ids: Collection[int], relay: int, unattempted: Collection[int] = ()) -> None:
    """End the claims of a relay on effects that it has not run. No relay has ever begun with `unattempted` effects."""
    await db.execute(RELEASE, list(ids), relay, list(unattempted))


async def release_all(db: Connection) -> None:
    """End all claims: their relays have died."""
    await db.execute(RELEASE_ALL)


async def limit_all(db: Connection, until: datetime) -> None:
    """Let all claims end at a time, or before. Those of nodes of a cluster have no end."""
    await db.execute(LIMIT_ALL, until)


async def release_of(db: Connection, number: int, before_id: int) -> None:
    """End the claims of a node that has died, by its number. Claims of relays with later ids stay.

    The number of a node that has died is free: the node that gets it draws higher ids.
    """
    await db.execute(RELEASE_OF, number, before_id)


async def delete_claimed(db: Connection, ids: Collection[int], relay: int) -> set[int]:
    """Delete effects that a relay has run. Return the ids of the deleted effects.

    Effects that another relay has claimed meanwhile stay. Effects that were withdrawn are gone already.
    """
    return {row["id"] for row in await db.fetch(DELETE_CLAIMED, list(ids), relay)}


async def left_by(db: Connection, key: str, now: datetime, exclude_ids: Collection[int] = ()) -> list[DueEffect]:
    """Return the due effects of one partition, oldest first, without those in progress."""
    rows = await db.fetch(LEFT_BY, key, now, list(exclude_ids))
    return [_effect(row) for row in rows]


async def facts_of(db: Connection, queue: str, shards: Sequence[int]) -> dict[int, set[int]]:
    """Return the ids of the facts of actors that are not published, by the shard of the actor."""
    found: dict[int, set[int]] = {}
    for row in await db.fetch(FACTS_OF, queue, shards):
        found.setdefault(row["shard"], set()).add(row["id"])
    return found


async def still_there(db: Connection, ids: Collection[int]) -> set[int]:
    """Return the ids of effects that are not done."""
    return {row["id"] for row in await db.fetch(STILL_THERE, list(ids))}


async def count_group(db: Connection, queue: str, group: str, most: int) -> int:
    """Return the number of waiting effects of a group, counted up to `most`."""
    return await db.fetchval(COUNT_GROUP, queue, group, most)


async def count_groups(db: Connection, queue: str, beginning: str, most: int) -> int:
    """Return the number of waiting effects of groups whose names have this beginning (ASCII), counted up to `most`."""
    return await db.fetchval(COUNT_GROUPS, queue, beginning, most)


async def waits(db: Connection, key: str) -> bool:
    """True if an effect with this key waits and is not running."""
    return await db.fetchval(WAITS, key) is not None


async def exists(db: Connection, key: str) -> bool:
    """True if an effect with this key exists, waiting or running."""
    return await db.fetchval(EXISTS, key)


async def under(db: Connection, key: str, limit: int) -> list[tuple[int, JsonObject]]:
    """Return the ids and payloads of the first effects with this key, waiting or running."""
    return [(row["id"], row["payload"]) for row in await db.fetch(UNDER, key, limit)]


async def delete_older(db: Connection, queue: str, before: datetime, limit: int) -> list[int]:
    """Delete effects of a queue that were queued before a time. Return their ids."""
    return [row["id"] for row in await db.fetch(DELETE_OLDER, queue, before, limit)]


async def delete_many(db: Connection, ids: Sequence[int]) -> None:
    """Delete effects that are done."""
    await db.execute(DELETE_MANY, ids)


async def forget(db: Connection, key: str) -> None:
    """Delete the effects with this key, because they must not run, or at another time."""
    await db.execute(FORGET, key)


async def fail(db: Connection, id: int, relay: int, due_at: datetime, error: str) -> None:
    """Count a failed try, defer the effect until the next try, and end the claim."""
    await db.execute(FAIL, id, relay, due_at, error)


async def defer(db: Connection, id: int, relay: int, due_at: datetime, error: str, *, tried: bool = False) -> None:
    """Defer an effect that was not tried now, and end the claim. It may have been `tried` before."""
    await db.execute(DEFER, id, relay, due_at, error, tried)


def _effect(row: Row) -> DueEffect:
    return DueEffect(**replaced(row, causes=tuple(row["causes"])))
