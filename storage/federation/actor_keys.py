"""Public keys of other servers' actors, by the ids under which signatures name them."""

from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection

FIND = "SELECT key_id, actor_uri, public_key, fetched_at FROM actor_keys WHERE key_id = $1"

PUT = """
    INSERT INTO actor_keys (key_id, actor_uri, public_key, fetched_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (key_id) DO UPDATE SET
        actor_uri = excluded.actor_uri, public_key = excluded.public_key, fetched_at = excluded.fetched_at
"""

# An actor may name any number of keys, and others the next time it is asked.
KEPT_OF_ONE_ACTOR = 20

THIN_OUT = """
    DELETE FROM actor_keys WHERE key_id = ANY(ARRAY(
        SELECT key_id FROM actor_keys WHERE actor_uri = $1 ORDER BY fetched_at DESC, key_id OFFSET $2
    ))
"""


@dataclass(frozen=True, slots=True)
class ActorKey:
    """A public key in PEM, and the actor who is proven to own it."""

    key_id: str
    actor_uri: str
    public_key: str
    fetched_at: datetime


async def find(db: Connection, key_id: str) -> ActorKey | None:
    row = await db.fetchrow(FIND, key_id)
    return ActorKey(**row) if row is not None else None


async def put(db: Connection, key: ActorKey) -> None:
    """Store a verified key, in place of an earlier key with its id. Of an actor's keys the latest are kept."""
    await db.execute(PUT, key.key_id, key.actor_uri, key.public_key, key.fetched_at)
    await db.execute(THIN_OUT, key.actor_uri, KEPT_OF_ONE_ACTOR)
