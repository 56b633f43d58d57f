"""The accounts that boosted a status. A boost itself is a status like others."""

from collections.abc import Collection
from datetime import datetime

from .accounts import listed
from .engine.database import Connection
from .upkeep.paging import Page, both_ways, page_of

# Boosts for followers only are not listed for any viewer, as in the reference server.
PAGE = both_ways(f"""
    SELECT s.id, s.account_id FROM statuses s
    WHERE s.reblog_of_id = $1 AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted')
    AND s.id < $2 AND s.id > $3 AND {listed("s.account_id", without="$5")}
    ORDER BY s.id {{order}} LIMIT $4
""")

REBLOGGERS = "SELECT account_id FROM statuses WHERE reblog_of_id = $1 AND deleted_at IS NULL ORDER BY id"

# Some servers give each boost of a status the same URI.
FREE_URI = """
    UPDATE statuses SET uri = left(uri, 2000) || '#undone-' || id
    WHERE uri = $1 AND account_id = $2 AND reblog_of_id IS NOT NULL AND deleted_at IS NOT NULL AND created_at < $3
    RETURNING id
"""


async def page(
    db: Connection, status_id: int, page: Page, *, without: Collection[int] = ()
) -> list[tuple[int, int]]:  # fmt: skip
    """Return the public boosts of a status, the latest first, as (id of the boost, account id).

    The reader decides which accounts to leave out.
    """
    return await page_of(db, PAGE, page, status_id, list(without))


async def free_uri(db: Connection, uri: str, account_id: int, made_at: datetime) -> bool:
    """Make the URI of a deleted boost available for a boost that the account made later. False if there is none."""
    return await db.fetchval(FREE_URI, uri, account_id, made_at) is not None


async def rebloggers(db: Connection, status_id: int) -> list[int]:
    """Return all accounts that have boosted a status."""
    return [row["account_id"] for row in await db.fetch(REBLOGGERS, status_id)]
