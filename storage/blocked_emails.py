"""E-mail addresses that may not sign up, as SHA-256 of their canonical form: the addresses can't be read from here."""

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .paging import Page, both_ways, rows_of

FIND_BY_HASH = "SELECT id, email_hash, created_at FROM blocked_emails WHERE email_hash = $1"

FIND = "SELECT id, email_hash, created_at FROM blocked_emails WHERE id = $1"

PAGE = both_ways("""
    SELECT id, email_hash, created_at FROM blocked_emails WHERE id < $1 AND id > $2 ORDER BY id {order} LIMIT $3
""")

INSERT = """
    INSERT INTO blocked_emails (id, email_hash, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (email_hash) DO NOTHING RETURNING id
"""

DELETE = "DELETE FROM blocked_emails WHERE id = $1 RETURNING id, email_hash, created_at"


@dataclass(frozen=True, slots=True)
class BlockedEmail:
    """The hash of an address."""

    id: int
    email_hash: bytes
    created_at: datetime


async def find(db: Connection, id: int) -> BlockedEmail | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else BlockedEmail(**row)


async def find_by_hash(db: Connection, email_hash: bytes) -> BlockedEmail | None:
    row = await db.fetchrow(FIND_BY_HASH, email_hash)
    return None if row is None else BlockedEmail(**row)


async def page(db: Connection, page: Page) -> list[BlockedEmail]:
    """Return blocks, newest first."""
    return [BlockedEmail(**row) for row in await rows_of(db, PAGE, page)]


async def insert(db: Connection, block: BlockedEmail) -> bool:
    """Store a block. False if there is one of this address."""
    return await db.fetchval(INSERT, block.id, block.email_hash, block.created_at) is not None


async def delete(db: Connection, id: int) -> BlockedEmail | None:
    """Delete a block and return it. None if there is none."""
    row = await db.fetchrow(DELETE, id)
    return None if row is None else BlockedEmail(**row)
