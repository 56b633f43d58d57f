"""Dead letters: messages that crashed their actor twice, kept for an operator."""

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, replaced
from .engine.json_values import JsonObject
from .engine.sql import Statement, insert_into
from .paging import Page, both_ways

COLUMNS = "id, address, kind, message, error, request_id, causes, created_at"

INSERT = Statement(f"""
    {insert_into("dead_letters", COLUMNS, error="left(:error, 2000)")} ON CONFLICT (id) DO NOTHING
""")

PAGE = both_ways(f"SELECT {COLUMNS} FROM dead_letters WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3")

DELETE = "DELETE FROM dead_letters WHERE id = $1 RETURNING id"


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


async def page(
    db: Connection,
    page: Page,
) -> list[DeadLetter]:
    rows = await db.fetch(PAGE[page.oldest_first], *page.bounds)
    letters = [DeadLetter(**replaced(row, causes=tuple(row["causes"]))) for row in rows]
    return sorted(letters, key=lambda letter: letter.id, reverse=True)


async def delete(db: Connection, id: int) -> bool:
    return await db.fetchval(DELETE, id) is not None
