"""Copies of other servers' pictures, films and sound: their sources, and the cache of their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ..engine.database import Connection, Row
from ..engine.json_values import JsonObject
from ..media import ProcessedMedia

# The purpose of a copy: a picture is cut to another size for each. A `film` may be sound, too.
Purpose: TypeAlias = Literal["image", "avatar", "header", "emoji", "film"]
# The kinds of things with a picture on another server: `preview` is the still of a film, or a smaller picture.
Kind: TypeAlias = Literal["attachment", "preview", "avatar", "header", "emoji"]

OF_ATTACHMENT = """
    SELECT m.{url} AS url, a.domain, m.type, m.blurhash IS NULL AS lacks_blurhash, {lacks_size} AS lacks_size
    FROM media_attachments m JOIN accounts a ON a.id = m.account_id
    WHERE m.id = $1 AND m.{url} IS NOT NULL AND a.domain IS NOT NULL AND a.suspended_at IS NULL
"""

OF_ACCOUNT = """
    SELECT {url} AS url, domain, 'image' AS type, false AS lacks_blurhash, false AS lacks_size FROM accounts
    WHERE id = $1 AND {url} IS NOT NULL AND domain IS NOT NULL AND suspended_at IS NULL
"""

OF_EMOJI = """
    SELECT remote_url AS url, domain, 'image' AS type, false AS lacks_blurhash, false AS lacks_size FROM custom_emojis
    WHERE id = $1 AND remote_url IS NOT NULL AND domain IS NOT NULL AND NOT disabled
"""

SOURCES: dict[Kind, str] = {
    "attachment": OF_ATTACHMENT.format(url="remote_url", lacks_size="NOT m.meta ? 'original'"),
    "preview": OF_ATTACHMENT.format(url="thumbnail_remote_url", lacks_size="false"),
    "avatar": OF_ACCOUNT.format(url="avatar_remote_url"),
    "header": OF_ACCOUNT.format(url="header_remote_url"),
    "emoji": OF_EMOJI,
}

FIND = "SELECT file, thumbnail_file, used_at, type, blurhash, meta FROM remote_files WHERE url = $1 AND made = $2"

# If two nodes make a copy of one file, the first copy stays; the caller removes the files of the second.
INSERT = """
    INSERT INTO remote_files (url, made, file, thumbnail_file, size, fetched_at, used_at, type, blurhash, meta)
    VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING file
"""

# Values that the attachment's own server has sent stay.
DESCRIBE = """
    UPDATE media_attachments SET
        type = CASE WHEN type = 'unknown' THEN coalesce($2, type) ELSE type END,
        blurhash = coalesce(blurhash, $3), meta = $4::jsonb || meta, updated_at = $5
    WHERE id = $1 RETURNING status_id
"""

USE = "UPDATE remote_files SET used_at = $3 WHERE url = $1 AND made = $2"

DELETE_OF = "DELETE FROM remote_files WHERE url = ANY($1::text[]) RETURNING file, thumbnail_file"

DELETE_UNUSED = """
    DELETE FROM remote_files WHERE (url, made) IN (
        SELECT url, made FROM remote_files WHERE used_at < $1 ORDER BY used_at LIMIT $2
    )
    RETURNING file, thumbnail_file
"""


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """The address of a file, the domain of its account, and the type that its server reports.

    `lacks_blurhash` and `lacks_size` are true of an attachment for which its server has not sent them.
    """

    url: str
    domain: str
    type: str
    lacks_blurhash: bool
    lacks_size: bool


@dataclass(frozen=True, slots=True)
class RemoteCopy:
    """A copy in the media folder, and the properties found when it was made."""

    file: str
    thumbnail_file: str | None
    used_at: datetime
    type: str | None
    blurhash: str | None
    meta: JsonObject


async def find_source(db: Connection, kind: Kind, id: int) -> RemoteSource | None:
    """Return where the picture of a thing is, unless its account is suspended or local."""
    row = await db.fetchrow(SOURCES[kind], id)
    return RemoteSource(**row) if row is not None else None


async def find(db: Connection, url: str, made: Purpose) -> RemoteCopy | None:
    row = await db.fetchrow(FIND, url, made)
    return RemoteCopy(**row) if row is not None else None


async def insert(db: Connection, url: str, made: Purpose, copy: ProcessedMedia, size: int, now: datetime) -> bool:
    """Store a copy. `size` is of all its files, in bytes. False if a copy is stored already."""
    facts = (copy.type, copy.blurhash, copy.meta)
    return await db.fetchval(INSERT, url, made, copy.file, copy.thumbnail_file, size, now, *facts) is not None


async def describe(db: Connection, id: int, copy: RemoteCopy, meta: JsonObject, now: datetime) -> int | None:
    """Set the properties of an attachment that its server has not sent. Return its status."""
    return await db.fetchval(DESCRIBE, id, copy.type, copy.blurhash, meta, now)


async def use(db: Connection, url: str, made: Purpose, now: datetime) -> None:
    """Note that a copy was looked at."""
    await db.execute(USE, url, made, now)


async def delete_unused(db: Connection, before: datetime, limit: int) -> Sequence[str]:
    """Delete some copies that were not used since a time. Return their files."""
    return _files(await db.fetch(DELETE_UNUSED, before, limit))


async def delete_of(db: Connection, urls: Sequence[str]) -> Sequence[str]:
    """Delete the copies of pictures that are gone. Return their files."""
    return _files(await db.fetch(DELETE_OF, list(urls))) if urls else []


def _files(rows: Sequence[Row]) -> list[str]:
    return [name for row in rows for name in (row["file"], row["thumbnail_file"]) if name is not None]
