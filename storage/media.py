"""Media attachments: uploaded, processed, described, attached to a status or not yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row
from .engine.json_values import JsonObject
from .engine.sql import Statement, assigned, insert_into

COLUMNS = """
    id, account_id, status_id, type, state, file, file_type, file_size, thumbnail_file, remote_url,
    thumbnail_remote_url,
    description, blurhash, meta, scheduled_status_id, tries, failure, discarded
"""

FIND_MANY = f"SELECT {COLUMNS} FROM media_attachments WHERE id = ANY($1::bigint[])"

# As FIND_MANY, for a query over statuses `s`; in the order that the author gave.
OF_STATUS = f"""
    SELECT jsonb_agg(to_jsonb(m) ORDER BY array_position(s.media_ids, m.id))
    FROM (SELECT {COLUMNS} FROM media_attachments WHERE status_id = s.id) AS m WHERE m.id = ANY(s.media_ids)
"""

# The media of statuses that may be deleted: a deletion takes their attachments away.
THAT_STATUS_HAD = f"""
    SELECT jsonb_agg(to_jsonb(m) ORDER BY array_position(s.media_ids, m.id))
    FROM (SELECT {COLUMNS} FROM media_attachments WHERE id = ANY(s.media_ids)) AS m WHERE m.account_id = s.account_id
"""

# Locked until the transaction ends, in one order for all, so that two statuses never take the same attachment.
LOCK = f"{FIND_MANY} ORDER BY id FOR UPDATE"

NEW_COLUMNS = """
    id, account_id, type, state, file, file_type, file_size, thumbnail_file, blurhash, meta, description, node
"""

INSERT = Statement(f"""
    {insert_into("media_attachments", NEW_COLUMNS, created_at=":now", updated_at=":now")} RETURNING {COLUMNS}
""")

ATTACH = f"""
    UPDATE media_attachments SET status_id = $2, updated_at = $3 WHERE id = ANY($1::bigint[]) RETURNING {COLUMNS}
"""

RESERVE = "UPDATE media_attachments SET scheduled_status_id = $2, updated_at = $3 WHERE id = ANY($1::bigint[])"

DESCRIBE = f"""
    UPDATE media_attachments SET
        description = coalesce($2, description), thumbnail_file = coalesce($3, thumbnail_file),
        blurhash = coalesce($4, blurhash), meta = meta || $5::jsonb, updated_at = $6
    WHERE id = $1
    RETURNING {COLUMNS}
"""

# A focus or a thumbnail that its owner has set meanwhile stays.
FINISH = Statement(f"""
    UPDATE media_attachments SET
        {assigned("type, file, file_type, file_size")}, state = 'ready', updated_at = :now,
        thumbnail_file = coalesce(thumbnail_file, :thumbnail_file), blurhash = coalesce(blurhash, :blurhash),
        meta = :meta::jsonb || meta
    WHERE id = :id AND state = 'waiting'
""")

DELETE = f"DELETE FROM media_attachments WHERE id = ANY($1::bigint[]) RETURNING {COLUMNS}"

# True if the attachment `m` was in a status, deleted since, that an open report names.
REPORTED = """
    EXISTS (
        SELECT FROM reports r JOIN statuses s ON s.id = ANY(r.status_ids)
        WHERE r.target_account_id = m.account_id AND r.action_taken_at IS NULL AND m.id = ANY(s.media_ids)
    )
"""

IS_REPORTED = f"SELECT {REPORTED} FROM media_attachments m WHERE m.id = $1"

DISCARD = "UPDATE media_attachments SET discarded = true, updated_at = $2 WHERE id = ANY($1::bigint[])"

# Skips attachments that a status takes at this moment.
DELETE_LOOSE = f"""
    DELETE FROM media_attachments WHERE id IN (
        SELECT m.id FROM media_attachments m
        WHERE m.status_id IS NULL AND m.scheduled_status_id IS NULL AND m.updated_at < $1 AND NOT {REPORTED}
        ORDER BY m.updated_at LIMIT $2 FOR UPDATE OF m SKIP LOCKED
    )
    RETURNING {COLUMNS}
"""

FAIL = """
    UPDATE media_attachments SET state = 'failed', failure = $2, updated_at = $3 WHERE id = $1 AND state = 'waiting'
"""

DUE = f"""
    SELECT {COLUMNS} FROM media_attachments
    WHERE state = 'waiting' AND node = $1 AND account_id = $2 AND (retry_at IS NULL OR retry_at <= $3)
    ORDER BY id LIMIT 1
"""

# The account whose oldest upload has waited longest comes first.
ACCOUNTS_WAITING = """
    SELECT account_id FROM media_attachments
    WHERE state = 'waiting' AND node = $1 AND (retry_at IS NULL OR retry_at <= $2) AND account_id <> ALL($3::bigint[])
    GROUP BY account_id ORDER BY min(id) LIMIT $4
"""

NEXT_RETRY = "SELECT min(retry_at) FROM media_attachments WHERE state = 'waiting' AND node = $1 AND retry_at > $2"

# Some attachments of an account by id, for their files.
OF_ACCOUNT = f"SELECT {COLUMNS} FROM media_attachments WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3"

COUNT_WAITING = "SELECT count(*) FROM media_attachments WHERE state = 'waiting' AND account_id = $1"

COUNT_TRY = """
    UPDATE media_attachments SET tries = tries + 1, retry_at = NULL WHERE id = $1 AND state = 'waiting' RETURNING tries
"""

GIVE_TRY_BACK = "UPDATE media_attachments SET tries = tries - 1 WHERE id = $1 AND state = 'waiting' AND tries > 0"

PUT_OFF = "UPDATE media_attachments SET retry_at = $2 WHERE id = $1 AND state = 'waiting'"

# Scans whole tables: used only after a crash, and only for the files that it left.
KNOWN_FILES = """
    SELECT file FROM media_attachments WHERE file = ANY($1::text[])
    UNION ALL SELECT thumbnail_file FROM media_attachments WHERE thumbnail_file = ANY($1::text[])
    UNION ALL SELECT avatar_file FROM accounts WHERE avatar_file = ANY($1::text[])
    UNION ALL SELECT header_file FROM accounts WHERE header_file = ANY($1::text[])
    UNION ALL SELECT image_file FROM preview_cards WHERE image_file = ANY($1::text[])
    UNION ALL SELECT file FROM remote_files WHERE file = ANY($1::text[])
    UNION ALL SELECT thumbnail_file FROM remote_files WHERE thumbnail_file = ANY($1::text[])
    UNION ALL SELECT file FROM custom_emojis WHERE file = ANY($1::text[])
    UNION ALL SELECT static_file FROM custom_emojis WHERE static_file = ANY($1::text[])
"""


@dataclass(frozen=True, slots=True)
class Media:
    """An attachment. `file` and `thumbnail_file` are names in the media folder."""

    id: int
    account_id: int
    status_id: int | None
    type: str
    state: str
    file: str | None
    file_type: str | None
    file_size: int | None
    thumbnail_file: str | None
    remote_url: str | None
    thumbnail_remote_url: str | None
    description: str
    blurhash: str | None
    meta: JsonObject
    scheduled_status_id: int | None = None  # reserved for a scheduled status
    tries: int = 0  # number of times that its processing began
    failure: str | None = None  # why processing failed, in words for its owner
    discarded: bool = False  # deleted by its owner, and kept for staff

    @property
    def changeable(self) -> bool:
        """True if its owner may describe it: no published status has it, and it is not kept for staff alone."""
        return self.status_id is None and not self.discarded

    @property
    def taken(self) -> bool:
        """True if its owner can't use it: a status has it, published or scheduled, or it is kept for staff alone."""
        return self.scheduled_status_id is not None or not self.changeable

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all its files, with the upload while it waits."""
        upload = f"waiting/{self.id}" if self.state == "waiting" else None
        return tuple(name for name in (self.file, self.thumbnail_file, upload) if name is not None)

    @property
    def remote_urls(self) -> tuple[str, ...]:
        """The addresses of its pictures on another server."""
        return tuple(url for url in (self.remote_url, self.thumbnail_remote_url) if url is not None)


@dataclass(frozen=True, slots=True)
class ProcessedMedia:
    """The files and facts that processing made of an upload."""

    type: str
    file: str
    file_type: str
    file_size: int
    thumbnail_file: str | None
    blurhash: str | None
    meta: JsonObject


async def find_many(db: Connection, ids: Sequence[int]) -> dict[int, Media]:
    """Return attachments by id."""
    return {row["id"]: media_of(row) for row in await db.fetch(FIND_MANY, ids)}


async def find(db: Connection, id: int) -> Media | None:
    return (await find_many(db, [id])).get(id)


async def lock(db: Connection, ids: Sequence[int]) -> dict[int, Media]:
    """Return attachments by id, locked until the transaction ends."""
    return {row["id"]: media_of(row) for row in await db.fetch(LOCK, ids)}


async def insert(
    db: Connection, id: int, account_id: int, made: ProcessedMedia, description: str, focus: dict[str, float] | None,
    now: datetime,
) -> Media:  # fmt: skip
    """Store a processed attachment."""
    meta = made.meta if focus is None else made.meta | {"focus": focus}
    ready = INSERT.bind(
        made, id=id, account_id=account_id, state="ready", meta=meta, description=description, node=None, now=now
    )  # fmt: skip
    return media_of(await db.fetchrow(*ready))


async def insert_waiting(
    db: Connection, id: int, account_id: int, type: str, node: str, thumbnail: ProcessedMedia | None,
    description: str, focus: dict[str, float] | None, now: datetime,
) -> Media:  # fmt: skip
    """Store an attachment that waits for processing at `node`. It may have a thumbnail that its owner chose."""
    small = None if thumbnail is None else thumbnail.thumbnail_file
    blurhash = None if thumbnail is None else thumbnail.blurhash
    meta = ({} if thumbnail is None else thumbnail.meta) | ({} if focus is None else {"focus": focus})
    waiting = INSERT.bind(
        id=id, account_id=account_id, type=type, state="waiting", file=None, file_type=None, file_size=None,
        thumbnail_file=small, blurhash=blurhash, meta=meta, description=description, node=node, now=now,
    )  # fmt: skip
    return media_of(await db.fetchrow(*waiting))


async def attach(db: Connection, ids: Sequence[int], status_id: int, now: datetime) -> dict[int, Media]:
    """Give locked attachments to a status."""
    return {row["id"]: media_of(row) for row in await db.fetch(ATTACH, ids, status_id, now)}


async def reserve(db: Connection, ids: Sequence[int], scheduled_status_id: int, now: datetime) -> None:
    """Reserve locked attachments for a scheduled status."""
    await db.execute(RESERVE, ids, scheduled_status_id, now)


async def describe(
    db: Connection, id: int, description: str | None, focus: dict[str, float] | None, thumbnail: ProcessedMedia | None,
    now: datetime,
) -> Media:  # fmt: skip
    """Change the parts of an attachment that its owner may change. None leaves a value as it is."""
    meta = {} if focus is None else {"focus": focus}
    small, blurhash = None, None
    if thumbnail is not None:
        small, blurhash, meta = thumbnail.thumbnail_file, thumbnail.blurhash, meta | {"small": thumbnail.meta["small"]}
    return media_of(await db.fetchrow(DESCRIBE, id, description, small, blurhash, meta, now))


async def finish(db: Connection, id: int, made: ProcessedMedia, now: datetime) -> None:
    """Store the result of processing."""
    await db.execute(*FINISH.bind(made, id=id, now=now))


async def fail(db: Connection, id: int, why: str | None, now: datetime) -> None:
    """Note that processing has failed for good."""
    await db.execute(FAIL, id, why, now)


async def delete_many(db: Connection, ids: Sequence[int]) -> list[Media]:
    """Delete attachments of any account and return them: their files must be removed after the commit."""
    return [media_of(row) for row in await db.fetch(DELETE, ids)]


async def is_reported(db: Connection, id: int) -> bool:
    """True if an attachment was in a deleted status that an open report names."""
    return bool(await db.fetchval(IS_REPORTED, id))


async def discard(db: Connection, ids: Sequence[int], now: datetime) -> None:
    """Keep attachments for staff alone. When no open report is about them, they are deleted as unattached media."""
    await db.execute(DISCARD, ids, now)


async def delete_loose(db: Connection, before: datetime, limit: int) -> list[Media]:
    """Delete some attachments that were in no status since `before`."""
    return [media_of(row) for row in await db.fetch(DELETE_LOOSE, before, limit)]


async def due(db: Connection, node: str, account_id: int, now: datetime) -> Media | None:
    """Return the oldest upload of an account that the node can process now."""
    row = await db.fetchrow(DUE, node, account_id, now)
    return None if row is None else media_of(row)


async def accounts_waiting(db: Connection, node: str, now: datetime, busy: Sequence[int], limit: int) -> list[int]:
    """Return accounts with uploads that the node can process now, without the `busy` accounts."""
    return [row["account_id"] for row in await db.fetch(ACCOUNTS_WAITING, node, now, busy, limit)]


async def next_retry(db: Connection, node: str, now: datetime) -> datetime | None:
    """Return when the next upload that the node has deferred is due."""
    return await db.fetchval(NEXT_RETRY, node, now)


async def of_account(db: Connection, account_id: int, after: int, limit: int) -> list[Media]:
    """Return the next attachments of an account after an id, also attachments of its statuses."""
    return [media_of(row) for row in await db.fetch(OF_ACCOUNT, account_id, after, limit)]


async def count_waiting(db: Connection, account_id: int) -> int:
    """Return the number of an account's waiting uploads."""
    return await db.fetchval(COUNT_WAITING, account_id)


async def count_try(db: Connection, id: int) -> int | None:
    """Count a try before it begins. Return the number of tries. None if the upload does not wait any more."""
    return await db.fetchval(COUNT_TRY, id)


async def give_try_back(db: Connection, id: int) -> None:
    """Uncount the last try, which was interrupted for another cause than the file."""
    await db.execute(GIVE_TRY_BACK, id)


async def put_off(db: Connection, id: int, until: datetime) -> None:
    """Let an upload wait for its next try."""
    await db.execute(PUT_OFF, id, until)


async def known_files(db: Connection, names: Sequence[str]) -> set[str]:
    """Return which of these files a row names."""
    return {row["file"] for row in await db.fetch(KNOWN_FILES, names)}


def media_of(row: Row) -> Media:
    """Return the Media of a row, or of a JSON object, with COLUMNS."""
    return Media(**row)
