"""The activities that were received, so that exact repeats are dropped. The activities themselves are in the outbox.

Of a Follow each request is remembered, as it may come again, and under its id alone that it came.
"""

from datetime import datetime
from hashlib import sha256

from .engine.database import Connection

INSERT = """
    INSERT INTO received_activities (digest, received_at) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING
    RETURNING digest
"""

DELETE = "DELETE FROM received_activities WHERE digest = $1"

IS_KNOWN = "SELECT EXISTS (SELECT FROM received_activities WHERE digest = $1)"


def digest_of(actor: str, activity_id: str | None, body: str) -> bytes:
    """Return what two deliveries of the same activity by the same actor have in common."""
    digest = sha256()
    for part in (actor, activity_id or "", body):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


async def insert(db: Connection, digest: bytes, now: datetime) -> bool:
    """Remember an activity. False if it was received before."""
    return await db.fetchval(INSERT, digest, now) is not None


async def is_known(db: Connection, digest: bytes) -> bool:
    """True if an activity was received before."""
    return await db.fetchval(IS_KNOWN, digest)


async def forget(db: Connection, digest: bytes) -> None:
    """Take an activity as one that has not come yet."""
    await db.execute(DELETE, digest)
