"""The directory: accounts that opted in to be found."""

from collections.abc import Collection
from typing import Literal

from .accounts import PENDING
from .engine.database import Connection

Order = Literal["active", "new"]

# The first two lines are the condition of the index accounts_directory. NOT IN uses a hash table. `<> ALL` was turned
# down: it searches a list of blocks from its start for each row.
LISTED = f"""
    a.discoverable AND a.suspended_at IS NULL AND a.silenced_at IS NULL AND a.moved_to_id IS NULL
    AND a.deleted_at IS NULL
    AND NOT {PENDING}
    AND a.id NOT IN (SELECT unnest($1::bigint[])) AND coalesce(a.domain, '') NOT IN (SELECT unnest($2::text[]))
"""

NEW = f"""
    SELECT a.id FROM accounts a WHERE {LISTED} ORDER BY a.created_at DESC, a.id DESC LIMIT $3 OFFSET $4
"""

NEW_LOCAL = f"""
    SELECT a.id FROM accounts a WHERE {LISTED} AND a.domain IS NULL
    ORDER BY a.created_at DESC, a.id DESC LIMIT $3 OFFSET $4
"""

# Not a join: it could be planned as a sort of all accounts, and this query reads the index of activity up to the page.
ACTIVE = f"""
    SELECT c.account_id AS id FROM account_counts c
    WHERE (SELECT {LISTED} FROM accounts a WHERE a.id = c.account_id)
    ORDER BY c.last_status_at DESC NULLS LAST, c.account_id DESC LIMIT $3 OFFSET $4
"""

# From the accounts, which are few: among the latest statuses of all servers, local ones may be rare.
ACTIVE_LOCAL = f"""
    SELECT a.id FROM accounts a JOIN account_counts c ON c.account_id = a.id
    WHERE {LISTED} AND a.domain IS NULL
    ORDER BY c.last_status_at DESC NULLS LAST, a.id DESC LIMIT $3 OFFSET $4
"""

PAGES: dict[tuple[Order, bool], str] = {
    ("active", False): ACTIVE,
    ("active", True): ACTIVE_LOCAL,
    ("new", False): NEW,
    ("new", True): NEW_LOCAL,
}


async def page(
    db: Connection,
    order: Order,
    *,
    local: bool = False,
    without: Collection[int] = (),
    without_domains: Collection[str] = (),
    limit: int,
    offset: int = 0,
) -> list[int]:
    """Return the ids of a page of the directory.

    `active` begins with the latest status and ends with accounts that never posted, `new` begins with the newest
    account. The reader decides which accounts and domains to leave out.
    """
    rows = await db.fetch(PAGES[order, local], list(without), list(without_domains), limit, offset)
    return [row["id"] for row in rows]
