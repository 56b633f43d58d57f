"""Addresses and networks that staff keep out, or keep from signing up."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from asyncpg import UniqueViolationError  # pyright: ignore[reportMissingTypeStubs]  # asyncpg has none

from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .paging import Page, both_ways, rows_of

NetworkSeverity = Literal["sign_up_requires_approval", "sign_up_block", "no_access"]

COLUMNS = "id, network::text AS network, severity, comment, created_at, expires_at"

FIND_ALL = f"SELECT {COLUMNS} FROM blocked_networks ORDER BY network"

FIND = f"SELECT {COLUMNS} FROM blocked_networks WHERE id = $1"

# Two members of staff who change one block take turns.
LOCK = f"{FIND} FOR UPDATE"

PAGE = both_ways(f"SELECT {COLUMNS} FROM blocked_networks WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3")

INSERT = Statement(
    insert_into(
        "blocked_networks", "id, network, severity, comment, created_at, expires_at", network=":network::text::cidr"
    )
)

UPDATE = Statement("""
    UPDATE blocked_networks
    SET network = :network::text::cidr, severity = :severity, comment = :comment, expires_at = :expires_at
    WHERE id = :id
""")

DELETE = "DELETE FROM blocked_networks WHERE id = $1"


@dataclass(frozen=True, slots=True)
class BlockedNetwork:
    """A network such as `192.0.2.0/24`, and what its clients may not."""

    id: int
    network: str
    severity: NetworkSeverity
    comment: str
    created_at: datetime
    expires_at: datetime | None


class NetworkTaken(Exception):
    """Raised when there is another block of the network. The transaction must be rolled back."""


async def find_all(db: Connection) -> list[BlockedNetwork]:
    """Return all blocks, in the order of their networks."""
    return [BlockedNetwork(**row) for row in await db.fetch(FIND_ALL)]


async def find(db: Connection, id: int) -> BlockedNetwork | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else BlockedNetwork(**row)


async def lock(db: Connection, id: int) -> BlockedNetwork | None:
    """Return a block, which stays so until the end of the transaction."""
    row = await db.fetchrow(LOCK, id)
    return None if row is None else BlockedNetwork(**row)


async def page(db: Connection, page: Page) -> list[BlockedNetwork]:
    """Return blocks, newest first."""
    return [BlockedNetwork(**row) for row in await rows_of(db, PAGE, page)]


async def insert(db: Connection, block: BlockedNetwork) -> None:
    """Store a block. Raises NetworkTaken."""
    await _store(db, *INSERT.bind(block))


async def update(db: Connection, block: BlockedNetwork) -> None:
    """Store a changed block. Raises NetworkTaken."""
    await _store(db, *UPDATE.bind(block))


async def delete(db: Connection, id: int) -> None:
    await db.execute(DELETE, id)


async def _store(db: Connection, query: str, *args: object) -> None:
    try:
        await db.execute(query, *args)
    except UniqueViolationError:
        raise NetworkTaken from None
