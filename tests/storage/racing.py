"""Two transactions that meet."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from troupe.storage.engine.connect import run
from troupe.storage.engine.database import Connection

from .conftest import Stage, session, transaction

WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


Work = Callable[[Connection], Awaitable[Any]]


def race(stage: Stage, first: Work, second: Work) -> list[Any]:
    """Both in a transaction: the first stops before its COMMIT until the second waits for it, or is done."""

    async def main() -> list[Any]:
        async with session(stage.dsn) as one, session(stage.dsn) as two, session(stage.dsn) as watcher:
            await one.execute("BEGIN")
            outcome = await first(one)
            other = asyncio.ensure_future(whole(two, second))
            while not other.done() and not await watcher.fetchval(WAITING):
                pass
            await one.execute("COMMIT")
            return [outcome, await other]

    return run(main)


async def waiting(watcher: Connection, count: int) -> None:
    """Return when so many transactions of this database wait for locks."""
    while await watcher.fetchval(WAITING) < count:
        pass


async def whole(db: Connection, work: Work) -> Any:
    async with transaction(db):
        return await work(db)
