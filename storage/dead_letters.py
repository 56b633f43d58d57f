"""Dead letters: messages that crashed their actor twice, kept for an operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row, replaced
from .engine.json_values import JsonObject
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page, both_ways, rows_of

COLUMNS = "id, address, kind, message, error, request_id, causes, created_at"

INSERT = Statement(f"""
    {insert_into("dead_letters", COLUMNS, error="left(:error, 2000)")} ON CONFLICT (id) DO NOTHING
""")

PAGE = both_ways(f"SELECT {COLUMNS} FROM dead_letters WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3")

FIND = f"SELECT {COLUMNS} FROM dead_letters WHERE id = $1"

DELETE = "DELETE FROM dead_letters WHERE id = ANY($1::bigint[]) RETURNING id"

DELETE_ALL = "DELETE FROM dead_letters RETURNING id"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter: the address of its actor, its content, and the error it caused."""

    id: int
    address: str
    kind: str
    message: JsonObject
    error: str
    request_id: str | None
    causes: tuple[str, ...]
    created_at: datetime


async def insert(db: Connection, letter: DeadLetter) -> None:
    """Store a dead letter. A repeat changes nothing."""
    await db.execute(*INSERT.bind(letter))


async def page(db: Connection, page: Page) -> list[DeadLetter]:
    return [_letter(row) for row in await rows_of(db, PAGE, page)]


async def find(db: Connection, id: int) -> DeadLetter | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else _letter(row)


async def delete(db: Connection, ids: Sequence[int]) -> list[int]:
    """Delete dead letters. Return the ids of the deleted letters."""
    return [row["id"] for row in await db.fetch(DELETE, list(ids))]


async def delete_all(db: Connection) -> list[int]:
    """Delete all dead letters. Return their ids."""
    return [row["id"] for row in await db.fetch(DELETE_ALL)]


def _letter(row: Row) -> DeadLetter:
    return DeadLetter(**replaced(row, causes=tuple(row["causes"])))
