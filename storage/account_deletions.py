"""The deletion of an account. Its row stays, so that the name stays taken; everything else goes, in batches.

The row of a sign-up that was never both confirmed and approved goes too: no other server has ever seen the account.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from . import sessions
from .engine.database import Connection
from .media import REPORTED, Media, delete_many
from .upkeep.account_columns import AccountColumn, account_columns

LOCK = """
    SELECT ARRAY_REMOVE(ARRAY[avatar_file, header_file], NULL) AS files FROM accounts
    WHERE id = $1 AND deleted_at IS NULL FOR UPDATE
"""

# Until a user is confirmed and approved, the account can't post, follow or be seen. Posts and follows are looked for
# all the same: a name that another server has seen must never become another person's.
WAS_NEVER_ACTIVE = """
    SELECT EXISTS (
        SELECT FROM users WHERE account_id = $1 AND (confirmed_at IS NULL OR approved_at IS NULL) FOR UPDATE
    ) AND NOT EXISTS (SELECT FROM statuses WHERE account_id = $1)
    AND NOT EXISTS (SELECT FROM follows WHERE account_id = $1 OR target_account_id = $1)
"""

MARK = """
    UPDATE accounts SET
        deleted_at = $2, updated_at = $2, display_name = '', names = '', note_source = '', note = '', fields = '[]',
        avatar_file = NULL, avatar_description = '', header_file = NULL, header_description = '',
        discoverable = false, indexable = false, also_known_as = '{}', moved_to_id = NULL
    WHERE id = $1
"""

# Rows by which the user signs in, or that have the address or the password. Recovery codes go with `two_factor`.
PRIVATE = ("users", "confirmations", "password_resets", "two_factor", "sign_in_challenges", "scheduled_statuses")

Kind = Literal["statuses", "followed", "followers", "blocked", "muted", "favourites", "media"]

# For each kind, the ids of the rows that an account still has. Requests to follow count as follows.
LEFT: Mapping[Kind, str] = {
    "statuses": "SELECT id FROM statuses WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id DESC LIMIT $2",
    "followed": """
        SELECT target_account_id AS id FROM follows WHERE account_id = $1
        UNION SELECT target_account_id FROM follow_requests WHERE account_id = $1 ORDER BY id LIMIT $2
    """,
    "followers": """
        SELECT account_id AS id FROM follows WHERE target_account_id = $1
        UNION SELECT account_id FROM follow_requests WHERE target_account_id = $1 ORDER BY id LIMIT $2
    """,
    "blocked": "SELECT target_account_id AS id FROM blocks WHERE account_id = $1 ORDER BY id LIMIT $2",
    "muted": "SELECT target_account_id AS id FROM mutes WHERE account_id = $1 ORDER BY id LIMIT $2",
    "favourites": "SELECT status_id AS id FROM favourites WHERE account_id = $1 ORDER BY id LIMIT $2",
    # Media of an open report stay until it is resolved. Then they are deleted like media that are in no status.
    "media": f"SELECT m.id FROM media_attachments m WHERE m.account_id = $1 AND NOT {REPORTED} ORDER BY m.id LIMIT $2",
}

# Some rows of a deleted account are kept: posts for some weeks, and all that reports name. A purge deletes them with
# the row of the account.
IS_ERASABLE = """
    SELECT EXISTS (
        SELECT FROM accounts WHERE id = $1 AND domain IS NOT NULL AND deleted_at IS NOT NULL FOR UPDATE
    )
"""

KEPT_MEDIA = "SELECT id FROM media_attachments WHERE account_id = $1 ORDER BY id LIMIT $2"

DELETE_KEPT_STATUSES = """
    DELETE FROM statuses WHERE id = ANY(ARRAY(SELECT id FROM statuses WHERE account_id = $1 LIMIT $2)) RETURNING 1
"""

FORGET_AUTHOR = "UPDATE preview_cards SET author_account_id = NULL WHERE author_account_id = $1"

DELETE_ROW = "DELETE FROM accounts WHERE id = $1"

# Rows that an account owns and that are not simply deleted, table by table. Rows of all other tables are: of a new one,
# too, because what no list names must not stay.
DELETED_ELSEWHERE = {
    *PRIVATE,
    # Access: deleted or revoked when the account is marked. The last two go with their token.
    *("web_sessions", "access_tokens", "oauth_grants", "push_subscriptions"),
    # Other accounts see these, or numbers count them: `LEFT`. What belongs to a status goes with it.
    *("statuses", "polls", "mentions", "pins"),
    *("follows", "follow_requests", "blocks", "mutes", "favourites", "media_attachments"),
}
KEPT_TABLES = {
    "account_counts",  # with the row of the account
    "activities",  # they tell other servers of the deletion, and expire
    "poll_votes",  # a part of the results of other people's polls
    *("appeals", "reports", "strikes"),  # what staff decided
}


@dataclass(frozen=True, slots=True)
class DeletedAccount:
    """The outcome of a deletion: the files of the profile, and the hashes of the tokens that were revoked.

    `gone` says that the account was never active: its row is deleted, and its name is free.
    """

    files: list[str]
    revoked: list[bytes]
    gone: bool


async def mark(db: Connection, account_id: int, now: datetime) -> DeletedAccount | None:
    """Delete the user and all access, and empty the profile. None if the account was deleted.

    If it was never active, its row is deleted as well.
    """
    row = await db.fetchrow(LOCK, account_id)
    if row is None:
        return None
    gone = bool(await db.fetchval(WAS_NEVER_ACTIVE, account_id))
    await db.execute(MARK, account_id, now)
    await sessions.delete_others(db, account_id, b"")
    revoked = await sessions.revoke_tokens(db, account_id, now)
    for table in PRIVATE:
        await db.execute(f"DELETE FROM {table} WHERE account_id = $1", account_id)
    if gone:
        await delete_row(db, account_id)
    return DeletedAccount(row["files"], revoked, gone)


async def left(db: Connection, kind: Kind, account_id: int, limit: int) -> list[int]:
    """Return ids of the rows of a kind that the account still has."""
    return await _ids(db, LEFT[kind], account_id, limit)


async def plain_columns(db: Connection) -> Sequence[AccountColumn]:
    """Return the columns by which rows are found that no other account sees and no number counts."""
    apart = DELETED_ELSEWHERE | KEPT_TABLES
    return [one for one in await account_columns(db) if one.owns and one.table not in apart]


def batch(column: AccountColumn) -> str:
    """Return the query for the places of some rows of a table."""
    return f"SELECT ctid FROM {column.table} WHERE {column.column} = $1 LIMIT $2"


async def delete_plain(db: Connection, account_id: int, limit: int) -> bool:
    """Delete a batch of the rows of one table. False if nothing is left in any of them."""
    for one in await plain_columns(db):
        query = f"DELETE FROM {one.table} WHERE ctid = ANY(ARRAY({batch(one)})) RETURNING 1"
        if await db.fetch(query, account_id, limit):
            return True
    return False


async def is_erasable(db: Connection, account_id: int) -> bool:
    """True if it is a deleted account of another server. Its row is locked until the transaction ends."""
    return await db.fetchval(IS_ERASABLE, account_id)


async def delete_kept_media(db: Connection, account_id: int, limit: int) -> list[Media]:
    """Delete attachments, also those that reports name, and return them: their files must be removed."""
    return await delete_many(db, await _ids(db, KEPT_MEDIA, account_id, limit))


async def delete_kept_statuses(db: Connection, account_id: int, limit: int) -> bool:
    """Delete the rows of statuses, which were deleted before. False if there was none."""
    return bool(await db.fetch(DELETE_KEPT_STATUSES, account_id, limit))


async def delete_row(db: Connection, account_id: int) -> None:
    """Delete the row of an account. Preview cards that name it as their author lose the author."""
    await db.execute(FORGET_AUTHOR, account_id)
    await db.execute(DELETE_ROW, account_id)


async def _ids(db: Connection, query: str, account_id: int, limit: int) -> list[int]:
    return [row["id"] for row in await db.fetch(query, account_id, limit)]
