"""Copies of the whole database: the files that its rows name, and the changes a copy needs to replace the original.

A server that is restored from a backup has not seen the acts of the original server after the backup. Other servers
know the ids that the original has given out since then, and its sequences have advanced.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from ..engine.database import Connection

# Each column with names of files, in pages by a key. A file of a suspended account is withheld (see `files.py`); by the
# rows, because an effect may be about to move it.
_PAGE = """
    SELECT {key} AS key, {withheld} AS withheld, array_remove(ARRAY[{files}], NULL) AS files
    FROM {table} WHERE {key} > $1 ORDER BY {key} LIMIT $2
"""

PAGES = (
    _PAGE.format(
        key="m.id",
        withheld="a.suspended_at IS NOT NULL",
        files="m.file, m.thumbnail_file, CASE WHEN m.state = 'waiting' THEN 'waiting/' || m.id END",
        table="media_attachments m JOIN accounts a ON a.id = m.account_id",
    ),
    _PAGE.format(key="id", withheld="suspended_at IS NOT NULL", files="avatar_file, header_file", table="accounts"),
    _PAGE.format(key="id", withheld="false", files="file, nullif(static_file, file)", table="custom_emojis"),
    _PAGE.format(key="id", withheld="false", files="image_file", table="preview_cards"),
)

COPIES = """
    SELECT url AS key, made, array_remove(ARRAY[file, thumbnail_file], NULL) AS files FROM remote_files
    WHERE (url, made) > ($1, $2) ORDER BY url, made LIMIT $3
"""

ROWS_AT_ONCE = 5000

# To the longest that a copy can be behind, ids are drawn as fast as time goes: 1,024 in a millisecond.
LAST = """
UPDATE public.node SET restored_from = {name}, moved_to = NULL, lowest_id = greatest(lowest_id, {lowest});
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, least(last_value + {gap}, max_value))
    FROM pg_catalog.pg_sequences WHERE last_value IS NOT NULL;
"""

# Numbers of a sequence that a restored server skips: more than the first server can have used since a backup.
GAP = 1_000_000

MARK = "UPDATE node SET moved_to = $1"
RESTORED_FROM = "SELECT restored_from FROM node"
HAS_NODE = "SELECT to_regclass('node') IS NOT NULL"


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a row names: its name as in `Folder`, and whether it is withheld."""

    name: str
    withheld: bool


async def named_files(db: Connection) -> list[NamedFile]:
    """Return all files that rows name."""
    return [file async for file in _named(db)]


def last_statements(name: str, lowest_id: int, gap: int) -> str:
    """Return the SQL for the end of a restore, in its transaction. `name` is the name of the backup."""
    return LAST.format(name="'" + name.replace("'", "''") + "'", lowest=int(lowest_id), gap=int(gap))


async def restored_from(db: Connection) -> str | None:
    """Return the backup that the database is from. None if it is from none."""
    return await db.fetchval(RESTORED_FROM) if await db.fetchval(HAS_NODE) else None


async def mark_moved(db: Connection, place: str) -> None:
    """Note the database to which this database was moved."""
    await db.execute(MARK, place)


async def _named(db: Connection) -> AsyncGenerator[NamedFile]:
    for query in PAGES:
        last = 0
        while rows := await db.fetch(query, last, ROWS_AT_ONCE):
            last = rows[-1]["key"]
            for row in rows:
                for file in row["files"]:
                    yield NamedFile(file, row["withheld"])
    url = made = ""
    while rows := await db.fetch(COPIES, url, made, ROWS_AT_ONCE):
        url, made = rows[-1]["key"], rows[-1]["made"]
        for row in rows:
            for file in row["files"]:
                yield NamedFile(file, withheld=False)
