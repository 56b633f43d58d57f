"""The accounts that boosted a status. A boost itself is a status like others."""

from .engine.database import Connection
from .paging import Page, both_ways, page_of

# Boosts for followers only are not listed for any viewer, as in the reference server: the list is the same for all.
PAGE = both_ways("""
    SELECT s.id, s.account_id FROM statuses s
    WHERE s.reblog_of_id = $1 AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted')
    AND s.id < $2 AND s.id > $3
    ORDER BY s.id {order} LIMIT $4
""")

REBLOGGERS = "SELECT account_id FROM statuses WHERE reblog_of_id = $1 AND deleted_at IS NULL ORDER BY id"


async def page(db: Connection, status_id: int, page: Page) -> list[tuple[int, int]]:
    """Return the public boosts of a status, the latest first, as (id of the boost, account id)."""
    return await page_of(db, PAGE, page, status_id)


async def rebloggers(db: Connection, status_id: int) -> list[int]:
    """Return all accounts that have boosted a status."""
    return [row["account_id"] for row in await db.fetch(REBLOGGERS, status_id)]
