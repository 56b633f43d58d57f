"""Three databases in one PostgreSQL: the whole one, and two with a hundredth and a tenth of its statuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from troupe.storage.engine.connect import connect
from troupe.storage.engine.database import EngineConnection
from troupe.storage.engine.embedded import embedded
from troupe.storage.engine.term import upgrade

from .abroad import fill_abroad
from .fill import Size, fill
from .filled import Filled, look
from .inbox import fill_senders

T = TypeVar("T")
WHOLE = "postgres"  # the database of an embedded PostgreSQL
SHARES = {"hundredth": 0.01, "tenth": 0.1}
DEADLINE = 600.0


def sizes(size: Size) -> dict[str, Size]:
    """The size of each database by its name, the smallest first."""
    return {name: replace(size, share=share) for name, share in SHARES.items()} | {WHOLE: size}


def fill_all(data: Path, size: Size, bases: dict[str, str]) -> dict[str, Filled]:
    """Make a data folder with databases, each for the server at its base URL. PostgreSQL is stopped afterwards.

    What filling has left in PostgreSQL's memory then does not count as that of an idle one.
    """
    with embedded(data) as postgres:
        upgrade(postgres.dsn)
        for name in bases:
            if name != WHOLE:
                _in(postgres.dsn, lambda db, name=name: db.execute(f"CREATE DATABASE {name} TEMPLATE {WHOLE}"))
        return {
            name: _in(dsn_of(postgres.dsn, name), lambda db, name=name: _fill(db, bases[name], sizes(size)[name], name))
            for name in bases
        }


def dsn_of(dsn: str, name: str) -> str:
    """The URL of another database of the same PostgreSQL."""
    return dsn.replace(f"/{WHOLE}?", f"/{name}?")


async def _fill(db: EngineConnection, base: str, size: Size, name: str) -> Filled:
    await fill(db, base, size)
    filled = await look(db, size)
    if name == WHOLE:
        await fill_abroad(db)
        await fill_senders(db)
    return filled


def _in(dsn: str, work: Callable[[EngineConnection], Awaitable[T]]) -> T:
    async def run() -> T:
        db = await connect(dsn, application_name="bench", deadline=DEADLINE)
        try:
            return await work(db)
        finally:
            await db.close()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(run())
