"""Two transactions that meet."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

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


def cross(stage: Stage, first: Work, second: Work) -> list[Any]:
    """Both in a transaction: each stops after its first statement until the other is as far, or waits for a lock."""
    began = [asyncio.Event(), asyncio.Event()]

    async def alone(place: int, work: Work) -> Any:
        async with session(stage.dsn) as db, session(stage.dsn) as watcher:

            async def meet() -> None:
                began[place].set()
                while not began[1 - place].is_set() and not await watcher.fetchval(WAITING):
                    pass

            return await whole(cast(Connection, Meeting(db, meet)), work)

    async def main() -> list[Any]:
        async with asyncio.timeout(60):
            return [*await asyncio.gather(alone(0, first), alone(1, second))]

    return run(main)


class Meeting:
    """A connection that waits for another one after the first statement of its work."""

    def __init__(self, db: Connection, meet: Callable[[], Awaitable[None]]) -> None:
        self._db = db
        self._meet: Callable[[], Awaitable[None]] | None = meet

    def __getattr__(self, name: str) -> Any:
        async def call(statement: str, *values: object) -> Any:
            answer = await getattr(self._db, name)(statement, *values)
            if statement != "BEGIN" and self._meet is not None:
                meet, self._meet = self._meet, None
                await meet()
            return answer

        return call


async def waiting(watcher: Connection, count: int) -> None:
    """Return when so many transactions of this database wait for locks.

    A transaction sees the connections of its first look, until it asks anew: one that the pool opens later would never
    be counted.
    """
    while await watcher.fetchval(WAITING) < count:
        await watcher.execute("SELECT pg_stat_clear_snapshot()")


async def whole(db: Connection, work: Work) -> Any:
    async with transaction(db):
        return await work(db)
