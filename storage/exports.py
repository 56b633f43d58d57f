"""The exports of a user: the rows of the CSV files, read in parts by a cursor."""

from collections.abc import Mapping
from dataclasses import dataclass

from .engine.database import Connection

# Each query gives a cursor, `id`, and the columns of the file. An address is `name@domain`, also of local accounts.
ADDRESS = "a.username || '@' || coalesce(a.domain, $4)"

FOLLOWING = f"""
    SELECT f.id, {ADDRESS} AS address, CASE WHEN f.show_reblogs THEN 'true' ELSE 'false' END,
        CASE WHEN f.notify THEN 'true' ELSE 'false' END, array_to_string(f.languages, ', ')
    FROM follows f JOIN accounts a ON a.id = f.target_account_id
    WHERE f.account_id = $1 AND f.id > $2 AND a.deleted_at IS NULL ORDER BY f.id LIMIT $3
"""

BLOCKS = f"""
    SELECT b.id, {ADDRESS} FROM blocks b JOIN accounts a ON a.id = b.target_account_id
    WHERE b.account_id = $1 AND b.id > $2 AND a.deleted_at IS NULL ORDER BY b.id LIMIT $3
"""

MUTES = f"""
    SELECT m.id, {ADDRESS}, CASE WHEN m.hide_notifications THEN 'true' ELSE 'false' END
    FROM mutes m JOIN accounts a ON a.id = m.target_account_id
    WHERE m.account_id = $1 AND m.id > $2 AND a.deleted_at IS NULL ORDER BY m.id LIMIT $3
"""

LISTS = f"""
    SELECT la.id, l.title, {ADDRESS}
    FROM lists l JOIN list_accounts la ON la.list_id = l.id JOIN accounts a ON a.id = la.account_id
    WHERE l.account_id = $1 AND la.id > $2 AND a.deleted_at IS NULL ORDER BY la.id LIMIT $3
"""

BOOKMARKS = """
    SELECT b.id, s.uri FROM bookmarks b JOIN statuses s ON s.id = b.status_id
    WHERE b.account_id = $1 AND b.id > $2 AND s.deleted_at IS NULL AND $4::text IS NOT NULL ORDER BY b.id LIMIT $3
"""

DOMAIN_BLOCKS = """
    SELECT d.id, d.domain FROM account_domain_blocks d
    WHERE d.account_id = $1 AND d.id > $2 AND $4::text IS NOT NULL ORDER BY d.id LIMIT $3
"""

QUERIES: Mapping[str, str] = {
    "following": FOLLOWING,
    "blocks": BLOCKS,
    "mutes": MUTES,
    "lists": LISTS,
    "bookmarks": BOOKMARKS,
    "domain_blocks": DOMAIN_BLOCKS,
}


@dataclass(frozen=True, slots=True)
class ExportPart:
    """Some rows of a file, and the cursor after them; None at the end."""

    rows: list[list[str]]
    cursor: int | None


async def part(db: Connection, kind: str, account_id: int, after: int, limit: int, local_domain: str) -> ExportPart:
    """Return the rows of a file after a cursor, the oldest first."""
    found = await db.fetch(QUERIES[kind], account_id, after, limit, local_domain)
    rows = [[value or "" for value in list(row.values())[1:]] for row in found]
    return ExportPart(rows, found[-1]["id"] if len(found) == limit else None)
