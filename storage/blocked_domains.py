"""Server-wide blocks of domains, and the states that they put the accounts of these domains in.

The states are written into the rows of the accounts, with the time of the block as their stamp. So every query and
cache that knows the states of accounts knows those of domains too, and reading costs nothing more. The stamp tells
these states from those that staff put single accounts in: the end of a block takes back its own alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection
from .engine.sql import Statement, assigned, insert_into
from .paging import Page, both_ways, rows_of

Severity = Literal["noop", "silence", "suspend"]

COLUMNS = "id, domain, severity, reject_media, reject_reports, private_comment, public_comment, obfuscate, created_at"
CHANGEABLE = "severity, reject_media, reject_reports, private_comment, public_comment, obfuscate"

# Against other acts on blocks: the states of accounts are computed from all blocks.
LOCK = "LOCK TABLE blocked_domains IN SHARE ROW EXCLUSIVE MODE"

FIND_ALL = f"SELECT {COLUMNS} FROM blocked_domains ORDER BY domain"

FIND = f"SELECT {COLUMNS} FROM blocked_domains WHERE id = $1"

PAGE = both_ways(f"SELECT {COLUMNS} FROM blocked_domains WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3")

INSERT = Statement(insert_into("blocked_domains", COLUMNS))

UPDATE = Statement(f"UPDATE blocked_domains SET {assigned(CHANGEABLE)} WHERE id = :id")

DELETE = "DELETE FROM blocked_domains WHERE id = $1"

# $2: the stamps of blocks of these domains, before and after the change.
SILENCED = "CASE WHEN silenced_at IS NULL OR silenced_at = ANY($2) THEN $3::timestamptz ELSE silenced_at END"
SUSPENDED = "CASE WHEN suspended_at IS NULL OR suspended_at = ANY($2) THEN $4::timestamptz ELSE suspended_at END"

MARK = f"""
    UPDATE accounts SET silenced_at = {SILENCED}, suspended_at = {SUSPENDED}, updated_at = $5
    WHERE domain = ANY($1::text[])
    AND (silenced_at IS DISTINCT FROM {SILENCED} OR suspended_at IS DISTINCT FROM {SUSPENDED})
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class BlockedDomain:
    """A domain that staff restrict, and its subdomains with it."""

    id: int
    domain: str
    severity: Severity
    reject_media: bool
    reject_reports: bool
    private_comment: str | None
    public_comment: str | None
    obfuscate: bool
    created_at: datetime


async def lock(db: Connection) -> list[BlockedDomain]:
    """Return all blocks. They stay so until the end of the transaction."""
    await db.execute(LOCK)
    return await find_all(db)


async def find_all(db: Connection) -> list[BlockedDomain]:
    """Return all blocks, in the order of their domains."""
    return [BlockedDomain(**row) for row in await db.fetch(FIND_ALL)]


async def find(db: Connection, id: int) -> BlockedDomain | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else BlockedDomain(**row)


async def page(db: Connection, page: Page) -> list[BlockedDomain]:
    """Return blocks, newest first."""
    return [BlockedDomain(**row) for row in await rows_of(db, PAGE, page)]


async def insert(db: Connection, block: BlockedDomain) -> None:
    await db.execute(*INSERT.bind(block))


async def update(db: Connection, block: BlockedDomain) -> None:
    await db.execute(*UPDATE.bind(block))


async def delete(db: Connection, id: int) -> None:
    await db.execute(DELETE, id)


async def mark(
    db: Connection, domains: Sequence[str], stamps: Sequence[datetime], block: BlockedDomain | None, now: datetime
) -> int:
    """Put all accounts of some domains in the state of a block, or take them out with None. Return how many changed.

    `stamps` are the times of all blocks of these domains, also of the one that has ended.
    """
    silenced = block.created_at if block is not None and block.severity == "silence" else None
    suspended = block.created_at if block is not None and block.severity == "suspend" else None
    return len(await db.fetch(MARK, list(domains), list(stamps), silenced, suspended, now))
