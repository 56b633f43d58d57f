"""The files that this server could fetch again: copies of other servers' pictures, and the pictures of cards.

All of them share a budget. The least recently used files are removed first. A card counts as used when
its page was fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .engine.database import Connection

TOTAL = """
    SELECT coalesce((SELECT sum(size) FROM remote_files), 0)::bigint
        + coalesce((SELECT sum(image_size) FROM preview_cards WHERE image_file IS NOT NULL), 0)::bigint
"""

# $1: the bytes that are to be free, $2: how many of each kind are looked at.
EVICT = """
    WITH candidates AS (
        (SELECT used_at AS at, size, url, made, NULL::bigint AS card FROM remote_files ORDER BY used_at LIMIT $2)
        UNION ALL (
            SELECT fetched_at, image_size, NULL, NULL, id FROM preview_cards
            WHERE image_file IS NOT NULL ORDER BY fetched_at LIMIT $2
        )
    ), ordered AS (
        SELECT *, sum(size) OVER (ORDER BY at, card, url, made) - size AS before FROM candidates
    ), copies AS (
        DELETE FROM remote_files r USING ordered o WHERE r.url = o.url AND r.made = o.made AND o.before < $1
        RETURNING r.file, r.thumbnail_file
    ), cards AS (
        UPDATE preview_cards c SET image_file = NULL, image_size = 0
        FROM ordered o JOIN preview_cards old ON old.id = o.card
        WHERE c.id = o.card AND c.image_file = old.image_file AND o.before < $1
        RETURNING c.id, old.image_file
    )
    SELECT NULL::bigint AS card, file, thumbnail_file FROM copies UNION ALL SELECT id, image_file, NULL FROM cards
"""


@dataclass(frozen=True, slots=True)
class Evicted:
    """The files that no row names any more, and the cards that have lost their pictures."""

    files: Sequence[str]
    cards: Sequence[int]


async def total(db: Connection) -> int:
    """Return the bytes of all these files."""
    return await db.fetchval(TOTAL)


async def evict(db: Connection, size: int, limit: int) -> Evicted:
    """Forget the files that were not used for the longest time, for so many bytes."""
    rows = await db.fetch(EVICT, size, limit)
    files = [name for row in rows for name in (row["file"], row["thumbnail_file"]) if name is not None]
    return Evicted(files, [row["card"] for row in rows if row["card"] is not None])
