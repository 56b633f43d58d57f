"""The rows of all that the server blocks or allows: stored, found, listed and deleted in one way.

A record has a field for each column of its table, among them `id`. Another column, its key, is unique: the domain, the
network or the hash that the block is about.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page, both_ways, rows_of


class ServerBlock(Protocol):
    """A record of one of the tables."""

    @property
    def id(self) -> int: ...


R = TypeVar("R", bound=ServerBlock)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The statements of a table."""

    find: str
    find_by_key: str
    find_all: str
    page: tuple[str, str]
    insert: Statement
    delete: str


_TABLES: dict[type, BlockTable] = {}


def in_table(name: str, key: str, **types: str) -> Callable[[type[T]], type[T]]:
    """Have the records of a class be the rows of a table. `types` are of columns that records have as texts."""

    def declare(kind: type[T]) -> type[T]:
        names = [*kind.__annotations__]
        columns = ", ".join(f"{name}::text AS {name}" if name in types else name for name in names)
        select = f"SELECT {columns} FROM {name}"
        written = {column: f":{column}::text::{type}" for column, type in types.items()}
        sought = f"$1::text::{types[key]}" if key in types else "$1"
        _TABLES[kind] = BlockTable(
            find=f"{select} WHERE id = $1",
            find_by_key=f"{select} WHERE {key} = {sought}",
            find_all=f"{select} ORDER BY {key}",
            page=both_ways(f"{select} WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3"),
            insert=Statement(
                f"{insert_into(name, ', '.join(names), **written)} ON CONFLICT ({key}) DO NOTHING RETURNING id"
            ),
            delete=f"DELETE FROM {name} WHERE id = $1 RETURNING {columns}",
        )
        return kind

    return declare


def table_of(kind: type[ServerBlock]) -> BlockTable:
    return _TABLES[kind]


async def find(db: Connection, kind: type[R], id: int) -> R | None:
    row = await db.fetchrow(table_of(kind).find, id)
    return None if row is None else kind(**row)


async def find_by_key(db: Connection, kind: type[R], key: str | bytes) -> R | None:
    """Return the block of a domain, a network or a hash."""
    row = await db.fetchrow(table_of(kind).find_by_key, key)
    return None if row is None else kind(**row)


async def find_all(db: Connection, kind: type[R]) -> list[R]:
    """Return all blocks of a kind, in the order of their keys."""
    return [kind(**row) for row in await db.fetch(table_of(kind).find_all)]


async def page(db: Connection, kind: type[R], page: Page) -> list[R]:
    """Return blocks, newest first."""
    return [kind(**row) for row in await rows_of(db, table_of(kind).page, page)]


async def insert(db: Connection, block: ServerBlock) -> bool:
    """Store a block. False if another block has its key."""
    return await db.fetchval(*table_of(type(block)).insert.bind(block)) is not None


async def delete(db: Connection, kind: type[R], id: int) -> R | None:
    """Delete a block and return it. None if there is none."""
    row = await db.fetchrow(table_of(kind).delete, id)
    return None if row is None else kind(**row)
