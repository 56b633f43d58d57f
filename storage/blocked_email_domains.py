"""Domains whose e-mail addresses may not sign up, and the number of tries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .paging import Page, both_ways, rows_of

COLUMNS = "id, domain, allow_with_approval, created_at"

FIND_ALL = f"SELECT {COLUMNS} FROM blocked_email_domains ORDER BY domain"

FIND = f"SELECT {COLUMNS} FROM blocked_email_domains WHERE id = $1"

FIND_AMONG = f"SELECT {COLUMNS} FROM blocked_email_domains WHERE domain = ANY($1::text[])"

PAGE = both_ways(
    f"SELECT {COLUMNS} FROM blocked_email_domains WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3"
)

INSERT = Statement(insert_into("blocked_email_domains", COLUMNS) + " ON CONFLICT (domain) DO NOTHING RETURNING id")

DELETE = f"DELETE FROM blocked_email_domains WHERE id = $1 RETURNING {COLUMNS}"

# A block may have ended meanwhile.
COUNT = """
    INSERT INTO email_domain_attempts (block_id, day, network)
    SELECT id, $2, $3 FROM blocked_email_domains WHERE id = ANY($1::bigint[])
    ON CONFLICT (block_id, day, network) DO UPDATE SET uses = email_domain_attempts.uses + 1
"""

HISTORY = """
    SELECT block_id, day, count(*) AS accounts, sum(uses) AS uses FROM email_domain_attempts
    WHERE block_id = ANY($1::bigint[]) AND day >= $2 GROUP BY block_id, day
"""


@dataclass(frozen=True, slots=True)
class BlockedEmailDomain:
    """A domain of e-mail addresses, or of mail servers. With approval its users may sign up."""

    id: int
    domain: str
    allow_with_approval: bool
    created_at: datetime


# By block and day: the number of networks that attempts came from, and of attempts.
History = Mapping[tuple[int, date], tuple[int, int]]


async def find_all(db: Connection) -> list[BlockedEmailDomain]:
    """Return all blocks, in the order of their domains."""
    return [BlockedEmailDomain(**row) for row in await db.fetch(FIND_ALL)]


async def find(db: Connection, id: int) -> BlockedEmailDomain | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else BlockedEmailDomain(**row)


async def find_among(db: Connection, domains: Sequence[str]) -> list[BlockedEmailDomain]:
    """Return the blocks of any of these domains."""
    return [BlockedEmailDomain(**row) for row in await db.fetch(FIND_AMONG, list(domains))]


async def page(db: Connection, page: Page) -> list[BlockedEmailDomain]:
    """Return blocks, newest first."""
    return [BlockedEmailDomain(**row) for row in await rows_of(db, PAGE, page)]


async def insert(db: Connection, block: BlockedEmailDomain) -> bool:
    """Store a block. False if there is one of this domain."""
    return await db.fetchval(*INSERT.bind(block)) is not None


async def delete(db: Connection, id: int) -> BlockedEmailDomain | None:
    """Delete a block and return it. None if there is none."""
    row = await db.fetchrow(DELETE, id)
    return None if row is None else BlockedEmailDomain(**row)


async def count(db: Connection, ids: Sequence[int], day: date, network: str) -> None:
    """Count an attempt to sign up that blocks have met."""
    await db.execute(COUNT, list(ids), day, network)


async def history(db: Connection, ids: Sequence[int], since: date) -> History:
    """Return the attempts that blocks have met since a day."""
    rows = await db.fetch(HISTORY, list(ids), since)
    return {(row["block_id"], row["day"]): (row["accounts"], row["uses"]) for row in rows}
