"""What a data folder holds, to be compared with a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troupe.storage.engine.connect import LoneConnection
from troupe.storage.engine.embedded import embedded


def files_of(data: Path) -> dict[str, bytes]:
    """All files of a data folder that are not PostgreSQL's."""
    return {
        path.relative_to(data).as_posix(): path.read_bytes()
        for path in data.rglob("*")
        if path.is_file() and not path.relative_to(data).parts[0].startswith("postgres")
    }


def rows_of(data: Path) -> dict[str, list[str]]:
    """Every row of every table, but the one that says which copy it is."""
    with embedded(data, durable=False) as postgres, LoneConnection(postgres.dsn) as session:
        return session(_rows)


async def _rows(db: Any) -> dict[str, list[str]]:
    tables = [row[0] for row in await db.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    return {
        table: [row[0] for row in await db.fetch(f'SELECT whole::text FROM "{table}" whole ORDER BY 1')]
        for table in tables
        if table != "node"
    }
