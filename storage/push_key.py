"""The server's Web Push key: one row."""

from .engine.database import Connection

FIND = "SELECT private_key FROM push_key"

INSERT = "INSERT INTO push_key (private_key) VALUES ($1) ON CONFLICT DO NOTHING"


async def find_push_key(db: Connection) -> str | None:
    """Return the private key in PEM; None if none is stored yet."""
    return await db.fetchval(FIND)


async def insert_push_key(db: Connection, private_key: str) -> str:
    """Store the key unless a key is stored already. Return the stored key."""
    await db.execute(INSERT, private_key)
    return await db.fetchval(FIND)
