"""The rows around a status of another server: the meaning of its URI, its attachments, emoji, tallies and thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection
from ..engine.json_values import JsonObject
from ..engine.sql import Statement, quoted, rows_of
from . import tombstones

FIND = "SELECT id, account_id, deleted_at IS NOT NULL AS deleted, edited_at FROM statuses WHERE uri = $1"

ACCOUNT_IDS = "SELECT uri, id FROM accounts WHERE uri = ANY($1::text[]) AND deleted_at IS NULL AND suspended_at IS NULL"

STORED_ACCOUNT_IDS = "SELECT uri, id FROM accounts WHERE uri = ANY($1::text[])"

IS_TAKEN = "SELECT EXISTS (SELECT FROM statuses WHERE id = $1)"

HAS_LOCAL_FOLLOWERS = """
    SELECT EXISTS (SELECT FROM follows WHERE target_account_id = ANY($1::bigint[]) AND from_domain IS NULL)
"""

ARRIVING = f"""
    SELECT s.id, s.account_id, s.deleted_at IS NOT NULL AS deleted, s.edited_at,
        ({tombstones.IS_DELETED}) AS is_deleted,
        EXISTS (SELECT FROM follows WHERE target_account_id = $2 AND from_domain IS NULL) AS is_followed,
        EXISTS (SELECT FROM statuses reply WHERE reply.in_reply_to_uri = $1) AS has_replies
    FROM (SELECT) AS one LEFT JOIN statuses s ON s.uri = $1
"""

ANY_LOCAL = "SELECT EXISTS (SELECT FROM users WHERE account_id = ANY($1::bigint[]))"

# Replies to a parent that is not known here share an id in its place, and a conversation.
PLACEHOLDER = """
    SELECT in_reply_to_id AS id, conversation_id FROM statuses WHERE in_reply_to_uri = $1 ORDER BY id LIMIT 1
"""

SET_PARENT_URI = """
    UPDATE statuses SET in_reply_to_uri = $2, conversation_id = coalesce($3, conversation_id) WHERE id = $1
"""

SET_MANUAL_POLICY = "UPDATE statuses SET quote_manual_policy = $2 WHERE id = $1"

SET_POLICIES = """
    UPDATE statuses SET quote_policy = $2, quote_manual_policy = $3, quote_change_id = $4 WHERE id = $1
"""

ADD_MENTIONS = """
    WITH named AS (
        UPDATE statuses SET mentioned_ids = mentioned_ids || $2::bigint[] WHERE id = $1 RETURNING id
    )
    INSERT INTO mentions (status_id, account_id)
    SELECT named.id, added.id FROM named, unnest($2::bigint[]) AS added (id)
    ON CONFLICT (status_id, account_id) DO UPDATE SET silent = false
"""

SET_EDITED = "UPDATE statuses SET edited_at = $2 WHERE id = $1"

FIND_REPORTED_EDIT = "SELECT told_at FROM remote_edits WHERE status_id = $1"

STATE = """
    SELECT s.edited_at, e.told_at FROM statuses s LEFT JOIN remote_edits e ON e.status_id = s.id WHERE s.uri = $1
"""

STORE_REPORTED_EDIT = """
    INSERT INTO remote_edits (status_id, told_at) VALUES ($1, $2)
    ON CONFLICT (status_id) DO UPDATE SET told_at = excluded.told_at
"""

# The replies are locked before they are counted: a deletion at the same time is either seen here, or it finds the new
# parent and lowers its count.
# When the parent has come. Its own thread takes the conversations of its replies in.
JOIN = """
    WITH waiting AS (
        SELECT id, conversation_id, visibility, deleted_at FROM statuses WHERE in_reply_to_uri = $1 FOR UPDATE
    ), joined AS (
        UPDATE statuses SET in_reply_to_id = $2, in_reply_to_account_id = $3, in_reply_to_uri = NULL
        FROM waiting WHERE statuses.id = waiting.id
    ), counted AS (
        UPDATE status_counts SET replies = replies + (
            SELECT count(*) FROM waiting WHERE visibility IN ('public', 'unlisted') AND deleted_at IS NULL
        )
        WHERE status_id = $2
    )
    SELECT id, conversation_id FROM waiting
"""

MERGE_CONVERSATIONS = """
    UPDATE statuses SET conversation_id = $2 WHERE conversation_id = ANY($1::bigint[]) AND conversation_id <> $2
"""

ATTACHMENT_COLUMNS = {
    "id": "bigint",
    "account_id": "bigint",
    "type": "text",
    "file_type": "text",
    "remote_url": "text",
    "thumbnail_remote_url": "text",
    "description": "text",
    "blurhash": "text",
    "meta": "jsonb",
}

INSERT_ATTACHMENTS = Statement(f"""
    INSERT INTO media_attachments ({quoted(ATTACHMENT_COLUMNS)}, state, created_at, updated_at)
    SELECT new.*, 'ready', :now::timestamptz, :now FROM {rows_of(ATTACHMENT_COLUMNS, "new")}
""")

TALLY = """
    WITH options AS (
        UPDATE poll_options o SET votes = reported.votes
        FROM unnest($2::bigint[]) WITH ORDINALITY AS reported (votes, number)
        WHERE o.poll_id = $1 AND o.position = reported.number - 1
    )
    UPDATE polls SET voters_count = $3, fetched_at = $5,
        expires_at = CASE
            WHEN $6 THEN least(coalesce($4, expires_at), closed_at, $5) ELSE coalesce($4, expires_at)
        END,
        closed_at = CASE WHEN $6 THEN coalesce(closed_at, $5) ELSE closed_at END
    WHERE id = $1
"""


@dataclass(frozen=True, slots=True)
class KnownStatus:
    """A status with a URI, as it is known here."""

    id: int
    account_id: int
    deleted: bool
    edited_at: datetime | None


@dataclass(frozen=True, slots=True)
class EditState:
    """The time of the last edit of a status, as it is shown, and as its server reported it."""

    edited_at: datetime | None
    told_at: datetime | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """The rows that are here when a status comes: the status itself, replies to it, and followers of its author.

    With `is_deleted` its author has deleted it already.
    """

    known: KnownStatus | None
    is_deleted: bool
    is_followed: bool
    has_replies: bool


@dataclass(frozen=True, slots=True)
class RemoteAttachment:
    """An attachment whose file is on another server."""

    id: int
    account_id: int
    type: str
    file_type: str | None
    remote_url: str
    thumbnail_remote_url: str | None
    description: str
    blurhash: str | None
    meta: JsonObject


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The id that stands for an unknown parent, and the conversation of its replies."""

    id: int
    conversation_id: int


async def find(db: Connection, uri: str) -> KnownStatus | None:
    """Return the status with a URI, also a deleted status whose row is still there."""
    row = await db.fetchrow(FIND, uri)
    return KnownStatus(*row.values()) if row is not None else None


async def arriving(db: Connection, uri: str, author_id: int, now: datetime) -> Arrival:
    """Return the rows that are here when a status comes. Lock its URI before."""
    *known, is_deleted, is_followed, has_replies = (await db.fetchrow(ARRIVING, uri, author_id, now)).values()
    return Arrival(None if known[0] is None else KnownStatus(*known), is_deleted, is_followed, has_replies)


async def account_ids(db: Connection, uris: Sequence[str]) -> dict[str, int]:
    """Return the ids of the accounts with these URIs. Unknown, suspended and deleted accounts are left out."""
    return {row["uri"]: row["id"] for row in await db.fetch(ACCOUNT_IDS, uris)} if uris else {}


async def stored_account_ids(db: Connection, uris: Sequence[str]) -> dict[str, int]:
    """Return the ids of the accounts with these URIs, also of suspended and deleted accounts."""
    return {row["uri"]: row["id"] for row in await db.fetch(STORED_ACCOUNT_IDS, uris)}


async def is_taken(db: Connection, id: int) -> bool:
    """True if there is a status with this id."""
    return await db.fetchval(IS_TAKEN, id)


async def has_local_followers(db: Connection, account_ids: Sequence[int]) -> bool:
    """True if an account of this server follows any of these accounts."""
    return await db.fetchval(HAS_LOCAL_FOLLOWERS, account_ids)


async def any_local(db: Connection, account_ids: Sequence[int]) -> bool:
    """True if any of these accounts is of this server."""
    return bool(account_ids) and await db.fetchval(ANY_LOCAL, account_ids)


async def placeholder_of(db: Connection, parent_uri: str) -> Placeholder | None:
    """Return the place of an unknown parent, if another reply to it is here. Lock the URI before."""
    row = await db.fetchrow(PLACEHOLDER, parent_uri)
    return Placeholder(*row.values()) if row is not None else None


async def set_parent_uri(db: Connection, id: int, parent_uri: str, conversation_id: int | None) -> None:
    """Note which unknown status a status replies to."""
    await db.execute(SET_PARENT_URI, id, parent_uri, conversation_id)


async def set_manual_policy(db: Connection, id: int, policy: str) -> None:
    """Note who may ask the author of a status for permission to quote it."""
    await db.execute(SET_MANUAL_POLICY, id, policy)


async def set_policies(db: Connection, id: int, policy: str, manual_policy: str, change_id: int) -> None:
    """Set who may quote a status, and who may ask. The status must be locked before the id is drawn."""
    await db.execute(SET_POLICIES, id, policy, manual_policy, change_id)


async def add_mentions(db: Connection, id: int, account_ids: Sequence[int]) -> None:
    """Have a locked status mention more accounts, which are known here only now."""
    await db.execute(ADD_MENTIONS, id, account_ids)


async def set_edited(db: Connection, id: int, edited_at: datetime) -> None:
    """Note that a status was edited before it came here."""
    await db.execute(SET_EDITED, id, edited_at)


async def told_edit(db: Connection, id: int, edited_at: datetime | None) -> datetime | None:
    """Return when the server of a status says that it was edited last; None if it says nothing.

    `edited_at` of the status is returned where nothing else is known.
    """
    row = await db.fetchrow(FIND_REPORTED_EDIT, id)
    return edited_at if row is None else row["told_at"]


async def state(db: Connection, uri: str) -> EditState | None:
    """Return the values that identify the current state of a status among its edits."""
    row = await db.fetchrow(STATE, uri)
    return None if row is None else EditState(*row.values())


async def store_reported_edit(db: Connection, id: int, told_at: datetime | None) -> None:
    """Store the time of the last edit of a status as its server reported it."""
    await db.execute(STORE_REPORTED_EDIT, id, told_at)


async def join_replies(db: Connection, uri: str, id: int, account_id: int, conversation_id: int) -> list[int]:
    """Give a status the replies that came before it. Return them. Lock the URI before."""
    rows = await db.fetch(JOIN, uri, id, account_id)
    if others := {row["conversation_id"] for row in rows} - {conversation_id}:
        await db.execute(MERGE_CONVERSATIONS, sorted(others), conversation_id)
    return [row["id"] for row in rows]


async def insert_attachments(db: Connection, attachments: Sequence[RemoteAttachment], now: datetime) -> None:
    """Store attachments, which are given to a status next."""
    if attachments:
        await db.execute(*INSERT_ATTACHMENTS.bind_many(attachments, now=now))


async def tally(
    db: Connection, poll_id: int, votes: Sequence[int], voters: int, expires_at: datetime | None, now: datetime,
    *, closed: bool,
) -> None:  # fmt: skip
    """Store the counts of a poll as its server reported them."""
    await db.execute(TALLY, poll_id, list(votes), voters, expires_at, now, closed)
