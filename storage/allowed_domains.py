"""The domains that a server with limited federation deals with."""

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .paging import Page, both_ways, rows_of

FIND_ALL = "SELECT id, domain, created_at FROM allowed_domains ORDER BY domain"

FIND = "SELECT id, domain, created_at FROM allowed_domains WHERE id = $1"

PAGE = both_ways("""
    SELECT id, domain, created_at FROM allowed_domains WHERE id < $1 AND id > $2 ORDER BY id {order} LIMIT $3
""")

INSERT = """
    INSERT INTO allowed_domains (id, domain, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (domain) DO NOTHING RETURNING id
"""

FIND_BY_DOMAIN = "SELECT id, domain, created_at FROM allowed_domains WHERE domain = $1"

DELETE = "DELETE FROM allowed_domains WHERE id = $1 RETURNING id, domain, created_at"


@dataclass(frozen=True, slots=True)
class AllowedDomain:
    """A domain that is allowed, and its subdomains with it."""

    id: int
    domain: str
    created_at: datetime


async def find_all(db: Connection) -> list[AllowedDomain]:
    """Return all allowed domains, in their order."""
    return [AllowedDomain(**row) for row in await db.fetch(FIND_ALL)]


async def find(db: Connection, id: int) -> AllowedDomain | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else AllowedDomain(**row)


async def find_by_domain(db: Connection, domain: str) -> AllowedDomain | None:
    row = await db.fetchrow(FIND_BY_DOMAIN, domain)
    return None if row is None else AllowedDomain(**row)


async def page(db: Connection, page: Page) -> list[AllowedDomain]:
    """Return allowed domains, newest first."""
    return [AllowedDomain(**row) for row in await rows_of(db, PAGE, page)]


async def insert(db: Connection, allowed: AllowedDomain) -> bool:
    """Store an allowed domain. False if it was allowed."""
    return await db.fetchval(INSERT, allowed.id, allowed.domain, allowed.created_at) is not None


async def delete(db: Connection, id: int) -> AllowedDomain | None:
    """Delete an allowed domain and return it. None if there is none."""
    row = await db.fetchrow(DELETE, id)
    return None if row is None else AllowedDomain(**row)
