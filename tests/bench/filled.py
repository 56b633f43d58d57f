"""What a filled database holds, so that answers can be checked, and pages that nobody has asked for."""

from __future__ import annotations

from dataclasses import dataclass

from troupe.storage.engine.database import EngineConnection

from .fill import READ_BY_READER, Cast, Size

PAGE = 20
# A home keeps its newest 400 statuses in memory. Deeper pages are read from rows.
DEEP = 500
# Of other authors than those of the deep pages, so that the one does not warm the other; and of the oldest ones, which
# are on no page that is measured.
COLD = """
    SELECT s.id FROM statuses s JOIN accounts a ON a.id = s.account_id
    WHERE s.visibility = 'public' AND NOT (a.username = ANY ($1)) ORDER BY s.id LIMIT $2
"""
DEEP_PAGES = """
    SELECT id FROM (
        SELECT s.id, row_number() OVER (ORDER BY s.id DESC) AS place, count(*) OVER () AS all_of_them
        FROM accounts reader JOIN follows f ON f.account_id = reader.id
        JOIN statuses s ON s.account_id = f.target_account_id
        WHERE reader.username = $1
    ) home
    WHERE place >= $2 AND place % $3 = 0 AND place + $3 <= all_of_them ORDER BY id DESC
"""
NEWEST = "SELECT max(id) FROM statuses WHERE visibility = 'public'"
# The number of statuses on the first page of each home of the last so many accounts.
HOMES = """
    SELECT substr(reader.username, 7)::int AS number, (
        SELECT count(*) FROM (
            SELECT FROM (
                SELECT reader.id UNION ALL SELECT target_account_id FROM follows WHERE account_id = reader.id
            ) author (id) JOIN statuses s ON s.account_id = author.id LIMIT $1
        ) page
    ) AS shown
    FROM accounts reader WHERE reader.username = ANY ($2)
"""


@dataclass(frozen=True, slots=True)
class Filled:
    """The ids and the counts that requests and checks need."""

    newest: str  # a public status
    cold: list[str]  # statuses
    deep: list[str]  # each the `max_id` of a page of the reader's home
    homes: dict[int, int]  # statuses on the first page, by the number of the account


async def look(db: EngineConnection, size: Size) -> Filled:
    """Find them."""
    readers = [f"person{number}" for number in size.sleepers]
    deep = await db.fetch(DEEP_PAGES, f"person{Cast.READER}", DEEP, PAGE)
    return Filled(
        str(await db.fetchval(NEWEST)),
        [str(row["id"]) for row in await db.fetch(COLD, [f"person{n}" for n in READ_BY_READER], size.cold_pool)],
        # Not the same depth for all: these are spread over the whole home.
        [str(row["id"]) for row in deep[:: max(1, len(deep) // size.cold_pool)]],
        {row["number"]: row["shown"] for row in await db.fetch(HOMES, PAGE, readers)},
    )
