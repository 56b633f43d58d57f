"""Featured hashtags of profiles. Their statuses are counted on writes, not on reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .statuses import StatusTag

# In the order of FeaturedTag's fields.
COLUMNS = "f.id, f.account_id, f.tag_id, t.name, f.display_name, f.statuses, f.last_status_at"

OF_ACCOUNT = f"""
    SELECT {COLUMNS} FROM featured_tags f JOIN tags t ON t.id = f.tag_id
    WHERE f.account_id = $1 ORDER BY f.statuses DESC, f.id
"""

# The number of an account's public and unlisted statuses with a tag, and the time of the latest.
USED = """
    SELECT count(*), max(s.created_at) FROM statuses s JOIN status_tags st ON st.status_id = s.id
    WHERE s.account_id = f.account_id AND st.tag_id = f.tag_id
    AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted')
"""

INSERT = f"""
    INSERT INTO featured_tags (id, account_id, tag_id, display_name, statuses, last_status_at, created_at)
    SELECT $1, f.account_id, f.tag_id, $4, used.count, used.max, $5
    FROM (SELECT $2::bigint AS account_id, $3::bigint AS tag_id) AS f CROSS JOIN LATERAL ({USED}) AS used
"""

RECOUNT = f"""
    UPDATE featured_tags f SET (statuses, last_status_at) = ({USED})
    WHERE f.account_id = (SELECT account_id FROM statuses WHERE id = $1) AND f.tag_id = ANY($2::bigint[])
"""

DELETE = "DELETE FROM featured_tags WHERE account_id = $1 AND id = $2 RETURNING id"

# Over the latest statuses only, so that the cost does not grow with the age of an account.
SUGGESTIONS = """
    WITH latest AS (
        SELECT id FROM statuses
        WHERE account_id = $1 AND deleted_at IS NULL AND visibility IN ('public', 'unlisted')
        ORDER BY id DESC LIMIT $2
    )
    SELECT t.id, t.name, t.display_name FROM latest
    JOIN status_tags st ON st.status_id = latest.id
    JOIN tags t ON t.id = st.tag_id
    WHERE t.usable AND NOT EXISTS (SELECT FROM featured_tags f WHERE f.account_id = $1 AND f.tag_id = t.id)
    GROUP BY t.id ORDER BY count(*) DESC, max(latest.id) DESC LIMIT $3
"""

LATEST = 1000


@dataclass(frozen=True, slots=True)
class FeaturedTag:
    """A hashtag on a profile: `name` in lower case, `display_name` as its owner wrote it."""

    id: int
    account_id: int
    tag_id: int
    name: str
    display_name: str
    statuses: int
    last_status_at: datetime | None


async def of_account(db: Connection, account_id: int) -> list[FeaturedTag]:
    """Return an account's featured hashtags, the most used first."""
    return [FeaturedTag(*row.values()) for row in await db.fetch(OF_ACCOUNT, account_id)]


async def insert(
    db: Connection, id: int, account_id: int, tag_id: int, display_name: str, now: datetime
) -> None:  # fmt: skip
    """Feature a tag that the account does not feature yet. This is the only time that all its statuses are counted."""
    await db.execute(INSERT, id, account_id, tag_id, display_name, now)


async def recount(db: Connection, status_id: int, tag_ids: Sequence[int]) -> None:
    """Count again, for the featured hashtags of a status's author, because an edit added or removed these tags."""
    await db.execute(RECOUNT, status_id, tag_ids)


async def delete(db: Connection, account_id: int, id: int) -> bool:
    """Stop featuring a hashtag. False if the account has none with this id."""
    return await db.fetchval(DELETE, account_id, id) is not None


async def suggestions(db: Connection, account_id: int, limit: int) -> list[StatusTag]:
    """Return the hashtags that the account used most lately and does not feature."""
    return [StatusTag(*row.values()) for row in await db.fetch(SUGGESTIONS, account_id, LATEST, limit)]
