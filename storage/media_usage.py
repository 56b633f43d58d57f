"""The files in the media folder that rows name, by kind."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .engine.database import Connection

# In pages by the id of the row.
_PAGE = """
    SELECT {key} AS key, {owner} AS owner, ARRAY_REMOVE(ARRAY[{files}], NULL) AS files FROM {table}
    WHERE {key} > $1 {where}
"""

NO_ACCOUNT = "NULL::bigint"
EMOJI_FILES = "file, nullif(static_file, file)"
_ATTACHMENT = (
    "m.account_id",
    "m.file, m.thumbnail_file, CASE WHEN m.state = 'waiting' THEN 'waiting/' || m.id END",
    "media_attachments m JOIN accounts a ON a.id = m.account_id",
)


def _page(key: str, owner: str, files: str, table: str, where: str) -> str:
    query = _PAGE.format(key=key, owner=owner, files=files, table=table, where=where and f"AND {where}")
    return f"{query} ORDER BY {key} LIMIT $2"


KINDS: Mapping[str, str] = {
    "attachments": _page("m.id", *_ATTACHMENT, "a.domain IS NULL"),
    "attachments of other servers": _page("m.id", *_ATTACHMENT, "a.domain IS NOT NULL"),
    "avatars": _page("id", "id", "avatar_file", "accounts", "avatar_file IS NOT NULL"),
    "headers": _page("id", "id", "header_file", "accounts", "header_file IS NOT NULL"),
    "emoji": _page("id", NO_ACCOUNT, EMOJI_FILES, "custom_emojis", "domain IS NULL"),
    "emoji of other servers": _page("id", NO_ACCOUNT, EMOJI_FILES, "custom_emojis", "domain IS NOT NULL"),
    "pictures of cards": _page("id", NO_ACCOUNT, "image_file", "preview_cards", "image_file IS NOT NULL"),
}

COPIES = """
    SELECT made, sum(size)::bigint AS bytes, count(file) + count(thumbnail_file) AS files FROM remote_files
    GROUP BY made ORDER BY made
"""


class FileRow(NamedTuple):
    """A row with its files, and the account that they belong to."""

    key: int
    owner: int | None
    files: Sequence[str]


async def page(db: Connection, kind: str, after: int, limit: int) -> list[FileRow]:
    """Return the next rows of a kind after an id."""
    return [FileRow(**row) for row in await db.fetch(KINDS[kind], after, limit)]


async def copies(db: Connection) -> dict[str, tuple[int, int]]:
    """Return bytes and number of the copies of other servers' pictures, by purpose."""
    return {row["made"]: (row["bytes"], row["files"]) for row in await db.fetch(COPIES)}
