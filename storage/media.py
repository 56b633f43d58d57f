"""Media attachments: uploaded, processed, described, attached to a status or waiting to be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .engine import Connection, Row

COLUMNS = """
    id, account_id, status_id, type, state, file, file_type, file_size, thumbnail_file, remote_url,
    thumbnail_remote_url,
    description, blurhash, meta
"""

FIND_MANY = f"SELECT {COLUMNS} FROM media_attachments WHERE id = ANY($1::bigint[])"

# As FIND_MANY, for a query over statuses `s`; in the order that the author gave.
OF_STATUS = f"""
    SELECT jsonb_agg(to_jsonb(m) ORDER BY array_position(s.media_ids, m.id))
    FROM (SELECT {COLUMNS} FROM media_attachments WHERE status_id = s.id) AS m WHERE m.id = ANY(s.media_ids)
"""


@dataclass(frozen=True, slots=True)
class Media:
    """One attachment. `file` and `thumbnail_file` are names below the media folder."""

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
    meta: dict[str, Any]


async def find_many(db: Connection, ids: Sequence[int]) -> dict[int, Media]:
    """Attachments by id."""
    return {row["id"]: media_of(row) for row in await db.fetch(FIND_MANY, ids)}


def media_of(row: Row) -> Media:
    """A Media of a row, or of a JSON object, with COLUMNS."""
    return Media(**row)
