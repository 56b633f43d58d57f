"""The activities that were received, so that exact repeats are dropped. The activities themselves are in the outbox.

Of a Follow, and of what else can be done again, each request is remembered. Of a Follow it is also remembered under its
id that it came, and of an Undo under its content that it was applied.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from .. import outbox
from ..engine.database import Connection
from ..engine.sql import Statement

INSERT = """
    INSERT INTO received_activities (digest, received_at) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING
    RETURNING digest
"""

# Remembers an activity and queues the effect that applies it, unless effects wait under a key. The equality is written
# as BETWEEN, as in `outbox.py`.
TAKE_UP = Statement(f"""
    WITH waiting AS MATERIALIZED (
        SELECT true AS is_first FROM outbox WHERE partition_key BETWEEN :key AND :key ORDER BY partition_key, id LIMIT 1
    ), fresh AS (
        INSERT INTO received_activities (digest, received_at)
        SELECT :digest::bytea, :now::timestamptz WHERE NOT EXISTS (SELECT FROM waiting)
        ON CONFLICT (digest) DO NOTHING
        RETURNING digest
    ), queued AS ({outbox.INSERT_EFFECTS} WHERE EXISTS (SELECT FROM fresh))
    SELECT NOT EXISTS (SELECT FROM waiting)
""")

DELETE = "DELETE FROM received_activities WHERE digest = $1"

IS_KNOWN = "SELECT EXISTS (SELECT FROM received_activities WHERE digest = $1)"


def digest_of(actor: str, activity_id: str | None, body: str) -> bytes:
    """Return a digest that is equal for two deliveries of an activity by one actor."""
    digest = sha256()
    for part in (actor, activity_id or "", body):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


async def insert(db: Connection, digest: bytes, now: datetime) -> bool:
    """Remember an activity. False if it was received before."""
    return await db.fetchval(INSERT, digest, now) is not None


async def take_up(db: Connection, digest: bytes, effects: Sequence[outbox.NewEffect], key: str, now: datetime) -> bool:
    """Remember an activity, and queue the effects that apply it, unless it was received before. One statement.

    False, and nothing is stored, if effects wait under a key: they must run first.
    """
    values = outbox.values_of(effects)
    return await db.fetchval(*TAKE_UP.bind(None, **values, digest=digest, key=key, now=now))


async def is_known(db: Connection, digest: bytes) -> bool:
    """True if an activity was received before."""
    return await db.fetchval(IS_KNOWN, digest)


async def forget(db: Connection, digest: bytes) -> None:
    """Forget an activity, so that it is applied when it is received again."""
    await db.execute(DELETE, digest)
