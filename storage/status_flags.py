"""The flags of one viewer on statuses: favourites, boosts, bookmarks, mutes, pins and votes."""

from collections.abc import Sequence
from dataclasses import dataclass

from .engine.database import Connection

FLAGS = """
    SELECT
        s.id,
        EXISTS (SELECT FROM favourites f WHERE f.account_id = $1 AND f.status_id = s.id) AS favourited,
        EXISTS (
            SELECT FROM statuses b WHERE b.account_id = $1 AND b.reblog_of_id = s.id AND b.deleted_at IS NULL
        ) AS reblogged,
        EXISTS (SELECT FROM bookmarks b WHERE b.account_id = $1 AND b.status_id = s.id) AS bookmarked,
        EXISTS (
            SELECT FROM conversation_mutes m WHERE m.account_id = $1 AND m.conversation_id = s.conversation_id
        ) AS muted,
        EXISTS (SELECT FROM pins p WHERE p.account_id = $1 AND p.status_id = s.id) AS pinned,
        CASE WHEN s.poll_id IS NOT NULL THEN ARRAY(
            SELECT v.position FROM poll_votes v WHERE v.poll_id = s.poll_id AND v.account_id = $1 ORDER BY v.id
        ) END AS votes
    FROM statuses s WHERE s.id = ANY($2::bigint[])
"""


@dataclass(frozen=True, slots=True)
class Flags:
    """The marks that one viewer has put on a status."""

    favourited: bool = False
    reblogged: bool = False
    bookmarked: bool = False
    muted: bool = False
    pinned: bool = False
    votes: tuple[int, ...] = ()  # positions of the options of its poll, in the order of voting


UNMARKED = Flags()


async def viewer_flags(db: Connection, account_id: int, status_ids: Sequence[int]) -> dict[int, Flags]:
    """Return what this account did with each of these statuses. Pass originals, not boosts."""
    rows = await db.fetch(FLAGS, account_id, status_ids)
    return {
        id: _shared(Flags(favourited, reblogged, bookmarked, muted, pinned, tuple(votes or ())))
        for id, favourited, reblogged, bookmarked, muted, pinned, votes in (row.values() for row in rows)
    }


def _shared(flags: Flags) -> Flags:
    """Return the flags. Most are empty, because the viewer did nothing with the status: these share one object."""
    return UNMARKED if flags == UNMARKED else flags
