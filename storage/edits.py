"""Edits: the states of a status, before and after each edit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from . import featured_tags, media
from .engine.database import Connection, Row
from .engine.sql import Statement, assigned
from .statuses import StatusBody

SNAPSHOT = f"""
    INSERT INTO status_edits (
        id, status_id, text, content, content_type, spoiler_text, sensitive, media, poll_options, created_at,
        mentioned_ids
    )
    SELECT $2, s.id, s.text, s.content, s.content_type, s.spoiler_text, s.sensitive,
        coalesce(({media.OF_STATUS}), '[]'),
        (SELECT array_agg(o.title ORDER BY o.position) FROM poll_options o WHERE o.poll_id = s.poll_id),
        coalesce(s.edited_at, s.created_at), s.mentioned_ids
    FROM statuses s WHERE s.id = $1
"""

# Before the first edit, so that the history begins with the published state.
FIRST = f"{SNAPSHOT} AND NOT EXISTS (SELECT FROM status_edits e WHERE e.status_id = $1)"

REVISED = """
    text, content, content_type, spoiler_text, sensitive, language, mentioned_ids, media_ids, poll_id, emoji_ids,
    edited_at
"""

REVISE = Statement(f"UPDATE statuses SET {assigned(REVISED)} WHERE id = :status_id")

# An account that was mentioned once can still see the status, without a visible mention.
MENTIONS = """
    INSERT INTO mentions (status_id, account_id, silent)
    SELECT $1, named.id, named.id <> ALL($3::bigint[]) FROM unnest($2::bigint[]) AS named (id)
    ON CONFLICT (status_id, account_id) DO UPDATE SET silent = excluded.silent
"""

# Returns the tags that were added or removed.
TAGS = """
    WITH wanted AS (
        SELECT * FROM unnest($2::bigint[], $3::text[], $4::text[]) AS wanted (id, name, display_name)
    ), known AS (
        SELECT tags.id, tags.name FROM tags JOIN wanted USING (name)
    ), fresh AS (
        INSERT INTO tags (id, name, display_name, created_at)
        SELECT id, name, display_name, $5 FROM wanted WHERE name NOT IN (SELECT name FROM known) ORDER BY name
        ON CONFLICT (name) DO UPDATE SET name = excluded.name
        RETURNING id
    ), tag AS (
        SELECT id FROM known UNION ALL SELECT id FROM fresh
    ), gone AS (
        DELETE FROM status_tags WHERE status_id = $1 AND tag_id NOT IN (SELECT id FROM tag) RETURNING tag_id
    ), come AS (
        INSERT INTO status_tags (tag_id, status_id) SELECT id, $1 FROM tag ON CONFLICT DO NOTHING RETURNING tag_id
    )
    SELECT tag_id FROM gone UNION ALL SELECT tag_id FROM come
"""

# Media that the status no longer has can be attached again.
DETACH = """
    UPDATE media_attachments SET status_id = NULL, updated_at = $3 WHERE status_id = $1 AND id <> ALL($2::bigint[])
"""

SET_QUOTE_POLICY = "UPDATE statuses SET quote_policy = $2, quote_change_id = $3 WHERE id = $1"

SET_SENSITIVE = "UPDATE statuses SET sensitive = $2, quote_change_id = $3 WHERE id = $1"

# In the order of Edit's fields.
HISTORY = """
    SELECT id, status_id, content, spoiler_text, sensitive, media, poll_options, mentioned_ids, created_at
    FROM status_edits
    WHERE status_id = $1 ORDER BY id
"""

THIN_OUT = """
    DELETE FROM status_edits WHERE id = ANY(ARRAY(
        SELECT id FROM status_edits WHERE status_id = $1 ORDER BY id DESC OFFSET $2
    )) AND id <> (SELECT min(id) FROM status_edits WHERE status_id = $1)
"""

# The end of a quote, a new quote policy, and a card that comes, change what a status shows, as an edit does.
LATEST = """
    SELECT status_id, max(id) AS id FROM (
        SELECT status_id, id FROM status_edits WHERE status_id = ANY($1::bigint[]) AND id > $2
        UNION ALL
        SELECT id, quote_change_id FROM statuses WHERE id = ANY($1::bigint[]) AND quote_change_id > $2
        UNION ALL
        SELECT status_id, id FROM status_cards WHERE status_id = ANY($1::bigint[]) AND id > $2
    ) AS change GROUP BY status_id
"""


@dataclass(frozen=True, slots=True)
class Edit:
    """One state of a status. `mentioned_ids` are the accounts that it or an earlier state mentions."""

    id: int
    status_id: int
    content: str
    spoiler_text: str
    sensitive: bool
    media: tuple[media.Media, ...]
    poll_options: tuple[str, ...] | None
    mentioned_ids: tuple[int, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Revision(StatusBody):
    """A status as an edit leaves it. `mentioned_ids` are mentioned now, `silent_mention_ids` were mentioned before."""

    status_id: int


async def keep_first(db: Connection, id: int, status_id: int) -> None:
    """Store the published state, before it is changed."""
    await db.execute(FIRST, status_id, id)


async def revise(db: Connection, id: int, revision: Revision, now: datetime) -> None:
    """Change a status and store its new state under `id`. Its poll must be changed before, and its new media locked."""
    everybody = [*revision.mentioned_ids, *revision.silent_mention_ids]
    await db.execute(DETACH, revision.status_id, list(revision.media_ids), now)
    await media.attach(db, revision.media_ids, revision.status_id, now)
    await db.execute(*REVISE.bind(revision, mentioned_ids=everybody, edited_at=now))
    await db.execute(MENTIONS, revision.status_id, everybody, list(revision.mentioned_ids))
    await _set_tags(db, revision, now)
    await db.execute(SNAPSHOT, revision.status_id, id)


async def thin_out(db: Connection, status_id: int, most: int) -> None:
    """Keep the first state of a status and the latest states, as many as the limit allows."""
    await db.execute(THIN_OUT, status_id, most - 1)


async def set_quote_policy(db: Connection, status_id: int, policy: str, change_id: int) -> None:
    """Set who may quote a status. This is not an edit. The status must be locked before the id is drawn."""
    await db.execute(SET_QUOTE_POLICY, status_id, policy, change_id)


async def set_sensitive(db: Connection, status_id: int, change_id: int, *, sensitive: bool) -> None:
    """Mark a status as sensitive, or no longer. This is not an edit. The status must be locked before the id is
    drawn.
    """
    await db.execute(SET_SENSITIVE, status_id, sensitive, change_id)


async def history(db: Connection, status_id: int) -> list[Edit]:
    """Return every state of a status, oldest first. Empty if it was never edited."""
    return [_edit(row) for row in await db.fetch(HISTORY, status_id)]


async def latest(db: Connection, status_ids: Sequence[int], after_id: int) -> dict[int, int]:
    """Return for each of these statuses the id of its latest edit, end of its quote, quote policy, or card, if it is
    above `after_id`.
    """
    rows = await db.fetch(LATEST, status_ids, after_id)
    return {row["status_id"]: row["id"] for row in rows}


async def _set_tags(db: Connection, revision: Revision, now: datetime) -> None:
    ids, names = [tag.id for tag in revision.tags], [tag.name for tag in revision.tags]
    rows = await db.fetch(TAGS, revision.status_id, ids, names, [tag.display_name for tag in revision.tags], now)
    if changed := [row["tag_id"] for row in rows]:
        await featured_tags.recount(db, revision.status_id, changed)


def _edit(row: Row) -> Edit:
    *plain, attached, options, mentioned_ids, created_at = row.values()
    return Edit(
        *plain,
        media=tuple(media.media_of(attachment) for attachment in attached),
        poll_options=tuple(options) if options is not None else None,
        mentioned_ids=tuple(mentioned_ids),
        created_at=created_at,
    )
