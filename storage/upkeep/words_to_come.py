"""Statuses that an earlier version of Troupe has stored, and that have no words for searches yet.

The newest are filled in first. `below_id` moves down to the oldest status; then its row is deleted.
"""

from collections.abc import Mapping

from ..engine.database import Connection

BELOW = "SELECT below_id FROM words_to_come"

NEXT = """
    SELECT id FROM statuses WHERE id < $1 AND reblog_of_id IS NULL AND deleted_at IS NULL ORDER BY id DESC LIMIT $2
"""

# An edit meanwhile has stored newer words. A deletion is waited for, and then its status is left out.
STORE = """
    INSERT INTO status_words (status_id, words)
    SELECT s.id, made.words::tsvector FROM unnest($1::bigint[], $2::text[]) AS made (id, words)
    JOIN statuses s ON s.id = made.id
    WHERE s.deleted_at IS NULL FOR KEY SHARE OF s
    ON CONFLICT (status_id) DO NOTHING
"""

# Another process may be further down.
GO_ON = "UPDATE words_to_come SET below_id = $1 WHERE below_id > $1"

END = "DELETE FROM words_to_come"


async def below(db: Connection) -> int | None:
    """Return the id below which statuses have no words yet. None if all have."""
    return await db.fetchval(BELOW)


async def next_ids(db: Connection, below_id: int, limit: int) -> list[int]:
    """Return the newest statuses below an id."""
    return [row["id"] for row in await db.fetch(NEXT, below_id, limit)]


async def store(db: Connection, vectors: Mapping[int, str], below_id: int | None) -> None:
    """Store the vectors of statuses, and the id below which to continue. None: these were the last."""
    await db.execute(STORE, list(vectors), list(vectors.values()))
    if below_id is None:
        await db.execute(END)
    else:
        await db.execute(GO_ON, below_id)
